"""The generations of the index as this process opened them: an index each, and the embedder of its vectors.

A pair is taken once and used to the end of a piece of work: an index of one generation never meets the vectors of
another, whatever the settings say and whenever the switch comes.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sqlmodel import Session

from llm.config import EmbedConfig
from llm.face import Embedder
from llm.open import open_embedder
from schemas.errors import BadSettings, StoreBusy
from schemas.indexing import Vector
from schemas.tables import IndexGeneration
from stores import index_generations
from stores.embedded import EmbeddedIndex
from stores.index import Index
from stores.index_generations import Plan, Space
from stores.settings import EmbedSettings, Settings
from stores.sql import Database

if TYPE_CHECKING:
    from stores.weaviate import Connection

logger = logging.getLogger(__name__)

#: How old a plan may be; and by how old a one a question still is answered that has no time to look.
FRESH_SECONDS = 1.0
LASTING_SECONDS = 20.0
#: How long a generation outlives the switch: longer than any reader keeps a plan and a question takes.
GRACE_SECONDS = 90.0
OFFLINE = "offline"
PROBE = "The quick brown fox jumps over the lazy dog. 敏捷的棕色狐狸跳过懒狗。"
# Another build of the same model moves a vector a little, another model to anywhere.
LEAST_LIKENESS = 0.98


class CheckedEmbedder:
    """A generation's embedder, compared at its first answer with the vector that the generation was begun with."""

    def __init__(self, real: Embedder, probe: bytes | None) -> None:
        self.name = real.name
        self._real = real
        self._probe = None if probe is None else np.frombuffer(probe, dtype=np.float32)

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        return self._real.dimensions

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One vector a text. Raises: BadSettings when they are not of this generation; what the embedder raises."""
        if self._probe is None or not texts:
            return self._real.embed(texts)
        *vectors, mine = self._real.embed([*texts, PROBE])
        if mine.shape != self._probe.shape or float(mine @ self._probe) < LEAST_LIKENESS:
            msg = f"AFTERTURN_EMBED_MODEL: what answers as {self.name} gives other vectors than the index holds"
            raise BadSettings(msg, code="index_embedder")
        self._probe = None
        return vectors

    def close(self) -> None:
        """Releases the embedder's connections. Repeat: harmless."""
        self._real.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A generation in this process: its index, and the only embedder whose vectors go into it or ask it."""

    number: int
    space: str
    place: str
    index: Index
    embedder: Embedder


class Generations:
    """Opens generations by the plan in SQL. Safe between threads; a forked child makes its own with its kit."""

    def __init__(self, settings: Settings, db: Database) -> None:
        self.default = space_of(settings.embed)
        self._settings = settings
        self._db = db
        self._lock = threading.RLock()
        self._plan: tuple[float, Plan] | None = None
        self._opened: dict[int, Opened] = {}
        self._indexes: dict[tuple[int, str, str], Index] = {}
        self._connection: Connection | None = None
        self._given: dict[str, Any] = {}

    def plan(self, *, seconds: float = FRESH_SECONDS) -> Plan:
        """The plan, up to `seconds` old; an older one while the database is away. 0: read now.

        Raises: StoreBusy when it was never read, or is to be read now.
        """
        with self._lock:
            held = self._plan
        if held is not None and time.monotonic() - held[0] < seconds:
            return held[1]
        try:
            with self._db.read() as session:
                return self.take(index_generations.plan(session, self.default))
        except StoreBusy:
            if held is None or not seconds:
                raise
            return held[1]

    def read(self, session: Session) -> Plan:
        """The plan as of this transaction, which it outlasts."""
        return self.take(index_generations.settled(session, self.default))

    def take(self, plan: Plan) -> Plan:
        """Goes by this plan from now on; what it names no more is closed."""
        with self._lock:
            self._plan = (time.monotonic(), plan)
            numbers = {row.number for row in plan.all}
            ended = [self._opened.pop(number) for number in set(self._opened) - numbers]
            unused = [self._indexes.pop(key) for key in list(self._indexes) if key[0] not in numbers]
        for one in ended:
            one.embedder.close()
        for index in unused:
            index.close()
        return plan

    def live(self, *, seconds: float = FRESH_SECONDS) -> Opened:
        """The live generation by a plan up to `seconds` old, as a pair to be used together.

        Raises: BadSettings when it cannot be opened here; StoreBusy, as `plan`.
        """
        return self.opened(self.plan(seconds=seconds).live)

    def opened(self, row: IndexGeneration) -> Opened:
        """A generation as this process has it. Raises: BadSettings for an embedder that the settings cannot open."""
        with self._lock:
            found = self._opened.get(row.number)
            if found is None or (found.space, found.place) != (row.space, row.place):
                embedder = CheckedEmbedder(self._embedder(Space(row.space, row.model, row.dimensions)), row.probe)
                found = Opened(
                    number=row.number, space=row.space, place=row.place, index=self.index_of(row), embedder=embedder
                )
                self._opened[row.number] = found
        return replace(found, **self._given) if row.state == "live" and self._given else found

    def index_of(self, row: IndexGeneration) -> Index:
        """A generation's index alone, whether or not its embedder can be opened here."""
        key = (row.number, row.space, row.place)
        with self._lock:
            if key not in self._indexes:
                self._indexes[key] = self._index(row)
            return self._indexes[key]

    def mark(self, space: Space) -> bytes:
        """An embedder's mark, by which another one of its name is told. Raises: BadSettings, ModelBusy, BadAnswer."""
        embedder = self._embedder(space)
        try:
            return mark_of(embedder)
        finally:
            embedder.close()

    def indexes(self) -> list[Index]:
        """The index of every generation that there is: where a deletion has to go."""
        return [self.index_of(row) for row in self.plan(seconds=0).all]

    def place_of(self, space: str) -> Callable[[int], str]:
        """Where a generation of a number would be."""
        if self._settings.index == "embedded":
            return lambda number: f"g{number}"
        named = re.sub("[^A-Za-z0-9]+", "_", space)[:80]
        return lambda number: f"{self._settings.weaviate.alias}_g{number}_{named}"

    def given(self, **parts: Any) -> Self:
        """The same with another `index` or `embedder` for the live generation."""
        other = type(self)(self._settings, self._db)
        other._opened, other._indexes, other._plan = self._opened, self._indexes, self._plan
        other._given = {**self._given, **parts}
        return other

    def close(self) -> None:
        """Releases files, connections and threads. Repeat: harmless."""
        with self._lock:
            opened, self._opened = list(self._opened.values()), {}
            indexes, self._indexes = list(self._indexes.values()), {}
        for one in opened:
            one.embedder.close()
        for index in indexes:
            index.close()
        if self._connection is not None:
            self._connection.close()

    def _may_make(self, number: int) -> bool:
        with self._db.read() as session:
            return index_generations.may_be_made(session, number)

    def _index(self, row: IndexGeneration) -> Index:
        settings, number = self._settings, row.number

        def may_make() -> bool:
            return self._may_make(number)

        if settings.index == "embedded":
            return EmbeddedIndex(settings.home / "index", space=row.space, place=row.place, may_make=may_make)
        # Its client takes seconds and 64 MiB: for those who use it.
        from stores.weaviate import Connection, Endpoint, WeaviateIndex  # noqa: PLC0415

        server = settings.weaviate
        key = None if server.api_key is None else server.api_key.get_secret_value()
        endpoint = Endpoint(server.url, server.grpc, key)
        # One for all: its library takes ill to several loops in one process.
        self._connection = self._connection or Connection(endpoint)
        return WeaviateIndex(
            endpoint,
            space=row.space,
            alias=server.alias,
            place=row.place,
            may_make=may_make,
            replicas=server.replicas,
            call_seconds=server.timeout_seconds,
            connection=self._connection,
        )

    def _embedder(self, space: Space) -> Embedder:
        real = open_embedder(embed_config(self._settings.embed, space))
        if real.name != space.name:
            real.close()
            msg = f"the index holds vectors of {space.name}, this build has {real.name}; rebuild the index"
            raise BadSettings(msg, code="index_embedder")
        return real


