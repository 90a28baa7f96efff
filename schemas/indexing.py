"""What the hybrid index is given, asked and answers: the same for the embedded index and for Weaviate.

The index answers raw parts (cosine, BM25 of two fields). Blending them is a rule and lives in `memory/ranking.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """One record as the index holds it. `id` is the SQL row's id.

    `own_terms` and `context_terms` are space-joined terms of `memory/terms.py`: the text with its speaker and date, and
    the same with the neighbouring turns. `vector` is unit length, or None while only keywords are written.
    `valid_from`, `valid_until` and `expires_at` of None mean always, open and never.
    """

    id: UUID
    tenant_id: UUID
    user_ref: UUID
    kind: str
    scope: str
    scope_key: str
    own_terms: str
    context_terms: str
    row_version: int
    created_at: datetime
    agent_id: str | None = None
    session_ref: UUID | None = None
    ticket_id: str | None = None
    exact_terms: Sequence[str] = ()
    tags: Sequence[str] = ()
    outcome: str | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    expires_at: datetime | None = None
    vector: Vector | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexQuery:
    """One hybrid question inside one tenant.

    Sees rows of `users` in scope `user`, of scope `thread` whose scope_key is in `thread_ids`, of scope `ticket` whose
    scope_key is `ticket_id`, and of scope `organization`.
    Of rows that name an agent it sees those of `visible_agents` (None: all) that are not of `hidden_agents`; `agent_id`
    narrows to rows of that agent. `between` is [start, end).
    `as_of` is world time (validity), `now` decides expiry. `kinds` of () means all. `limit` is per leg.
    """

    tenant_id: UUID
    users: Sequence[UUID]
    terms: str
    vector: Vector | None
    now: datetime
    as_of: datetime
    limit: int = 60
    kinds: Sequence[str] = ()
    tags: Sequence[str] = ()
    outcome: str | None = None
    ticket_id: str | None = None
    thread_ids: Sequence[str] = ()
    agent_id: str | None = None
    visible_agents: Sequence[str] | None = None
    hidden_agents: Sequence[str] = ()
    between: tuple[datetime, datetime] | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One record found, with raw parts: cosine in [-1, 1], BM25 >= 0; None when that leg did not list it."""

    id: UUID
    kind: str
    row_version: int
    cosine: float | None
    own_bm25: float | None
    context_bm25: float | None
