"""What goes over the wire to Weaviate, and what its failures mean: without a server, as its client has them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import grpc
import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from weaviate import exceptions as theirs
from weaviate.classes.config import ConsistencyLevel
from weaviate.classes.query import Filter
from weaviate.collections.classes.config import (
    _CollectionConfigCreate,  # pyright: ignore[reportPrivateUsage]  what `collections.create` sends
)
from weaviate.collections.classes.filters import FilterReturn
from weaviate.collections.classes.grpc import _MetadataQuery  # pyright: ignore[reportPrivateUsage]
from weaviate.collections.grpc.query import _QueryGRPC  # pyright: ignore[reportPrivateUsage]
from weaviate.util import _ServerVersion  # pyright: ignore[reportPrivateUsage]

from schemas.errors import BadInput, BadSettings, Permanent, StoreBusy
from schemas.indexing import IndexQuery, IndexRow
from stores.weaviate import Endpoint, asking, shape
from stores.weaviate.failures import failure_in, failure_of, translated

ONE = UUID("01900000-0000-7000-8000-000000000001")


def _definition() -> dict[str, Any]:
    made = shape.collection("At_1", "usem3:1", replicas=3)
    return _CollectionConfigCreate(**made)._to_dict()  # pyright: ignore[reportPrivateUsage]


def _row(**given: Any) -> IndexRow:
    values: dict[str, Any] = {
        **{"id": ONE, "tenant_id": ONE, "user_ref": ONE, "kind": "fact", "scope": "user", "scope_key": ""},
        **{"own_terms": "bt-500 bt500 hum", "context_terms": "hum", "exact_terms": ["bt-500"], "row_version": 3},
        "created_at": datetime(2026, 11, 30, tzinfo=UTC),
    }
    return IndexRow(**values | given)


def test_the_collection_is_the_one_definition() -> None:
    sent = _definition()

    properties = {one["name"]: one for one in sent["properties"]}
    assert sent["multiTenancyConfig"] == {
        "enabled": True,
        "autoTenantCreation": False,
        "autoTenantActivation": True,
    }
    assert sent["replicationConfig"]["factor"] == 3
    assert shape.described(sent["description"]) == (shape.LAYOUT, "usem3:1")
    assert {name for name, one in properties.items() if one.get("indexSearchable")} == {"own_terms", "context_terms"}
    assert {one["tokenization"] for one in properties.values() if one.get("indexSearchable")} == {"whitespace"}
    ranged = {name for name, one in properties.items() if one.get("indexRangeFilters")}
    assert ranged == {"created", "valid_from", "valid_until", "expires", "row_version", "dimensions"}
    vector = sent["vectorConfig"][shape.VECTOR]
    assert vector["vectorizer"] == {"none": {}}
    assert vector["vectorIndexType"] == "hnsw"
    assert vector["vectorIndexConfig"]["rq"] == {"enabled": True, "bits": 8, "rescoreLimit": 20}
    assert vector["vectorIndexConfig"]["distance"] == "cosine"


def test_a_row_says_who_may_see_it_in_one_word_and_counts_what_names_it_twice() -> None:
    sent = shape.data_object(_row(tags=[" vip "], agent_id=None, outcome="failure", vector=np.ones(4, np.float32)))

    properties: Any = sent.properties
    assert properties["own_terms"].split().count("bt-500") == 2
    assert properties["audience"] == f"u{ONE.hex}"
    assert properties["tags"] == ["= vip ="]
    assert (properties["agent"], properties["outcome"]) == ("-", "=failure=")
    assert (properties["valid_until"], properties["expires"]) == (shape.NEVER, shape.NEVER)
    assert properties["valid_from"] == shape.ALWAYS
    assert properties["dimensions"] == 4
    assert shape.data_object(_row()).vector is None


def test_no_two_scopes_share_an_audience() -> None:
    scopes = [("user", "o"), ("organization", ""), ("ticket", "o"), ("thread", "o"), ("elsewhere", "o")]

    found = {_audience(scope, key) for scope, key in scopes} | {_audience("ticket", " o"), _audience("thread", "")}

    assert len(found) == len(scopes) + 2


def _audience(scope: str, key: str) -> str:
    properties: Any = shape.data_object(_row(scope=scope, scope_key=key)).properties
    return str(properties["audience"])


NOW = datetime(2026, 11, 30, tzinfo=UTC)


def _query(**given: Any) -> IndexQuery:
    values: dict[str, Any] = {"tenant_id": ONE, "users": [ONE], "terms": "hum", "vector": np.ones(4, np.float32)}
    values |= {"now": NOW, "as_of": NOW, "limit": 20}
    return IndexQuery(**values | given)


def _asked_by_the_client(query: IndexQuery, filters: FilterReturn) -> dict[str, bytes]:
    """What the server's own client would send for the same legs."""
    version = _ServerVersion(1, 40, 0)
    client = _QueryGRPC(version, "At_1", shape.tenant_name(ONE), ConsistencyLevel.ONE, True, True, True)
    same: dict[str, Any] = {"limit": query.limit, "filters": filters, "return_properties": ["kind", "row_version"]}
    by_distance, by_score = _MetadataQuery(vector=False, distance=True), _MetadataQuery(vector=False, score=True)
    near = client.near_vector(near_vector=[1.0] * 4, target_vector=shape.VECTOR, return_metadata=by_distance, **same)
    words = {
        field: client.bm25(query=query.terms, properties=[field], return_metadata=by_score, **same)
        for field in (shape.OWN, shape.CONTEXT)
    }
    legs = {asking.COSINE: near, **words}
    for one in legs.values():
        # It keeps them as a set.
        one.properties.non_ref_properties.sort()
    return {leg: one.SerializeToString(deterministic=True) for leg, one in legs.items()}