def mark_of(embedder: Embedder) -> bytes:
    """The vector of a fixed text. Raises: ModelBusy, BadAnswer."""
    (vector,) = embedder.embed([PROBE])
    return np.asarray(vector, dtype=np.float32).tobytes()


def space_of(embed: EmbedSettings, *, model: str | None = None, dimensions: int | None = None) -> Space:
    """The space that the settings ask for, or that of another model: a name, or `offline`.

    Raises: BadSettings for a model of an endpoint where none is set.
    """
    is_offline = embed.is_offline if model is None else model == OFFLINE
    wanted = Space("", None, None)
    if not is_offline:
        own = embed.dimensions if model in (None, embed.model) else None
        wanted = Space("", model or embed.model, dimensions or own)
    found = open_embedder(embed_config(embed, wanted))
    try:
        return wanted._replace(name=found.name)
    finally:
        found.close()


def embed_config(embed: EmbedSettings, space: Space) -> EmbedConfig | None:
    """How an embedder of the endpoint in the settings is opened; None for the offline one.

    Raises: BadSettings where no endpoint is set.
    """
    if space.model is None:
        return None
    if embed.is_offline:
        msg = f"AFTERTURN_EMBED_BASE_URL: is needed, the index holds vectors of {space.model}"
        raise BadSettings(msg, code="index_embedder")
    return EmbedConfig(
        model=space.model,
        base_url=embed.base_url,
        api_key=None if embed.api_key is None else embed.api_key.get_secret_value(),
        dimensions=space.dimensions,
        batch=embed.batch_size,
        timeout_seconds=embed.timeout_seconds,
    )
