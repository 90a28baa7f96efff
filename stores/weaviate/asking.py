"""A question as it goes over the wire, three requests of it, and what their answers found.

In the server's own messages, not through the client's `query`: that one checks and converts every argument of every
request anew, and everything it answers again, which took half of a search's CPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import numpy as np
from weaviate.proto.v1 import base_pb2, base_search_pb2, search_get_pb2

from schemas.indexing import Hit, IndexQuery, Vector
from stores.weaviate import shape

# The server's own limit on one answer, unless it is set to another.
MOST = 10_000

COSINE = "cosine"

_HIT = search_get_pb2.PropertiesRequest(non_ref_properties=["kind", "row_version"])
_BY_DISTANCE = search_get_pb2.MetadataRequest(uuid=True, distance=True)
_BY_SCORE = search_get_pb2.MetadataRequest(uuid=True, score=True)
_TARGETS = base_search_pb2.Targets(target_vectors=[shape.VECTOR])

Filters = base_pb2.Filters
Request = search_get_pb2.SearchRequest
Reply = search_get_pb2.SearchReply


def requests(name: str, query: IndexQuery) -> dict[str, Request]:
    """What to ask of a collection, by leg: a request each, because a fused answer hides the raw scores."""
    common = Request(
        # They tell the server which of its answers' layouts is understood.
        uses_123_api=True,
        uses_125_api=True,
        uses_127_api=True,
        collection=name,
        tenant=shape.tenant_name(query.tenant_id),
        consistency_level=base_pb2.CONSISTENCY_LEVEL_ONE,
        limit=min(query.limit, MOST),
        properties=_HIT,
        filters=visible(query),
    )
    found: dict[str, Request] = {}
    vector = direction(query.vector)
    if vector is not None:
        found[COSINE] = _copy(common)
        found[COSINE].metadata.CopyFrom(_BY_DISTANCE)
        found[COSINE].near_vector.CopyFrom(base_search_pb2.NearVector(targets=_TARGETS, vectors=[vector]))
    if query.terms:
        for field in (shape.OWN, shape.CONTEXT):
            found[field] = _copy(common)
            found[field].metadata.CopyFrom(_BY_SCORE)
            found[field].bm25_search.CopyFrom(base_search_pb2.BM25(query=query.terms, properties=[field]))
    return found


def hits(replies: Mapping[str, Reply]) -> list[Hit]:
    """What the legs found, each row once with what every leg says of it."""
    found: dict[bytes, search_get_pb2.PropertiesResult] = {}
    parts: dict[bytes, dict[str, float]] = {}
    for leg, reply in replies.items():
        for one in reply.results:
            row = one.metadata.id_as_bytes
            if row not in parts:
                found[row], parts[row] = one.properties, {}
            parts[row][leg] = _raw(leg, one.metadata)
    return [_hit(UUID(bytes=row), one, parts[row]) for row, one in found.items()]


def direction(vector: Vector | None) -> base_pb2.Vectors | None:
    """A question's vector as the server takes it; None for one without direction, which asks nothing."""
    if vector is None:
        return None
    length = float(np.linalg.norm(vector))
    if not 0.0 < length < float("inf"):
        return None
    raw = vector.astype("<f4", copy=False).tobytes()
    return base_pb2.Vectors(vector_bytes=raw, type=base_pb2.Vectors.VECTOR_TYPE_SINGLE_FP32)


def visible(query: IndexQuery) -> Filters:
    """Which rows a question may see, of those in its tenant."""
    as_of = shape.micros(query.as_of, shape.NEVER)
    found = [
        _text("audience", Filters.OPERATOR_CONTAINS_ANY, *_audiences(query)),
        _number("valid_from", Filters.OPERATOR_LESS_THAN_EQUAL, as_of),
        _number("valid_until", Filters.OPERATOR_GREATER_THAN, as_of),
        _number("expires", Filters.OPERATOR_GREATER_THAN, shape.micros(query.now, shape.ALWAYS)),
    ]
    if query.between is not None:
        first, end = query.between
        found += [
            _number("created", Filters.OPERATOR_GREATER_THAN_EQUAL, shape.micros(first, shape.ALWAYS)),
            _number("created", Filters.OPERATOR_LESS_THAN, shape.micros(end, shape.NEVER)),
        ]
    if query.kinds:
        found.append(_text("kind", Filters.OPERATOR_CONTAINS_ANY, *query.kinds))
    if query.outcome is not None:
        found.append(_text("outcome", Filters.OPERATOR_CONTAINS_ANY, shape.marked(query.outcome)))
    if query.agent_id is not None:
        found.append(_text("agent", Filters.OPERATOR_CONTAINS_ANY, shape.marked(query.agent_id)))
    if query.visible_agents is not None:
        readable = (shape.NOBODY, *map(shape.marked, query.visible_agents))
        found.append(_text("agent", Filters.OPERATOR_CONTAINS_ANY, *readable))
    if query.hidden_agents:
        found.append(_text("agent", Filters.OPERATOR_CONTAINS_NONE, *map(shape.marked, query.hidden_agents)))
    if query.tags:
        found.append(_text("tags", Filters.OPERATOR_CONTAINS_ALL, *map(shape.marked, query.tags)))
    return Filters(operator=Filters.OPERATOR_AND, filters=found)


def _text(name: str, operator: Filters.Operator, *texts: str) -> Filters:
    return Filters(
        operator=operator,
        target=base_pb2.FilterTarget(property=name),
        value_text_array=base_pb2.TextArray(values=texts),
    )


def _number(name: str, operator: Filters.Operator, number: int) -> Filters:
    return Filters(operator=operator, target=base_pb2.FilterTarget(property=name), value_int=number)


def _audiences(query: IndexQuery) -> list[str]:
    found = [shape.ORGANIZATION, *(f"u{user.hex}" for user in query.users)]
    found += [f"h{shape.marked(thread)}" for thread in query.thread_ids]
    return found if query.ticket_id is None else [*found, f"t{shape.marked(query.ticket_id)}"]


def _copy(request: Request) -> Request:
    copied = Request()
    copied.CopyFrom(request)
    return copied


def _hit(row: UUID, one: search_get_pb2.PropertiesResult, parts: Mapping[str, float]) -> Hit:
    values = one.non_ref_props.fields
    return Hit(
        id=row,
        kind=values["kind"].text_value,
        row_version=values["row_version"].int_value,
        cosine=parts.get(COSINE),
        own_bm25=parts.get(shape.OWN),
        context_bm25=parts.get(shape.CONTEXT),
    )


def _raw(leg: str, metadata: search_get_pb2.MetadataResult) -> float:
    # The server leaves out BM25's constant factor k1 + 1, by which the embedded index and the rules count.
    return 1.0 - metadata.distance if leg == COSINE else metadata.score * (shape.K1 + 1.0)
