"""What a collection looks like and how rows are written for it: names, properties, the words for audiences and times.

Nothing is left to the server's languages: the texts are the space-joined terms of `memory/terms.py`, split at spaces
again, and every other text is compared whole. Times are whole microseconds in integer properties: a date property is
kept in nanoseconds since 1970, in which a year beyond 2262 becomes one long past.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from pydantic import BaseModel, ValidationError
from weaviate.classes.config import (
    Configure,
    DataType,
    Property,
    ReplicationDeletionStrategy,
    StopwordsPreset,
    Tokenization,
    VectorDistances,
    VectorFilterStrategy,
)
from weaviate.classes.data import DataObject

from schemas.indexing import IndexRow

LAYOUT = "1"
VECTOR = "embedding"
OWN, CONTEXT = "own_terms", "context_terms"
K1, B = 1.2, 0.75

# The object of every tenant that says which index it is; no question sees it, no listing shows it.
MARK_ID = UUID("6d61726b-0000-4000-8000-000000000001")
MARK_AUDIENCE = "identity"

ORGANIZATION = "o"
NOBODY = "-"

# Microseconds since 1970 for "always" and "never": outside of every time that Python can hold.
ALWAYS, NEVER = -(2**62), 2**62
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Description(BaseModel):
    afterturn: str | None = None
    space: str | None = None


def describe(space: str) -> str:
    """What a collection's description says of its vectors."""
    return _Description(afterturn=LAYOUT, space=space).model_dump_json()


def described(description: str | None) -> tuple[str | None, str | None]:
    """(layout, space) of a collection; None for what it does not say."""
    try:
        found = _Description.model_validate_json(description or "")
    except ValidationError:
        return None, None
    return found.afterturn, found.space


def physical_name(alias: str, space: str) -> str:
    """A new name for a generation of vectors of one embedder."""
    return placed_name(alias, uuid4().hex[:8], space)


def placed_name(alias: str, generation: str, space: str) -> str:
    """The name of the collection of one generation."""
    return f"{alias}_{generation}_{re.sub('[^A-Za-z0-9]+', '_', space)[:80]}"


def tenant_name(tenant_id: UUID) -> str:
    """The server's name for an organisation: never what people call it."""
    return f"org_{tenant_id.hex}"


def collection(name: str, space: str, *, replicas: int) -> dict[str, Any]:
    """The one definition, as arguments of `collections.create`."""
    return {
        "name": name,
        "description": describe(space),
        "vector_config": [Configure.Vectors.self_provided(name=VECTOR, vector_index_config=_vector_index())],
        "properties": [
            _terms(OWN),
            _terms(CONTEXT),
            _whole("user_ref"),
            _whole("audience"),
            _whole("kind"),
            _whole("agent"),
            _whole("outcome"),
            _whole("tags", DataType.TEXT_ARRAY),
            _ranged("created"),
            _ranged("valid_from"),
            _ranged("valid_until"),
            _ranged("expires"),
            _ranged("row_version"),
            _ranged("dimensions"),
        ],
        "inverted_index_config": Configure.inverted_index(
            bm25_k1=K1,
            bm25_b=B,
            index_timestamps=False,
            index_null_state=False,
            index_property_length=False,
            stopwords_preset=StopwordsPreset.NONE,
        ),
        "multi_tenancy_config": Configure.multi_tenancy(
            enabled=True, auto_tenant_creation=False, auto_tenant_activation=True
        ),
        "replication_config": Configure.replication(
            factor=replicas, deletion_strategy=ReplicationDeletionStrategy.DELETE_ON_CONFLICT
        ),
    }


def _whole(name: str, data_type: DataType = DataType.TEXT) -> Property:
    """Compared whole, never searched."""
    return Property(
        name=name,
        data_type=data_type,
        tokenization=Tokenization.FIELD,
        index_filterable=True,
        index_searchable=False,
    )


def _terms(name: str) -> Property:
    return Property(
        name=name,
        data_type=DataType.TEXT,
        tokenization=Tokenization.WHITESPACE,
        index_filterable=False,
        index_searchable=True,
    )


def _ranged(name: str) -> Property:
    return Property(name=name, data_type=DataType.INT, index_filterable=False, index_range_filters=True)


def _vector_index() -> Any:
    index = Configure.VectorIndex
    return index.hnsw(
        distance_metric=VectorDistances.COSINE,
        ef_construction=128,
        max_connections=32,
        ef=-1,
        dynamic_ef_min=64,
        dynamic_ef_max=256,
        dynamic_ef_factor=8,
        # A user's rows are far fewer: their vectors are compared one by one, exactly.
        flat_search_cutoff=40_000,
        filter_strategy=VectorFilterStrategy.ACORN,
        quantizer=index.Quantizer.rq(bits=8, rescore_limit=20),
    )


def data_object(row: IndexRow) -> DataObject[dict[str, Any], None]:
    """A row as the server takes it. What names it exactly counts once more among its own words."""
    properties: dict[str, Any] = {
        OWN: " ".join([row.own_terms, *row.exact_terms]),
        CONTEXT: row.context_terms,
        "user_ref": row.user_ref.hex,
        "audience": _audience(row),
        "kind": row.kind,
        "agent": NOBODY if row.agent_id is None else marked(row.agent_id),
        "outcome": NOBODY if row.outcome is None else marked(row.outcome),
        "tags": [marked(tag) for tag in row.tags],
        "created": micros(row.created_at, 0),
        "valid_from": micros(row.valid_from, ALWAYS),
        "valid_until": micros(row.valid_until, NEVER),
        "expires": micros(row.expires_at, NEVER),
        "row_version": row.row_version,
        "dimensions": 0 if row.vector is None else int(row.vector.size),
    }
    vector = None if row.vector is None else {VECTOR: row.vector.tolist()}
    return DataObject(uuid=row.id, properties=properties, vector=vector)  # pyright: ignore[reportArgumentType]


def mark(identity: UUID) -> dict[str, Any]:
    """The properties of the object that says which index a tenant's rows are in."""
    return {"user_ref": identity.hex, "audience": MARK_AUDIENCE, "kind": MARK_AUDIENCE, "dimensions": 0}


def marked(text: str) -> str:
    """A text between marks: the server cuts blanks off the ends of what it compares, and takes "" for nothing."""
    return f"={text}="


def micros(at: datetime | None, absent: int) -> int:
    """Microseconds since 1970 UTC, exactly; `absent` for None. Raises: TypeError on a naive time."""
    if at is None:
        return absent
    since = at - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _audience(row: IndexRow) -> str:
    """Who may see a row, as one word."""
    if row.scope == "user":
        return f"u{row.user_ref.hex}"
    if row.scope == "organization":
        return ORGANIZATION
    if row.scope == "ticket":
        return f"t{marked(row.scope_key)}"
    if row.scope == "thread":
        return f"h{marked(row.scope_key)}"
    # No question sees other scopes, but they are listed and deleted like the rest.
    return f"x{row.scope}{marked(row.scope_key)}"