def test_a_question_is_what_the_server_s_own_client_would_send() -> None:
    query = _query(
        ticket_id="7",
        thread_ids=["t"],
        kinds=["fact", "moment"],
        outcome="failure",
        agent_id="a",
        visible_agents=["a"],
        hidden_agents=["b"],
        tags=["vip"],
        between=(NOW, NOW),
    )
    by, at = Filter.by_property, shape.micros(NOW, 0)
    filters = Filter.all_of(
        [
            by("audience").contains_any(["o", f"u{ONE.hex}", "h=t=", "t=7="]),
            by("valid_from").less_or_equal(at),
            by("valid_until").greater_than(at),
            by("expires").greater_than(at),
            by("created").greater_or_equal(at),
            by("created").less_than(at),
            by("kind").contains_any(["fact", "moment"]),
            by("outcome").contains_any(["=failure="]),
            by("agent").contains_any(["=a="]),
            by("agent").contains_any(["-", "=a="]),
            by("agent").contains_none(["=b="]),
            by("tags").contains_all(["=vip="]),
        ]
    )

    sent = {leg: one.SerializeToString(deterministic=True) for leg, one in asking.requests("At_1", query).items()}

    assert sent == _asked_by_the_client(query, filters)


@pytest.mark.parametrize("vector", [None, np.zeros(4, np.float32), np.full(4, np.nan, np.float32)])
def test_what_has_no_direction_or_no_word_asks_no_leg(vector: Any) -> None:
    assert set(asking.requests("At_1", _query(vector=vector))) == {shape.OWN, shape.CONTEXT}
    assert not asking.requests("At_1", _query(vector=vector, terms=""))


@given(st.datetimes(timezones=st.just(UTC)))
def test_every_time_keeps_its_place_between_always_and_never(at: datetime) -> None:
    sent = shape.micros(at, 0)

    assert shape.ALWAYS < sent < shape.NEVER
    # A number travels as a double, which is exact up to here.
    assert abs(sent) < 2**60
    assert float(shape.NEVER) == shape.NEVER


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ('explorer: get class: vector search: object search at index a: tenant not found: "org_1"', "index_no_tenant"),
        ("tenant not active: 'org_1'", "index_tenant_cold"),
        ("could not find class At_1 in schema", "index_gone"),
        ("class 'At_1' not present in schema", "index_gone"),
        ("updating schema: TYPE_ADD_TENANT: class not found", "index_gone"),
        ("store is read-only due to: disk usage too high", "index_read_only"),
        ("RESOURCE_EXHAUSTED: USAGE_LIMIT_EXCEEDED", "index_over_quota"),
        ("cannot achieve consistency level of 'QUORUM'", "index_replicas"),
        ("not enough memory: vector index insertion", "index_memory"),
        ("Deadline Exceeded", "index_deadline"),
        ("failed to connect to all addresses; UNAVAILABLE", "index_down"),
    ],
)
def test_what_the_server_says_of_passing_trouble_is_tried_again(message: str, code: str) -> None:
    raised = failure_of(theirs.WeaviateQueryError(message, "GRPC search"), "searching")
    alone = failure_in(message, "writing")

    assert isinstance(raised, StoreBusy)
    assert isinstance(alone, StoreBusy)
    assert raised.code == alone.code == code


