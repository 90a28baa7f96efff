"""Plays a reviewer's part: approves or rejects what waits and holds a text, as `./afterturn review` would."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from uuid import UUID

from schemas.dossiers import ReviewItem
from stores.settings import Settings
from tasks import dossier, review
from tasks.base import hint
from tasks.intake import Intake, open_intake
from workers.eval.cases import Action

_WHO = review.Who(actor="eval")
_MOST = 200


@contextmanager
def desk(settings: Settings) -> Generator[Intake]:
    """The stores that a verdict needs."""
    kit = open_intake(settings)
    # This process's own broker is the operator's, not the instance's: a hint that nobody takes is none, the instance's
    # sweep finds what is owed.
    base, level = logging.getLogger(hint.__module__), logging.getLogger(hint.__module__).level
    base.setLevel(logging.ERROR)
    try:
        yield kit
    finally:
        base.setLevel(level)
        kit.hot.close()
        kit.db.dispose()


def judge(kit: review.Desk, tenant_id: UUID, action: Action) -> str | None:
    """Gives every waiting statement that holds the action's text its verdict; answers what went wrong."""
    page, _ = dossier.page(kit, tenant_id, limit=_MOST)
    wanted = [one for one in page.items if _holds(one, action.text)]
    if not wanted:
        shown = "; ".join(f"{one.key}: {one.value}" for one in page.items) or "nothing"
        return f"{action.do} {action.text!r}: no such statement waits; waiting: {shown}"
    said = [
        review.Said(evidence_id=one.id, verdict="approve", content_hash=one.content_hash, has_user_consent=True)
        if action.do == "approve"
        else review.Said(evidence_id=one.id, verdict="reject", reason="eval")
        for one in wanted
    ]
    refused = [one.code for one in review.judge_all(kit, tenant_id, said, _WHO) if one.code is not None]
    return f"{action.do} {action.text!r}: {'; '.join(refused)}" if refused else None


def _holds(item: ReviewItem, text: str) -> bool:
    return any(text.casefold() in part.casefold() for part in (item.value, item.quote))
