"""`undo`: takes back everything from one session, source or event in one step, or gives it back. Needs SQL only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING
from uuid import UUID

import typer

from schemas.errors import BadInput
from schemas.fault_words import KINDS
from workers.commands.review import AS_JSON, BY, TENANT, desk, me
from workers.speech import show, show_json, tell, tr

if TYPE_CHECKING:
    from schemas.dossiers import UndoView


def register(app: typer.Typer) -> None:
    """Adds undo."""
    app.command(
        "undo",
        help=tr(
            "一步撤销某个会话、来源或事件的全部记忆；--back 收回一次撤销，--list 列出。",
            "Take back everything from one session, source or event; --back gives it back, --list lists.",
        ),
    )(undo)


def undo(
    *,
    session: str = typer.Option("", help=tr("会话编号，需要 --user", "a session's id; needs --user")),
    source: str = typer.Option("", help=tr("来源", "a source")),
    event: str = typer.Option("", help=tr("事件编号", "an event's id")),
    summary: str = typer.Option("", help=tr("合并摘要的编号", "the id of a summary of several episodes")),
    user: str = typer.Option("", "--user", "-u", help=tr("用户", "user id")),
    ahead: bool = typer.Option(
        False, "--ahead", help=tr("来源或事件尚未到达时也撤销", "also when nothing of a source or event is here yet")
    ),
    back: str = typer.Option("", "--back", help=tr("要收回的撤销编号", "the undo to give back")),
    listing: bool = typer.Option(False, "--list", help=tr("列出所有撤销", "list all of them")),
    reason: str = typer.Option("", "--reason", "-r", help=tr("原因，撤销时必填", "why; needed to take back")),
    by: BY = "",
    tenant: TENANT = "default",
    as_json: AS_JSON = False,
) -> None:
    """Takes back, gives back, or lists."""
    from tasks import undo as undoing  # noqa: PLC0415 - SQL and Celery: a second that other commands need not pay

    named = {"session": session, "source": source, "event": event, "summary": summary}
    given = [(kind, name) for kind, name in named.items() if name]
    if len(given) + bool(back) + listing != 1:
        what = "--session, --source, --event, --summary, --back, --list"
        raise BadInput("undo", tr(f"给出其中一个：{what}", f"give one of {what}"))
    if given and not reason.strip():
        raise BadInput("--reason", "is required")
    if session and not user:
        raise BadInput("--user", "is required")
    if event or summary:
        _uuid(event or summary, "--event" if event else "--summary")
    with desk(tenant) as (kit, tenant_id):
        if listing:
            _list(undoing.listed(kit, tenant_id, limit=1000), as_json=as_json)
            return
        if back:
            done = undoing.withdraw(kit, tenant_id, _uuid(back, "--back"), me(by), reason=reason)
        else:
            kind, name = given[0]
            target = undoing.Target(kind=kind, name=name, user_id=user or None, is_ahead=ahead)  # pyright: ignore[reportArgumentType]  one of its four
            done = undoing.undo(kit, tenant_id, target, me(by), reason=reason)
    if as_json:
        show_json(asdict(done))
        return
    verb = tr("已收回", "given back") if back else tr("已撤销", "taken back")
    show(
        tr(
            f"{verb}：{done.statements} 条陈述，{done.turns} 轮对话，{done.episodes} 个情节，"
            f"{done.outcomes} 次流程结果（编号 {done.undo_id}）",
            f"{verb}: {done.statements} statements, {done.turns} turns, {done.episodes} episodes, "
            f"{done.outcomes} procedure outcomes (undo {done.undo_id})",
        )
    )


def _list(rows: Sequence[UndoView], *, as_json: bool) -> None:
    if as_json:
        show_json([one.model_dump(mode="json") for one in rows])
        return
    for one in rows:
        what = f"{tr(KINDS[one.kind], one.kind)} {one.name or '-'}"
        if one.user_id is not None:
            what += tr(f"（用户 {one.user_id}）", f" (user {one.user_id})")
        if one.withdraws:
            what = tr(f"收回 {one.withdraws}：", f"gives back {one.withdraws}: ") + what
        who = one.actor if one.reviewer is None else f"{one.reviewer} ({one.actor})"
        show(f"{one.id}  {one.decided_at:%Y-%m-%d %H:%M}  {what}  {who}  {one.reason or '-'}")
    if not rows:
        tell("没有撤销过。", "nothing was taken back.")


def _uuid(text: str, option: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as exc:
        raise BadInput(option, "must be a UUID") from exc
