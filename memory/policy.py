"""The policy of the gate as values: rules that a tenant may write, and what they may not loosen.

A rule names conditions, all of which must fit; of the rules of a file the first that fits decides. No rule lets in what
the guard rejects, a protected key, or a special category without its user or a legal basis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

RuleVerdict = Literal["review", "drop", "allow"]

PROTECTED_KEYS = frozenset({"legal_name", "payout", "recovery_contact", "role"})
"""Always pending, whatever a policy says; a policy may add to them."""

STYLE_KEYS = frozenset({"language", "contact", "timezone"})
SPECIAL_CLASSES = ("health", "pregnancy", "religion", "orientation", "politics", "union", "child")
ANY_SOURCE = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a rule may ask of a memory that is to be kept. None stands for: it has none."""

    kind: str = "fact"
    type: str | None = None
    scope: str | None = None
    key: str | None = None
    role: str | None = None
    channel: str | None = None
    agent: str | None = None
    sensitivity: str | None = None


CONDITIONS = ("kind", "type", "scope", "key", "role", "channel", "agent", "sensitivity")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRule:
    """One rule. `when` maps conditions to the values that fit; a condition that is left out fits anything."""

    id: str
    then: RuleVerdict
    when: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def fits(self, one: Statement) -> bool:
        """Whether every condition holds. Without the condition `kind` a rule speaks of facts."""
        kinds = self.when.get("kind", frozenset({"fact"}))
        return one.kind in kinds and all(
            getattr(one, name) in values for name, values in self.when.items() if name != "kind"
        )


#: What the rules as shipped are called: the version of the file that says them, `deploy/policy.yaml`. A test compares.
SHIPPED_VERSION = "shipped@ca066c61d7fd"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePolicy:
    """The shipped rules; a tenant's file overrides fields by name.

    `special` says per class what happens: `confirm` (pending until the user confirms), `drop`, or `allow` (only with
    its legal basis in `legal_basis`). `review_keys` and `review_channels` are always pending, `drop_keys` never kept.
    `style_keys` are harmless wishes: no quota counts them, no standing order holds those whose values are codes.
    Quotas count what was kept at once (auto): in this session, from this source of this person in a day, or as changes
    of identity in a day, whichever day around this statement is the fullest. `max_per_source` is by source, ANY_SOURCE
    for those not named.
    """

    version: str = SHIPPED_VERSION
    rules: tuple[PolicyRule, ...] = ()
    special: Mapping[str, str] = field(default_factory=dict[str, str])
    legal_basis: Mapping[str, str] = field(default_factory=dict[str, str])
    protected_keys: frozenset[str] = PROTECTED_KEYS
    style_keys: frozenset[str] = STYLE_KEYS
    review_keys: frozenset[str] = frozenset()
    drop_keys: frozenset[str] = frozenset()
    drop_channels: frozenset[str] = frozenset()
    drop_agents: frozenset[str] = frozenset()
    review_channels: frozenset[str] = frozenset()
    review_agents: frozenset[str] = frozenset()
    max_per_session: int = 20
    max_identity_changes_per_day: int = 3
    max_per_source: Mapping[str, int] = field(default_factory=dict[str, int])

    def rule_for(self, one: Statement) -> PolicyRule | None:
        """The first rule that fits."""
        return next((rule for rule in self.rules if rule.fits(one)), None)

    def keeps_nothing_of(self, one: Statement) -> bool:
        """Whether this is among what is never kept (`no_store`)."""
        return one.key in self.drop_keys or one.channel in self.drop_channels or one.agent in self.drop_agents

    def keeps_episode(self, channels: Iterable[str | None], agent: str | None) -> bool:
        """Whether a window of these channels and this agent may leave an episode."""
        seen = [Statement(kind="episode", scope="user", channel=channel, agent=agent) for channel in channels]
        return not any(
            self.keeps_nothing_of(one) or ((rule := self.rule_for(one)) is not None and rule.then == "drop")
            for one in seen
        )

    def source_quota(self, source: str | None) -> int | None:
        """How many statements a user may leave in a day by this source; None for any number."""
        return self.max_per_source.get(source or "", self.max_per_source.get(ANY_SOURCE))


DEFAULT_POLICY = GatePolicy()
