"""The gate: auto, pending review, rejected or dropped, always with a reason code. Rules are values of a policy.

Asked in this order: what the guard flagged, protected keys, special categories, what the organisation owns, quotas.
What a policy does not name passes: verification has already asked for evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from memory.codes import fold
from memory.language import language_of
from memory.policy import DEFAULT_POLICY, PROTECTED_KEYS, STYLE_KEYS, GatePolicy, Statement
from memory.registry import SPECIAL, KeySpec, spec_of
from memory.turns import TurnView
from schemas.decisions import Decision, Flag, RequestKind, Verified, WriteVerdict
from schemas.drafts import FactType

#: What only staff and tools can say: a user who says so claims it.
APPROVAL = "past_approval"
REVIEWED_ROLES = frozenset({"user", "staff"})
"""Whose words may wait for review. Anybody else's flagged words are dropped: a tool fills no review queue."""

OWN = -1
"""The ordinal of a draft that no model made."""

_KEY_OF_FLAG: Mapping[str, tuple[str, FactType]] = {
    "privilege": ("role", "identity"),
    "payment": ("payout", "identity"),
    "bias": ("other", "preference"),
}
_REQUESTS: Mapping[str, RequestKind] = {kind: kind for kind in get_args(RequestKind)}
_CHILD = frozenset({"son", "daughter", "child", "kid", "baby", "儿子", "女儿", "孩子", "宝宝", "小孩", "娃"})
VALUE_CHARS = 200
_OWN_CONFIDENCE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What quotas count before a statement: kept at once in its session, by its source in a day; identity changes."""

    kept_in_session: int = 0
    kept_from_source: int = 0
    identity_changes_today: int = 0


NOTHING_YET = Counts()
RULE = "rule_"
"""Prefix of the codes of a policy's own rules."""


@dataclass(frozen=True, slots=True)
class OwnDraft:
    """A flagged sentence as a draft of its own, and the gate's word on it. A rejected one leaves a code and a span."""

    verified: Verified
    decision: Decision


def decide(
    one: Verified,
    flags: Sequence[Flag],
    *,
    policy: GatePolicy = DEFAULT_POLICY,
    counts: Counts = NOTHING_YET,
) -> Decision:
    """What becomes of a verified statement. `flags` are those of the turn that it stands in.

    Reason codes: the guard's codes; `protected_key`, `special_<class>`, `organization`, `policy_*`, `rule_<id>` of the
    policy's own rules, `quota_*`; () for a plain auto. Quotas only ever turn auto into pending. Repeat: the same
    answer.
    """
    spec = spec_of(one.key)
    hits = [flag for flag in flags if _touches(flag, one) and not _is_style_wish(flag, spec, policy)]
    refused = _refused(one, hits, policy)
    if refused is not None:
        return refused
    rule = policy.rule_for(statement_of(one))
    reasons = [code for code in _codes(hits) if not code.startswith(SPECIAL)]
    reasons += _review_reasons(one, policy)
    reasons += [RULE + rule.id] if rule is not None and rule.then == "review" else []
    special = _special(one, spec, hits)
    if special is not None:
        return _special_decision(one, special, reasons, hits, policy)
    quota = _quota(one, spec, policy, counts)
    sensitivity = spec.sensitivity if spec is not None else "normal"
    if reasons or quota is not None:
        return _held(one.role, tuple(reasons) or (quota or "",), hits, policy, sensitivity)
    return _decision("auto", (), hits, policy, sensitivity)


def own_drafts(
    turn: TurnView, flags: Sequence[Flag], verified: Sequence[Verified], policy: GatePolicy = DEFAULT_POLICY
) -> list[OwnDraft]:
    """A draft for every flagged sentence that no verified draft of this turn stands in.

    Shape: in the order of the sentences, one per sentence, its reasons together. Key `role` for privilege claims,
    `payout` for payment, the class for a special category, else `other`. Requests make none: see `requests`.
    """
    drafts: list[OwnDraft] = []
    places = sorted({(flag.start, flag.end) for flag in flags if flag.action != "request"})
    for start, end in places:
        ours = [flag for flag in flags if (flag.start, flag.end) == (start, end) and flag.action != "request"]
        if any(one.event_id == turn.event_id and _touches(flag, one) for flag in ours for one in verified):
            continue
        if any(
            (other.start, other.end) != (start, end) and other.start <= start and end <= other.end for other in flags
        ):
            continue
        one = _sentence_draft(turn, start, end, ours)
        drafts.append(OwnDraft(one, decide(one, flags, policy=policy)))
    return drafts


