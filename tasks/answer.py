"""One window's answer, step by step: the whole, or halves of what does not fit. Each step is stored before the next.

A step that was answered is not paid for again. What was charged is charged, also when nothing came of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from sqlmodel import Session

from llm.face import Answer, Usage, WindowRequest
from llm.failures import ENDPOINT_CODES, SPLIT_CODES, usage_of
from llm.open import open_model
from memory.informative import any_informative
from memory.parts import halves, join
from memory.turns import TurnView
from schemas.drafts import WindowDraft
from schemas.envelopes import disclose_json, enclose_json
from schemas.errors import BadAnswer, ModelBusy, Permanent, StaleClaim
from stores import calls, metrics, spend, windows
from stores.kit import Kit
from stores.windows import Claim
from tasks.work import hear

logger = logging.getLogger(__name__)

_STEPS = "steps"
#: Halves of halves: a window is cut into 32 parts at most.
_MAX_DEPTH = 5
_CONTEXT_AFTER_A_CUT = 2

#: Answers by path: "" is the whole window, "0" and "1" its halves, "01" a half of a half. None: cut further.
_Steps = dict[str, WindowDraft | None]


@dataclass(frozen=True, slots=True)
class _Asking:
    """A window that is being answered, its steps so far, and what they cost that no transaction has charged yet."""

    kit: Kit
    claim: Claim
    steps: _Steps
    unpaid: list[Usage] = field(default_factory=list[Usage])


def answer(kit: Kit, claim: Claim) -> WindowDraft:
    """The window's answer, stored whole before it is given out.

    Raises: StaleClaim; ModelBusy; BadAnswer when the endpoint is set up wrong; Permanent when no turn is left.
    """
    kept = {} if claim.answer is None else cast("dict[str, Any]", disclose_json(claim.answer))
    if kept and _STEPS not in kept:
        return WindowDraft.model_validate(kept)
    asking = _Asking(kit, claim, _opened(kept))
    draft = _step(asking, _request(kit, claim), "")
    stored = enclose_json(draft.model_dump(mode="json"))
    _store(asking, lambda session: windows.save_answer(session, claim, stored))
    return draft


def _request(kit: Kit, claim: Claim) -> WindowRequest:
    with kit.db.read() as session:
        heard = hear(session, claim, context_turns=kit.settings.window.context_turns)
    if not heard.said:
        msg = f"window {claim.window_id}: none of its turns is there any more"
        raise Permanent(msg, code="turns_gone")
    used = dict.fromkeys(turn.procedure_name for turn in heard.said if turn.procedure_name is not None)
    return WindowRequest(
        turns=heard.said, context=heard.context, prompt_version=claim.prompt_version, procedures=tuple(used)
    )


def _step(asking: _Asking, request: WindowRequest, path: str) -> WindowDraft:
    known = asking.steps.get(path)
    if known is not None:
        return known
    parts = halves(request.turns) if len(path) < _MAX_DEPTH else None
    if path not in asking.steps:
        draft = _ask(asking, request, can_be_cut=parts is not None)
        asking.steps[path] = draft
        if path or draft is None:
            _keep(asking)
        if draft is not None:
            return draft
    if parts is None:
        # Only if the rule of cutting has changed since this step was stored.
        return open_model(None).digest(request).draft
    first = _step(asking, replace(request, turns=parts.first), f"{path}0")
    second = _step(asking, replace(request, turns=parts.second, context=_last(parts.first)), f"{path}1")
    return join(first, second, first_count=parts.first_count)


def _ask(asking: _Asking, request: WindowRequest, *, can_be_cut: bool) -> WindowDraft | None:
    """The model's answer; that of the rules where no model is needed, or none will answer. None: cut and ask again."""
    if not any_informative(request.turns, request.context):
        return _noted(asking, open_model(None).digest(request)).draft
    try:
        with calls.timed("digest") as call:
            given = asking.kit.model.digest(request)
            call.note(given.usage)
        return _noted(asking, given).draft
    except (ModelBusy, BadAnswer) as exc:
        metrics.LLM_ERRORS.labels(exc.code).inc()
        spent = usage_of(exc)
        if spent is not None:
            _charge(asking, spent)
        if isinstance(exc, ModelBusy) or exc.code in ENDPOINT_CODES:
            raise
        if exc.code in SPLIT_CODES and can_be_cut:
            return None
        logger.warning("model gave no usable answer code=%s, rules take over", exc.code)
    return _noted(asking, open_model(None).digest(request)).draft


def _noted(asking: _Asking, given: Answer) -> Answer:
    asking.unpaid.append(given.usage)
    return given


def _charge(asking: _Asking, usage: Usage) -> None:
    asking.kit.db.write(lambda session: _pay(session, asking, usage))


def _pay(session: Session, asking: _Asking, usage: Usage) -> None:
    prices = spend.prices_of(asking.kit.settings.llm)
    spend.charge(session, asking.claim.tenant_id, asking.claim.window_id, usage, prices)


def _store(asking: _Asking, save: Callable[[Session], object]) -> None:
    """Saves what was answered and what it cost in one transaction: whoever dies in between leaves neither.

    Raises: StaleClaim, after the cost was charged: the answer is nobody's, its price is the tenant's all the same.
    """

    def both(session: Session) -> None:
        for usage in asking.unpaid:
            _pay(session, asking, usage)
        save(session)

    try:
        asking.kit.db.write(both)
    except StaleClaim:
        for usage in asking.unpaid:
            _charge(asking, usage)
        raise
    asking.unpaid.clear()


def _keep(asking: _Asking) -> None:
    """Stores the steps and holds the window for another lease: the next step may take as long again."""
    steps = {path: None if draft is None else draft.model_dump(mode="json") for path, draft in asking.steps.items()}
    stored = enclose_json({_STEPS: steps})
    lease_seconds = asking.kit.policies.windows.lease_seconds
    _store(asking, lambda session: windows.save_part(session, asking.claim, stored, lease_seconds=lease_seconds))


def _opened(kept: dict[str, Any]) -> _Steps:
    steps = cast("dict[str, Any]", kept.get(_STEPS, {}))
    return {path: None if given is None else WindowDraft.model_validate(given) for path, given in steps.items()}


def _last(said: Sequence[TurnView]) -> Sequence[TurnView]:
    return said[-_CONTEXT_AFTER_A_CUT:]
