"""The registry of fact keys: what each may hold, how its slot behaves, who may say it, how it is called.

A key that is not here cannot be stored. Behaviour belongs to the key, never to the speaker or to a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from memory import codes, validators
from memory.codes import Code, fold
from memory.labels import LABELS
from memory.validators import Validator
from schemas.drafts import FactType

Cardinality = Literal["single", "multi", "by_object", "free"]
Scope = Literal["thread", "ticket", "user", "organization"]
Sensitivity = Literal["normal", "personal", "allergy", "special"]


@dataclass(frozen=True, slots=True)
class KeySpec:
    """One key.

    `scope` is where its facts live unless policy says otherwise (`ticket`: the ticket, else the thread).
    `tool`: a successful tool result counts as evidence.
    `negative`: its facts are negations by themselves (what is avoided): `-` is how they hold, and `+` means no more.
    `closes_explicitly`: only a retraction ends it, never absence, age or a model. `special` names a special category.
    """

    name: str
    type: FactType
    cardinality: Cardinality
    _: KW_ONLY
    validate: Validator = validators.text
    scope: Scope = "user"
    volatile: bool = False
    tool: bool = False
    protected: bool = False
    special: str | None = None
    negative: bool = False
    closes_explicitly: bool = False
    sensitivity: Sensitivity = "normal"
    codes: Mapping[str, Code] = field(default_factory=dict[str, Code])

    @property
    def en(self) -> str:
        """The English title."""
        return LABELS[self.name][0]

    @property
    def zh(self) -> str:
        """The Chinese title."""
        return LABELS[self.name][1]

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names that people or models use."""
        return LABELS[self.name][2]


def spec_of(key: str) -> KeySpec | None:
    """The spec of a key named by its name, its zh or en title, or an alias; None for anything else."""
    return REGISTRY.get(key) or _BY_ALIAS.get(fold(key).replace("_", " "))


def is_negation(key: str, polarity: str) -> bool:
    """Whether a fact of that sign says that something is not so; `avoid` says by itself that it is kept away from."""
    spec = spec_of(key)
    return polarity == "-" and not (spec is not None and spec.negative)


def canonical(key: str, value: str, language: str) -> str | None:
    """The form in which equal values of `key` are equal. None: the key is unknown or its validator refuses the value.

    `language` is that of the quote (`zh`, `en`, `und`). Never shown: packs render the words as said.
    """
    spec = spec_of(key)
    return spec.validate(value, language) if spec else None


def key_names() -> tuple[str, ...]:
    """Every key, in the registry's order (stable: it is part of the prompt)."""
    return tuple(REGISTRY)


def _coded(table: Mapping[str, Code]) -> Validator:
    return validators.coded(table)


SPECIAL: Final = "special_"
"""Prefix of the flags of special categories: pending until the user confirms."""

_IDENTITY = (
    KeySpec("name", "identity", "single", validate=validators.name, sensitivity="personal"),
    KeySpec("gender", "identity", "single", validate=_coded(codes.GENDER), codes=codes.GENDER, sensitivity="personal"),
    KeySpec("birth", "identity", "single", validate=validators.day, sensitivity="personal"),
    KeySpec("age", "identity", "single", validate=validators.age, sensitivity="personal"),
    KeySpec("language", "preference", "single", validate=_coded(codes.LANGUAGE), codes=codes.LANGUAGE),
    KeySpec("timezone", "identity", "single", validate=validators.time_zone),
    KeySpec("company", "identity", "single", validate=validators.company, sensitivity="personal"),
    KeySpec("diet", "preference", "single", validate=_coded(codes.DIET), codes=codes.DIET, sensitivity="personal"),
    KeySpec("job", "identity", "single", validate=validators.job, sensitivity="personal"),
    KeySpec("city", "identity", "single", validate=validators.city, sensitivity="personal"),
)

_PREFERENCES = (
    KeySpec("contact", "preference", "multi", validate=_coded(codes.CONTACT), codes=codes.CONTACT),
    KeySpec("likes", "preference", "multi", validate=validators.phrase),
    KeySpec("habit", "habit", "multi", validate=validators.phrase),
    KeySpec("skill", "identity", "multi", validate=validators.phrase),
    KeySpec("tool", "habit", "multi", validate=validators.phrase),
    KeySpec("avoid", "constraint", "multi", validate=validators.phrase, negative=True),
    KeySpec("constraint", "constraint", "multi", closes_explicitly=True),
    KeySpec(
        "allergy",
        "constraint",
        "multi",
        validate=validators.phrase,
        closes_explicitly=True,
        sensitivity="allergy",
    ),
    KeySpec("relation", "relation", "multi", validate=validators.phrase, sensitivity="personal"),
    KeySpec("need", "requirement", "by_object", validate=validators.phrase),
    KeySpec("budget", "requirement", "by_object", validate=validators.amount),
)

_TOOL = (
    KeySpec("order_status", "requirement", "by_object", scope="ticket", volatile=True, tool=True),
    KeySpec("stock", "requirement", "by_object", validate=validators.number, scope="ticket", volatile=True, tool=True),
    KeySpec(
        "balance", "requirement", "by_object", validate=validators.number, scope="ticket", volatile=True, tool=True
    ),
    KeySpec("parcel", "requirement", "by_object", scope="ticket", volatile=True, tool=True),
    KeySpec("purchase_date", "requirement", "by_object", validate=validators.day, scope="ticket", tool=True),
    KeySpec("exchange_number", "requirement", "by_object", validate=validators.reference, scope="ticket", tool=True),
    KeySpec("past_approval", "requirement", "by_object", scope="ticket", tool=True),
)

_PROTECTED = (
    KeySpec("legal_name", "identity", "single", validate=validators.name, protected=True, sensitivity="personal"),
    KeySpec("payout", "identity", "single", protected=True, sensitivity="personal"),
    KeySpec("recovery_contact", "identity", "single", protected=True, sensitivity="personal"),
    KeySpec("role", "identity", "single", protected=True),
)


_SPECIAL = tuple(
    KeySpec(name, "identity", "multi", validate=validators.phrase, special=name, sensitivity="special")
    for name in ("health", "pregnancy", "religion", "orientation", "politics", "union")
)

_FREE = (KeySpec("other", "requirement", "free"),)

REGISTRY: Mapping[str, KeySpec] = MappingProxyType(
    {spec.name: spec for spec in (*_IDENTITY, *_PREFERENCES, *_TOOL, *_PROTECTED, *_SPECIAL, *_FREE)}
)
"""Every key by its name."""

_BY_ALIAS: Mapping[str, KeySpec] = MappingProxyType(
    {
        fold(word).replace("_", " "): spec
        for spec in REGISTRY.values()
        for word in (spec.name, spec.en, spec.zh, *spec.aliases)
    }
)
