"""A scratch installation for recall's tests: real SQLite, the embedded index, the offline embedder and model."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import SecretStr
from sqlmodel import Session, SQLModel

from afterturn.ids import uuid7
from recall_builders import NOON
from schemas.envelopes import enclose, enclose_json
from schemas.tables import (
    Episode,
    Evidence,
    Fact,
    Moment,
    Procedure,
    ProcedureVersion,
    Span,
    Turn,
    Window,
)
from schemas.tables import Session as SessionRow
from schemas_ready import bring_up
from services import scratch
from stores import outbox, sessions
from stores.kit import Kit, open_kit
from stores.settings import LlmSettings, RecallSettings, load_settings
from stores.tenancy import KeyInfo, KnownUser, create_key, create_tenant, ensure_users, hash_of, key_of_bearer
from tasks.index import index

ALL_RIGHTS = ("publish", "recall", "staff", "review", "erase", "admin")


@dataclass(slots=True)
class House:
    """An installation with one tenant and one key that may do everything, and ways to put rows into it."""

    kit: Kit
    key: KeyInfo
    bearer: str
    owed: list[tuple[UUID, str, UUID]] = field(default_factory=list[tuple[UUID, str, UUID]])

    def user(self, name: str = "u1") -> KnownUser:
        return self.kit.db.write(lambda s: ensure_users(s, self.key, [name])[name])

    def session(self, user: KnownUser, name: str = "s1") -> UUID:
        digest = hash_of(self.key, "session", name)
        ref = sessions.session_ref(user.id, digest)

        def add(session: Session) -> None:
            if session.get(SessionRow, ref) is None:
                session.add(
                    SessionRow(
                        id=ref,
                        tenant_id=self.key.tenant_id,
                        user_ref=user.id,
                        session_hash=digest,
                        session_id=enclose(name),
                        last_received_at=NOON,
                        created_at=NOON,
                    )
                )

        self.kit.db.write(add)
        return ref

    def add(self, *rows: SQLModel) -> None:
        self.kit.db.write(lambda session: session.add_all(rows))

    def turn(
        self,
        user: KnownUser,
        text: str,
        *,
        session: str = "s1",
        at: datetime = NOON,
        digested: bool = True,
        **given: Any,
    ) -> Turn:
        """A turn; a digested one stands in an applied window of its own and has a moment."""
        ref = self.session(user, session)
        values: dict[str, Any] = {"role": "user", "language": "en", **given}
        window_id = uuid7() if digested else None
        turn = Turn(
            tenant_id=self.key.tenant_id,
            event_id=uuid7(),
            user_ref=user.id,
            session_ref=ref,
            at=at,
            received_at=at,
            content=enclose(text),
            window_id=window_id,
            **values,
        )
        self.add(turn)
        if window_id is None:
            self._undigested(ref, at)
            return turn
        staff_ticket = turn.ticket_id if turn.role == "staff" else None
        moment = Moment(
            id=uuid7(),
            tenant_id=self.key.tenant_id,
            user_ref=user.id,
            session_ref=ref,
            event_id=turn.event_id,
            scope="ticket" if staff_ticket else "user",
            scope_key=staff_ticket or str(user.id),
            at=at,
        )
        window = Window(
            id=window_id,
            tenant_id=self.key.tenant_id,
            user_ref=user.id,
            session_ref=ref,
            state="applied",
            turn_ids=[str(turn.event_id)],
            prompt_version="test",
            generation=0,
            next_try_at=at,
            created_at=at,
        )
        self.add(window, moment)
        self._owe(user.id, "moment", moment.id)
        return turn

    def fact(
        self,
        user: KnownUser,
        key: str,
        value: str,
        *,
        valid_from: datetime | None = NOON,
        valid_until: datetime | None = None,
        quote: str | None = None,
        **given: Any,
    ) -> Fact:
        """A version of a fact with one piece of evidence."""
        said_at = given.pop("said_at", valid_from or NOON)
        common: dict[str, Any] = {
            "tenant_id": self.key.tenant_id,
            "user_ref": user.id,
            "scope": given.pop("scope", "user"),
            "scope_key": given.pop("scope_key", str(user.id)),
            "slot_hash": given.pop("slot_hash", f"{user.id.hex}:{key}"),
            "subject": enclose(given.pop("subject", "user")),
            "key": key,
            "type": "identity",
            "value": enclose(value),
            "canonical": enclose(value.casefold()),
            "value_hash": value,
            "write_status": given.pop("write_status", "auto"),
            "confidence": 0.8,
            "language": "en",
        }
        evidence = Evidence(
            id=uuid7(),
            user_as_said=enclose("u1"),
            op="+",
            quote=enclose(quote or value),
            quote_start=0,
            at=said_at,
            event_id=uuid7(),
            role="user",
            policy_version="test",
            prompt_version="test",
            recorded_at=said_at,
            **common,
        )
        fact = Fact(
            id=uuid7(),
            polarity=given.pop("polarity", "+"),
            valid_from=valid_from,
            valid_until=valid_until,
            said_at=said_at,
            recorded_at=given.pop("recorded_at", said_at),
            importance=0.5,
            strength=0.5,
            recorded_by="test",
            evidence_ids=[str(evidence.id)],
            rule_id="test",
            **{**common, **given},
        )
        self.add(evidence, fact)
        self._owe(user.id, "fact", fact.id)
        return fact

    def episode(
        self, user: KnownUser, summary: str, *, at: datetime = NOON, outcome: str = "success", **given: Any
    ) -> Episode:
        """An episode of one hour."""
        episode = Episode(
            id=uuid7(),
            tenant_id=self.key.tenant_id,
            user_ref=user.id,
            summary=enclose(summary),
            outcome=outcome,
            sentiment="neutral",
            entities=enclose_json([]),
            turn_ids=given.pop("turn_ids", []),
            started_at=at,
            ended_at=at + timedelta(hours=1),
            recorded_at=at,
            importance=0.5,
            strength=0.5,
            confidence=0.8,
            **given,
        )
        self.add(episode)
        self._owe(user.id, "episode", episode.id)
        return episode

    def procedure(self, name: str, trigger: str, steps: Sequence[str]) -> ProcedureVersion:
        """The first version of a procedure of the tenant."""
        owner = Procedure(
            id=uuid7(),
            tenant_id=self.key.tenant_id,
            scope="organization",
            scope_key=str(self.key.tenant_id),
            name=name,
            created_at=NOON,
        )
        version = ProcedureVersion(
            id=uuid7(),
            tenant_id=self.key.tenant_id,
            procedure_id=owner.id,
            version=1,
            trigger=enclose(trigger),
            steps=enclose_json([{"text": step} for step in steps]),
            created_at=NOON,
        )
        self.add(owner)
        self.add(version)
        self._owe(self.key.tenant_id, "procedure", version.id)
        return version

    def hold(self, turn: Turn, start: int, end: int, reason: str = "rejected") -> None:
        """Holds back a part of a turn."""
        self.add(
            Span(
                id=uuid7(),
                tenant_id=turn.tenant_id,
                user_ref=turn.user_ref,
                event_id=turn.event_id,
                start=start,
                end=end,
                reason=reason,
            )
        )

    def catch_up(self) -> None:
        """Brings everything that is owed into the index."""
        while index(self.kit):
            pass

    def _owe(self, user_ref: UUID, kind: str, record_id: UUID) -> None:
        self.kit.db.write(
            lambda session: outbox.owe(
                session,
                tenant=self.key.tenant_id,
                user=user_ref,
                kind=kind,
                record_id=record_id,
                row_version=1,
                generation=0,
            )
        )

    def _undigested(self, ref: UUID, at: datetime) -> None:
        def count(session: Session) -> None:
            row = session.get_one(SessionRow, ref)
            row.undigested_count += 1
            row.first_undigested_at = row.first_undigested_at or at

        self.kit.db.write(count)


@contextmanager
def house(home: Path | None = None) -> Generator[House]:
    """A fresh installation on a folder of its own."""
    with scratch() as folder:
        # A model that recall never asks: nothing listens there.
        llm = LlmSettings(base_url="http://127.0.0.1:9", api_key=SecretStr("unused"))
        # No broker runs there; tests of the hot cache bring their own.
        settings = load_settings(home=home or folder, llm=llm, recall=RecallSettings(hot_cache=False))
        bring_up(settings)
        kit = open_kit(settings)
        try:
            key, bearer = _key(kit, "tenant", ALL_RIGHTS)
            yield House(kit=kit, key=key, bearer=bearer)
        finally:
            kit.close()


def another_key(kit: Kit, tenant: str, rights: Sequence[str]) -> tuple[KeyInfo, str]:
    """A key of a tenant that is made for it."""
    return _key(kit, tenant, rights)


def _key(kit: Kit, name: str, rights: Sequence[str]) -> tuple[KeyInfo, str]:
    def make(session: Session) -> str:
        return create_key(session, create_tenant(session, name), rights)[1]

    bearer = kit.db.write(make)
    with kit.db.read() as session:
        return key_of_bearer(session, bearer), bearer
