"""`review`: what waits for a person; approve the bytes shown, edit, reject; one or many. Needs SQL only."""

from __future__ import annotations

import getpass
import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, cast
from uuid import UUID

import typer

from memory.wording import reason_words
from schemas.errors import BadInput, NotFound
from stores.settings import load_settings
from workers.commands.reading import read_text
from workers.speech import show, show_json, tell, tr

if TYPE_CHECKING:
    from schemas.dossiers import ReviewItem, VerdictView
    from tasks.intake import Intake
    from tasks.review import Ended, Said, Who

MAX_FILE_BYTES = 64 * 1024 * 1024
Ids = Annotated[list[str] | None, typer.Argument(help=tr("编号，可写作 编号:内容哈希", "ids, or ID:HASH"))]
OneId = Annotated[UUID, typer.Argument(help=tr("编号", "the statement's id"))]
TENANT = Annotated[str, typer.Option("--tenant", help=tr("租户", "tenant"))]
HASH = Annotated[str, typer.Option("--hash", help=tr("list 所示的内容哈希", "the content hash that list showed"))]
REASON = Annotated[str, typer.Option("--reason", "-r", help=tr("原因", "why"))]
WHY_NOT = Annotated[str, typer.Option("--reason", "-r", help=tr("原因，必填", "why; needed"))]
BY = Annotated[str, typer.Option("--by", help=tr("审核者姓名", "the reviewer's name"))]
FROM = Annotated[str, typer.Option("--from", help=tr("JSON 文件，或 -", "a JSON file, or -"))]
CONSENT = Annotated[bool, typer.Option("--user-consent", help=tr("用户已同意", "its user agreed"))]
AS_JSON = Annotated[bool, typer.Option("--json", help="JSON")]


def register(app: typer.Typer) -> None:
    """Adds the group `review`."""
    group = typer.Typer(no_args_is_help=True, help=tr("审核待定的记忆。", "Decide on what waits for a person."))
    group.command("list", help=tr("列出待审核的内容，最早的在前。", "List what waits, the oldest first."))(list_items)
    group.command("show", help=tr("新旧对照，连同依据。", "Show new and old side by side, with the evidence."))(
        show_item
    )
    group.command("approve", help=tr("批准所看到的内容。", "Approve exactly what was shown."))(approve)
    group.command("edit", help=tr("以改写的内容代替并批准。", "Approve other words in its place."))(edit)
    group.command("reject", help=tr("拒绝，并说明原因。", "Reject, with a reason."))(reject)
    group.command("log", help=tr("谁在何时作了什么决定。", "Who decided what, and when."))(log)
    app.add_typer(group, name="review")


@contextmanager
def desk(tenant: str) -> Generator[tuple[Intake, UUID]]:
    """The stores of a command that decides on memories, and its tenant's id. Raises: NotFound."""
    from stores import tenancy  # noqa: PLC0415 - SQL: a second that other commands need not pay
    from tasks.intake import open_intake  # noqa: PLC0415
    from workers.first_run import opened  # noqa: PLC0415

    settings = load_settings()
    with opened(settings) as database, database.read() as session:
        found = tenancy.find_tenant(session, tenant)
    if found is None:
        raise NotFound("tenant", tenant)
    kit = open_intake(settings)
    try:
        yield kit, found.id
    finally:
        kit.hot.close()
        kit.db.dispose()


def me(reviewer: str) -> Who:
    """Who decides at this terminal: the account, and the name that was given."""
    from tasks.review import Who  # noqa: PLC0415 - SQL and Celery

    return Who(actor=f"cli:{getpass.getuser()}", reviewer=reviewer or None)