@pytest.mark.parametrize(
    ("raised", "kind", "code"),
    [
        (theirs.WeaviateTimeoutError(), StoreBusy, "index_deadline"),
        (TimeoutError(), StoreBusy, "index_deadline"),
        (theirs.WeaviateConnectionError("refused"), StoreBusy, "index_down"),
        (theirs.WeaviateStartUpError("nobody"), StoreBusy, "index_down"),
        (theirs.WeaviateRetryError("again", 4), StoreBusy, "index_down"),
        (httpx.ConnectError("refused"), StoreBusy, "index_down"),
        (theirs.WeaviateClosedClientError(), StoreBusy, "index_closed"),
        (theirs.WeaviateInsertManyAllFailedError("store is read-only"), StoreBusy, "index_read_only"),
        (theirs.WeaviateDeleteManyError("[UNAVAILABLE] gone"), StoreBusy, "index_down"),
        (theirs.AuthenticationFailedError(), BadSettings, "index_forbidden"),
        (theirs.WeaviateUnsupportedFeatureError("alias", "1.30", "1.32"), BadSettings, "index_server"),
        (theirs.WeaviateInvalidInputError("filter"), Permanent, "index_refused"),
        (theirs.WeaviateQueryError("no such property", "GRPC search"), Permanent, "index_refused"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_what_the_client_raises_has_one_meaning(raised: Exception, kind: type[Exception], code: str) -> None:
    found = failure_of(raised, "searching")

    assert type(found) is kind
    assert found.code == code


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (401, "who?", BadSettings, "index_forbidden"),
        (403, "no", BadSettings, "index_forbidden"),
        (422, 'class "At_1" not found in schema', StoreBusy, "index_gone"),
        (422, "alias already exists", Permanent, "index_refused"),
        (429, "USAGE_LIMIT_EXCEEDED", StoreBusy, "index_over_quota"),
        (500, "leader not found", StoreBusy, "index_down"),
        (500, "who knows", StoreBusy, "index_failed"),
        (503, "", StoreBusy, "index_down"),
    ],
)
def test_a_status_is_an_answer_or_passing_trouble(status: int, body: str, kind: type[Exception], code: str) -> None:
    response = httpx.Response(status, json={"error": [{"message": body}]})

    found = failure_of(theirs.UnexpectedStatusCodeError("asked", response), "opening")

    assert type(found) is kind
    assert found.code == code


def test_another_vector_length_is_the_caller_s_mistake() -> None:
    told = "new node has a vector with length 3: vector dimensions do not match the index dimensions"

    assert isinstance(failure_of(theirs.WeaviateInsertManyAllFailedError(told), "writing"), BadInput)


def test_a_failure_quotes_nobody() -> None:
    with pytest.raises(StoreBusy) as caught, translated("writing"):
        raise theirs.WeaviateInsertManyAllFailedError("tenant not found: 我住在里昂")

    assert "里昂" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_closed_channel_is_passing_trouble_and_another_mistake_stays_one() -> None:
    with pytest.raises(StoreBusy), translated("writing"):
        raise ValueError("Cannot invoke RPC on closed channel!")
    with pytest.raises(ValueError, match="other"), translated("writing"):
        raise ValueError("other")
    with pytest.raises(StoreBusy), translated("writing"):
        raise grpc.RpcError("UNAVAILABLE")


@pytest.mark.parametrize(
    ("endpoint", "http", "spoken"),
    [
        (Endpoint("http://one:8080"), ("one", 8080, False), ("one", 50_051, False)),
        (Endpoint("https://two"), ("two", 443, True), ("two", 50_051, True)),
        (Endpoint("http://one:8080", "other:7"), ("one", 8080, False), ("other", 7, False)),
    ],
)
def test_the_endpoint_names_both_doors(
    endpoint: Endpoint, http: tuple[str, int, bool], spoken: tuple[str, int, bool]
) -> None:
    params = endpoint.client()._connection._connection_params  # pyright: ignore[reportPrivateUsage]

    assert (params.http.host, params.http.port, params.http.secure) == http
    assert (params.grpc.host, params.grpc.port, params.grpc.secure) == spoken
