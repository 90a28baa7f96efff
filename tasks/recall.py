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
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeVar
from uuid import UUID

from sqlmodel import Session

from afterturn.wire import Lag, Pack, RecallRequest
from memory.pack import pack
from memory.question import heading_language, named_time
from memory.ranking import shortlist
from memory.recalled import with_evidence
from memory.records import Live, Sight
from memory.selection import Found, Question, select_items
from memory.terms import query_terms
from schemas.errors import BadInput, ServiceError
from schemas.indexing import Hit, IndexQuery, Vector
from stores import index_states, metrics
from stores import recall as rows
from stores.breaker import Breaker
from stores.generations import LASTING_SECONDS, Opened
from stores.held import held_back
from stores.kit import Kit
from stores.tenancy import KeyInfo
from stores.tokens import ESTIMATE, TokenCounter
from tasks.known import Known, known
from tasks.verdicts import Verdicts

T = TypeVar("T")

logger = logging.getLogger(__name__)

# What hydration, ranking and packing need at the end, in seconds, and at most this share of the whole.
RESERVE_SECONDS = 0.06
RESERVE_SHARE = 0.25
EMBED_SHARE = 0.6
# An index that had less than this and did not answer has not failed: its caller was in a hurry.
FAIR_SECONDS = 0.05
# Of what the index found, the best so many of a kind are read from SQL: a pack shows a few of them.
READ_BACK = {"episode": 12, "procedure": 6}
MOMENTS_READ_BACK = (40, 80)
# A line of a pack costs about this many tokens at the least.
LINE_TOKENS = 16
# How many of an episode's turns are looked through for those that show it.
SHOWN_BY = 24


@dataclass(frozen=True, slots=True)
class Guards:
    """What one process keeps between recalls: breakers, threads, the token counter.

    The embedder has threads of its own: hung ones must not hold up SQL.
    """

    index: Breaker = field(default_factory=Breaker)
    embedder: Breaker = field(default_factory=Breaker)
    counter: TokenCounter = ESTIMATE
    verdicts: Verdicts = field(default_factory=Verdicts)
    sql_threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(8, "recall-sql"))
    embed_threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2, "recall-embed"))

    def close(self) -> None:
        """Lets the threads end; hung ones are not waited for. Repeat: harmless."""
        self.sql_threads.shutdown(wait=False, cancel_futures=True)
        self.embed_threads.shutdown(wait=False, cancel_futures=True)


class _Embedded(NamedTuple):
    """The question's vector, and the generation whose embedder made it: no other index is asked with it."""

    live: Opened
    vector: Vector


class _Searched(NamedTuple):
    """What was found, and in which generation's index; None when none could be opened."""

    live: Opened | None
    hits: Sequence[Hit]


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
        with metrics.RECALL_STAGE.labels("read").time():
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
    if key.agent_id is not None and request.agent_id not in (None, key.agent_id):
        raise BadInput("agent_id", "is not the agent of this key")


async def _base(ask: _Ask) -> Known | None:
    try:
        work = _in_thread(ask.guards.sql_threads, partial(_known, ask))
        found = await asyncio.wait_for(work, ask.left(keep=ask.reserve / 2))
    except (TimeoutError, ServiceError) as exc:
        logger.warning("recall without database error=%s", type(exc).__name__)
        ask.miss("database")
        return None
    if found is not None and found.lacks_cache:
        ask.miss("hot_cache")
    return found


def _known(ask: _Ask) -> Known | None:
    found = known(ask.kit, ask.key, ask.request)
    ask.kit.generations.plan()
    return found


async def _embed(ask: _Ask) -> _Embedded | None:
    """The question's vector; None when the embedder is down. The caller bounds the wait."""
    breaker = ask.guards.embedder
    if not breaker.allows():
        ask.miss("embedder")
        return None
    try:
        return await _in_thread(ask.guards.embed_threads, partial(_embedded, ask))
    except ServiceError as exc:
        logger.warning("recall without vector code=%s", exc.code)
        ask.miss("embedder")
        return None


def _embedded(ask: _Ask) -> _Embedded:
    # Judged here and not where it is waited for: that one caller had little time says nothing of the embedder.
    with ask.guards.embedder.call(), metrics.RECALL_STAGE.labels("embed").time():
        live = ask.kit.generations.live(seconds=LASTING_SECONDS)
        (vector,) = live.embedder.embed([ask.request.query])
        return _Embedded(live, vector)


async def _answer(ask: _Ask, base: Known, embedding: asyncio.Task[_Embedded | None]) -> Pack:
    question = _question(ask, base)
    embedded = await _vector(ask, embedding)
    live = embedded.live if embedded is not None else _live(ask)
    if live is not None:
        question = replace(question, policy=ask.kit.rank(live.space))
    hits = await _search(ask, base.sight, question, live, None if embedded is None else embedded.vector)
    try:
        finish = partial(ask.kit.read_for_recall, partial(_finish, ask, base, question, _Searched(live, hits)))
        with metrics.RECALL_STAGE.labels("pack").time():
            return await asyncio.wait_for(_in_thread(ask.guards.sql_threads, finish), ask.left())
    except (TimeoutError, ServiceError) as exc:
        logger.warning("recall without hydration error=%s", type(exc).__name__)
        ask.miss("index")
        return _packed(ask, base, question, Found(facts=base.facts))


