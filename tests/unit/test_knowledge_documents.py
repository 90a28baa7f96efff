"""A document is checked whole before any of it counts."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from memory.knowledge import document
from schemas.errors import BadInput

NOW = datetime(2026, 5, 1, tzinfo=UTC)
HEAD = {"source": "returns", "version": date(2026, 5, 1)}


def test_a_day_is_a_version_and_a_time_of_its_own() -> None:
    found = document({**HEAD, "valid_from": date(2026, 5, 1)}, [["a", "about", 7]], now=NOW)

    assert (found.version, found.valid_from, found.triples[0].object) == ("2026-05-01", NOW, "7")


def test_without_a_time_it_is_in_force_from_now_and_the_same_document_again() -> None:
    one, other = (document(HEAD, [["a", "about", "b"]], now=now) for now in (NOW, NOW.replace(year=2027)))

    assert not one.is_dated
    assert one.content_hash == other.content_hash
    negative = {"subject": "a", "predicate": "about", "object": "b", "not": True}
    assert document(HEAD, [negative], now=NOW).content_hash != one.content_hash


@pytest.mark.parametrize(
    ("head", "rows", "field"),
    [
        ({}, [["a", "b", "c"]], "source"),
        ({**HEAD, "author": "x"}, [["a", "b", "c"]], "author"),
        ({**HEAD, "valid_from": "soon"}, [["a", "b", "c"]], "valid_from"),
        (HEAD, [], "triples"),
        (HEAD, [["a", "b"]], "triples[1]"),
        (HEAD, [["a", "b", "c"], 7], "triples[2]"),
        (HEAD, [["a", "b", ""]], "triples[1]"),
        (HEAD, [["a", "b", "see https://evil.example"]], "triples[1]"),
        (HEAD, [{"subject": "a", "predicate": "b", "object": "c", "not": "yes"}], "triples[1]"),
        (HEAD, [{"subject": "a", "predicate": "b", "object": "c", "why": "d"}], "triples[1]"),
        (HEAD, [["a", "b", ["c"]]], "triples[1]"),
        (HEAD, [["a", "b", {"c": "d"}]], "triples[1]"),
        (HEAD, [["Norway", "code", False]], "triples[1]"),
        (HEAD, [["a", "b", "c\ud800"]], "triples[1]"),
        (HEAD, [["a", "b", "c\x00"]], "triples[1]"),
        (HEAD, [["a", "b", "c\u2028d"]], "triples[1]"),
        ({**HEAD, "version": ["1"]}, [["a", "b", "c"]], "version"),
        ({**HEAD, "source": True}, [["a", "b", "c"]], "source"),
    ],
)
def test_what_is_wrong_is_named(head: dict[str, object], rows: list[object], field: str) -> None:
    with pytest.raises(BadInput) as caught:
        document(head, rows, now=NOW)

    assert caught.value.field == field
