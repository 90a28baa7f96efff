"""Writes of the embedded index. Each function runs inside one transaction that its caller opened."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from schemas.indexing import IndexRow, Vector
from stores.embedded import packing

# Microseconds since 1970 for "always" and "open": outside of every time that Python can hold.
ALWAYS = -(2**62)
NEVER = 2**62

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Tags in one column: a separator that no tag may hold, at both ends too.
TAG_MARK = "\x1f"

ORGANIZATION = "o"


def user_part(user_ref: UUID) -> str:
    """The part that holds what only this user's questions may see."""
    return f"u{user_ref.hex}"


def ticket_part(ticket_id: str) -> str:
    """The part that holds what questions about this ticket may see."""
    return f"t{ticket_id}"


def thread_part(thread_id: str) -> str:
    """The part that holds what everybody in a shared thread may see, and what only this thread is about."""
    return f"h{thread_id}"


def token(part: int, term: str) -> str:
    """A term as the keyword lists of one part hold it."""
    return f"{part}_{term}"


def micros(at: datetime | None, absent: int) -> int:
    """Microseconds since 1970 UTC, exactly; `absent` for None. Raises: TypeError on a naive time."""
    if at is None:
        return absent
    since = at - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


@dataclass(slots=True)
class _Moves:
    """What changes among one part's vectors."""

    gone: set[int] = field(default_factory=set[int])
    fresh: dict[int, Vector] = field(default_factory=dict[int, Vector])


def vector_length(connection: sqlite3.Connection) -> int:
    """How many dimensions this file's vectors have; 0 before the first one."""
    found = connection.execute("SELECT value FROM meta WHERE key = 'dimensions'").fetchone()
    return int(found[0]) if found is not None else 0


def put(connection: sqlite3.Connection, rows: Sequence[IndexRow]) -> None:
    """Writes rows whole, in place of those with the same ids. Of two rows with one id the last stands.

    Raises: BadInput for a vector that does not fit the file's.
    """
    latest = list({row.id: row for row in rows}.values())
    dimensions = _settle_length(connection, latest)
    moves: dict[int, _Moves] = defaultdict(_Moves)
    _take_out(connection, [row.id for row in latest], moves)
    parts = {name: _part(connection, name) for name in sorted({_part_name(row) for row in latest})}
    for row in latest:
        part = parts[_part_name(row)]
        rid = _put_doc(connection, row, part)
        move = moves[part]
        if row.vector is not None:
            move.fresh[rid] = row.vector
    _apply(connection, moves, dimensions)


def remove(connection: sqlite3.Connection, ids: Iterable[UUID]) -> int:
    """Deletes rows by id; how many there were."""
    moves: dict[int, _Moves] = defaultdict(_Moves)
    count = _take_out(connection, list(ids), moves)
    _apply(connection, moves, vector_length(connection))
    return count


def ids_of_user(connection: sqlite3.Connection, user_ref: UUID, *, limit: int) -> list[UUID]:
    """Up to `limit` ids of a user's rows, in every scope."""
    found = connection.execute("SELECT id FROM doc WHERE user = ? LIMIT ?", (user_ref.bytes, limit))
    return [UUID(bytes=row[0]) for row in found]


def count_of_user(connection: sqlite3.Connection, user_ref: UUID) -> int:
    """How many rows a user has."""
    return int(connection.execute("SELECT count(*) FROM doc WHERE user = ?", (user_ref.bytes,)).fetchone()[0])


def page(
    connection: sqlite3.Connection, after: bytes, user_ref: UUID | None, limit: int
) -> list[tuple[bytes, int, int]]:
    """(id, row_version, has a vector) of the next rows in id order, of one user or of all."""
    whose, values = ("", ()) if user_ref is None else ("AND user = ?", (user_ref.bytes,))
    found = connection.execute(
        f"SELECT id, row_version, has_vector FROM doc WHERE id > ? {whose} ORDER BY id LIMIT ?",  # noqa: S608  constants
        (after, *values, limit),
    )
    return found.fetchall()


def held(connection: sqlite3.Connection, ids: Sequence[UUID]) -> list[tuple[bytes, int, int]]:
    """(id, row_version, has a vector) of those of the rows that are there."""
    marks = ", ".join("?" * len(ids))
    found = connection.execute(
        f"SELECT id, row_version, has_vector FROM doc WHERE id IN ({marks})",  # noqa: S608  marks only
        [one.bytes for one in ids],
    )
    return found.fetchall()


