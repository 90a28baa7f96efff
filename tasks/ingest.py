"""Takes events in: judged one by one, kept once, in one transaction a message. The one task that agents may name.

The ledger is written first, so a redelivery, a re-send and a rival worker all end in the same rows. A batch whose task
died is tried whole again, and if that is lost too, event by event, each attempt committed first: one poisoned event
ends as a dead letter alone, and a restart of the worker costs a batch no more than two transactions.
"""

from __future__ import annotations

import hashlib
import logging
import random
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from celery.exceptions import Reject
from sqlmodel import Session

from afterturn.batches import decode_batch
from afterturn.errors import BadBatch as NoBatch
from afterturn.errors import BadSeal
from schemas.delivery import EventState
from schemas.envelopes import disclose_json, enclose, enclose_json
from schemas.errors import BadBatch, Forbidden, Permanent, ServiceError, StoreBusy, Transient
from stores import clock, dead, keys, ledger, metrics, sessions, tenancy
from stores.ledger import Entry, Known, Tally
from stores.sql import after_commit, database_now
from stores.tenancy import KeyInfo, KnownUser
from tasks import lags, spans
from tasks.app import INGEST, SWEEP
from tasks.arrivals import Judged, Kept, Refusal, TimePolicy, Unread, as_dead, judge, place
from tasks.base import MemoryTask, frames, hint, memory_task
from tasks.intake import Stores, process
from tasks.keeping import Keeping, first_state
from tasks.receipts import Answer, Receipt, nobody, of_batch, of_events, tally
from tasks.unsealing import unseal

logger = logging.getLogger(__name__)

