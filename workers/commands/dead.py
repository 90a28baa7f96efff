"""Commands on what could not be processed, and on what became of one event. They read SQL: no process need run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from schemas.errors import BadInput
from stores.settings import load_settings
from workers.speech import show, show_json, tell, tr

if TYPE_CHECKING:
    from schemas.tables import DeadLetter

KINDS = ("batch", "event", "window")
LetterId = Annotated[UUID, typer.Argument(help=tr("死信编号", "the letter's id"))]
LetterIds = Annotated[list[UUID], typer.Argument(help=tr("死信编号", "the letters' ids"))]
SomeIds = Annotated[list[UUID] | None, typer.Argument(help=tr("死信编号", "the letters' ids"))]


def register(app: typer.Typer) -> None:
    """Adds the group `dead`."""
    group = typer.Typer(no_args_is_help=True, help=tr("处理死信。", "Handle what could not be processed."))
    group.command("list", help=tr("列出未处理的死信。", "List open dead letters."))(list_letters)
    group.command("show", help=tr("查看一封死信。", "Show one dead letter."))(show_letter)
    group.command("retry", help=tr("再试一次。", "Try them again."))(retry)
    group.command("drop", help=tr("放弃，并清除内容。", "Give up on them; their content goes."))(drop)
    app.add_typer(group, name="dead")


def list_letters(
    *,
    kind: str = typer.Option("", help=" | ".join(KINDS)),
    limit: int = typer.Option(100, min=1, max=10_000),
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Lists open letters of every tenant, oldest first, without content."""
    from stores import dead  # noqa: PLC0415 - SQL: a second that other commands need not pay
    from workers.first_run import opened  # noqa: PLC0415

    wanted = _kind(kind)
    with opened(load_settings()) as database, database.read() as session:
        found = dead.waiting(session, limit=limit, kind=wanted)
    if as_json:
        show_json([_plain(letter) for letter in found])
        return
    for letter in found:
        show(f"{letter.id}  {letter.kind:6}  {letter.error_code}  x{letter.attempts}  {letter.last_at:%Y-%m-%d %H:%M}")
    if not found:
        tell("没有死信。", "there are none.")


def show_letter(
    letter_id: LetterId,
    *,
    with_content: bool = typer.Option(False, "--content", help=tr("连同用户说的话", "with what a user said")),
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Shows one letter; its content only when that is asked for."""
    from tasks import letters  # noqa: PLC0415 - SQL and Celery: a second that other commands need not pay
    from workers.first_run import opened  # noqa: PLC0415

    with opened(load_settings()) as database, database.read() as session:
        letter = letters.find(session, letter_id)
        told = _plain(letter) | ({"content": letters.content(letter)} if with_content else {})
    if as_json:
        show_json(told)
        return
    titles = {
        "id": ("编号", "id"),
        "kind": ("类别", "kind"),
        "names": ("对象", "of"),
        "tenant_id": ("租户", "tenant"),
        "error_code": ("原因", "reason"),
        "attempts": ("次数", "attempts"),
        "first_at": ("最早", "first"),
        "last_at": ("最近", "last"),
        "resolved_at": ("处理于", "dealt with"),
        "content": ("内容", "content"),
    }
    for name, value in told.items():
        show(f"{tr(*titles[name])}: {'-' if value is None else value}")


def retry(
    letter_ids: SomeIds = None,
    *,
    everything: bool = typer.Option(False, "--all", help=tr("全部未处理的", "every open one")),
    kind: str = typer.Option("", help=" | ".join(KINDS)),
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Takes letters in again. Exits 1 when one of them stays dead."""
    from stores import dead  # noqa: PLC0415 - SQL and Celery: a second that other commands need not pay
    from tasks import letters  # noqa: PLC0415
    from tasks.intake import open_intake  # noqa: PLC0415
    from workers.first_run import opened  # noqa: PLC0415

    settings, wanted = load_settings(), _kind(kind)
    with opened(settings) as database, database.read() as session:
        every = [letter.id for letter in dead.waiting(session, limit=10_000, kind=wanted)] if everything else []
    chosen = _chosen(letter_ids, every, everything=everything)
    kit = open_intake(settings)
    try:
        ended = {letter_id: letters.retry(kit, letter_id) for letter_id in chosen}
    finally:
        kit.db.dispose()
    if as_json:
        show_json([{"id": str(key), "is_alive": one.is_alive, "code": one.code} for key, one in ended.items()])
    else:
        for letter_id, one in ended.items():
            said = (
                tr("已重新处理", "taken in again") if one.is_alive else tr("仍是死信", "still dead") + f" ({one.code})"
            )
            show(f"{letter_id}  {said}")
    if not all(one.is_alive for one in ended.values()):
        raise typer.Exit(1)


def drop(
    letter_ids: LetterIds,
    *,
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Gives up on letters: they count as dealt with and lose their content."""
    from tasks import letters  # noqa: PLC0415 - SQL and Celery: a second that other commands need not pay
    from tasks.intake import open_intake  # noqa: PLC0415

    kit = open_intake(load_settings())
    try:
        ended = {letter_id: letters.drop(kit, letter_id) for letter_id in letter_ids}
    finally:
        kit.db.dispose()
    if as_json:
        show_json([{"id": str(letter_id), "is_dropped": was_open} for letter_id, was_open in ended.items()])
        return
    for letter_id, was_open in ended.items():
        show(f"{letter_id}  " + (tr("已放弃", "dropped") if was_open else tr("早已处理", "had been dealt with")))


def _chosen(letter_ids: list[UUID] | None, every: list[UUID], *, everything: bool) -> list[UUID]:
    given = list(letter_ids or [])
    if bool(given) == everything:
        raise BadInput("letter_ids", tr("给出编号，或用 --all", "give ids, or --all"))
    return every if everything else given


def _kind(given: str) -> str | None:
    if given and given not in KINDS:
        raise BadInput("--kind", f"must be one of {', '.join(KINDS)}")
    return given or None


def _plain(letter: DeadLetter) -> dict[str, Any]:
    times = {name: getattr(letter, name) for name in ("first_at", "last_at", "resolved_at")}
    return {
        "id": str(letter.id),
        "kind": letter.kind,
        "names": letter.key.rpartition(":")[2],
        "tenant_id": None if letter.tenant_id is None else str(letter.tenant_id),
        "error_code": letter.error_code,
        "attempts": letter.attempts,
        **{name: None if value is None else value.isoformat() for name, value in times.items()},
    }
