"""The strict schema: dull, closed, and the same as our drafts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from llm.json_schema import bucketed_labels, window_schema
from memory.prompts import KEYS, turn_labels
from schemas.drafts import EntityDraft, FactDraft, ProcedureDraft, WindowDraft

SCHEMA = window_schema(list(KEYS), bucketed_labels(3))


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    parts: list[dict[str, Any]] = [*node.get("properties", {}).values(), *node.get("anyOf", [])]
    if "items" in node:
        parts.append(node["items"])
    for part in parts:
        yield from nodes(part)


def test_every_object_is_closed_and_requires_all_its_fields() -> None:
    objects = [node for node in nodes(SCHEMA) if node.get("type") == "object"]

    assert len(objects) == 4
    for node in objects:
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])


def test_nothing_is_used_that_strict_modes_refuse() -> None:
    allowed = {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf"}

    assert all(node.keys() <= allowed for node in nodes(SCHEMA))


def test_fields_keep_the_order_of_the_drafts_reason_first() -> None:
    fields = SCHEMA["properties"]

    assert list(fields) == list(WindowDraft.model_fields)
    assert list(fields["facts"]["items"]["properties"]) == list(FactDraft.model_fields)
    assert list(fields["facts"]["items"]["properties"])[:2] == ["reason", "quote"]
    assert list(fields["entities"]["items"]["properties"]) == list(EntityDraft.model_fields)
    assert list(fields["procedure"]["anyOf"][0]["properties"]) == list(ProcedureDraft.model_fields)


def test_keys_and_labels_are_enums_and_null_is_a_choice() -> None:
    fields = SCHEMA["properties"]
    fact = fields["facts"]["items"]["properties"]

    assert fact["key"] == {"type": "string", "enum": list(KEYS)}
    assert fact["turn"]["enum"] == fields["outcome_turns"]["items"]["enum"] == turn_labels(8)
    assert fields["procedure"]["anyOf"][0]["properties"]["turns"]["items"]["enum"] == turn_labels(8)
    assert fact["object"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert fact["polarity"]["enum"] == ["+", "-", "retract", "past"]
    assert fields["procedure"]["anyOf"][1] == {"type": "null"}


def test_without_keys_and_labels_plain_strings_remain() -> None:
    fact = window_schema([], [])["properties"]["facts"]["items"]["properties"]

    assert fact["key"] == fact["turn"] == {"type": "string"}


@pytest.mark.parametrize(("turns", "labels"), [(0, 8), (1, 8), (8, 8), (9, 16), (100, 128), (256, 256), (257, 0)])
def test_few_sizes_of_labels_make_few_schemas(turns: int, labels: int) -> None:
    assert len(bucketed_labels(turns)) == labels


def test_the_largest_schema_stays_under_the_limits_of_hosted_strict_modes() -> None:
    schema = window_schema(list(KEYS), bucketed_labels(256))

    assert sum(len(node.get("enum", ())) for node in nodes(schema)) <= 1000
    assert len(json.dumps(schema)) < 20_000
