"""Answers a question from memory, within its deadline, with whatever it has by then. Never writes.

SQL is asked first: the profile, the live state and the conversation's end need no index. The index is asked beside it;
what it finds is read back from SQL, ranked, thinned out and packed. A part that is late or down is named in `missing`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import TypeVar
from uuid import UUID

from afterturn.wire import Lag, Pack, RecallRequest
from memory.pack import pack
from memory.question import asks_past, heading_language, named_time
from memory.records import FactRecord, Live, Sight
from memory.selection import Found, Question, select_items
from memory.terms import query_terms
from schemas.errors import BadInput, ServiceError
from schemas.indexing import Hit, IndexQuery, Vector
from stores import live, metrics
from stores import recall as rows
from stores.breaker import Breaker
from stores.clock import offset_seconds
from stores.kit import Kit
from stores.tenancy import KeyInfo, find_user, hash_of
from stores.tokens import ESTIMATE, TokenCounter

T = TypeVar("T")

logger = logging.getLogger(__name__)

# What hydration, ranking and packing need at the end, in seconds, and at most this share of the whole.
RESERVE_SECONDS = 0.06
RESERVE_SHARE = 0.25
EMBED_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Guards:
    """What one process keeps between recalls: breakers, threads, the token counter.

    The embedder has threads of its own: hung ones must not hold up SQL.
    """

    index: Breaker = field(default_factory=Breaker)
    embedder: Breaker = field(default_factory=Breaker)
    counter: TokenCounter = ESTIMATE
    sql_threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(8, "recall-sql"))
    embed_threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2, "recall-embed"))

    def close(self) -> None:
        """Lets the threads end; hung ones are not waited for. Repeat: harmless."""
        self.sql_threads.shutdown(wait=False, cancel_futures=True)
        self.embed_threads.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class _Base:
    """What SQL knows without an index."""

    sight: Sight
    facts: tuple[FactRecord, ...]
    live: Live
    zone: tzinfo


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    """One recall under way: its deadline, and in `missing` what it had to leave out."""

    kit: Kit
    key: KeyInfo
    request: RecallRequest
    guards: Guards
    started: float = field(default_factory=time.monotonic)
    missing: list[str] = field(default_factory=list[str])

    @property
    def seconds(self) -> float:
        return self.request.deadline_ms / 1000

    @property
    def reserve(self) -> float:
        return min(RESERVE_SECONDS, self.seconds * RESERVE_SHARE)

    def left(self, *, keep: float = 0.0) -> float:
        return max(0.0, self.started + self.seconds - keep - time.monotonic())

    def miss(self, what: str) -> None:
        if what not in self.missing:
            self.missing.append(what)


async def recall(kit: Kit, key: KeyInfo, request: RecallRequest, *, guards: Guards) -> Pack:
    """The pack for a question.

    Raises: Forbidden without the right to recall; BadInput for `now` outside eval or an empty `between`. Everything
    else that goes wrong is named in the pack's `missing`, and the answer comes within `deadline_ms`.
    """
    key.require("recall")
    _check(key, request)
    ask = _Ask(kit=kit, key=key, request=request, guards=guards)
    embedding = asyncio.ensure_future(_embed(ask))
    try:
        base = await _base(ask)
        answer = Pack() if base is None else await _answer(ask, base, embedding)
    finally:
        embedding.cancel()
    took = time.monotonic() - ask.started
    _count(answer, ask, took)
    return answer.model_copy(
        update={"missing": tuple(ask.missing), "took_ms": round(took * 1000, 3), "token_counter": guards.counter.name}
    )


def _check(key: KeyInfo, request: RecallRequest) -> None:
    if request.now is not None and "admin" not in key.rights:
        raise BadInput("now", "is only for eval")
    if request.between is not None and request.between[0] > request.between[1]:
        raise BadInput("between", "must not be after the end")


async def _base(ask: _Ask) -> _Base | None:
    try:
        work = _in_thread(ask.guards.sql_threads, partial(_load, ask.kit, ask.key, ask.request))
        return await asyncio.wait_for(work, ask.left(keep=ask.reserve / 2))
    except (TimeoutError, ServiceError) as exc:
        logger.warning("recall without database error=%s", type(exc).__name__)
        ask.miss("database")
        return None


def _load(kit: Kit, key: KeyInfo, request: RecallRequest) -> _Base | None:
    """Everything that SQL knows by itself, from one snapshot; None for a user that was never heard of."""
    with kit.db.read() as session:
        user = find_user(session, key, request.user_id)
        users = () if user is None else rows.alias_set(session, user)
        if not users:
            return None
        now = request.now or kit.clock() + timedelta(seconds=offset_seconds(session))
        as_of = request.as_of or now
        sight = Sight(
            tenant_id=key.tenant_id,
            users=users,
            now=now,
            as_of=as_of,
            known_at=request.known_at,
            past=asks_past(request.query) or as_of < now or request.between is not None,
            closed=asks_past(request.query),
            between=request.between,
            scopes=tuple(request.scopes),
            tags=request.tags,
            outcome=request.outcome,
            session_ref=live.find_session(session, users, hash_of(key, "session", request.session_id))
            if request.session_id
            else None,
            thread_id=request.thread_id,
            shared_threads=rows.shared_threads(session, users),
            ticket_id=request.ticket_id,
        )
        facts = rows.profile_facts(session, sight)
        known = live.live(session, sight)
    zone = known.tail[-1].turn.zone() if known.tail else UTC
    return _Base(sight, tuple(facts), known, zone)


async def _embed(ask: _Ask) -> Vector | None:
    """The question's vector; None when the embedder is down. The caller bounds the wait."""
    breaker = ask.guards.embedder
    if not breaker.allows():
        ask.miss("embedder")
        return None
    try:
        work = partial(ask.kit.embedder.embed, [ask.request.query])
        vectors = await _in_thread(ask.guards.embed_threads, work)
    except ServiceError as exc:
        logger.warning("recall without vector code=%s", exc.code)
        breaker.failed()
        ask.miss("embedder")
        return None
    breaker.succeeded()
    return vectors[0]


