"""Writes records into one generation of the index: keywords first, then vectors of that generation's embedder."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from uuid import UUID

from llm.face import Embedder
from memory.moments import pooled
from schemas.errors import BadAnswer, ServiceError
from schemas.indexing import IndexRow, Vector
from stores import calls, metrics
from stores.generations import Opened
from stores.projection import Projected

logger = logging.getLogger(__name__)

_PROBE = "hello"


class Wanted(NamedTuple):
    """A record as it should stand in the index; None: it must not stand there."""

    tenant_id: UUID
    record_id: UUID
    projected: Projected | None


@dataclass(slots=True)
class Written:
    """What came of it: why records were not written, by id, and whose text the embedder will never take."""

    failures: dict[UUID, ServiceError] = field(default_factory=dict[UUID, ServiceError])
    refused: set[UUID] = field(default_factory=set[UUID])


def write(into: Opened, wanted: Sequence[Wanted]) -> Written:
    """Deletes first, then keywords, then vectors: while the embedder is down or slow, words are found all the same.

    Weaviate heals by it, too: a vector that a kill lost comes back only with a row that stood there without it.
    """
    done = Written()
    index = into.index
    gone = [item for item in wanted if item.projected is None]
    _each_tenant(done, gone, lambda tenant, items: index.delete(tenant, [one.record_id for one in items]))
    present = [item for item in wanted if item.projected is not None]
    _each_tenant(done, present, lambda _, items: index.upsert([_row(one) for one in items]))
    written = [item for item in present if item.record_id not in done.failures]
    try:
        vectors = _vectors(into.embedder, [item.projected for item in written if item.projected is not None])
    except ServiceError as exc:
        done.failures |= dict.fromkeys([item.record_id for item in written], exc)
        return done
    by_id = dict(zip([item.record_id for item in written], vectors, strict=True))
    done.refused = {one for one, vector in by_id.items() if vector is None}
    _each_tenant(
        done,
        [item for item in written if by_id[item.record_id] is not None],
        lambda _, items: index.upsert([_row(one, by_id[one.record_id]) for one in items]),
    )
    return done


def _each_tenant(done: Written, items: Sequence[Wanted], act: Callable[[UUID, Sequence[Wanted]], None]) -> None:
    """Does it tenant by tenant; what fails for one is noted on its records and holds up no other."""
    grouped: dict[UUID, list[Wanted]] = {}
    for item in items:
        grouped.setdefault(item.tenant_id, []).append(item)
    for tenant_id, ours in grouped.items():
        try:
            act(tenant_id, ours)
        except ServiceError as exc:
            logger.warning("index refused code=%s records=%d", exc.code, len(ours))
            done.failures |= dict.fromkeys([item.record_id for item in ours], exc)


def _row(item: Wanted, vector: Vector | None = None) -> IndexRow:
    if item.projected is None:
        msg = f"record {item.record_id} has nothing to write"
        raise ValueError(msg)
    return replace(item.projected.row, vector=vector)


def _vectors(embedder: Embedder, present: Sequence[Projected]) -> list[Vector | None]:
    """One vector a record, leaning towards its neighbours; each distinct text is embedded once.

    None for a text that the embedder will never take: such a record is found by its words alone.
    """
    texts = dict.fromkeys(
        text for item in present for text in (item.embed, *item.neighbours) if text is not None and text.strip()
    )
    by_text = dict(zip(texts, _embedded(embedder, list(texts)), strict=True))
    return [_leaning(item, by_text) for item in present]


def _embedded(embedder: Embedder, texts: Sequence[str]) -> list[Vector | None]:
    """The vectors of texts; None for those that the embedder refuses while it takes others.

    Raises: ModelBusy; BadAnswer when it takes none, for then it is set up wrong and no text is at fault.
    """
    try:
        with calls.timed("embed", count=len(texts)):
            return list(embedder.embed(texts))
    except BadAnswer as exc:
        metrics.LLM_ERRORS.labels(exc.code).inc()
    embedder.embed([_PROBE])
    return _taken(embedder, texts)


def _taken(embedder: Embedder, texts: Sequence[str]) -> list[Vector | None]:
    """Halves of a refused batch, asked for apart, down to the texts at fault."""
    if len(texts) > 1:
        half = len(texts) // 2
        return [vector for part in (texts[:half], texts[half:]) for vector in _part(embedder, part)]
    logger.warning("embedder refuses a text chars=%d", len(texts[0]))
    return [None]


def _part(embedder: Embedder, texts: Sequence[str]) -> list[Vector | None]:
    try:
        return list(embedder.embed(texts))
    except BadAnswer:
        return _taken(embedder, texts)


def _leaning(item: Projected, by_text: Mapping[str, Vector | None]) -> Vector | None:
    own = by_text.get(item.embed)
    if own is None:
        return None
    before, after = (by_text.get(text) if text else None for text in item.neighbours)
    leaning = pooled(own, before, after)
    # Neighbours that cancel it out leave no direction, which no index takes.
    return leaning if leaning.any() else own
