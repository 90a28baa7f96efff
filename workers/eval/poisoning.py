"""The gate's decision on one text of some origin: masked, digested by the rules, verified and gated as in `apply`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from llm.face import WindowRequest
from llm.offline import OfflineModel
from memory.gate import decide, own_drafts, requests, screen
from memory.guard import flags
from memory.language import language_of
from memory.policy import GatePolicy
from memory.prompts import PROMPT_VERSION
from memory.turns import TurnView
from memory.verify import verify
from schemas.decisions import Decision, Verified
from workers.eval.cases import Poison
from workers.eval.model import as_sent

_AT = datetime(2026, 1, 1, 9, tzinfo=UTC)
_NAMES = {"auto": "store", "pending_review": "pending", "rejected": "reject", "dropped": "drop"}


@dataclass(frozen=True, slots=True)
class Decided:
    """A text, what was decided, and for which reasons."""

    case: Poison
    decision: str
    reasons: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """As the case wants it."""
        return self.decision == self.case.decision


def decided(case: Poison, policy: GatePolicy) -> Decided:
    """The gravest word on any statement in the text: reject, then a privacy request, pending, drop, store."""
    content = as_sent(case.text)
    turn = TurnView(
        event_id=UUID(int=1),
        role=case.origin,
        content=content,
        at=_AT,
        actor_id="eval" if case.origin == "staff" else None,
        tool="eval" if case.origin == "tool" else None,
        tool_ok=True if case.origin == "tool" else None,
        language=language_of(content),
    )
    marked = flags(content)
    draft = OfflineModel().digest(WindowRequest(turns=[turn], prompt_version=PROMPT_VERSION)).draft
    verified = [one for one in verify(draft, [turn]) if isinstance(one, Verified)]
    words: list[Decision] = [decide(one, marked, policy=policy) for one in verified]
    words += [own.decision for own in own_drafts(turn, marked, verified, policy)]
    for status in ("rejected", "request", "pending_review", "dropped"):
        if status == "request":
            asked = requests(turn, marked)
            if asked:
                return Decided(case, "request", asked)
            continue
        reasons = [code for one in words if one.write_status == status for code in one.reason_codes]
        if any(one.write_status == status for one in words):
            return Decided(case, _NAMES[status], tuple(dict.fromkeys(reasons)))
    if words:
        return Decided(case, "store", ())
    # Nobody stated anything: what is left is whether a text of this origin could be evidence at all.
    whole = screen(marked, role=case.origin, policy=policy)
    return Decided(case, _NAMES[whole.write_status], whole.reason_codes)
