"""Small builders of recall's values and rows, with defaults that a test overrides where it cares."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID, uuid4

from afterturn.wire import PackItem
from memory.ranking import Candidate
from memory.turns import TurnView

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def a_candidate(text: str = "said", *, id: UUID | None = None, kind: str = "moment", **given: object) -> Candidate:
    values: dict[str, object] = {"at": NOON, "cosine": 0.9, "own_bm25": 5.0, "context_bm25": 5.0, **given}
    return Candidate(id=id or uuid4(), kind=kind, text=text, **values)  # pyright: ignore[reportArgumentType]


def a_turn(text: str, *, role: str = "user", at: datetime = NOON, **given: object) -> TurnView:
    values: dict[str, object] = {"event_id": uuid4(), "language": "en", **given}
    return TurnView(role=role, content=text, at=at, **values)  # pyright: ignore[reportArgumentType]


def an_item(text: str, *, section: str = "moments", kind: str = "moment", **given: object) -> PackItem:
    values: dict[str, object] = {"id": str(uuid4()), "at": NOON, **given}
    return PackItem(text=text, section=section, kind=kind, **values)  # pyright: ignore[reportArgumentType]
