"""What SQL knows of a question by itself: the profile, the live state, the conversation's end. Read through Redis.

The cache serves the plain present only. A question about the past, or a narrowed one, goes to SQL.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache, partial

from pydantic import TypeAdapter
from sqlmodel import Session

from afterturn.wire import RecallRequest
from memory.question import asks_past
from memory.records import FactRecord, Live, Sight
from stores import hot, live, sights
from stores import recall as rows
from stores.held import Held, held_back
from stores.hot import HotCache, HotKey, Look
from stores.kit import Kit
from stores.sights import Asker
from stores.tenancy import KeyInfo, hash_of

# What a drop that got lost costs at most: how long an answer can be blind to what was just said, or learnt.
TALK_SECONDS = 15.0
PROFILE_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """What goes with a conversation: where the user may listen, and what was said, set and left to digest there."""

    threads: tuple[str, ...]
    is_in_thread: bool
    live: Live
    read_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The facts that hold of the user."""

    facts: tuple[FactRecord, ...]
    read_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What SQL knows without an index. `lacks_cache`: Redis should have answered and did not."""

    sight: Sight
    facts: tuple[FactRecord, ...]
    live: Live
    zone: tzinfo
    lacks_cache: bool = False


def known(kit: Kit, key: KeyInfo, request: RecallRequest) -> Known | None:
    """Everything that needs no index; None for a user that was never heard of. Raises: StoreBusy."""
    with kit.db.read() as session:
        asker = sights.find_asker(session, key, request.user_id)
        if asker is None:
            return None
        sight = _sight(session, kit, key, request, asker)
    if not (kit.hot.is_on and sight.is_plain):
        return kit.read_for_recall(partial(_uncached, sight))
    reading = _Reading(kit.hot, key, asker, sight)
    talk, profile = reading.talk(), reading.profile()
    # A snapshot of its own, begun after the look: what it reads is no older than the stamp. So is the time that it is
    # read for: with the time from before the look, what was said in between would be missing under a good stamp.
    now = kit.clock() + timedelta(seconds=asker.offset_seconds)
    sight = replace(sight, now=now, as_of=now)
    if talk is not None and profile is not None:
        found = kit.read_for_recall(partial(_known, sight=sight, talk=talk, profile=profile))
    else:
        # From the primary: a replica may be older than the stamp, and what was cached of it would stay.
        with kit.db.read() as session:
            held = held_back(session, sight)
            if talk is None:
                talk = _talk(session, sight, held)
                reading.keep_talk(talk)
            if profile is None:
                profile = _profile(session, _placed(sight, talk), held)
                reading.keep_profile(profile)
            found = _known(session, sight, talk, profile)
    return replace(found, lacks_cache=reading.look.is_away)


def _uncached(sight: Sight, session: Session) -> Known:
    held = held_back(session, sight)
    talk = _talk(session, sight, held)
    return _known(session, sight, talk, _profile(session, _placed(sight, talk), held))


def _sight(session: Session, kit: Kit, key: KeyInfo, request: RecallRequest, asker: Asker) -> Sight:
    now = request.now or kit.clock() + timedelta(seconds=asker.offset_seconds)
    as_of = request.as_of or now
    session_hash = hash_of(key, "session", request.session_id) if request.session_id else None
    return Sight(
        tenant_id=key.tenant_id,
        users=asker.users,
        now=now,
        as_of=as_of,
        known_at=request.known_at,
        past=asks_past(request.query) or as_of < now or request.between is not None,
        closed=asks_past(request.query),
        between=request.between,
        scopes=tuple(request.scopes),
        tags=request.tags,
        outcome=request.outcome,
        session_ref=live.find_session(session, asker.users, session_hash) if session_hash else None,
        thread_id=request.thread_id,
        ticket_id=request.ticket_id,
        agent_id=key.agent_id or request.agent_id,
        agents=kit.policies.agents,
        bounded=request.now is not None or request.as_of is not None,
    )


def _known(session: Session, sight: Sight, talk: Talk, profile: Profile) -> Known:
    placed = _placed(sight, talk)
    return Known(
        sight=placed,
        facts=tuple(fact for fact in profile.facts if sight.reads(fact.agent_id)),
        live=replace(
            talk.live,
            tail=tuple(one for one in talk.live.tail if sight.reads(one.turn.agent_id)),
            unindexed=live.unindexed(session, sight.users),
        ),
        zone=talk.live.tail[-1].turn.zone() if talk.live.tail else UTC,
    )


def _placed(sight: Sight, talk: Talk) -> Sight:
    """The sight with the threads in which the user really is: one that a request only names opens nothing."""
    thread_id = sight.thread_id if talk.is_in_thread else None
    return replace(sight, shared_threads=talk.threads, thread_id=thread_id)


def _talk(session: Session, sight: Sight, held: Held) -> Talk:
    talks = sights.talks(session, sight.users)
    threads = list(dict.fromkeys(talk.thread_id for talk in talks if talk.thread_id is not None))
    wanted = sight.thread_id
    is_in = wanted is not None and (
        wanted in threads or sights.is_in_thread(session, sight.tenant_id, sight.users, wanted)
    )
    found = Talk(
        threads=sights.shared_threads(session, sight.tenant_id, sight.users, threads),
        is_in_thread=is_in,
        live=Live(),
        read_at=sight.now,
    )
    return replace(found, live=live.live(session, _placed(sight, found), talks, held))


def _profile(session: Session, sight: Sight, held: Held) -> Profile:
    found = rows.profile_facts(session, sight)
    return Profile(facts=tuple(rows.fact_records(session, sight.tenant_id, found, held)), read_at=sight.now)


class _Reading:
    """One look into the cache, and what is put there afterwards under its stamp."""

    def __init__(self, cache: HotCache, key: KeyInfo, asker: Asker, sight: Sight) -> None:
        self._cache = cache
        self._secret = _secret(key.hash_key)
        self._now = sight.now
        name = _name(asker, sight)
        of_user = partial(HotKey, tenant_id=sight.tenant_id, user_ref=asker.users[0], generation=asker.generations[0])
        self._talk = of_user(name=f"{hot.TALK}:{name}")
        self._profile = of_user(name=f"{hot.PROFILE}:{name}")
        wanted = {self._talk: _marks(sight, hot.TALK), self._profile: _marks(sight, hot.PROFILE)}
        self.look: Look = cache.look(wanted, secret=self._secret)

    def talk(self) -> Talk | None:
        """The cached conversation, unless the world's clock has moved past it."""
        raw = self.look.values.get(self._talk)
        found = None if raw is None else _TALK.validate_json(raw)
        return found if found is not None and self._is_fresh(found.read_at, TALK_SECONDS) else None

    def profile(self) -> Profile | None:
        """The cached profile, likewise."""
        raw = self.look.values.get(self._profile)
        found = None if raw is None else _PROFILE.validate_json(raw)
        return found if found is not None and self._is_fresh(found.read_at, PROFILE_SECONDS) else None

    def keep_talk(self, talk: Talk) -> None:
        """Caches what was just read."""
        self._put(self._talk, _TALK.dump_json(talk), TALK_SECONDS)

    def keep_profile(self, profile: Profile) -> None:
        """Caches what was just read."""
        self._put(self._profile, _PROFILE.dump_json(profile), PROFILE_SECONDS)

    def _put(self, key: HotKey, raw: bytes, ttl_seconds: float) -> None:
        self._cache.put(self.look, key, raw, ttl_seconds=ttl_seconds, secret=self._secret)

    def _is_fresh(self, read_at: datetime, seconds: float) -> bool:
        # Eval and demo move the world's clock; what holds is then another question, whatever Redis' own clock says.
        return timedelta(0) <= self._now - read_at <= timedelta(seconds=seconds)


def _name(asker: Asker, sight: Sight) -> str:
    """Tells apart what the same user is asked: who belongs to them, and which conversation it is."""
    parts = (*asker.users, *asker.generations, sight.session_ref, sight.thread_id, sight.ticket_id)
    return hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()


def _marks(sight: Sight, what: str) -> list[HotKey]:
    # What holds for the whole organisation stands under the tenant's own id.
    users = (*sight.users, sight.tenant_id)
    return hot.marks_of(sight.tenant_id, users, threads=[sight.thread_id], tickets=[sight.ticket_id], what=[what])


@cache
def _secret(hash_key: bytes) -> bytes:
    return hot.seal_key(hash_key)


_TALK = TypeAdapter(Talk)
_PROFILE = TypeAdapter(Profile)