def merge(connection: sqlite3.Connection) -> None:
    """Rewrites the keyword lists without what was deleted from them."""
    connection.execute("INSERT INTO fts (fts) VALUES ('optimize')")


def clear(connection: sqlite3.Connection) -> None:
    """Deletes every row."""
    connection.execute("INSERT INTO fts (fts) VALUES ('delete-all')")
    for table in ("doc", "seg", "part", "meta"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608  a constant


def _settle_length(connection: sqlite3.Connection, rows: Sequence[IndexRow]) -> int:
    """The file's vector length, fixed by the first vector ever written."""
    dimensions = vector_length(connection)
    first = next((row.vector for row in rows if row.vector is not None), None)
    if dimensions or first is None:
        return dimensions
    connection.execute("INSERT INTO meta VALUES ('dimensions', ?)", (str(first.size),))
    return first.size


def _part_name(row: IndexRow) -> str:
    if row.scope == "user":
        return user_part(row.user_ref)
    if row.scope == "ticket":
        return ticket_part(row.scope_key)
    if row.scope == "thread":
        return thread_part(row.scope_key)
    if row.scope == "organization":
        return ORGANIZATION
    # No question sees other scopes, but they are listed and deleted like the rest.
    return f"x{row.scope}:{row.scope_key}"


def _part(connection: sqlite3.Connection, name: str) -> int:
    connection.execute("INSERT OR IGNORE INTO part (name, version) VALUES (?, 0)", (name,))
    return int(connection.execute("SELECT id FROM part WHERE name = ?", (name,)).fetchone()[0])


def _put_doc(connection: sqlite3.Connection, row: IndexRow, part: int) -> int:
    exact = " ".join(row.exact_terms)
    tags = TAG_MARK + TAG_MARK.join(row.tags) + TAG_MARK if row.tags else ""
    values = (
        *(row.id.bytes, part, row.user_ref.bytes, row.row_version, row.vector is not None),
        *(row.kind, row.agent_id, row.outcome, tags, micros(row.created_at, 0)),
        *(micros(row.valid_from, ALWAYS), micros(row.valid_until, NEVER), micros(row.expires_at, NEVER)),
        *(row.own_terms.count(" ") + 1, row.context_terms.count(" ") + 1),
        *(row.own_terms, exact, row.context_terms),
    )
    marks = ", ".join("?" * len(values))
    rid = connection.execute(f"INSERT INTO doc VALUES (NULL, {marks})", values).lastrowid  # noqa: S608  marks only
    connection.execute(
        "INSERT INTO fts (rowid, own, exact, context) VALUES (?, ?, ?, ?)", (rid, *_tokens(part, *values[-3:]))
    )
    return int(rid or 0)


def _take_out(connection: sqlite3.Connection, ids: Sequence[UUID], moves: dict[int, _Moves]) -> int:
    """Deletes docs with their keywords, and notes which vectors have to go."""
    count = 0
    for rid, part, has_vector, own, exact, context in _docs(connection, ids):
        connection.execute(
            "INSERT INTO fts (fts, rowid, own, exact, context) VALUES ('delete', ?, ?, ?, ?)",
            (rid, *_tokens(part, own, exact, context)),
        )
        connection.execute("DELETE FROM doc WHERE rid = ?", (rid,))
        gone = moves[part].gone
        if has_vector:
            gone.add(rid)
        count += 1
    return count


def _docs(connection: sqlite3.Connection, ids: Sequence[UUID]) -> Iterator[tuple[int, int, int, str, str, str]]:
    for record_id in ids:
        found = connection.execute(
            "SELECT rid, part, has_vector, own, exact, context FROM doc WHERE id = ?", (record_id.bytes,)
        ).fetchone()
        if found is not None:
            yield found


def _apply(connection: sqlite3.Connection, moves: dict[int, _Moves], dimensions: int) -> None:
    for part, move in moves.items():
        if move.gone or move.fresh:
            packing.change(connection, part, gone=move.gone, fresh=move.fresh, dimensions=dimensions)
        connection.execute("UPDATE part SET version = version + 1 WHERE id = ?", (part,))


def _tokens(part: int, *texts: str) -> list[str]:
    """Space-joined terms as FTS5 is given them."""
    return [" ".join([token(part, term) for term in text.split()]) for text in texts]
