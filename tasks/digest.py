"""Works on one due window: claims it, has it answered and applied, or gives it back. Nothing is held meanwhile."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlmodel import Session

from llm.failures import ENDPOINT_CODES, WINDOW_CODES
from memory.windows import backoff, busy_wait
from schemas.errors import ModelBusy, NotNow, Permanent, ServiceError, StaleClaim, Transient
from stores import circuit, metrics, tracing, turns, windows
from stores.kit import Kit, process_kit
from stores.logcontext import bound
from stores.windows import Claim
from tasks import alone, lags
from tasks.answer import answer
from tasks.app import DIGEST
from tasks.apply import apply
from tasks.base import MemoryTask, frames, hint, memory_task, place
from tasks.budget import within
from tasks.inhand import in_hand

logger = logging.getLogger(__name__)

#: A setting that cannot work (a wrong key, no quota) is no fault of the window: it waits about this long, each time.
ENDPOINT_WAIT_SECONDS = 300.0


def digest(kit: Kit) -> Claim | None:
    """Works on the next due window; answers its claim, or None when nothing is due.

    Repeat: an answer that was stored is not paid for again; one that was applied is not applied again.
    """
    with alone.room() as has_room:
        claim = _claim(kit, with_suspects=has_room)
        if claim is not None and claim.is_suspect:
            with bound(window_id=claim.window_id, session_ref=claim.session_ref), in_hand.hold(claim, kit.db):
                alone.run_alone(kit, claim)
            return claim
    if claim is not None:
        work(kit, claim)
    return claim


def work(kit: Kit, claim: Claim) -> None:
    """Brings a claimed window to an outcome in this process: applied, given back for later, or buried."""
    with bound(window_id=claim.window_id, session_ref=claim.session_ref), in_hand.hold(claim, kit.db):
        started = time.monotonic()
        try:
            with _traced(kit, claim):
                with within(kit, claim):
                    draft = answer(kit, claim)
                apply(kit, claim, draft)
            lags.applied(claim.waited_seconds, time.monotonic() - started)
        except StaleClaim:
            logger.info("window passed to another worker")
        except Exception as exc:
            _give_back(kit, claim, exc)


def _traced(kit: Kit, claim: Claim) -> AbstractContextManager[tracing.Span]:
    """The span of a window: its turns' traces go on in it."""
    origins: list[str] = []
    if tracing.is_on():
        with kit.db.read() as session:
            origins = turns.traceparents(session, claim.tenant_id, claim.turn_ids)
    attributes = {"gen_ai.memory.store.id": str(claim.tenant_id), "afterturn.turns.count": len(claim.turn_ids)}
    return tracing.span("digest", kind="consumer", origins=origins, attributes=attributes)


def _claim(kit: Kit, *, with_suspects: bool) -> Claim | None:
    """The next due window; while the model is left alone, one that does not need it any more."""
    with kit.db.read() as session:
        is_open = circuit.wait_seconds(session) > 0 and not kit.settings.llm.is_offline
    return windows.claim_next(
        kit.db,
        lease_seconds=kit.policies.windows.lease_seconds,
        with_suspects=with_suspects,
        answered_only=is_open,
        max_crashes=kit.policies.windows.max_crashes,
    )


def _give_back(kit: Kit, claim: Claim, exc: Exception) -> None:
    """Leaves the window for later, or buries it. Whose fault it is decides how long and how often it is tried."""
    policy, roll = kit.policies.windows, random.random()  # noqa: S311 - jitter, not a secret
    if not isinstance(exc, ServiceError):
        # A bug on one window must not hold up the others: it is counted there, and ends as a dead letter.
        logger.error("window failed error=%s\n%s", place(exc), frames(exc))
        exc = Transient(code="bug")
    if isinstance(exc, NotNow):
        # Nobody was asked, so nobody is to blame; a little apart, so that they do not all come back at once.
        delay = (exc.retry_after_seconds or 0.0) + roll * policy.backoff_base_seconds
        _postpone(kit, claim, exc.code, delay, is_blamed=False)
    elif exc.code in ENDPOINT_CODES:
        _postpone(kit, claim, exc.code, ENDPOINT_WAIT_SECONDS * (0.5 + roll), is_blamed=False)
    elif isinstance(exc, ModelBusy):
        is_blamed = _is_its_own(kit, exc)
        if is_blamed and claim.attempts >= policy.max_attempts and claim.waited_seconds >= policy.patience_seconds:
            _bury(kit, claim, exc.code)
        else:
            delay = busy_wait(claim.waited_seconds, exc.retry_after_seconds, roll, policy)
            _postpone(kit, claim, exc.code, delay, is_blamed=is_blamed)
    elif isinstance(exc, Permanent) or claim.attempts >= policy.max_attempts:
        _bury(kit, claim, exc.code)
    else:
        _postpone(kit, claim, exc.code, backoff(claim.attempts, None, roll, policy), is_blamed=True)


def _is_its_own(kit: Kit, exc: ModelBusy) -> bool:
    """Whether the window may be what the model fails over: it had answered whoever asked right before."""
    if exc.code not in WINDOW_CODES:
        return False
    with kit.db.read() as session:
        return circuit.look(session).failures <= 1


def _postpone(kit: Kit, claim: Claim, code: str, delay: float, *, is_blamed: bool) -> None:
    metrics.TASK_RETRIES.labels(DIGEST).inc()
    logger.warning("window postponed code=%s attempts=%d delay_seconds=%.1f", code, claim.attempts, delay)
    _save(kit, lambda session: windows.postpone(session, claim, code, delay, is_blamed=is_blamed))


def _bury(kit: Kit, claim: Claim, code: str) -> None:
    logger.error("window buried code=%s attempts=%d", code, claim.attempts)
    _save(kit, lambda session: windows.bury(session, claim, code))


def _save(kit: Kit, change: Callable[[Session], None]) -> None:
    try:
        kit.db.write(change)
    except StaleClaim:
        logger.info("window passed to another worker")


@memory_task(DIGEST)
def digest_task(task: MemoryTask) -> None:
    """One hint, one window; where there was one there may be more, and a slot that comes free takes it."""
    if digest(process_kit()) is not None:
        hint(DIGEST)
