"""The gate: auto, pending review, rejected or dropped, always with a reason code. Rules are values of a policy.

Asked in this order: what the guard flagged, protected keys, special categories, what the organisation owns, quotas.
What a policy does not name passes: verification has already asked for evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memory.codes import fold
from memory.guard import SPECIAL
from memory.language import language_of
from memory.registry import KeySpec, spec_of
from memory.turns import TurnView
from schemas.decisions import Decision, Flag, RequestKind, Verified, WriteVerdict
from schemas.drafts import FactType

REVIEWED_ROLES = frozenset({"user", "staff"})
"""Whose words may wait for review. Anybody else's flagged words are dropped: a tool fills no review queue."""

OWN = -1
"""The ordinal of a draft that no model made."""

STYLE_KEYS = frozenset({"language", "contact", "timezone"})
_KEY_OF_FLAG: Mapping[str, tuple[str, FactType]] = {
    "privilege": ("role", "identity"),
    "payment": ("payout", "identity"),
    "bias": ("other", "preference"),
}
_REQUESTS: Mapping[str, RequestKind] = {"erase": "erase", "access": "access", "no_store": "no_store"}
_CHILD = frozenset({"son", "daughter", "child", "kid", "baby", "儿子", "女儿", "孩子", "宝宝", "小孩", "娃"})
VALUE_CHARS = 200
_OWN_CONFIDENCE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePolicy:
    """The shipped rules; a tenant's file overrides fields by name.

    `special` says per class what happens: `confirm` (pending until the user confirms), `drop`, or `allow` (only with
    its legal basis in `legal_basis`). `review_keys` and `review_channels` are always pending, `drop_keys` never kept.
    Quotas count what was kept at once (auto) in this session, or changed an identity today, before this statement.
    """

    version: str = "gate-1"
    special: Mapping[str, str] = field(default_factory=dict[str, str])
    legal_basis: Mapping[str, str] = field(default_factory=dict[str, str])
    review_keys: frozenset[str] = frozenset()
    drop_keys: frozenset[str] = frozenset()
    review_channels: frozenset[str] = frozenset()
    review_agents: frozenset[str] = frozenset()
    max_per_session: int = 20
    max_identity_changes_per_day: int = 3


@dataclass(frozen=True, slots=True)
class OwnDraft:
    """A flagged sentence as a draft of its own, and the gate's word on it. A rejected one leaves a code and a span."""

    verified: Verified
    decision: Decision


DEFAULT_POLICY = GatePolicy()


def decide(
    one: Verified,
    flags: Sequence[Flag],
    *,
    policy: GatePolicy = DEFAULT_POLICY,
    kept_in_session: int = 0,
    identity_changes_today: int = 0,
) -> Decision:
    """What becomes of a verified statement. `flags` are those of the turn that it stands in.

    Reason codes: the guard's codes; `protected_key`, `special_<class>`, `organization`, `policy_*`, `quota_session`,
    `quota_identity`; () for a plain auto. Quotas only ever turn auto into pending. Repeat: the same answer.
    """
    spec = spec_of(one.key)
    hits = [flag for flag in flags if _touches(flag, one)]
    refused = _refused(one, hits, policy)
    if refused is not None:
        return refused
    reasons = [code for code in _codes(hits) if not code.startswith(SPECIAL)]
    reasons += _review_reasons(one, spec, policy)
    special = _special(one, spec, hits)
    if special is not None:
        return _special_decision(one, special, reasons, hits, policy)
    quota = _quota(one, spec, policy, kept_in_session, identity_changes_today)
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
    return _decision("dropped", ("policy_drop",), hits, policy) if one.key in policy.drop_keys else None


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


def _review_reasons(one: Verified, spec: KeySpec | None, policy: GatePolicy) -> list[str]:
    reasons: list[str] = []
    if spec is not None and spec.protected:
        reasons.append("protected_key")
    if one.scope == "organization":
        reasons.append("organization")
    if one.key in policy.review_keys:
        reasons.append("policy_key")
    if one.source is not None and one.source in policy.review_channels:
        reasons.append("policy_channel")
    if one.agent_id is not None and one.agent_id in policy.review_agents:
        reasons.append("policy_agent")
    return reasons


def _quota(
    one: Verified, spec: KeySpec | None, policy: GatePolicy, kept_in_session: int, identity_changes_today: int
) -> str | None:
    if one.key in STYLE_KEYS or (spec is not None and spec.closes_explicitly):
        return None
    if kept_in_session >= policy.max_per_session:
        return "quota_session"
    if (
        one.type == "identity"
        and one.subject == "user"
        and identity_changes_today >= policy.max_identity_changes_per_day
    ):
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
