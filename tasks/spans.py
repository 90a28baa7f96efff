"""Spans of what arrives: where its trace comes from."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from stores import tracing
from stores.tenancy import KeyInfo
from tasks.arrivals import Judged, Kept


def ingest(key: KeyInfo, judged: Sequence[Judged]) -> AbstractContextManager[tracing.Span]:
    """The span of a batch's transaction, in the traces of its events."""
    attributes: dict[str, tracing.Value | None] = {
        "messaging.system": "redis",
        "messaging.operation.type": "process",
        "messaging.destination.name": "ingest",
        "messaging.batch.message_count": len(judged),
        "gen_ai.memory.store.id": str(key.tenant_id),
    }
    origins = (one.event.traceparent for one in judged if isinstance(one, Kept))
    return tracing.span("ingest", kind="consumer", origins=origins, attributes=attributes)
