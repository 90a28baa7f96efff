"""One part in memory, so that filters are array masks; kept as long as its version stands, and mended when it moved."""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import numpy.typing as npt

from stores.embedded import packing
from stores.embedded.packing import Packed, Rids

CACHE_BYTES = 64 * 2**20

Mask = npt.NDArray[np.bool_]

_LABELS = ("id", "kind", "agent", "outcome", "tags")
_NUMBERS = ("row_version", "created", "valid_from", "valid_until", "expires", "own_length", "context_length")
_COLUMNS = ", ".join(("rid", *_LABELS, *_NUMBERS))
# Row numbers asked for in one statement; SQLite takes 32766 at most.
_FEW = 500


@dataclass(frozen=True, slots=True)
class Part:
    """All rows of one part in rid order, with the vectors of those that have one.

    Shape: `labels` is [id, kind, agent, outcome, tags] by row, `numbers` is [row_version, created, valid_from,
    valid_until, expires, own_length, context_length] by row.
    """

    version: int
    rids: Rids
    labels: npt.NDArray[np.object_]
    numbers: npt.NDArray[np.int64]
    vectors: Packed

    @property
    def kinds(self) -> npt.NDArray[np.object_]:
        """What each row is."""
        return self.labels[1]

    @property
    def agents(self) -> npt.NDArray[np.object_]:
        """Who recorded each row, or None."""
        return self.labels[2]

    @property
    def outcomes(self) -> npt.NDArray[np.object_]:
        """How what each row tells ended, or None."""
        return self.labels[3]

    @property
    def tags(self) -> npt.NDArray[np.object_]:
        """Each row's tags between marks."""
        return self.labels[4]

    @property
    def times(self) -> npt.NDArray[np.int64]:
        """[created, valid_from, valid_until, expires] by row, in microseconds."""
        return self.numbers[1:5]

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """[own, context] by row, in terms."""
        return self.numbers[5:7]

    @property
    def byte_count(self) -> int:
        """About how much memory it takes."""
        return 400 + len(self.rids) * 400 + self.vectors.codes.nbytes


class PartCache:
    """Parts by (epoch of the file, part); the longest unused go first."""

    def __init__(self, limit_bytes: int = CACHE_BYTES) -> None:
        self._limit = limit_bytes
        self._lock = threading.Lock()
        self._parts: OrderedDict[tuple[UUID, int], Part] = OrderedDict()
        self._bytes = 0

    def get(self, key: tuple[UUID, int], version: int, load: Callable[[Part | None], Part]) -> Part:
        """The part at this version; `load` makes it, given the one of another version where that is here."""
        with self._lock:
            held = self._parts.get(key)
            if held is not None and held.version == version:
                self._parts.move_to_end(key)
                return held
        part = load(held)
        with self._lock:
            self._drop(key)
            self._parts[key] = part
            self._bytes += part.byte_count
            while self._bytes > self._limit and len(self._parts) > 1:
                self._drop(next(iter(self._parts)))
        return part

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._parts.clear()
            self._bytes = 0

    def _drop(self, key: tuple[UUID, int]) -> None:
        held = self._parts.pop(key, None)
        if held is not None:
            self._bytes -= held.byte_count


def load(connection: sqlite3.Connection, part: int, version: int, dimensions: int, held: Part | None) -> Part:
    """The part as the connection's snapshot shows it; rows that `held` has already are not read again.

    A row never changes under its rid (an upsert gives a new one, and none comes back), so the rids alone tell.
    """
    vectors = packing.load(connection, part, dimensions)
    if held is None:
        found = connection.execute(f"SELECT {_COLUMNS} FROM doc WHERE part = ?", (part,)).fetchall()  # noqa: S608
        return _ordered(version, *_columns(found), vectors)
    listed = connection.execute("SELECT rid FROM doc WHERE part = ?", (part,)).fetchall()
    rids = np.asarray(listed, dtype=np.int64).ravel()
    stays = np.isin(held.rids, rids)
    new = rids[~np.isin(rids, held.rids)].tolist()
    found = [row for start in range(0, len(new), _FEW) for row in _rows(connection, new[start : start + _FEW])]
    fresh_rids, labels, numbers = _columns(found)
    return _ordered(
        version,
        np.concatenate([held.rids[stays], fresh_rids]),
        np.concatenate([held.labels[:, stays], labels], axis=1),
        np.concatenate([held.numbers[:, stays], numbers], axis=1),
        vectors,
    )


def _rows(connection: sqlite3.Connection, rids: Sequence[int]) -> list[tuple[object, ...]]:
    marks = ", ".join("?" * len(rids))
    return connection.execute(f"SELECT {_COLUMNS} FROM doc WHERE rid IN ({marks})", rids).fetchall()  # noqa: S608


def _columns(
    found: Sequence[tuple[object, ...]],
) -> tuple[Rids, npt.NDArray[np.object_], npt.NDArray[np.int64]]:
    count = len(found)
    columns: Sequence[Sequence[object]] = list(zip(*found, strict=True)) or [()] * (1 + len(_LABELS) + len(_NUMBERS))
    labels = np.empty((len(_LABELS), count), dtype=object)
    for place, column in enumerate(columns[1 : 1 + len(_LABELS)]):
        labels[place] = column
    numbers = np.asarray(columns[1 + len(_LABELS) :], dtype=np.int64).reshape(len(_NUMBERS), count)
    return np.asarray(columns[0], dtype=np.int64), labels, numbers


def _ordered(
    version: int, rids: Rids, labels: npt.NDArray[np.object_], numbers: npt.NDArray[np.int64], vectors: Packed
) -> Part:
    order = np.argsort(rids, kind="stable")
    return Part(version, rids[order], labels[:, order], numbers[:, order], vectors)
