"""BM25 of two fields over the parts that one question may see.

How rare a term is counts within those parts, not over all users: a customer's own name is no rare word among that
customer's memories, and the cost of a question does not grow with other people's rows.
Source: Robertson and Zaragoza 2009 with k1 = 1.2, b = 0.75; idf as in Lucene, ln(1 + (N - n + 0.5) / (n + 0.5)), > 0.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Mapping

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
    if not total:
        return scores
    mean = sum((lengths.sum(axis=1) for _, lengths in parts.values()), np.zeros(2)) / total
    for word in dict.fromkeys(words):
        found = {part: _frequencies(connection, part, word, rids) for part, (rids, _) in parts.items()}
        for field in (OWN, CONTEXT):
            rows_with = sum(len(rows[field][0]) for rows in found.values())
            rarity = math.log(1.0 + (total - rows_with + 0.5) / (rows_with + 0.5))
            for part, rows in found.items():
                at, counts = rows[field]
                norm = K1 * (1.0 - B + B * parts[part][1][field][at] / mean[field])
                scores[part][field][at] += rarity * counts * (K1 + 1.0) / (counts + norm)
    return scores


def _frequencies(
    connection: sqlite3.Connection, part: int, word: str, rids: Ints
) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
    """For [own, context]: positions of the part's rows that hold the word, and how often each does."""
    # Two times the row's number, plus one for the context field. As one text: 2000 tuples took twice the time.
    (found,) = connection.execute(
        "SELECT group_concat(doc * 2 + (col = 'context')) FROM words WHERE term = ?", (token(part, word),)
    ).fetchone()
    if found is None:
        return (_NO_ROWS, _NO_ROWS), (_NO_ROWS, _NO_ROWS)
    keys, counts = np.unique(np.fromstring(found, dtype=np.int64, sep=","), return_counts=True)
    is_context = (keys & 1).astype(np.bool_)
    at = np.searchsorted(rids, keys >> 1)
    return (at[~is_context], counts[~is_context]), (at[is_context], counts[is_context])
