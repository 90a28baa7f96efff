"""BM25 of two fields over the parts that one question may see.

How rare a term is counts within those parts, not over all users: a customer's own name is no rare word among that
customer's memories, and the cost of a question does not grow with other people's rows.
Source: Robertson and Zaragoza 2009 with k1 = 1.2, b = 0.75; idf as in Lucene, ln(1 + (N - n + 0.5) / (n + 0.5)), > 0.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from stores.embedded.writing import token

K1 = 1.2
B = 0.75
OWN, CONTEXT = 0, 1

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

_NO_ROWS: Ints = np.empty(0, dtype=np.int64)


def bm25(
    connection: sqlite3.Connection, parts: Mapping[int, tuple[Ints, Ints]], words: Iterable[str]
) -> dict[int, Floats]:
    """Scores >= 0 of every row of every part, [own, context] by row; 0 where no word stands.

    Shape: a part is its rids, ascending, and its [own, context] lengths in terms by row. A word counts once however
    often it is asked; an id that a row names as exact counts once more in `own`.
    """
    scores = {part: np.zeros(lengths.shape, dtype=np.float32) for part, (_, lengths) in parts.items()}
    total = sum(len(rids) for rids, _ in parts.values())
    wanted = list(dict.fromkeys(words))
    if not total or not wanted:
        return scores
    mean = sum((lengths.sum(axis=1) for _, lengths in parts.values()), np.zeros(2)) / total
    found = {part: _occurrences(connection, part, wanted, rids) for part, (rids, _) in parts.items()}
    rows_with = sum((np.bincount(lists, minlength=2 * len(wanted)) for lists, _, _ in found.values()), np.zeros(1))
    rarity = np.log(1.0 + (total - rows_with + 0.5) / (rows_with + 0.5))
    for part, (lists, at, counts) in found.items():
        fields, lengths = lists % 2, parts[part][1]
        norm = K1 * (1.0 - B + B * lengths[fields, at] / mean[fields])
        each = rarity[lists] * counts * (K1 + 1.0) / (counts + norm)
        for field in (OWN, CONTEXT):
            mine = fields == field
            scores[part][field] = np.bincount(at[mine], weights=each[mine], minlength=lengths.shape[1])
    return scores


def _occurrences(
    connection: sqlite3.Connection, part: int, words: Sequence[str], rids: Ints
) -> tuple[Ints, Ints, Ints]:
    """Where the words stand in a part: (list, position of the row, how often) of each row in each list.

    Shape: two lists a word, 2i + field for words[i]. Rows of a list ascend.
    """
    lists: list[Ints] = []
    rows: list[Ints] = []
    counts: list[Ints] = []
    for number, word in enumerate(words):
        # Two times the row's number, plus one for the context field. As one text: 2000 tuples took twice the time.
        (text,) = connection.execute(
            "SELECT group_concat(doc * 2 + (col = 'context')) FROM words WHERE term = ?", (token(part, word),)
        ).fetchone()
        if text is None:
            continue
        # In order of rows, and in a row of columns: equal neighbours are one.
        keys = np.fromstring(text, dtype=np.int64, sep=",")
        ends = np.flatnonzero(np.append(keys[1:] != keys[:-1], True)) + 1
        starts = np.append(0, ends[:-1])
        counts.append(ends - starts)
        rows.append(keys[starts])
        lists.append(2 * number + (rows[-1] & 1))
    if not lists:
        return _NO_ROWS, _NO_ROWS, _NO_ROWS
    return np.concatenate(lists), np.searchsorted(rids, np.concatenate(rows) >> 1), np.concatenate(counts)
