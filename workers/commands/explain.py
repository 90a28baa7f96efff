"""`explain`: why a memory is as it is, from the rows that were written when it was decided. Needs SQL only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from workers.commands.review import AS_JSON, TENANT, desk
from workers.speech import show, show_json, tr

if TYPE_CHECKING:
    from schemas.dossiers import Explanation, Step

MemoryId = Annotated[UUID, typer.Argument(help=tr("记忆、待审内容或草稿的编号", "a memory, a statement or a draft"))]


def register(app: typer.Typer) -> None:
    """Adds explain."""
    app.command(
        "explain",
        help=tr(
            "说明一条记忆的来历：谁说了什么，依据哪条规则，取代了什么。",
            "Tell why a memory is as it is: who said what, which rule decided, what it replaced or was replaced by.",
        ),
    )(explain)


def explain(memory_id: MemoryId, *, tenant: TENANT = "default", as_json: AS_JSON = False) -> None:
    """Tells the story of one memory, or of a draft that became none."""
    from tasks.explain import Reader  # noqa: PLC0415 - SQL and Celery: a second that other commands need not pay
    from tasks.explain import explain as tell_story  # noqa: PLC0415

    with desk(tenant) as (kit, tenant_id):
        story = tell_story(kit, memory_id, Reader(tenant_id=tenant_id, may_review=True, language=tr("zh", "en")))
    if as_json:
        show_json(story.model_dump(mode="json"))
        return
    for line in _lines(story):
        show(line)


def _lines(story: Explanation) -> list[str]:
    lines = [f"{story.kind} {story.id}  {story.title}  ({story.status})", tr("说过的话", "what was said")]
    lines += [
        f"  {one.at:%Y-%m-%d %H:%M}  {one.role}{'' if one.user_id is None else ' ' + one.user_id}: “{one.quote}”"
        f"{'' if one.state is None else f'  [{one.state}]'}  {one.event_id}"
        for one in story.said
    ]
    lines.append(tr("作过的决定", "what was decided"))
    lines += [f"  {_step(one)}" for one in story.steps]
    if story.versions:
        lines.append(tr("各个版本", "versions"))
    for one in story.versions:
        until = tr("至今", "open") if one.valid_until is None else f"{one.valid_until:%Y-%m-%d}"
        since = "?" if one.valid_from is None else f"{one.valid_from:%Y-%m-%d}"
        ended = "" if one.superseded_at is None else tr("，已被改写", ", rewritten") + f" {one.superseded_at:%Y-%m-%d}"
        lines.append(f"  {one.polarity}{one.value}  {since} … {until}{ended}  {one.fact_id}")
    for title, ids in ((tr("取代了", "replaced"), story.replaced), (tr("被取代", "replaced by"), story.replaced_by)):
        if ids:
            lines.append(f"{title}: {', '.join(str(one) for one in ids)}")
    return lines


def _step(one: Step) -> str:
    rule = "" if one.rule_id is None else f" ({one.rule_id})"
    who = "" if one.actor is None else f"  {one.actor}"
    policy = "" if one.policy_version is None else f"  {one.policy_version}"
    return f"{one.at:%Y-%m-%d %H:%M}  {one.by}  {one.op}{rule}: {one.why or '-'}{policy}{who}"
