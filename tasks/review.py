"""What a reviewer says of a statement that waits: approve these bytes, put others in their place, or reject.

One transaction a verdict: the status, the verdict's own row, the slots folded again, the spans, the outbox. Of two
reviewers the second is told that the first was there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Literal, Protocol, cast
from uuid import UUID, uuid5

from sqlmodel import Session

from memory.facts import slot_parts
from memory.gate import VALUE_CHARS
from memory.guard import flags as guard_flags
from memory.language import language_of
from memory.registry import canonical, spec_of
from memory.review import ReviewVerdict, Status, needs_user, status_after
from schemas.envelopes import disclose, enclose, keyed_hash
from schemas.errors import BadInput, Conflict, NotFound
from schemas.tables import Evidence, Review, Tenant
from stores import aliases, clock, facts, hot, metrics, reviews, turns
from stores.hot import HotCache, HotKey
from stores.policies import Policies
from stores.sql import Database, after_commit
from tasks import slots
from tasks.app import INDEX
from tasks.base import hint
from tasks.holding import owe_touched, settle, settle_flagged
from tasks.work import Ground

logger = logging.getLogger(__name__)

MAX_BULK = 200
MAX_REASON_CHARS = 1_000


class Desk(Protocol):
    """What a verdict needs of a kit: no index, no model."""

    @property
    def policies(self) -> Policies:
        """The rules' knobs."""
        ...

    @property
    def db(self) -> Database:
        """The truth."""
        ...

    @property
    def hot(self) -> HotCache:
        """What recall reads first."""
        ...

    @property
    def clock(self) -> Callable[[], datetime]:
        """The real clock."""
        ...

    @property
    def new_id(self) -> Callable[[], UUID]:
        """UUIDv7."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """Who speaks: the key or the account that acts, and the person that it acts for, if it says so."""

    actor: str
    reviewer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A reviewer's word on one statement.

    `content_hash` is what the list showed: approve and edit need it, so that nobody approves what they did not see.
    `value` and `key` are an edit's. `has_user_consent`: the user agreed elsewhere that a special category is kept.
    """

    evidence_id: UUID
    verdict: Literal["approve", "edit", "reject"]
    content_hash: str | None = None
    value: str | None = None
    key: str | None = None
    reason: str | None = None
    has_user_consent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What became of it. `evidence_id` is that of the edited words after an edit; `code` says why nothing changed."""

    evidence_id: UUID
    write_status: str
    code: str | None = None


def judge(kit: Desk, tenant_id: UUID, said: Said, who: Who) -> Ended:
    """Takes one verdict. Raises: NotFound; Conflict when it was decided already or other bytes were seen; BadInput."""
    _check(said)
    done = kit.db.write(lambda session: _judge(session, kit, tenant_id, said, who))
    logger.info("statement reviewed verdict=%s status=%s", said.verdict, done.write_status)
    return done


def judge_all(kit: Desk, tenant_id: UUID, verdicts: Sequence[Said], who: Who) -> list[Ended]:
    """Takes verdicts one by one, each in a transaction of its own; one that is refused stops no other.

    Raises: BadInput for more than MAX_BULK.
    """
    if len(verdicts) > MAX_BULK:
        raise BadInput("items", f"must have at most {MAX_BULK} items")
    return [_one_of_many(kit, tenant_id, said, who) for said in verdicts]


def _one_of_many(kit: Desk, tenant_id: UUID, said: Said, who: Who) -> Ended:
    try:
        return judge(kit, tenant_id, said, who)
    except (BadInput, Conflict, NotFound) as exc:
        return Ended(evidence_id=said.evidence_id, write_status="unchanged", code=exc.code)


def ground_of(session: Session, kit: Desk, tenant_id: UUID) -> Ground:
    """Where slots of this tenant are folded. Raises: NotFound."""
    tenant = session.get(Tenant, tenant_id)
    if tenant is None:
        raise NotFound("tenant", tenant_id)
    return Ground(session=session, kit=kit, tenant=tenant, now=clock.world_now(session, kit.clock()))


def settle_changed(ground: Ground, rows: Sequence[Evidence], heat: HotCache, added: Iterable[UUID] = ()) -> None:
    """Brings everything up to evidence whose verdict changed: slots, spans, outbox; after the commit the hot cache.

    The users of these rows are locked already.
    """
    folded = slots.refold(ground, [slots.slot_of(row) for row in rows], set(added))
    settle(ground, folded)
    by_turn: dict[UUID, UUID] = {row.event_id: row.user_ref for row in rows}
    for event_id, user_ref in by_turn.items():
        settle_flagged(ground, event_id, user_ref)
    owe_touched(ground)
    said = turns.views(ground.session, ground.tenant.id, list(by_turn))
    marks = hot.marks_of(
        ground.tenant.id,
        [*dict.fromkeys(row.user_ref for row in rows), *_organizations(rows)],
        threads=[*(turn.thread_id for turn in said), *(row.scope_key for row in rows if row.scope == "thread")],
        tickets=[*(turn.ticket_id for turn in said), *(row.scope_key for row in rows if row.scope == "ticket")],
    )
    after_commit(ground.session, partial(_drop, heat, marks))
    after_commit(ground.session, partial(hint, INDEX))


def verdict_row(
    ground: Ground, row: Evidence, verdict: ReviewVerdict, *, before: str, after: str, who: Who, **more: Any
) -> Review:
    """A verdict as it is kept."""
    return Review(
        id=ground.kit.new_id(),
        tenant_id=row.tenant_id,
        user_ref=row.user_ref,
        evidence_id=row.id,
        verdict=verdict,
        before=before,
        after=after,
        content_hash=reviews.content_hash(ground.tenant.hash_key, row),
        actor=who.actor,
        reviewer=who.reviewer,
        decided_at=ground.now,
        **more,
    )


def _judge(session: Session, kit: Desk, tenant_id: UUID, said: Said, who: Who) -> Ended:
    ground = ground_of(session, kit, tenant_id)
    row = _locked(ground, said)
    before = cast("Status", row.write_status)
    after = status_after(said.verdict, before, row.reason_codes)
    edited = _edited(ground, row, said) if said.verdict == "edit" else None
    if not reviews.set_status(session, row, after):
        raise Conflict(code="decided_already")
    changed = [row] if edited is None else [row, edited]
    if edited is not None:
        facts.add_evidence(session, [edited])
    verdict = verdict_row(
        ground,
        row,
        said.verdict,
        before=before,
        after=after,
        who=who,
        reason=None if said.reason is None else enclose(said.reason),
        has_user_consent=said.has_user_consent,
        replaced_by=None if edited is None else edited.id,
    )
    reviews.add(session, [verdict])
    settle_changed(ground, changed, kit.hot, {one.id for one in changed})
    metrics.REVIEWS.labels(said.verdict).inc()
    return Ended(evidence_id=changed[-1].id, write_status=changed[-1].write_status)


def _locked(ground: Ground, said: Said) -> Evidence:
    """The statement under its user's lock, if it is still as the reviewer saw it."""
    session, tenant_id = ground.session, ground.tenant.id
    found = reviews.find(session, tenant_id, said.evidence_id)
    if found is None:
        raise NotFound("statement", said.evidence_id)
    aliases.lock_sets(session, tenant_id, [found.user_ref])
    row = reviews.find(session, tenant_id, said.evidence_id)
    if row is None:
        raise NotFound("statement", said.evidence_id)
    if row.write_status != "pending_review":
        raise Conflict(code="decided_already")
    if said.content_hash is not None and said.content_hash != reviews.content_hash(ground.tenant.hash_key, row):
        raise Conflict(code="content_changed")
    verdicts = [one.verdict for one in reviews.of_evidence(session, [row.id]).get(row.id, ())]
    if said.verdict != "reject" and needs_user(row.reason_codes, verdicts) and not said.has_user_consent:
        raise Conflict(code="needs_user")
    return row


