"""`requests`: privacy requests that users made in conversations, first due first; and their answers. Needs SQL only."""

from __future__ import annotations

from uuid import UUID

import typer

from schemas.errors import BadInput
from workers.commands.review import AS_JSON, BY, TENANT, desk, me
from workers.speech import show, show_json, tell, tr

KINDS = {
    "erase": ("删除", "erase"),
    "access": ("查阅", "access"),
    "correct": ("更正", "correct"),
    "object": ("反对处理", "object"),
    "no_store": ("不要记录", "do not store"),
}


def register(app: typer.Typer) -> None:
    """Adds requests."""
    app.command(
        "requests",
        help=tr(
            "列出用户在对话中提出的隐私请求与期限；--done 或 --refused 记下答复。",
            "List privacy requests from conversations with their due dates; --done or --refused answers one.",
        ),
    )(requests)


def requests(
    *,
    done: str = typer.Option("", "--done", help=tr("已办理的请求编号", "the request that was fulfilled")),
    refused: str = typer.Option("", "--refused", help=tr("被拒绝的请求编号", "the request that was refused")),
    note: str = typer.Option("", "--note", help=tr("说明", "a note; a refusal needs one")),
    everything: bool = typer.Option(False, "--all", help=tr("连同已答复的", "answered ones, too")),
    by: BY = "",
    tenant: TENANT = "default",
    as_json: AS_JSON = False,
) -> None:
    """Lists, or answers one. Exits 1 when one that is listed is overdue."""
    from tasks import requests as asked  # noqa: PLC0415 - SQL and Celery: a second that other commands need not pay

    if done and refused:
        raise BadInput("requests", tr("--done 与 --refused 只能给一个", "give one of --done, --refused"))
    if refused and not note.strip():
        raise BadInput("--note", "is required")
    with desk(tenant) as (kit, tenant_id):
        if done or refused:
            state = "done" if done else "refused"
            ended = asked.answer(kit, tenant_id, _uuid(f"--{state}", done or refused), state, me(by), note=note or None)
            found = [ended]
        else:
            states = ("open", "done", "refused") if everything else ("open",)
            found = asked.listed(kit, tenant_id, states=states)
    if as_json:
        show_json([one.model_dump(mode="json") for one in found])
    for one in [] if as_json else found:
        late = tr("  已逾期", "  overdue") if one.is_overdue else ""
        due = tr(f"期限 {one.due_at:%Y-%m-%d}", f"due {one.due_at:%Y-%m-%d}")
        kind = tr(*KINDS.get(one.kind, (one.kind, one.kind)))
        show(f"{one.id}  {kind}  {one.user_id or '-'}  {due}  {one.state}{late}  {one.note or ''}".rstrip())
    if not found:
        tell("没有隐私请求。", "there are no privacy requests.")
    if any(one.is_overdue for one in found):
        raise typer.Exit(1)


def _uuid(option: str, text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as exc:
        raise BadInput(option, "must be a UUID") from exc