def requests(turn: TurnView, flags: Sequence[Flag]) -> tuple[RequestKind, ...]:
    """The privacy requests that a user's turn opens, each kind once, in order. Nobody else can open one from chat."""
    if turn.role != "user":
        return ()
    return tuple(dict.fromkeys(_REQUESTS[flag.code] for flag in flags if flag.code in _REQUESTS))


def screen(flags: Sequence[Flag], *, role: str, policy: GatePolicy = DEFAULT_POLICY) -> Decision:
    """What becomes of a whole text of this origin: the gravest of its flags. An assistant's text is no evidence."""
    if role not in {"user", "staff", "tool"}:
        return _decision("dropped", ("no_evidence",), flags, policy)
    rejecting = _codes(flag for flag in flags if _action(flag, role) == "reject")
    if rejecting:
        return _decision("rejected", rejecting, flags, policy)
    asked = _codes(flag for flag in flags if flag.action == "request")
    if asked:
        return _decision("dropped", tuple(f"request_{code}" for code in asked), flags, policy)
    if flags:
        by_user = all(flag.code.startswith(SPECIAL) for flag in flags)
        return _held(role, _codes(flags), flags, policy, "special" if by_user else "normal", by_user=by_user)
    return _decision("auto", (), flags, policy)


def _refused(one: Verified, hits: Sequence[Flag], policy: GatePolicy) -> Decision | None:
    rejecting = _codes(flag for flag in hits if _action(flag, one.role) == "reject")
    if rejecting:
        return _decision("rejected", rejecting, hits, policy)
    asked = _codes(flag for flag in hits if flag.action == "request")
    if asked:
        return _decision("dropped", tuple(f"request_{code}" for code in asked), hits, policy)
    stated = statement_of(one)
    if policy.keeps_nothing_of(stated):
        return _decision("dropped", ("policy_drop",), hits, policy)
    rule = policy.rule_for(stated)
    return _decision("dropped", (RULE + rule.id,), hits, policy) if rule is not None and rule.then == "drop" else None


def statement_of(one: Verified) -> Statement:
    """A statement as the rules of a policy see it."""
    spec = spec_of(one.key)
    return Statement(
        kind="fact",
        type=one.type,
        scope=one.scope,
        key=one.key,
        role=one.role,
        channel=one.source,
        agent=one.agent_id,
        sensitivity="normal" if spec is None else spec.sensitivity,
    )


def _is_style_wish(flag: Flag, spec: KeySpec | None, policy: GatePolicy) -> bool:
    """Whether a standing order is only a wish on the whitelist; its value is a code, so nothing else rides along."""
    if flag.code != "standing_order" or spec is None:
        return False
    return spec.name in policy.style_keys and (bool(spec.codes) or spec.name in STYLE_KEYS)


def _touches(flag: Flag, one: Verified) -> bool:
    """Whether a statement stands in what was flagged. A secret spoils only a value that holds it, not its sentence."""
    start, end = one.quote_start, one.quote_end
    if flag.code == "secret":
        place = one.quote.find(one.value)
        if place >= 0:
            start, end = one.quote_start + place, one.quote_start + place + len(one.value)
    return flag.start < end and start < flag.end


def _action(flag: Flag, role: str) -> str:
    # A person of the organisation may propose what concerns others; a user's chat may not.
    return "pending" if flag.code == "cross_user" and role == "staff" else flag.action


def _special(one: Verified, spec: KeySpec | None, hits: Sequence[Flag]) -> str | None:
    if spec is not None and spec.special is not None:
        return spec.special
    if one.key == "allergy":
        return None
    if one.key == "age" and one.subject in _CHILD and one.canonical.isdigit() and int(one.canonical) < 14:
        return "child"
    return next((flag.code.removeprefix(SPECIAL) for flag in hits if flag.code.startswith(SPECIAL)), None)


