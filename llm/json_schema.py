"""The strict JSON schema of a window's answer, derived from `schemas/drafts.py` so that the two cannot drift.

Only what every strict mode accepts: closed objects, all fields required, nullable as anyOf with null, enums. No
references, defaults, titles, formats or patterns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from memory.prompts import turn_labels
from schemas.drafts import WindowDraft

Schema = dict[str, Any]

SCHEMA_NAME = "window_answer"
# Hosted strict modes allow 1000 enum values in a whole schema; labels stand in three places.
MAX_LABELS = 256


def window_schema(keys: Sequence[str], labels: Sequence[str]) -> Schema:
    """The schema of one answer, with `keys` and turn `labels` as enums. An empty sequence leaves a plain string.

    The result is shared: never change it.
    """
    return _window_schema(tuple(keys), tuple(labels))


def bucketed_labels(turn_count: int) -> list[str]:
    """t1 ... tn for n = the next power of two >= `turn_count` (at least 8), or [] beyond 256.

    Hosted providers compile and cache a grammar for each new schema: five sizes are five compilations, not hundreds.
    A label above `turn_count` names no turn, and verification drops it.
    """
    if turn_count > MAX_LABELS:
        return []
    return turn_labels(max(8, 1 << (turn_count - 1).bit_length()))


@lru_cache(maxsize=64)
def _window_schema(keys: tuple[str, ...], labels: tuple[str, ...]) -> Schema:
    source = WindowDraft.model_json_schema()
    schema = _strict(source, cast("Mapping[str, Schema]", source.get("$defs", {})))
    fields: Schema = schema["properties"]
    fact: Schema = fields["facts"]["items"]["properties"]
    procedure = next(option for option in fields["procedure"]["anyOf"] if option.get("type") == "object")
    if keys:
        fact["key"] = _enum(keys)
    if labels:
        fact["turn"] = _enum(labels)
        fields["outcome_turns"]["items"] = _enum(labels)
        procedure["properties"]["turns"]["items"] = _enum(labels)
    return schema


def _enum(values: Sequence[str]) -> Schema:
    return {"type": "string", "enum": list(values)}


def _strict(node: Schema, definitions: Mapping[str, Schema]) -> Schema:
    if "$ref" in node:
        return _strict(definitions[str(node["$ref"]).rsplit("/", 1)[-1]], definitions)
    if "anyOf" in node:
        return {"anyOf": [_strict(option, definitions) for option in node["anyOf"]]}
    kind = node["type"]
    if kind == "object":
        properties = {name: _strict(field, definitions) for name, field in node["properties"].items()}
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    if kind == "array":
        return {"type": "array", "items": _strict(node["items"], definitions)}
    return {"type": kind, "enum": list(node["enum"])} if "enum" in node else {"type": kind}
