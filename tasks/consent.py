"""Takes a user's own word on special categories: what waited for it counts, or never will."""

from __future__ import annotations

from uuid import UUID

from memory.consent import Consent, answers
from memory.review import status_after
from schemas.tables import Evidence, Review
from stores import metrics, reviews, tenancy
from stores.recall import alias_set
from tasks.review import Who, settle_changed, verdict_row
from tasks.work import Work

USER = Who(actor="user")


def take(work: Work) -> None:
    """Gives every statement that waited for this window's answers its verdict, and brings all up to it."""
    changed: dict[UUID, Evidence] = {}
    for consent in answers(work.said, work.context):
        changed.update((row.id, row) for row in _judge(work, consent))
    if changed:
        settle_changed(work, list(changed.values()), work.kit.hot)


def _judge(work: Work, consent: Consent) -> list[Evidence]:
    users = alias_set(work.session, work.user)
    tenancy.lock_users(work.session, work.tenant.id, users)
    waiting = reviews.waiting_for_user(work.session, work.tenant.id, users, before=consent.question.at)
    wanted = {f"special_{name}" for name in consent.classes}
    judged: list[Evidence] = []
    verdicts: list[Review] = []
    for row in waiting:
        if not wanted.intersection(row.reason_codes):
            continue
        before = row.write_status
        after = status_after(consent.verdict, "pending_review", row.reason_codes)
        if after != before:
            reviews.set_status(work.session, row, after)
        verdicts.append(
            verdict_row(
                work, row, consent.verdict, before=before, after=after, who=USER, event_id=consent.reply.event_id
            )
        )
        metrics.REVIEWS.labels(consent.verdict).inc()
        judged.append(row)
    reviews.add(work.session, verdicts)
    return judged
