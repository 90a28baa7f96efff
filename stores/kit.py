"""What a use case is given: settings, stores, model, embedder, clock, ids. Once per process, never before a fork."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar
from uuid import UUID

from sqlmodel import Session

from afterturn.ids import uuid7
from llm.config import ModelConfig, Stage
from llm.face import Embedder, Model
from llm.open import open_model
from memory.ranking import RankPolicy
from schemas.errors import StoreBusy
from stores import pools
from stores.clock import world_now
from stores.generations import Generations, Opened
from stores.guarded import GuardedModel
from stores.hot import HotCache
from stores.index import Index
from stores.policies import Policies, policies_of, rank_of
from stores.replica import Replica, replica_of
from stores.settings import LlmSettings, Settings, load_settings
from stores.sql import Database

T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Kit:
    """Everything a use case needs. `clock` is the real one, aware UTC; `new_id` gives UUIDv7."""

    settings: Settings
    policies: Policies
    db: Database
    replica: Replica
    generations: Generations
    hot: HotCache
    model: Model
    clock: Callable[[], datetime]
    new_id: Callable[[], UUID]

    @property
    def index(self) -> Index:
        """The live generation's index, as of now. What also embeds takes the pair by `live()`."""
        return self.live().index

    @property
    def embedder(self) -> Embedder:
        """The live generation's embedder, as of now. What also writes or asks the index takes the pair by `live()`."""
        return self.live().embedder

    def live(self) -> Opened:
        """The live generation's index and its embedder, for one piece of work."""
        return self.generations.live()

    def with_live(self, **parts: Any) -> Kit:
        """The same kit with another `index` or `embedder` for the live generation."""
        return replace(self, generations=self.generations.given(**parts))

    def rank(self, space: str) -> RankPolicy:
        """How finds of a generation are ranked: what its cosines mean depends on its embedder."""
        default = self.generations.default.name
        return self.policies.rank if space == default else rank_of(self.settings, self.policies.rank, space)

    def world_now(self) -> datetime:
        """The world's time: the real clock plus what eval or demo moved it by. Decay, expiry and `as_of` use it."""
        with self.db.read() as session:
            return world_now(session, self.clock())

    def read_for_recall(self, fn: Callable[[Session], T]) -> T:
        """What `fn` answers in one snapshot, which may be as old as the replica is behind. Nothing of it is cached."""
        return self.replica.run(self.db, fn)

    def close(self) -> None:
        """Releases files, connections and threads. Repeat: harmless."""
        self.generations.close()
        self.hot.close()
        self.model.close()
        self.replica.close()
        self.db.dispose()


def open_kit(settings: Settings, *, checks_index: bool = True) -> Kit:
    """A kit by the settings. `checks_index` opens the live index: without it, whoever needs it opens it.

    Raises: BadSettings for an index of another embedder, StoreBusy for an embedded one out of reach.
    """
    database = Database(settings.database_url, pools.terms(settings))
    generations = Generations(settings, database)
    if checks_index:
        _open(generations, settings)
    policies = policies_of(settings, space=generations.default.name)
    return Kit(
        settings=settings,
        policies=policies,
        db=database,
        replica=Replica(replica_of(settings), lag_seconds=settings.postgres.replica_lag_seconds),
        generations=generations,
        hot=HotCache(settings.hot_url),
        model=_model(settings, policies, database),
        clock=lambda: datetime.now(UTC),
        new_id=uuid7,
    )


def process_kit() -> Kit:
    """This process's kit by the environment, opened at the first call; a forked child opens its own."""
    return _process.kit()


def close_process_kit() -> None:
    """Closes this process's kit if it was opened; the next call opens a new one."""
    _process.close()


class _Process:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kit: Kit | None = None
        self._inherited: Kit | None = None

    def kit(self) -> Kit:
        with self._lock:
            if self._kit is None:
                self._kit = open_kit(load_settings())
            return self._kit

    def close(self) -> None:
        with self._lock:
            held, self._kit = self._kit, None
        if held is not None:
            held.close()

    def after_fork(self) -> None:
        """In the child: the parent's kit is kept, so that nothing closes it from here, and never used."""
        self._lock = threading.Lock()
        self._inherited, self._kit = self._kit, None


_process = _Process()
os.register_at_fork(after_in_child=_process.after_fork)


def _open(generations: Generations, settings: Settings) -> None:
    """Opens the index. A server that is away keeps nobody from starting: recall answers with less, writes wait."""
    try:
        generations.plan()
    except StoreBusy as exc:
        logger.warning("database out of reach code=%s", exc.code)
        return
    try:
        generations.live().index.open()
    except StoreBusy as exc:
        if settings.index == "embedded":
            raise
        logger.warning("index out of reach code=%s", exc.code)


def _model(settings: Settings, policies: Policies, database: Database) -> Model:
    model = open_model(model_config(settings.llm))
    if settings.llm.is_offline:
        return model  # rules are never down
    return GuardedModel(model, database, policies.circuit, deadline_seconds=policies.windows.lease_seconds)


def model_config(llm: LlmSettings) -> ModelConfig | None:
    """What the settings say of the model; None for the offline rules."""
    if llm.is_offline:
        return None
    return ModelConfig(
        model_small=llm.model_small,
        model_large=llm.model_large,
        large_stages=frozenset(stage for stage, size in (_STAGES | llm.stages).items() if size == "large"),
        base_url=llm.base_url,
        api_key=None if llm.api_key is None else llm.api_key.get_secret_value(),
        structured=llm.structured,
        max_tokens_param=llm.max_tokens_param,
        max_tokens=llm.max_output_tokens,
        extra_body=llm.extra_body,
        thinking_off=llm.thinking_off,
        timeout_seconds=llm.timeout_seconds,
        connect_timeout_seconds=llm.connect_seconds,
    )


_STAGES: dict[Stage, Literal["small", "large"]] = {"digest": "small", "repair": "large"}
