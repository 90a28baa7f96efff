"""Answers one due window and has the answer applied: claim, one model call, store, apply. Nothing is held meanwhile."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from dataclasses import asdict, replace

from llm.face import Answer, Usage, WindowRequest
from llm.failures import ENDPOINT_CODES, SPLIT_CODES, usage_of
from llm.offline import OfflineModel
from memory.informative import any_informative
from memory.parts import halves, join
from memory.turns import TurnView
from memory.windows import backoff
from schemas.drafts import WindowDraft
from schemas.envelopes import disclose_json, enclose_json
from schemas.errors import BadAnswer, NotNow, Permanent, ServiceError, StaleClaim, Transient
from stores import circuit, metrics, turns, windows
from stores.kit import Kit, process_kit
from stores.logcontext import bound
from stores.windows import Claim
from tasks import alone
from tasks.app import DIGEST
from tasks.apply import apply
from tasks.base import MemoryTask, frames, memory_task, place
from tasks.budget import within
from tasks.inhand import in_hand

logger = logging.getLogger(__name__)

#: A setting that cannot work (a wrong key, no quota) is no fault of the window: it waits this long and is asked again.
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
        try:
            with within(kit, claim):
                draft = _draft(kit, claim)
            apply(kit, claim, draft)
        except StaleClaim:
            logger.info("window passed to another worker")
        except ServiceError as exc:
            _fail(kit, claim, exc)
        except Exception as exc:
            # A bug on one window must not hold up the others: it is counted there, and ends as a dead letter.
            logger.error("window failed error=%s\n%s", place(exc), frames(exc))
            _fail(kit, claim, Transient(code="bug"))


def _claim(kit: Kit, *, with_suspects: bool) -> Claim | None:
    """The next due window; while the model is left alone, one that does not need it any more."""
    with kit.db.read() as session:
        is_open = circuit.wait_seconds(session) > 0 and not kit.settings.llm.is_offline
    return windows.claim_next(
        kit.db,
        lease_seconds=kit.policies.windows.lease_seconds,
        with_suspects=with_suspects,
        answered_only=is_open,
    )


def _draft(kit: Kit, claim: Claim) -> WindowDraft:
    """The stored answer, or a new one, stored before it is used."""
    if claim.answer is not None:
        return WindowDraft.model_validate(disclose_json(claim.answer))
    with kit.db.read() as session:
        said = turns.views(session, claim.tenant_id, claim.turn_ids)
        context = turns.before(session, claim.tenant_id, claim.turn_ids)
    if not said:
        msg = f"window {claim.window_id}: none of its turns is there any more"
        raise Permanent(msg, code="turns_gone")
    answer = _answer(kit, WindowRequest(turns=said, context=context, prompt_version=claim.prompt_version))
    _count(claim, answer.usage)
    stored = enclose_json(answer.draft.model_dump(mode="json"))
    usage = asdict(answer.usage)
    kit.db.write(lambda session: windows.save_answer(session, claim, stored, usage))
    return answer.draft


def _answer(kit: Kit, request: WindowRequest) -> Answer:
    """The model's answer; that of the rules where no model is needed, or where none will give one."""
    rules = OfflineModel()
    if not any_informative(request.turns, request.context):
        return rules.digest(request)
    try:
        return kit.model.digest(request)
    except BadAnswer as exc:
        metrics.LLM_ERRORS.labels(exc.code).inc()
        if exc.code in SPLIT_CODES and len(request.turns) > 1:
            return _in_halves(kit, request)
        if exc.code in ENDPOINT_CODES:
            raise
        logger.warning("model gave no usable answer code=%s, rules take over", exc.code)
        answer = rules.digest(request)
        spent = usage_of(exc)
        return answer if spent is None else replace(answer, usage=replace(spent, mode=f"{spent.mode}+rules"))


def _in_halves(kit: Kit, request: WindowRequest) -> Answer:
    first, second = halves(request.turns)
    one = _answer(kit, replace(request, turns=first))
    two = _answer(kit, replace(request, turns=second, context=_last(first)))
    return Answer(draft=join(one.draft, two.draft, first_count=len(first)), usage=_sum(one.usage, two.usage))


def _last(said: Sequence[TurnView], count: int = 2) -> Sequence[TurnView]:
    return said[-count:]


def _sum(one: Usage, two: Usage) -> Usage:
    return replace(
        two,
        calls=one.calls + two.calls,
        input_tokens=one.input_tokens + two.input_tokens,
        output_tokens=one.output_tokens + two.output_tokens,
        cached_tokens=one.cached_tokens + two.cached_tokens,
        reasoning_tokens=one.reasoning_tokens + two.reasoning_tokens,
        duration_ms=one.duration_ms + two.duration_ms,
        estimated=one.estimated or two.estimated,
    )


def _count(claim: Claim, usage: Usage) -> None:
    for direction, tokens in (("in", usage.input_tokens), ("out", usage.output_tokens)):
        metrics.LLM_TOKENS.labels(str(claim.tenant_id), usage.model, "digest", direction).inc(tokens)


def _fail(kit: Kit, claim: Claim, exc: ServiceError) -> None:
    """Gives the window back for later, or buries it when it has failed too often."""
    policy = kit.policies.windows
    if isinstance(exc, NotNow):
        # Nobody was asked, so nobody is to blame; a little apart, so that they do not all come back at once.
        wait = (exc.retry_after_seconds or 0.0) + random.uniform(0.0, policy.backoff_base_seconds)  # noqa: S311
        logger.info("window waits code=%s delay_seconds=%.1f", exc.code, wait)
        kit.db.write(lambda session: windows.postpone(session, claim, exc.code, wait, is_blamed=False))
        return
    is_endpoint = exc.code in ENDPOINT_CODES
    if claim.attempts >= policy.max_attempts and not is_endpoint:
        logger.error("window buried code=%s attempts=%d", exc.code, claim.attempts)
        kit.db.write(lambda session: windows.bury(session, claim, exc.code))
        return
    asked = exc.retry_after_seconds if isinstance(exc, Transient) else None
    delay = backoff(claim.attempts, asked, random.random(), policy)  # noqa: S311 - jitter, not a secret
    if is_endpoint:
        delay = ENDPOINT_WAIT_SECONDS
    metrics.TASK_RETRIES.labels(DIGEST).inc()
    logger.warning("window postponed code=%s attempts=%d delay_seconds=%.1f", exc.code, claim.attempts, delay)
    kit.db.write(lambda session: windows.postpone(session, claim, exc.code, delay))


@memory_task(DIGEST)
def digest_task(task: MemoryTask) -> None:
    """One hint, one window."""
    digest(process_kit())
