"""What a use case is given: settings, stores, model, embedder, clock, ids. Once per process, never before a fork."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from afterturn.ids import uuid7
from llm.config import EmbedConfig, ModelConfig, Stage
from llm.face import Embedder, Model
from llm.open import open_embedder, open_model
from schemas.errors import StoreBusy
from stores.clock import world_now
from stores.embedded import EmbeddedIndex
from stores.guarded import GuardedModel
from stores.hot import HotCache
from stores.index import Index
from stores.policies import Policies, policies_of
from stores.settings import EmbedSettings, LlmSettings, Settings, load_settings
from stores.sql import Database

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Kit:
    """Everything a use case needs. `clock` is the real one, aware UTC; `new_id` gives UUIDv7."""

    settings: Settings
    policies: Policies
    db: Database
    index: Index
    hot: HotCache
    model: Model
    embedder: Embedder
    clock: Callable[[], datetime]
    new_id: Callable[[], UUID]

    def world_now(self) -> datetime:
        """The world's time: the real clock plus what eval or demo moved it by. Decay, expiry and `as_of` use it."""
        with self.db.read() as session:
            return world_now(session, self.clock())

    def close(self) -> None:
        """Releases files, connections and threads. Repeat: harmless."""
        self.index.close()
        self.hot.close()
        self.model.close()
        self.embedder.close()
        self.db.dispose()


def open_kit(settings: Settings, *, empties_index: bool = False) -> Kit:
    """A kit by the settings, with an index as it stands or emptied for the embedder set now.

    Raises: BadSettings for an index of another embedder, StoreBusy for an embedded one out of reach.
    """
    embedder = open_embedder(_embed_config(settings.embed))
    index = _index(settings, embedder)
    if empties_index:
        index.rebuild()
    else:
        _open(index, settings)
    policies, database = policies_of(settings, space=embedder.name), Database(settings.database_url)
    return Kit(
        settings=settings,
        policies=policies,
        db=database,
        index=index,
        hot=HotCache(settings.hot_url),
        model=_model(settings, policies, database),
        embedder=embedder,
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


def _index(settings: Settings, embedder: Embedder) -> Index:
    if settings.index == "embedded":
        return EmbeddedIndex(settings.home / "index", space=embedder.name)
    # Its client takes seconds and 64 MiB: for those who use it.
    from stores.weaviate import Endpoint, WeaviateIndex  # noqa: PLC0415

    server = settings.weaviate
    key = None if server.api_key is None else server.api_key.get_secret_value()
    return WeaviateIndex(
        Endpoint(server.url, server.grpc, key),
        space=embedder.name,
        alias=server.alias,
        replicas=server.replicas,
        call_seconds=server.timeout_seconds,
    )


def _open(index: Index, settings: Settings) -> None:
    """Opens the index. A server that is away keeps nobody from starting: recall answers with less, writes wait."""
    try:
        index.open()
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


def _embed_config(embed: EmbedSettings) -> EmbedConfig | None:
    if embed.is_offline:
        return None
    return EmbedConfig(
        model=embed.model,
        base_url=embed.base_url,
        api_key=None if embed.api_key is None else embed.api_key.get_secret_value(),
        dimensions=embed.dimensions,
        batch=embed.batch_size,
        timeout_seconds=embed.timeout_seconds,
    )