async def _answer(ask: _Ask, base: _Base, embedding: asyncio.Task[Vector | None]) -> Pack:
    question = _question(ask, base)
    hits = await _search(ask, base.sight, question, await _vector(ask, embedding))
    try:
        finish = partial(_finish, ask, base, question, hits)
        return await asyncio.wait_for(_in_thread(ask.guards.sql_threads, finish), ask.left())
    except (TimeoutError, ServiceError) as exc:
        logger.warning("recall without hydration error=%s", type(exc).__name__)
        ask.miss("index")
        return _packed(ask, base, question, Found(facts=base.facts))


def _question(ask: _Ask, base: _Base) -> Question:
    query, settings = ask.request.query, ask.kit.settings.recall
    return Question(
        query_terms=tuple(query_terms(query)),
        language=heading_language(query),
        now=base.sight.now,
        prefer=named_time(query, now=base.sight.now, zone=base.zone),
        past=base.sight.past,
        kinds=tuple(ask.request.kinds),
        policy=ask.kit.policies.rank,
        episodes=settings.episodes,
    )


async def _vector(ask: _Ask, embedding: asyncio.Task[Vector | None]) -> Vector | None:
    done, _ = await asyncio.wait({embedding}, timeout=ask.left(keep=ask.reserve) * EMBED_SHARE)
    if done:
        return embedding.result()
    ask.guards.embedder.failed()
    ask.miss("embedder")
    return None


async def _search(ask: _Ask, sight: Sight, question: Question, vector: Vector | None) -> list[Hit]:
    left, breaker = ask.left(keep=ask.reserve), ask.guards.index
    if left <= 0 or not breaker.allows():
        ask.miss("index")
        return []
    query = IndexQuery(
        tenant_id=sight.tenant_id,
        users=sight.users,
        terms=" ".join(question.query_terms),
        vector=vector,
        now=sight.now,
        as_of=sight.as_of,
        limit=ask.kit.settings.recall.candidates,
        kinds=question.kinds,
        tags=sight.tags,
        outcome=sight.outcome,
        ticket_id=sight.ticket_id,
        thread_ids=_threads(sight),
        between=sight.between,
    )
    try:
        # The adapter keeps its own time-out; the outer one is for an adapter that does not.
        hits = await asyncio.wait_for(ask.kit.index.search(query, timeout_seconds=left), left + 0.005)
    except (TimeoutError, ServiceError) as exc:
        logger.warning("recall without index error=%s", type(exc).__name__)
        breaker.failed()
        ask.miss("index")
        return []
    breaker.succeeded()
    return hits


def _threads(sight: Sight) -> tuple[str, ...]:
    own = (sight.thread_id, None if sight.session_ref is None else str(sight.session_ref))
    return tuple(dict.fromkeys([*sight.shared_threads, *(one for one in own if one is not None)]))


def _finish(ask: _Ask, base: _Base, question: Question, hits: Sequence[Hit]) -> Pack:
    """Reads back what was found and packs it; runs in a thread."""
    by_kind: dict[str, list[UUID]] = {}
    for hit in hits:
        by_kind.setdefault(hit.kind, []).append(hit.id)
    known = {record.id for record in base.facts}
    with ask.kit.db.read() as session:
        more = [one for one in by_kind.get("fact", []) if one not in known]
        found = Found(
            facts=(*base.facts, *rows.facts(session, base.sight, more)),
            episodes=tuple(rows.episodes(session, base.sight, by_kind.get("episode", []))),
            procedures=tuple(rows.procedures(session, base.sight, by_kind.get("procedure", []))),
            moments=tuple(rows.moments(session, base.sight, by_kind.get("moment", []))),
            hits={hit.id: hit for hit in hits},
        )
    return _packed(ask, base, question, found)


def _packed(ask: _Ask, base: _Base, question: Question, found: Found) -> Pack:
    items, questions = select_items(found, base.live, question)
    packed = pack(
        items,
        language=question.language,
        budget_tokens=ask.request.budget_tokens,
        count=ask.guards.counter.count,
        to_confirm=questions,
    )
    return Pack(
        prompt=packed.prompt,
        items=packed.items,
        to_confirm=packed.to_confirm,
        tokens=packed.tokens,
        lag=_lag(base.live, ask.kit.clock()),
    )


def _lag(known: Live, now: datetime) -> Lag:
    oldest = known.oldest_undigested_at
    return Lag(
        undigested_turns=known.undigested_turns,
        oldest_seconds=0.0 if oldest is None else max(0.0, (now - oldest).total_seconds()),
        unindexed=known.unindexed,
    )


def _count(answer: Pack, ask: _Ask, took: float) -> None:
    metrics.RECALL_DURATION.observe(took)
    if not answer.items:
        metrics.RECALL_EMPTY.inc()
    for what in ask.missing:
        metrics.RECALL_DEGRADED.labels(what).inc()


def _in_thread(threads: ThreadPoolExecutor, work: Callable[[], T]) -> Awaitable[T]:
    return asyncio.get_running_loop().run_in_executor(threads, work)