def _edited(ground: Ground, row: Evidence, said: Said) -> Evidence:
    """A copy at the same place that says what the reviewer wrote. Raises: BadInput."""
    value, spec = (said.value or "").strip(), spec_of(said.key or row.key)
    if spec is None:
        raise BadInput("key", "is not valid")
    if any(flag.action == "reject" for flag in guard_flags(value)):
        raise BadInput("value", "is not valid", code="refused_value")
    language = language_of(value)
    folded = canonical(spec.name, value, language)
    if folded is None:
        raise BadInput("value", "is not valid")
    subject, object_text = disclose(row.subject), None if row.object is None else disclose(row.object)
    parts = slot_parts(
        scope=row.scope,
        scope_key=row.scope_key,
        subject=subject,
        key=spec.name,
        object_text=object_text,
        canonical=folded,
    )
    fields: dict[str, Any] = row.model_dump() | {
        "id": uuid5(row.id, f"edit:{spec.name}:{folded}:{value}"),
        "slot_hash": keyed_hash(ground.tenant.hash_key, "slot", *parts),
        "key": spec.name,
        "type": spec.type if spec.name != "other" else row.type,
        "value": enclose(value),
        "canonical": enclose(folded),
        "value_hash": keyed_hash(ground.tenant.hash_key, "value", folded),
        "language": language,
        "write_status": "approved",
        "reason_codes": ["edited"],
        "recorded_at": ground.now,
    }
    return Evidence(**fields)


def _check(said: Said) -> None:
    if said.verdict != "reject" and said.content_hash is None:
        raise BadInput("content_hash", "is required")
    if said.verdict == "reject" and not (said.reason or "").strip():
        raise BadInput("reason", "is required")
    if said.reason is not None and len(said.reason) > MAX_REASON_CHARS:
        raise BadInput("reason", f"must have at most {MAX_REASON_CHARS} characters")
    if said.verdict == "edit" and not (said.value or "").strip():
        raise BadInput("value", "is required")
    if said.value is not None and len(said.value) > VALUE_CHARS:
        raise BadInput("value", f"must have at most {VALUE_CHARS} characters")


def _organizations(rows: Sequence[Evidence]) -> list[UUID]:
    return [row.tenant_id for row in rows if row.scope == "organization"]


def _drop(heat: HotCache, marks: Sequence[HotKey]) -> None:
    heat.drop(marks)
