"""Working memory's structured state: the patches of its events, folded in their order. Never a model's wish."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID

APPENDED = frozenset(
    {
        "known_facts",
        "checked_systems",
        "open_items",
        "pending_questions",
        "relevant_policy_ids",
        "risk_flags",
        "failed_attempts",
    }
)
"""Lists that hold each entry once, in the order of first mention."""

LOGGED = frozenset({"thoughts", "actions", "observations"})
"""Lists that keep repetitions: what was done twice was done twice."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingPolicy:
    """Bounds of a state: the newest `max_items` of a list stay; deeper than `max_depth` a value is replaced whole."""

    max_items: int = 200
    max_depth: int = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchView:
    """One `state` event."""

    event_id: UUID
    at: datetime
    patch: Mapping[str, Any]


DEFAULT_POLICY = WorkingPolicy()


def fold(patches: Sequence[PatchView], policy: WorkingPolicy = DEFAULT_POLICY) -> Json:
    """The state after all patches, read in the order (at, event_id); one event counts once.

    A patch is a JSON merge patch: objects merge, None deletes, anything else replaces. Known list fields differ: a list
    appends (each entry once; the logs keep repetitions), `{"set": [...]}` replaces, `{"remove": [...]}` takes out.
    A single value for a known list is a list of one. Source: RFC 7396.
    """
    state: Json = {}
    seen: set[UUID] = set()
    for one in sorted(patches, key=lambda one: (one.at, str(one.event_id))):
        if one.event_id in seen:
            continue
        seen.add(one.event_id)
        for field, value in one.patch.items():
            if value is None:
                state.pop(field, None)
            elif field in APPENDED or field in LOGGED:
                state[field] = _listed(state.get(field), value, unique=field in APPENDED, policy=policy)
            else:
                state[field] = _merged(state.get(field), value, policy.max_depth)
    return state


def _listed(held: Any, value: Any, *, unique: bool, policy: WorkingPolicy) -> list[Any]:
    items: list[Any] = list(cast(list[Any], held)) if isinstance(held, list) else []
    if isinstance(value, dict) and set(cast(Json, value)) <= {"set", "remove", "add"} and value:
        order = cast(Json, value)
        items = _as_list(order["set"]) if "set" in order else items
        gone = {_shape(item) for item in _as_list(order.get("remove", []))}
        items = [item for item in items if _shape(item) not in gone] + _as_list(order.get("add", []))
    else:
        items = items + _as_list(value)
    if unique:
        items = _once(items)
    return items[-policy.max_items :]


def _once(items: Sequence[Any]) -> list[Any]:
    first: dict[str, Any] = {}
    for item in items:
        first.setdefault(_shape(item), item)
    return list(first.values())


def _as_list(value: Any) -> list[Any]:
    return list(cast(list[Any], value)) if isinstance(value, list) else [value]


def _shape(item: Any) -> str:
    return json.dumps(item, ensure_ascii=False, sort_keys=True, default=str)


def _merged(held: Any, patch: Any, depth: int) -> Any:
    if not isinstance(patch, dict):
        return patch
    changes = cast(Json, patch)
    base: Json = dict(cast(Json, held)) if isinstance(held, dict) and depth > 0 else {}
    for name, value in changes.items():
        if value is None:
            base.pop(name, None)
        else:
            base[name] = _merged(base.get(name), value, depth - 1)
    return base