def list_items(
    *,
    tenant: TENANT = "default",
    user: str = typer.Option("", "--user", "-u", help=tr("用户", "user id")),
    key: str = typer.Option("", help=tr("键，例如 payout", "a key, such as payout")),
    source: str = typer.Option("", help=tr("渠道", "channel")),
    limit: int = typer.Option(50, min=1, max=1000),
    as_json: AS_JSON = False,
) -> None:
    """Lists what waits."""
    from tasks import dossier  # noqa: PLC0415 - SQL and Celery: a second that other commands need not pay

    with desk(tenant) as (kit, tenant_id):
        page, more = dossier.page(
            kit,
            tenant_id,
            user_id=user or None,
            key=key or None,
            source=source or None,
            limit=limit,
            language=tr("zh", "en"),
        )
    if as_json:
        show_json([one.model_dump(mode="json") for one in page.items])
        return
    for one in page.items:
        show(f"{one.id}  {one.user_id}  {one.title}: {one.op}{one.value}  [{', '.join(one.reasons)}]")
    if not page.items:
        tell("没有待审核的内容。", "nothing waits.")
    elif more is not None:
        tell(f"共 {page.waiting} 条，只列出最早的 {limit} 条", f"{page.waiting} wait; the oldest {limit} are listed")


def show_item(evidence_id: OneId, *, tenant: TENANT = "default", as_json: AS_JSON = False) -> None:
    """Shows one statement beside what it would meet."""
    from tasks import dossier  # noqa: PLC0415 - SQL and Celery: a second that other commands need not pay

    with desk(tenant) as (kit, tenant_id):
        found = dossier.item(kit, tenant_id, evidence_id, language=tr("zh", "en"))
    if as_json:
        show_json(found.model_dump(mode="json"))
        return
    for line in _side_by_side(found):
        show(line)


def approve(
    ids: Ids = None,
    *,
    tenant: TENANT = "default",
    content_hash: HASH = "",
    source: FROM = "",
    reason: REASON = "",
    by: BY = "",
    consent: CONSENT = False,
    as_json: AS_JSON = False,
) -> None:
    """Approves. Exits 1 when one of them could not be."""
    from tasks.review import Said  # noqa: PLC0415 - SQL and Celery: a second that other commands need not pay

    named = _chosen(ids, source, content_hash)
    if any(seen is None for _, seen in named):
        raise _no_hash()
    chosen = [
        Said(evidence_id=one, verdict="approve", content_hash=seen, reason=reason or None, has_user_consent=consent)
        for one, seen in named
    ]
    _judge(tenant, chosen, by, as_json=as_json)


def edit(
    evidence_id: OneId,
    *,
    value: str = typer.Option(..., help=tr("改写后的值", "the value as it should be")),
    key: str = typer.Option("", help=tr("改用的键", "another key, if that was wrong")),
    tenant: TENANT = "default",
    content_hash: HASH = "",
    reason: REASON = "",
    by: BY = "",
    consent: CONSENT = False,
    as_json: AS_JSON = False,
) -> None:
    """Puts other words in the place of these and approves them."""
    from tasks.review import Said  # noqa: PLC0415 - SQL and Celery: a second that other commands need not pay

    if not content_hash:
        raise _no_hash()
    said = Said(
        evidence_id=evidence_id,
        verdict="edit",
        content_hash=content_hash,
        value=value,
        key=key or None,
        reason=reason or None,
        has_user_consent=consent,
    )
    _judge(tenant, [said], by, as_json=as_json)


def reject(
    ids: Ids = None,
    *,
    tenant: TENANT = "default",
    content_hash: HASH = "",
    source: FROM = "",
    reason: WHY_NOT = "",
    by: BY = "",
    as_json: AS_JSON = False,
) -> None:
    """Rejects; the reason is kept. Exits 1 when one of them could not be."""
    from tasks.review import Said  # noqa: PLC0415 - SQL and Celery: a second that other commands need not pay

    if not reason.strip():
        raise BadInput("--reason", "is required")
    chosen = [
        Said(evidence_id=one, verdict="reject", content_hash=seen, reason=reason or None)
        for one, seen in _chosen(ids, source, content_hash)
    ]
    _judge(tenant, chosen, by, as_json=as_json)


def log(
    *, tenant: TENANT = "default", limit: int = typer.Option(50, min=1, max=1000), as_json: AS_JSON = False
) -> None:
    """Lists verdicts, the newest first."""
    from tasks import dossier  # noqa: PLC0415 - SQL and Celery: a second that other commands need not pay

    with desk(tenant) as (kit, tenant_id):
        page, _ = dossier.log(kit, tenant_id, limit=limit)
    if as_json:
        show_json([one.model_dump(mode="json") for one in page.items])
        return
    for one in page.items:
        show(verdict_line(one))