def _special_decision(
    one: Verified, special: str, reasons: Sequence[str], hits: Sequence[Flag], policy: GatePolicy
) -> Decision:
    code = SPECIAL + special
    match policy.special.get(special, "confirm"):
        case "drop":
            return _decision("dropped", (code,), hits, policy, "special")
        case "allow" if special in policy.legal_basis:
            return (
                _held(one.role, tuple(reasons), hits, policy, "special")
                if reasons
                else _decision("auto", (f"legal_basis_{policy.legal_basis[special]}",), hits, policy, "special")
            )
        case _:
            return _held(one.role, (code, *reasons), hits, policy, "special", by_user=True)


def _review_reasons(one: Verified, policy: GatePolicy) -> list[str]:
    reasons: list[str] = []
    if one.key in policy.protected_keys or one.key in PROTECTED_KEYS:
        reasons.append("protected_key")
    if one.key == APPROVAL and one.role == "user":
        reasons.append("claimed_approval")
    if one.scope == "organization":
        reasons.append("organization")
    if one.key in policy.review_keys:
        reasons.append("policy_key")
    if one.source is not None and one.source in policy.review_channels:
        reasons.append("policy_channel")
    if one.agent_id is not None and one.agent_id in policy.review_agents:
        reasons.append("policy_agent")
    return reasons


def _quota(one: Verified, spec: KeySpec | None, policy: GatePolicy, counts: Counts) -> str | None:
    if one.key in policy.style_keys or (spec is not None and spec.closes_explicitly):
        return None
    if counts.kept_in_session >= policy.max_per_session:
        return "quota_session"
    most = policy.source_quota(one.source)
    if most is not None and counts.kept_from_source >= most:
        return "quota_source"
    changes = counts.identity_changes_today
    if one.type == "identity" and one.subject == "user" and changes >= policy.max_identity_changes_per_day:
        return "quota_identity"
    return None


def _held(
    role: str,
    reasons: tuple[str, ...],
    hits: Sequence[Flag],
    policy: GatePolicy,
    sensitivity: str,
    *,
    by_user: bool = False,
) -> Decision:
    if role not in REVIEWED_ROLES:
        return _decision("dropped", reasons, hits, policy, sensitivity)
    return Decision(
        write_status="pending_review",
        reason_codes=reasons,
        guard_flags=_codes(hits),
        sensitivity=sensitivity,
        confirm_by="user" if by_user else "review",
        policy_version=policy.version,
    )


def _decision(
    status: WriteVerdict,
    reasons: tuple[str, ...],
    hits: Sequence[Flag],
    policy: GatePolicy,
    sensitivity: str = "normal",
) -> Decision:
    return Decision(
        write_status=status,
        reason_codes=reasons,
        guard_flags=_codes(hits),
        sensitivity=sensitivity,
        policy_version=policy.version,
    )


def _codes(flags: Iterable[Flag]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(flag.code for flag in flags))


def _sentence_draft(turn: TurnView, start: int, end: int, flags: Sequence[Flag]) -> Verified:
    text = turn.content[start:end]
    codes = _codes(flags)
    special = next((code.removeprefix(SPECIAL) for code in codes if code.startswith(SPECIAL)), None)
    named = next((_KEY_OF_FLAG[code] for code in codes if code in _KEY_OF_FLAG), None)
    # A secret never stands in a row of ours, not even in one that says it was refused.
    shown = "[secret]" if "secret" in codes else text[:VALUE_CHARS]
    key, type_ = named or ("other", "requirement")
    if named is None and special is not None and spec_of(special) is not None:
        key, type_ = special, "identity"
    return Verified(
        ordinal=OWN,
        subject="user",
        key=key,
        type=type_,
        object=None,
        op="+",
        value=shown,
        canonical=fold(shown),
        quote="" if "secret" in codes else text,
        event_id=turn.event_id,
        quote_start=start,
        quote_end=end,
        at=turn.at,
        role=turn.role,
        scope="user" if turn.role == "user" else ("ticket" if turn.ticket_id is not None else "thread"),
        scope_key=turn.ticket_id if turn.role != "user" else None,
        tz=turn.zone_name(),
        source=turn.source,
        agent_id=turn.agent_id,
        ticket_id=turn.ticket_id,
        language=language_of(text),
        confidence=_OWN_CONFIDENCE,
    )
