"""Reads a policy file: YAML in, a `GatePolicy` or every fault with its path and line out. It opens no file.

YAML is read as a tree of nodes, never built into objects: faults keep their lines, and nothing in a file can run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from memory.policy import (
    ANY_SOURCE,
    CONDITIONS,
    PROTECTED_KEYS,
    SPECIAL_CLASSES,
    STYLE_KEYS,
    GatePolicy,
    PolicyRule,
    RuleVerdict,
)
from memory.registry import key_names, spec_of
from memory.yaml_tree import BadYaml, compose

FORMAT = 1
MAX_CHARS = 65_536
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_TOP = ("afterturn_policy", "name", "rules", "protected", "special", "no_store", "standing_instructions", "quotas")
_KNOWN: Mapping[str, tuple[str, ...]] = {
    "kind": ("fact", "episode"),
    "type": ("identity", "preference", "habit", "requirement", "constraint", "relation"),
    "scope": ("thread", "ticket", "user", "organization"),
    "role": ("user", "staff", "tool"),
    "sensitivity": ("normal", "personal", "allergy", "special"),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, where: a dotted path, the line (from 1), and the reason in the contract's words."""

    path: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A file as it was read. `policy` is None when there are faults."""

    policy: GatePolicy | None
    faults: tuple[Fault, ...] = ()


def read(text: str) -> Reading:
    """The policy of a file. Shape: faults in the order of their lines. Repeat: the same answer."""
    if len(text) > MAX_CHARS:
        return Reading(None, (Fault("", 1, f"must have at most {MAX_CHARS} characters"),))
    try:
        root = compose(text)
    except BadYaml as exc:
        return Reading(None, (Fault("", exc.line, exc.reason),))
    reader = _Reader()
    policy = reader.policy(root, _version(text))
    faults = sorted(reader.faults, key=lambda one: (one.line, one.path))
    return Reading(None if faults else policy, tuple(faults))


def _version(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


_Fields = dict[str, Node]


@dataclass(slots=True)
class _Reader:
    faults: list[Fault] = field(default_factory=list[Fault])

    def policy(self, root: Node | None, digest: str) -> GatePolicy | None:
        if root is None:
            self.faults.append(Fault("", 1, "must be an object"))
            return None
        top = self.fields(root, "", _TOP)
        if "afterturn_policy" not in top:
            self._fault(root, "afterturn_policy", "is required")
        elif self.whole(top["afterturn_policy"], "afterturn_policy", least=1) != FORMAT:
            self._fault(top["afterturn_policy"], "afterturn_policy", f"must be one of {FORMAT}")
        name = self.name(top["name"], "name") if "name" in top else "policy"
        special, basis = self.special(top.get("special"))
        never = self.fields(top.get("no_store"), "no_store", ("keys", "channels", "agents"))
        quotas = self.fields(
            top.get("quotas"), "quotas", ("per_session", "identity_changes_per_day", "per_source_per_day")
        )
        shipped = GatePolicy()
        return GatePolicy(
            version=f"{name}@{digest}",
            rules=self.rules(top.get("rules")),
            special=special,
            legal_basis=basis,
            protected_keys=self.protected(top.get("protected")),
            style_keys=self.style(top.get("standing_instructions")),
            drop_keys=self.keys(never.get("keys"), "no_store.keys"),
            drop_channels=self.names(never.get("channels"), "no_store.channels"),
            drop_agents=self.names(never.get("agents"), "no_store.agents"),
            max_per_session=self.quota(quotas, "per_session", shipped.max_per_session),
            max_identity_changes_per_day=self.quota(
                quotas, "identity_changes_per_day", shipped.max_identity_changes_per_day
            ),
            max_per_source=self.sources(quotas.get("per_source_per_day")),
        )

    def rules(self, node: Node | None) -> tuple[PolicyRule, ...]:
        found: list[PolicyRule] = []
        seen: set[str] = set()
        for place, one in enumerate(self.items(node, "rules")):
            path = f"rules[{place}]"
            fields = self.fields(one, path, ("id", "when", "then"))
            for name in ("id", "then"):
                if name not in fields and isinstance(one, MappingNode):
                    self._fault(one, f"{path}.{name}", "is required")
            if "id" not in fields or "then" not in fields:
                continue
            rule_id = self.name(fields["id"], f"{path}.id")
            if rule_id in seen:
                self._fault(fields["id"], f"{path}.id", "is given twice")
            seen.add(rule_id)
            then = self.choice(fields["then"], f"{path}.then", ("review", "drop", "allow"))
            when = self.when(fields.get("when"), f"{path}.when")
            if "episode" in when.get("kind", ()) and then == "review":
                self._fault(fields["then"], f"{path}.then", "must be one of drop, allow")
            found.append(PolicyRule(id=rule_id, then=cast("RuleVerdict", then), when=when))
        return tuple(found)

    def when(self, node: Node | None, path: str) -> dict[str, frozenset[str]]:
        fields = self.fields(node, path, CONDITIONS)
        found: dict[str, frozenset[str]] = {}
        for name, one in fields.items():
            where = f"{path}.{name}"
            if name == "key":
                found[name] = self.keys(one, where)
            elif name in _KNOWN:
                found[name] = frozenset(self.choice(each, where, _KNOWN[name]) for each in self.items(one, where))
            else:
                found[name] = self.names(one, where)
        return found

    def special(self, node: Node | None) -> tuple[dict[str, str], dict[str, str]]:
        verdicts: dict[str, str] = {}
        basis: dict[str, str] = {}
        for name, one in self.fields(node, "special", SPECIAL_CLASSES).items():
            path = f"special.{name}"
            if isinstance(one, ScalarNode):
                then = self.choice(one, path, ("pending", "drop", "allow"))
                fields: _Fields = {}
            else:
                fields = self.fields(one, path, ("then", "legal_basis"))
                if "then" not in fields:
                    self._fault(one, f"{path}.then", "is required")
                    continue
                then = self.choice(fields["then"], f"{path}.then", ("pending", "drop", "allow"))
            verdicts[name] = "confirm" if then == "pending" else then
            if "legal_basis" in fields:
                basis[name] = self.name(fields["legal_basis"], f"{path}.legal_basis")
            elif then == "allow":
                self._fault(one, f"{path}.legal_basis", "is required")
        return verdicts, basis

    def protected(self, node: Node | None) -> frozenset[str]:
        if node is None:
            return PROTECTED_KEYS
        found = self.keys(node, "protected")
        for missing in sorted(PROTECTED_KEYS - found):
            self._fault(node, "protected", f"must hold {missing}")
        return found | PROTECTED_KEYS

    def style(self, node: Node | None) -> frozenset[str]:
        if node is None:
            return STYLE_KEYS
        found = self.keys(node, "standing_instructions")
        for key in sorted(found):
            spec = spec_of(key)
            if key in PROTECTED_KEYS or (spec is not None and spec.special is not None):
                self._fault(node, "standing_instructions", f"must not hold {key}")
        return found

    def sources(self, node: Node | None) -> dict[str, int]:
        found: dict[str, int] = {}
        for name, one in self.fields(node, "quotas.per_source_per_day", None).items():
            path = f"quotas.per_source_per_day.{name}"
            found[ANY_SOURCE if name == "default" else name] = self.whole(one, path)
        return found

    def quota(self, fields: _Fields, name: str, shipped: int) -> int:
        return self.whole(fields[name], f"quotas.{name}") if name in fields else shipped

    # What a node may be

    def fields(self, node: Node | None, path: str, known: tuple[str, ...] | None) -> _Fields:
        if node is None or _is_null(node):
            return {}
        if not isinstance(node, MappingNode):
            self._fault(node, path, "must be an object")
            return {}
        found: _Fields = {}
        for key, value in cast("list[tuple[Node, Node]]", node.value):
            name = str(key.value) if isinstance(key, ScalarNode) else ""
            where = f"{path}.{name}" if path else name
            if known is not None and name not in known:
                self._fault(key, where, f"is no field here; known are {', '.join(known)}")
            elif name in found:
                self._fault(key, where, "is given twice")
            else:
                found[name] = value
        return found

    def items(self, node: Node | None, path: str) -> list[Node]:
        if node is None or _is_null(node):
            return []
        if isinstance(node, ScalarNode):
            return [node]
        if not isinstance(node, SequenceNode):
            self._fault(node, path, "must be a list")
            return []
        return cast("list[Node]", node.value)

    def names(self, node: Node | None, path: str) -> frozenset[str]:
        return frozenset(self.text(one, path) for one in self.items(node, path))

    def keys(self, node: Node | None, path: str) -> frozenset[str]:
        known = key_names()
        return frozenset(self.choice(one, path, known) for one in self.items(node, path))

    def choice(self, node: Node, path: str, known: tuple[str, ...]) -> str:
        value = self.text(node, path)
        if value and value not in known:
            self._fault(node, path, f"must be one of {', '.join(known)}")
        return value

    def name(self, node: Node, path: str) -> str:
        value = self.text(node, path)
        if value and not _NAME.fullmatch(value):
            self._fault(node, path, "must be letters, digits, points, dashes or underscores, at most 64")
        return value

    def text(self, node: Node, path: str) -> str:
        if not isinstance(node, ScalarNode) or not str(node.value).strip():
            self._fault(node, path, "must be a string")
            return ""
        return str(node.value)

    def whole(self, node: Node, path: str, *, least: int = 0) -> int:
        if not isinstance(node, ScalarNode) or node.tag != "tag:yaml.org,2002:int" or not str(node.value).isdecimal():
            self._fault(node, path, "must be an integer")
            return least
        if len(node.value) > 1 and node.value.startswith("0"):
            self._fault(node, path, "must be an integer")  # 0777 is 511 to YAML
            return least
        value = int(node.value) if len(node.value) < 10 else 10**9
        if not least <= value <= 1_000_000:
            self._fault(node, path, f"must be at least {least}" if value < least else "is too large")
        return value

    def _fault(self, node: Node, path: str, reason: str) -> None:
        self.faults.append(Fault(path, node.start_mark.line + 1, reason))


def _is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.tag == "tag:yaml.org,2002:null"