MAX_BEGUN = 3
#: So many redeliveries of a batch are taken whole; a worker that was stopped is likelier than a poisoned event.
MAX_WHOLE = 2
_NEWER = frozenset({"seal_version", "batch_version"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchInfo:
    """What came around events. `producer` is whose receptions they count as; `parks`: keep what is of a newer version.

    `is_counted` is false for events whose reception was counted before.

    Units: clock_offset_ms is how far the agent's clock was ahead of the broker's.
    """

    producer: str
    clock_offset_ms: int | None = None
    parks: bool = True
    is_counted: bool = True


def ingest_events(
    kit: Stores, key: KeyInfo, events: Sequence[object], *, batch: BatchInfo, give_up_seconds: float | None = None
) -> list[Receipt]:
    """Keeps events of one key in one transaction; answers one receipt each, in their order.

    Repeat: the same events are duplicates and change nothing. A bad event does not touch the others.
    Raises: Forbidden without the right to publish; StoreBusy, with nothing kept.
    """
    key.require("publish")
    started = time.monotonic()
    judged = [judge(raw, key, parks=batch.parks) for raw in events]
    with spans.ingest(key, judged):
        receipts = kit.db.write(lambda session: keep(session, kit, key, judged, batch), give_up_seconds=give_up_seconds)
    _count(receipts, started)
    lags.committed(judged, receipts, kit.clock(), clock_offset_ms=batch.clock_offset_ms)
    return receipts


def ingest_batch(
    kit: Stores,
    blob: str,
    *,
    redelivered: bool = False,
    answer: Answer = nobody,
    arrived_at: datetime | None = None,
) -> list[Receipt]:
    """Opens a sealed batch and keeps its events; `redelivered`: a worker had it before and did not say how it ended.

    `answer` is told what became of it, after the commit, whenever the seal says who sent it. `arrived_at` is when a
    batch came that was kept since: whether its key was good is asked of that time, unless it was revoked.
    Raises: BadBatch when it does not open or its key has ended (kept as a dead letter), Forbidden, StoreBusy.
    """
    name = hashlib.sha256(blob.encode("utf-8", "replace")).hexdigest()[:32]
    if redelivered and _attempts(kit, name, None) > MAX_BEGUN:
        _bury_batch(kit, name, blob, "lost_workers")
        with suppress(BadSeal):
            sender = unseal(kit.db, blob).sender
            answer(sender, of_batch(sender, "dead", "lost_workers"))
        return []
    try:
        unsealed = unseal(kit.db, blob)
    except BadSeal as exc:
        return _unread(kit, name, blob, exc.code)
    opened, sender, now = unsealed.opened, unsealed.sender, arrived_at or kit.clock()
    try:
        batch = decode_batch(opened.payload)
    except NoBatch as exc:
        code = unsealed.end(None, now) or exc.code
        # A newer producer's batch counts as stored: it is kept whole and read after the upgrade.
        told = of_batch(sender, "stored" if code in _NEWER else "dead", code)
        return _unread(kit, name, blob, code, lambda: answer(sender, told))
    if (end := unsealed.end(batch, now)) is not None:
        told = of_batch(sender, "dead", end)
        return _unread(kit, name, blob, end, lambda: answer(sender, told))
    info = BatchInfo(producer=str(opened.producer), clock_offset_ms=batch.clock_offset_ms)
    try:
        take = partial(_again, name=name) if redelivered else _together
        receipts = take(kit, unsealed.key, batch.events, info)
    except Forbidden as exc:
        answer(sender, of_batch(sender, "rejected", exc.code))
        raise
    answer(sender, of_events(sender, receipts))
    return receipts


def _unread(kit: Stores, name: str, blob: str, code: str, after: Callable[[], object] = lambda: None) -> list[Receipt]:
    """Keeps a batch that cannot be read: for an upgrade, or else as a dead letter, with BadBatch."""
    if code in _NEWER:
        _park_batch(kit, name, blob, code)
        after()
        return []
    _bury_batch(kit, name, blob, code)
    after()
    raise BadBatch(code=code)


def _together(kit: Stores, key: KeyInfo, events: Sequence[object], info: BatchInfo) -> list[Receipt]:
    try:
        return ingest_events(kit, key, events, batch=info)
    except ServiceError:
        raise
    except Exception as exc:
        # A bug that one event sets off must not cost the others.
        logger.error("batch failed, taking its events one by one error=%s\n%s", type(exc).__qualname__, frames(exc))
        return _each(kit, key, events, info)


def _again(kit: Stores, key: KeyInfo, events: Sequence[object], info: BatchInfo, *, name: str) -> list[Receipt]:
    """A redelivered batch that opened: whole, until that was lost too often or an event of it was being tried alone."""
    whole = f"{name}:whole"
    alone = [_attempt_name(as_dead(raw, key), key) for raw in events]

    def begin(session: Session) -> int:
        dead.end_attempt(session, [name])
        return MAX_WHOLE + 1 if dead.has_attempt(session, alone) else dead.begin_attempt(session, whole)

    if kit.db.write(begin) > MAX_WHOLE:
        receipts = _each(kit, key, events, info)
    else:
        with _given_back(kit, whole):
            receipts = _together(kit, key, events, info)
    kit.db.write(lambda session: dead.end_attempt(session, [whole]))
    return receipts


@contextmanager
def _given_back(kit: Stores, name: str) -> Generator[None]:
    """An attempt that ends because a store is away is no fault of what it tried."""
    try:
        yield
    except Transient:
        with suppress(Transient):
            kit.db.write(lambda session: dead.end_attempt(session, [name]))
        raise


def _attempt_name(letter: Unread, key: KeyInfo) -> str:
    return f"{key.tenant_id}:{letter.event_id or letter.content_hash}"


def _each(kit: Stores, key: KeyInfo, events: Sequence[object], info: BatchInfo) -> list[Receipt]:
    receipts: list[Receipt] = []
    for raw in events:
        receipts += _alone(kit, key, raw, info)
    return receipts


def _alone(kit: Stores, key: KeyInfo, raw: object, info: BatchInfo) -> list[Receipt]:
    letter = as_dead(raw, key)
    name = _attempt_name(letter, key)
    if _attempts(kit, name, key.tenant_id) > MAX_BEGUN:
        receipts = _bury_event(kit, key, letter, info, "lost_workers")
    else:
        try:
            with _given_back(kit, name):
                receipts = ingest_events(kit, key, [raw], batch=info)
        except ServiceError:
            # The database was away, no worker was lost: this must not count towards a dead letter.
            with suppress(StoreBusy):
                kit.db.write(lambda session: dead.end_attempt(session, [name]))
            raise
        except Exception as exc:
            logger.error("event failed error=%s\n%s", type(exc).__qualname__, frames(exc))
            receipts = _bury_event(kit, key, letter, info, type(exc).__qualname__)
    kit.db.write(lambda session: dead.end_attempt(session, [name]))
    return receipts


def keep(session: Session, kit: Stores, key: KeyInfo, judged: Sequence[Judged], batch: BatchInfo) -> list[Receipt]:
    """Writes what was judged, inside the caller's transaction; one receipt each, in order."""
    named = sorted({one.event.user_id for one in judged if isinstance(one, Kept)})
    # Shared: batches that follow each other are about the same users, and several processes take them.
    users = tenancy.ensure_users(session, key, named, is_shared=True)
    received_at = database_now(session)
    known = ledger.enter(session, key.tenant_id, _entries(judged, key, users, batch, received_at))
    world = received_at + timedelta(seconds=clock.offset_seconds(session))
    bounds = kit.settings.ingest
    policy = TimePolicy(ahead_seconds=bounds.max_ahead_seconds, offset_seconds=bounds.max_skew_seconds)
    keeping = Keeping(
        session=session,
        key=key,
        received_at=received_at,
        policies=kit.policies,
        observation_days=kit.settings.retention.observations_days,
    )
    receipts: list[Receipt] = []
    seen: dict[UUID, str] = {}
    for one in judged:
        receipt = _verdict(one, known, seen)
        receipts.append(receipt)
        if one.event_id is None or receipt.state != "stored":
            continue
        if isinstance(one, Unread):
            _park_event(session, key, one, batch)
        elif isinstance(one, Kept):
            keeping.take(one, place(one.event, world, batch.clock_offset_ms, policy), users[one.event.user_id])
    keeping.save()
    # Before the receipt: an agent that has it reads its own words.
    after_commit(session, partial(kit.hot.drop, keeping.marks()))
    if batch.is_counted:
        ledger.count(session, key.tenant_id, received_at, {batch.producer: tally(receipts)})
    if keeping.has_ended_session:
        after_commit(session, partial(hint, SWEEP))
    # Last of all rows, so that nobody who waits for it holds what another needs.
    if keys.is_use_new(key.last_used_at, received_at):
        keys.note_use(session, key.key_id, received_at)
    return receipts


def _entries(
    judged: Sequence[Judged], key: KeyInfo, users: dict[str, KnownUser], batch: BatchInfo, received_at: datetime
) -> list[Entry]:
    """One entry per event id: of what is kept rather than of what is refused, the first of each."""
    entries: dict[UUID, Entry] = {}
    for one in sorted(judged, key=lambda one: isinstance(one, Refusal)):
        if one.event_id is None or one.event_id in entries:
            continue
        kind, state, reason = one.event.kind if isinstance(one, Kept) else one.kind, EventState.STORED, None
        session_ref: UUID | None = None
        if isinstance(one, Kept):
            user = users[one.event.user_id]
            state = first_state(one, user)
            session_ref = sessions.session_ref(user.id, sessions.session_hash(key, one.event.session_id))
        elif isinstance(one, Refusal):
            state, reason = EventState.REJECTED, one.code
        entries[one.event_id] = Entry(
            tenant_id=key.tenant_id,
            event_id=one.event_id,
            kind=kind,
            state=state.value,
            reason=reason,
            content_hash=one.content_hash,
            producer=batch.producer,
            session_ref=session_ref,
            window_id=None,
            received_at=received_at,
        )
    return list(entries.values())


def _verdict(one: Judged, known: dict[UUID, Known], seen: dict[UUID, str]) -> Receipt:
    if isinstance(one, Refusal):
        return Receipt(event_id=one.event_id, state="rejected", code=one.code, field=one.field)
    event_id = one.event_id
    if event_id is None:
        return Receipt(event_id=None, state="rejected", code="bad_event", field="event_id")
    before = known[event_id].content_hash if event_id in known else seen.get(event_id)
    if before is None:
        seen[event_id] = one.content_hash
        return Receipt(event_id=event_id, state="stored")
    if before == one.content_hash:
        return Receipt(event_id=event_id, state="duplicate")
    return Receipt(event_id=event_id, state="rejected", code="id_conflict", field="event_id")


def _with_its_key(key: KeyInfo, one: Unread, batch: BatchInfo) -> bytes:
    """The event with all that it takes to take it in again."""
    held = {
        "key_id": key.key_id,
        "producer": batch.producer,
        "clock_offset_ms": batch.clock_offset_ms,
        "event": disclose_json(one.payload),
    }
    return enclose_json(held)


def _park_event(session: Session, key: KeyInfo, one: Unread, batch: BatchInfo) -> None:
    dead.put(
        session,
        kind=dead.PARKED,
        key=f"{key.tenant_id}:{one.event_id}",
        error_code=f"event_v{one.version}",
        payload=_with_its_key(key, one, batch),
        tenant_id=key.tenant_id,
    )


def _bury_event(kit: Stores, key: KeyInfo, letter: Unread, info: BatchInfo, code: str) -> list[Receipt]:
    """Makes one event a dead letter; what the ledger knew already stays."""

    def bury(session: Session) -> None:
        received_at = database_now(session)
        if letter.event_id is not None:
            entry = Entry(
                tenant_id=key.tenant_id,
                event_id=letter.event_id,
                kind=letter.kind,
                state=EventState.DEAD.value,
                reason=code,
                content_hash=letter.content_hash,
                producer=info.producer,
                session_ref=None,
                window_id=None,
                received_at=received_at,
            )
            ledger.enter(session, key.tenant_id, [entry])
        dead.put(
            session,
            kind=dead.EVENT,
            key=_attempt_name(letter, key),
            error_code=code,
            payload=_with_its_key(key, letter, info),
            tenant_id=key.tenant_id,
        )
        ledger.count(session, key.tenant_id, received_at, {info.producer: Tally(dead=1)})

    kit.db.write(bury)
    return [Receipt(event_id=letter.event_id, state="dead", code=code)]


def _bury_batch(kit: Stores, name: str, blob: str, code: str) -> None:
    def bury(session: Session) -> None:
        dead.put(session, kind=dead.BATCH, key=name, error_code=code, payload=enclose(blob))
        dead.end_attempt(session, [name])

    kit.db.write(bury)
    logger.error("batch buried code=%s letter=%s chars=%d", code, name, len(blob))


def _park_batch(kit: Stores, name: str, blob: str, code: str) -> None:
    kit.db.write(lambda session: dead.put(session, kind=dead.PARKED, key=name, error_code=code, payload=enclose(blob)))
    logger.warning("batch parked code=%s letter=%s", code, name)


def _attempts(kit: Stores, name: str, tenant_id: UUID | None) -> int:
    return kit.db.write(lambda session: dead.begin_attempt(session, name, tenant_id=tenant_id))


def _count(receipts: Sequence[Receipt], started: float) -> None:
    counted = tally(receipts)
    for state, number in counted._asdict().items():
        metrics.EVENTS.labels(state).inc(number)
    logger.info(
        "events taken stored=%d duplicate=%d rejected=%d dead=%d duration_ms=%d",
        *counted,
        int((time.monotonic() - started) * 1000),
    )


@memory_task(INGEST)
def ingest_task(task: MemoryTask, blob: object = None) -> None:
    """One sealed batch. While the database is away the message goes back to the broker, after a moment's rest."""
    info = task.request.delivery_info or {}
    try:
        redelivered = bool(info.get("redelivered"))
        ingest_batch(process.intake(), str(blob), redelivered=redelivered, answer=process.answer())
    except Transient as exc:
        logger.warning("batch goes back code=%s", exc.code)
        # Its text is in the broker alone, so it must not be acknowledged; without a rest the queue would spin.
        time.sleep(random.uniform(0.5, 2.0))  # noqa: S311 - jitter, not a secret
        raise Reject(exc.code, requeue=True) from None
    except Permanent as exc:
        logger.info("batch ended code=%s", exc.code)
