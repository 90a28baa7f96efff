"""An organisation's document as it is imported: a name, a version, since when it is in force, and its triples.

A version is immutable. What a file says is checked whole before any of it counts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import cast

from afterturn.limits import name_fault
from memory.validators import MAX_VALUE, text
from schemas.errors import BadInput

MAX_TRIPLES = 100_000
_NAME_CHARS = 120
_FIELDS = frozenset({"subject", "predicate", "object", "not"})
_HEAD = frozenset({"source", "version", "valid_from", "triples"})
_PARTS = 3


@dataclass(frozen=True, slots=True)
class Stated:
    """One triple as the file has it. `is_negative`: it is stated not to be so."""

    subject: str
    predicate: str
    object: str
    is_negative: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One version. `is_dated`: the file says since when it is in force. The hash is equal for equal triples."""

    name: str
    version: str
    valid_from: datetime
    triples: tuple[Stated, ...]
    is_dated: bool = True

    @property
    def content_hash(self) -> str:
        """Of the triples as they are written."""
        rows = [[one.subject, one.predicate, one.object, one.is_negative] for one in self.triples]
        said = json.dumps(rows, ensure_ascii=False)
        return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()


def document(head: Mapping[str, object], rows: Sequence[object], *, now: datetime) -> Document:
    """The document of a file's head (source, version, valid_from) and its triples.

    A triple is [subject, predicate, object], or an object with those fields and, where it is not so, `not: true`.
    Without `valid_from` it is in force from `now`. Raises: BadInput, with the line counted from 1.
    """
    unknown = set(head) - _HEAD
    if unknown:
        raise BadInput(min(unknown), f"is no field here; known are {', '.join(sorted(_HEAD))}")
    if not rows:
        raise BadInput("triples", "must not be empty")
    if len(rows) > MAX_TRIPLES:
        raise BadInput("triples", f"must have at most {MAX_TRIPLES} items")
    given = head.get("valid_from")
    return Document(
        name=_named(head, "source"),
        version=_named(head, "version"),
        valid_from=now if given is None else _time(given),
        triples=tuple(_triple(row, number) for number, row in enumerate(rows, 1)),
        is_dated=given is not None,
    )


def _named(head: Mapping[str, object], field: str) -> str:
    bare = _bare(head.get(field))
    if bare is None or len(bare) > _NAME_CHARS:
        raise BadInput(field, f"must have 1 to {_NAME_CHARS} characters of plain text")
    return bare


def _time(given: object) -> datetime:
    if isinstance(given, datetime):
        found = given
    elif isinstance(given, date):
        found = datetime.combine(given, time())
    else:
        try:
            found = datetime.fromisoformat(str(given))
        except ValueError:
            raise BadInput("valid_from", "must be a day or an RFC 3339 time") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _triple(row: object, number: int) -> Stated:
    where = f"triples[{number}]"
    if isinstance(row, list):
        parts = cast("list[object]", row)
        if len(parts) != _PARTS:
            raise BadInput(where, "must be subject, predicate and object")
        subject, predicate, object_ = (_part(part, where) for part in parts)
        return Stated(subject, predicate, object_)
    if not isinstance(row, dict):
        raise BadInput(where, "must be a list of three, or an object")
    fields = cast("dict[str, object]", row)
    if set(fields) - _FIELDS or not isinstance(fields.get("not", False), bool):
        raise BadInput(where, "has other fields than subject, predicate, object and not")
    subject, predicate, object_ = (_part(fields.get(name), where) for name in ("subject", "predicate", "object"))
    return Stated(subject, predicate, object_, is_negative=fields.get("not") is True)


def _part(value: object, where: str) -> str:
    said = _bare(value)
    if said is None:
        raise BadInput(where, f"must have 1 to {MAX_VALUE} characters of plain text")
    return said


def _bare(value: object) -> str | None:
    """A word, a number or a day as text; None of what is none, such as a list, or yes and no, or holds hidden marks."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | date):
        return None
    said = (value.isoformat() if isinstance(value, date) else str(value)).strip()
    return said if text(said, "und") is not None and name_fault(said) is None else None
