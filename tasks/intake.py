"""What an ingest process holds: its stores, and the way back to those who sent. Opened at the first batch."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol
from uuid import UUID

from afterturn.ids import uuid7
from stores import pools
from stores.hot import HotCache
from stores.policies import Policies, policies_of
from stores.receipts import ReceiptBox
from stores.settings import Settings, load_settings
from stores.sql import Database
from tasks.receipts import Answer, answer_through


class Stores(Protocol):
    """What ingest and reviewers need of a kit: no index, no model, so that neither can hold up what is said."""

    @property
    def settings(self) -> Settings:
        """The operator's."""
        ...

    @property
    def policies(self) -> Policies:
        """The rules' knobs."""
        ...

    @property
    def db(self) -> Database:
        """The truth."""
        ...

    @property
    def hot(self) -> HotCache:
        """What recall reads first: ingest only says what has become old there."""
        ...

    @property
    def clock(self) -> Callable[[], datetime]:
        """The real clock, aware UTC."""
        ...

    @property
    def new_id(self) -> Callable[[], UUID]:
        """UUIDv7."""
        ...


@dataclass(frozen=True, slots=True)
class Intake:
    """The ingest process's own stores, and those of a command that needs no index and no model."""

    settings: Settings
    policies: Policies
    db: Database
    hot: HotCache

    @property
    def clock(self) -> Callable[[], datetime]:
        """The real clock, aware UTC."""
        return lambda: datetime.now(UTC)

    @property
    def new_id(self) -> Callable[[], UUID]:
        """UUIDv7."""
        return uuid7


def open_intake(settings: Settings) -> Intake:
    """The stores of one ingest process. It connects at first use."""
    database = Database(settings.database_url, pools.terms(settings))
    return Intake(settings, policies_of(settings), database, HotCache(settings.hot_url))


class _Process:
    """The stores of this process; a forked child opens its own."""

    def __init__(self) -> None:
        self._held: tuple[int, Intake, Answer] | None = None

    def intake(self) -> Intake:
        """Its stores."""
        return self._opened()[0]

    def answer(self) -> Answer:
        """Its way to tell a publisher what became of a batch."""
        return self._opened()[1]

    def _opened(self) -> tuple[Intake, Answer]:
        if self._held is None or self._held[0] != os.getpid():
            settings = load_settings()
            self._held = os.getpid(), open_intake(settings), answer_through(ReceiptBox(settings.redis_url))
        return self._held[1:]


process = _Process()