def _question(ask: _Ask, base: Known) -> Question:
    query, settings = ask.request.query, ask.kit.settings.recall
    return Question(
        query_terms=tuple(query_terms(query)),
        language=heading_language(query),
        now=base.sight.now,
        prefer=named_time(query, now=base.sight.now, zone=base.zone),
        past=base.sight.past,
        as_of=base.sight.as_of if base.sight.as_of < base.sight.now else None,
        kinds=tuple(ask.request.kinds),
        policy=ask.kit.policies.rank,
        episodes=settings.episodes,
        budget_tokens=ask.request.budget_tokens,
    )


def _live(ask: _Ask) -> Opened | None:
    """The live generation, for words alone; None when these settings cannot open it."""
    try:
        return ask.kit.generations.live(seconds=LASTING_SECONDS)
    except ServiceError as exc:
        logger.warning("recall without index error=%s", type(exc).__name__)
        return None


async def _vector(ask: _Ask, embedding: asyncio.Task[_Embedded | None]) -> _Embedded | None:
    done, _ = await asyncio.wait({embedding}, timeout=ask.left(keep=ask.reserve) * EMBED_SHARE)
    if done:
        return embedding.result()
    ask.miss("embedder")
    return None


async def _search(ask: _Ask, sight: Sight, question: Question, live: Opened | None, vector: Vector | None) -> list[Hit]:
    left, breaker = ask.left(keep=ask.reserve), ask.guards.index
    if left <= 0 or live is None or not breaker.allows():
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
        visible_agents=None if sight.agents.shared else [] if sight.agent_id is None else [sight.agent_id],
        hidden_agents=sorted(sight.agents.private - {sight.agent_id}),
    )
    try:
        # The adapter keeps its own time-out; the outer one is for an adapter that does not.
        with metrics.RECALL_STAGE.labels("search").time():
            hits = await asyncio.wait_for(live.index.search(query, timeout_seconds=left), left + 0.005)
    except (TimeoutError, ServiceError) as exc:
        logger.warning("recall without index error=%s", type(exc).__name__)
        if left >= FAIR_SECONDS:
            breaker.failed()
        ask.miss("index")
        return []
    breaker.succeeded()
    return hits


def _threads(sight: Sight) -> tuple[str, ...]:
    own = (sight.thread_id, None if sight.session_ref is None else str(sight.session_ref))
    return tuple(dict.fromkeys([*sight.shared_threads, *(one for one in own if one is not None)]))


def _finish(ask: _Ask, base: Known, question: Question, searched: _Searched, s: Session) -> Pack:
    """Reads back what was found and packs it; runs in a thread."""
    sight, live, hits = base.sight, searched.live, searched.hits
    by_kind: dict[str, list[UUID]] = {}
    for hit in shortlist(hits, _read_back(ask.request.budget_tokens), question.policy):
        by_kind.setdefault(hit.kind, []).append(hit.id)
    here = {record.id for record in base.facts}
    # An index that has just failed to answer is not asked once more, within what is left of the deadline.
    if live is not None and "index" not in ask.missing and index_states.is_lost(s, live, sight.tenant_id):
        ask.miss("index")
    more = rows.facts(s, sight, [one for one in by_kind.get("fact", []) if one not in here])
    told = rows.episodes(s, sight, by_kind.get("episode", []))
    heard = rows.moments(s, sight, by_kind.get("moment", []))
    held = held_back(s, sight, rows.foreign(sight, (said for _, said in heard)))
    found = Found(
        facts=(*base.facts, *rows.fact_records(s, sight.tenant_id, more, held)),
        episodes=tuple(rows.episode_records(s, sight, told, held)),
        procedures=tuple(rows.procedures(s, sight, by_kind.get("procedure", []))),
        moments=tuple(rows.moment_records(heard, held)),
        hits={hit.id: hit for hit in hits},
    )
    answer = _packed(ask, base, question, found)
    wanted = [UUID(one) for item in answer.items if item.kind == "episode" for one in item.turn_ids[:SHOWN_BY]]
    said = rows.turns(s, sight, wanted)
    if not said:
        return answer
    items = tuple(with_evidence(item, said, held.cuts) for item in answer.items)
    return answer.model_copy(update={"items": items})


def _read_back(budget_tokens: int) -> dict[str, int]:
    least, most = MOMENTS_READ_BACK
    return {**READ_BACK, "moment": min(most, max(least, budget_tokens // LINE_TOKENS))}


def _packed(ask: _Ask, base: Known, question: Question, found: Found) -> Pack:
    items, questions = select_items(found, base.live, question, judge=ask.guards.verdicts)
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
