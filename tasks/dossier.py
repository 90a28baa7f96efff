"""What a reviewer sees of a statement that waits: new and old side by side, its words, and what it would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sqlmodel import Session

from memory.facts import current_at, fold
from memory.labels import title
from memory.registry import spec_of
from memory.review import needs_user
from memory.wording import reason_words
from schemas.decisions import EvidenceView, FactVersion
from schemas.dossiers import ReviewItem, ReviewPage, Side, VerdictPage, VerdictView
from schemas.envelopes import disclose
from schemas.errors import NotFound
from schemas.tables import Evidence, Review, Tenant
from schemas.tables import Session as SessionRow
from stores import clock, facts, reviews, tenancy
from stores.catalogue import Place
from stores.recall import alias_set
from stores.reviews import Wanted
from tasks.review import Desk


def page(
    kit: Desk,
    tenant_id: UUID,
    *,
    user_id: str | None = None,
    key: str | None = None,
    source: str | None = None,
    after: Place | None = None,
    limit: int = 50,
    language: str = "en",
) -> tuple[ReviewPage, Place | None]:
    """A page of the queue, oldest first, and where the next one begins."""
    with kit.db.read() as session:
        tenant = _tenant(session, tenant_id)
        users = None
        if user_id is not None:
            user = tenancy.find_user(session, tenant, user_id)
            users = () if user is None else alias_set(session, user)
        wanted = Wanted(users=users, key=key, source=source)
        rows = reviews.waiting(session, tenant_id, wanted, after=after, limit=limit + 1)
        eye = _Eye(kit, tenant, clock.world_now(session, kit.clock()), language)
        items = tuple(_item(session, eye, row) for row in rows[:limit])
        waiting = reviews.count_waiting(session, tenant_id, wanted)
    more = Place(rows[limit - 1].recorded_at, rows[limit - 1].id) if len(rows) > limit else None
    return ReviewPage(items=items, waiting=waiting), more


def item(kit: Desk, tenant_id: UUID, evidence_id: UUID, *, language: str = "en") -> ReviewItem:
    """One statement, whatever became of it. Raises: NotFound."""
    with kit.db.read() as session:
        tenant = _tenant(session, tenant_id)
        row = reviews.find(session, tenant_id, evidence_id)
        if row is None:
            raise NotFound("statement", evidence_id)
        return _item(session, _Eye(kit, tenant, clock.world_now(session, kit.clock()), language), row)


def log(kit: Desk, tenant_id: UUID, *, after: Place | None = None, limit: int = 50) -> tuple[VerdictPage, Place | None]:
    """What was decided by whom, newest first, and where the next page begins."""
    with kit.db.read() as session:
        rows = reviews.log(session, tenant_id, after=after, limit=limit + 1)
    more = Place(rows[limit - 1].decided_at, rows[limit - 1].id) if len(rows) > limit else None
    return VerdictPage(items=tuple(verdict_view(row) for row in rows[:limit])), more


def verdict_view(row: Review) -> VerdictView:
    """A verdict, opened."""
    return VerdictView(
        verdict=row.verdict,
        before=row.before,
        after=row.after,
        actor=row.actor,
        reviewer=row.reviewer,
        reason=None if row.reason is None else disclose(row.reason),
        has_user_consent=row.has_user_consent,
        content_hash=row.content_hash,
        replaced_by=row.replaced_by,
        event_id=row.event_id,
        undo_id=row.undo_id,
        decided_at=row.decided_at,
        evidence_id=row.evidence_id,
    )


@dataclass(frozen=True, slots=True)
class _Eye:
    """What a statement is looked at with."""

    kit: Desk
    tenant: Tenant
    now: datetime
    language: str


def _item(session: Session, eye: _Eye, row: Evidence) -> ReviewItem:
    language = eye.language
    spec = spec_of(row.key)
    said = reviews.of_evidence(session, [row.id]).get(row.id, [])
    asks_user = needs_user(row.reason_codes, [one.verdict for one in said])
    talk = None if row.session_ref is None else session.get(SessionRow, row.session_ref)
    evidence = facts.evidence(session, row.tenant_id, row.slot_hash)
    versions = facts.versions(session, row.tenant_id, row.slot_hash)
    quote = disclose(row.quote)
    return ReviewItem(
        id=row.id,
        user_id=disclose(row.user_as_said),
        key=row.key,
        title=title(row.key if spec is None else spec.name, language, (quote,)),
        type=row.type,
        scope=row.scope,
        subject=disclose(row.subject),
        object=None if row.object is None else disclose(row.object),
        op=row.op,
        value=disclose(row.value),
        language=row.language,
        valid_from=row.valid_from,
        valid_until=row.valid_until,
        precision=row.precision,
        quote=quote,
        event_id=row.event_id,
        at=row.at,
        role=row.role,
        source=row.source,
        agent_id=row.agent_id,
        session_id=None if talk is None else disclose(talk.session_id),
        confidence=row.confidence,
        sensitivity="normal" if spec is None else spec.sensitivity,
        write_status=row.write_status,
        reason_codes=tuple(row.reason_codes),
        reasons=tuple(reason_words(code, language) for code in row.reason_codes),
        guard_flags=tuple(row.guard_flags),
        confirm_by="user" if asks_user else "review",
        policy_version=row.policy_version,
        recorded_at=row.recorded_at,
        content_hash=reviews.content_hash(eye.tenant.hash_key, row),
        old=tuple(_side(version, evidence) for version in current_at(versions, eye.now)),
        effect=_effect(eye, row, evidence, versions),
        verdicts=tuple(verdict_view(one) for one in said),
    )


def _side(version: FactVersion, evidence: Sequence[EvidenceView]) -> Side:
    quotes = {one.id: one.quote for one in evidence}
    return Side(
        fact_id=version.id,
        value=version.value,
        polarity=version.polarity,
        valid_from=version.valid_from,
        valid_until=version.valid_until,
        said_at=version.said_at,
        confidence=version.confidence,
        write_status=version.write_status,
        quotes=tuple(quotes[one] for one in version.evidence_ids if one in quotes),
    )


def _effect(
    eye: _Eye, row: Evidence, evidence: Sequence[EvidenceView], versions: Sequence[FactVersion]
) -> tuple[str, ...]:
    """What an approval would change, by folding as if it had been given."""
    if row.write_status != "pending_review":
        return ()
    supposed = [replace(one, write_status="approved") if one.id == row.id else one for one in evidence]
    result = fold(
        supposed, current=versions, now=eye.now, new_id=eye.kit.new_id, added={row.id}, policy=eye.kit.policies.fold
    )
    return tuple(dict.fromkeys(f"{change.op}:{change.rule_id}" for change in result.changes))


def _tenant(session: Session, tenant_id: UUID) -> Tenant:
    tenant = session.get(Tenant, tenant_id)
    if tenant is None:
        raise NotFound("tenant", tenant_id)
    return tenant