def verdict_line(one: VerdictView) -> str:
    """A verdict on one line."""
    who = one.actor if one.reviewer is None else f"{one.reviewer} ({one.actor})"
    why = "" if one.reason is None else f"  {one.reason}"
    return f"{one.decided_at:%Y-%m-%d %H:%M}  {one.verdict}  {one.evidence_id}  {one.before} -> {one.after}  {who}{why}"


def _judge(tenant: str, chosen: list[Said], by: str, *, as_json: bool) -> None:
    from tasks import review  # noqa: PLC0415 - SQL and Celery: a second that other commands need not pay

    with desk(tenant) as (kit, tenant_id):
        ended = [
            one
            for start in range(0, len(chosen), review.MAX_BULK)
            for one in review.judge_all(kit, tenant_id, chosen[start : start + review.MAX_BULK], me(by))
        ]
    if as_json:
        show_json([{"id": str(one.evidence_id), "write_status": one.write_status, "code": one.code} for one in ended])
    else:
        for one in ended:
            show(f"{one.evidence_id}  {_outcome(one)}")
    if any(one.code is not None for one in ended):
        raise typer.Exit(1)


def _outcome(one: Ended) -> str:
    if one.code is not None:
        why = reason_words(one.code, tr("zh", "en"))
        return tr(f"未改变：{why}", f"unchanged: {why}")
    return {"approved": tr("已批准", "approved"), "rejected": tr("已拒绝", "rejected")}.get(
        one.write_status, one.write_status
    )


def _chosen(ids: list[str] | None, source: str, content_hash: str) -> list[tuple[UUID, str | None]]:
    """(id, content hash) of what was named on the command line or in a file of items as `list --json` gives them."""
    if bool(ids) == bool(source):
        raise BadInput("ids", tr("给出编号，或用 --from", "give ids, or --from"))
    if source:
        return _from_file(source)
    named = [one.partition(":") for one in ids or []]
    if content_hash and len(named) > 1:
        raise BadInput("--hash", tr("多个编号请写作 编号:内容哈希", "for several, write ID:HASH"))
    try:
        return [(UUID(name), seen or content_hash or None) for name, _, seen in named]
    except ValueError as exc:
        raise BadInput("ids", "must be a UUID") from exc


def _no_hash() -> BadInput:
    return BadInput("--hash", tr("必填：show 所示的内容哈希", "is required: the content hash that show told"))


def _from_file(source: str) -> list[tuple[UUID, str | None]]:
    try:
        items = cast("list[dict[str, Any]]", json.loads(read_text(source, max_bytes=MAX_FILE_BYTES)))
        return [(UUID(str(one["id"])), str(one["content_hash"])) for one in items]
    except (ValueError, KeyError, TypeError, RecursionError):
        reason = tr("应为 list --json 给出的 JSON 列表", "must be a JSON list as list --json gives it")
        raise BadInput(source, reason) from None


def _side_by_side(one: ReviewItem) -> list[str]:
    new = tr("新", "new")
    waits_for = tr("用户", "its user") if one.confirm_by == "user" else tr("审核者", "a reviewer")
    lines = [
        f"{one.id}  {one.write_status}",
        f"{tr('用户', 'user')}: {one.user_id}",
        f"{tr('键', 'key')}: {one.title} ({one.key}, {one.scope})",
        f"{new}: {one.op}{one.value}",
    ]
    lines += [
        f"{tr('旧', 'old')}: {side.polarity}{side.value}  ({side.said_at:%Y-%m-%d})  “{'” “'.join(side.quotes)}”"
        for side in one.old
    ] or [f"{tr('旧', 'old')}: -"]
    lines += [
        f"{tr('原话', 'said')}: “{one.quote}”",
        f"  {one.role}  {one.at:%Y-%m-%d %H:%M}  {one.source or '-'}  {one.agent_id or '-'}  {one.event_id}",
        f"{tr('原因', 'why it waits')}: {'; '.join(one.reasons) or '-'}",
        f"{tr('由谁确认', 'waits for')}: {waits_for}",
        f"{tr('批准后', 'approving would')}: {', '.join(one.effect) or '-'}",
        f"{tr('内容哈希', 'content hash')}: {one.content_hash}",
    ]
    return [*lines, *(f"  {verdict_line(said)}" for said in one.verdicts)]
