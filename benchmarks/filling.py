"""Fills both stores with what digestion leaves of made-up conversations, without digesting any."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlmodel import Session, SQLModel

from afterturn.ids import uuid7
from benchmarks.index import Corpus
from memory.terms import terms
from schemas.envelopes import enclose, enclose_json
from schemas.indexing import IndexRow
from schemas.tables import Episode, Evidence, Fact, Moment, Turn, Window
from schemas.tables import Session as SessionRow
from stores import sessions
from stores.kit import Kit
from stores.sql import insert_once
from stores.tenancy import KeyInfo, ensure_users, hash_of

START = datetime(2026, 1, 1, tzinfo=UTC)
TURNS_PER_SESSION = 20
FACT_KEYS = ("city", "company", "job", "diet", "likes", "skill", "habit", "need")
CHUNK = 500


class Filling:
    """Conversations of made-up users as they stand after digestion: turns, moments, windows, episodes, facts."""

    def __init__(self, kit: Kit, key: KeyInfo, corpus: Corpus) -> None:
        self._kit, self._key, self._corpus = kit, key, corpus
        self._rows: dict[type[SQLModel], list[dict[str, Any]]] = {}
        self._index: list[IndexRow] = []
        self.questions: list[tuple[str, str]] = []

    def fill(self, memories: int, users: int, *, name: str = "user") -> None:
        """Writes so many memories, spread evenly over new users; `questions` are about these alone."""
        self.questions = []
        names = [f"{name} {number}" for number in range(users)]
        refs = self._kit.db.write(lambda s: {n: u.id for n, u in ensure_users(s, self._key, names).items()})
        per_session = TURNS_PER_SESSION + 2
        for number in range(-(-memories // per_session)):
            name = names[number % users]
            self._session(name, refs[name], number // users)
            if len(self._index) >= CHUNK:
                self.flush()
        self.flush()

    def flush(self) -> None:
        """Sends what was gathered to both stores."""

        def write(session: Session) -> None:
            for table, rows in self._rows.items():
                insert_once(session, table, rows)

        self._kit.db.write(write)
        self._kit.index.upsert(self._index)
        self._rows, self._index = {}, []

    def _session(self, name: str, user: UUID, number: int) -> None:
        key, at = self._key, START + timedelta(hours=number)
        digest = hash_of(key, "session", f"s{number}")
        ref, window_id = sessions.session_ref(user, digest), uuid7()
        common: dict[str, Any] = {"tenant_id": key.tenant_id, "user_ref": user}
        turn_ids = [uuid7() for _ in range(TURNS_PER_SESSION)]
        self._add(
            SessionRow(
                **common,
                id=ref,
                session_hash=digest,
                session_id=enclose(f"s{number}"),
                last_received_at=at,
                created_at=at,
                turn_count=TURNS_PER_SESSION,
            ),
            Window(
                **common,
                id=window_id,
                session_ref=ref,
                state="applied",
                turn_ids=[str(one) for one in turn_ids],
                prompt_version="benchmark",
                generation=0,
                next_try_at=at,
                created_at=at,
            ),
        )
        texts = [self._corpus.text(number % 2, 18) for _ in turn_ids]
        for place, (event_id, text) in enumerate(zip(turn_ids, texts, strict=True)):
            said_at = at + timedelta(seconds=place)
            turn = Turn(
                **common,
                event_id=event_id,
                session_ref=ref,
                at=said_at,
                received_at=said_at,
                role=("user", "assistant")[place % 2],
                content=enclose(text),
                window_id=window_id,
            )
            moment = Moment(
                **common,
                id=uuid7(),
                session_ref=ref,
                event_id=event_id,
                scope="user",
                scope_key=str(user),
                at=said_at,
            )
            self._add(turn, moment)
            around = " ".join(texts[max(0, place - 1) : place + 2])
            self._indexed(user, "moment", moment.id, text, around, said_at)
        self._told(user, number, at, ref, turn_ids, texts)
        words = texts[7].split() if number % 2 == 0 else [texts[7][2:12]]
        self.questions.append((name, " ".join(words[3:8] or words)))

    def _told(  # noqa: PLR0917 - one place, in the order of a session
        self, user: UUID, number: int, at: datetime, ref: UUID, turn_ids: Sequence[UUID], texts: Sequence[str]
    ) -> None:
        common: dict[str, Any] = {"tenant_id": self._key.tenant_id, "user_ref": user}
        summary = self._corpus.text(number % 2, 30)
        episode = Episode(
            **common,
            id=uuid7(),
            session_ref=ref,
            summary=enclose(summary),
            outcome="unknown",
            sentiment="neutral",
            entities=enclose_json([]),
            turn_ids=[str(one) for one in turn_ids],
            started_at=at,
            ended_at=at + timedelta(minutes=5),
            recorded_at=at,
            importance=0.4,
            strength=0.4,
            confidence=0.8,
        )
        value = self._corpus.text(number % 2, 2)
        fact_key = FACT_KEYS[number % len(FACT_KEYS)]
        slot: dict[str, Any] = {
            "scope": "user",
            "scope_key": str(user),
            "slot_hash": f"{user.hex}:{fact_key}:{number // 400}",
        }
        said: dict[str, Any] = {"subject": enclose("user"), "key": fact_key, "type": "preference", "value_hash": value}
        content: dict[str, Any] = {
            "value": enclose(value),
            "canonical": enclose(value),
            "write_status": "auto",
            "confidence": 0.8,
        }
        evidence = Evidence(
            **common,
            **slot,
            **said,
            **content,
            id=uuid7(),
            user_as_said=enclose("user"),
            op="+",
            quote=enclose(texts[0]),
            quote_start=0,
            at=at,
            event_id=turn_ids[0],
            role="user",
            policy_version="b",
            prompt_version="b",
            recorded_at=at,
        )
        # Four of five sessions only repeat or replace: a profile is small beside what was said.
        replaced = at if number % 5 or number > 400 else None
        fact = Fact(
            **common,
            **slot,
            **said,
            **content,
            id=uuid7(),
            polarity="+",
            valid_from=at,
            said_at=at,
            recorded_at=at,
            superseded_at=replaced,
            importance=0.5,
            strength=0.5,
            recorded_by="user",
            evidence_ids=[str(evidence.id)],
            rule_id="b",
        )
        self._add(episode, evidence, fact)
        self._indexed(user, "episode", episode.id, summary, summary, at)
        if replaced is None:
            self._indexed(user, "fact", fact.id, value, texts[0], at)

    def _add(self, *rows: SQLModel) -> None:
        for row in rows:
            names = type(row).model_fields
            self._rows.setdefault(type(row), []).append({name: getattr(row, name) for name in names})

    def _indexed(  # noqa: PLR0917 - one place
        self, user: UUID, kind: str, row_id: UUID, own: str, around: str, at: datetime
    ) -> None:
        row = IndexRow(
            id=row_id,
            tenant_id=self._key.tenant_id,
            user_ref=user,
            kind=kind,
            scope="user",
            scope_key=str(user),
            own_terms=" ".join(terms(own)),
            context_terms=" ".join(terms(around)),
            row_version=1,
            created_at=at,
            valid_from=at,
            vector=self._corpus.vector(),
        )
        self._index.append(row)
