"""What an operator can set, and its default. The only reader of the environment; it knows no rule.

Names are `AFTERTURN_<FIELD>` and `AFTERTURN_<AREA>_<FIELD>`: `settings.llm.base_url` is `AFTERTURN_LLM_BASE_URL`.
Whoever wires a rule builds its policy from these values; a number that is None leaves the rule's own default alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import parse_qsl, quote, urlsplit

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from afterturn.fields import fault
from schemas.errors import BadSettings
from stores import setting_faults
from stores.secret_files import SecretFiles, secret_texts
from stores.setting_areas import (
    ApiSettings,
    Area,
    EmbedSettings,
    FlowerSettings,
    IngestSettings,
    LlmSettings,
    OtelSettings,
    PostgresSettings,
    RecallSettings,
    RetentionSettings,
    StrengthSettings,
    WeaviateSettings,
    WindowSettings,
    WorkerSettings,
)

PREFIX = "AFTERTURN_"

#: Of compose.yaml and the image: for whoever starts containers, and read by nothing in them.
_DEPLOYED = ("AFTERTURN_EXTRAS", "AFTERTURN_IMAGE", "AFTERTURN_PUBLISHED_PORT")
#: Where to knock when a service listens on every address.
ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - not where to listen

# sockaddr_un holds 108 bytes on Linux and 104 on macOS, the closing zero included.
SOCKET_PATH_BYTES = 103


def _home() -> Path:
    return Path("~/.local/share/afterturn")


def broker_socket(home: Path) -> Path:
    """Where the embedded broker listens: in the data folder, or where its launcher recorded a shorter path."""
    socket_path = home / "broker" / "valkey.sock"
    record = home / "broker" / "socket-path"
    if len(os.fsencode(socket_path)) > SOCKET_PATH_BYTES and record.is_file():
        return Path(record.read_text("utf-8").strip())
    return socket_path


def embedded_broker_url(home: Path) -> str:
    """The URL of the broker that is ours to start."""
    return f"redis+socket://{quote(str(broker_socket(home)))}?virtual_host=0"


def _broker_url(data: dict[str, Any]) -> str:
    return embedded_broker_url(data["home"]) if "home" in data else ""


def _database_url(data: dict[str, Any]) -> str:
    return f"sqlite:///{data['home'] / 'afterturn.db'}" if "home" in data else ""


class Settings(BaseSettings):
    """Everything an operator can set. Frozen; arguments win over the environment."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="_",
        env_nested_max_split=1,
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
    )

    home: Path = Field(default_factory=_home, validate_default=True)
    secrets_dir: Path | None = None
    key: SecretStr | None = None
    url: str = "http://127.0.0.1:8710"
    broker_url: str = Field(default_factory=_broker_url, repr=False)
    database_url: str = Field(default_factory=_database_url, repr=False)
    database_replica_url: SecretStr | None = None
    index: Literal["embedded", "weaviate"] = "embedded"
    lang: Literal["zh", "en"] | None = None
    llm: LlmSettings = LlmSettings()
    embed: EmbedSettings = EmbedSettings()
    weaviate: WeaviateSettings = WeaviateSettings()
    window: WindowSettings = WindowSettings()
    ingest: IngestSettings = IngestSettings()
    recall: RecallSettings = RecallSettings()
    retention: RetentionSettings = RetentionSettings()
    strength: StrengthSettings = StrengthSettings()
    workers: WorkerSettings = WorkerSettings()
    postgres: PostgresSettings = PostgresSettings()
    api: ApiSettings = ApiSettings()
    flower: FlowerSettings = FlowerSettings()
    otel: OtelSettings = OtelSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then the environment, then secret files."""
        return init_settings, env_settings, SecretFiles(settings_cls)

    @field_validator("home")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        return home.expanduser().absolute()

    @field_validator("database_replica_url")
    @classmethod
    def _postgres(cls, url: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        pair = [] if url is None else [url.get_secret_value(), str(info.data.get("database_url", ""))]
        if not all(one.startswith("postgres") for one in pair):
            raise fault("must begin with postgresql://, and so must AFTERTURN_DATABASE_URL")
        return url

    @field_validator("url")
    @classmethod
    def _http(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            is_whole = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:  # Its text may hold the address.
            is_whole = False
        if not is_whole:
            raise fault("must be http://HOST:PORT or https://HOST:PORT")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _url_of_the_api(self) -> Self:
        if "url" not in self.model_fields_set and (self.api.host is not None or self.api.port is not None):
            # Frozen is for those who use the settings: here they are still being made.
            object.__setattr__(self, "url", f"http://{self._reached_at()}:{self.api_port}")
        return self

    def _reached_at(self) -> str:
        host = ANY_ADDRESS.get(self.api_host, self.api_host)
        return f"[{host}]" if ":" in host else host

    @property
    def has_embedded_broker(self) -> bool:
        """The broker is ours to start."""
        return self.broker_url == embedded_broker_url(self.home)

    @property
    def redis_url(self) -> str:
        """The broker's URL as redis-py spells it. Raises: BadSettings when redis-py cannot take it."""
        return redis_url(self.broker_url)

    @property
    def is_sqlite(self) -> bool:
        """The database is a file on this machine."""
        return self.database_url.startswith("sqlite")

    @property
    def hot_url(self) -> str | None:
        """The Redis that recall reads through, as redis-py spells it; None when it reads SQL alone."""
        return self.redis_url if self.recall.hot_cache else None

    @property
    def api_host(self) -> str:
        """The address that the API binds."""
        return self.api.host or urlsplit(self.url).hostname or "127.0.0.1"

    @property
    def api_port(self) -> int:
        """The port that the API binds."""
        parts = urlsplit(self.url)
        default = 443 if parts.scheme == "https" else 80
        return self.api.port if self.api.port is not None else parts.port or default

    @property
    def key_file(self) -> Path:
        """Where the embedded installation keeps its own credential, mode 0600."""
        return self.home / "key"

    def credential(self) -> SecretStr | None:
        """The credential to act with: AFTERTURN_KEY, else the data folder's key file."""
        if self.key is not None:
            return self.key
        text = self.key_file.read_text("utf-8").strip() if self.key_file.is_file() else ""
        return SecretStr(text) if text else None


def locale_language() -> Literal["zh", "en"]:
    """The language of the person at this terminal, as the locale says."""
    told = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
    return "zh" if told.lower().startswith("zh") else "en"


def redis_url(broker_url: str) -> str:
    """The URL in redis-py's spelling: kombu's `redis+socket:///path?virtual_host=0` is `unix:///path?db=0`."""
    try:
        parts = urlsplit(broker_url)
        _ = parts.port
    except ValueError:
        raise BadSettings("AFTERTURN_BROKER_URL: must be redis://HOST:PORT/NUMBER") from None
    if parts.scheme == "redis+socket":
        database = dict(parse_qsl(parts.query)).get("virtual_host", "0").lstrip("/")
        return f"unix://{parts.path}?db={database or 0}"
    if parts.scheme not in {"redis", "rediss", "unix"}:
        raise BadSettings("AFTERTURN_BROKER_URL: must begin with redis://, rediss:// or redis+socket://")
    return broker_url


def load_settings(**given: Any) -> Settings:
    """Settings from the environment; arguments win.

    Raises: BadSettings with the variable's name, the place in it and what is allowed there, never its value.
    """
    try:
        return Settings(**given)
    except ValidationError as exc:
        known = [name for name, _ in variables()]
        raise BadSettings(setting_faults.first_fault(exc, Settings.model_json_schema(), known, PREFIX)) from None
    except SettingsError:
        # Its message names the field or the source only in prose, and its cause quotes the value.
        raise BadSettings(_broken_json()) from None


def variables() -> Iterator[tuple[str, Any]]:
    """Every variable with its default, in the order of declaration; a default that depends on others is None."""
    for name, field in Settings.model_fields.items():
        default: object = field.default
        if isinstance(default, Area):
            for inner, value in _fields(default).items():
                yield f"{PREFIX}{name}_{inner}".upper(), value
        else:
            yield f"{PREFIX}{name}".upper(), None if field.is_required() or field.default_factory else default


def as_environment(settings: Settings) -> dict[str, str]:
    """The variables that give another process these settings; secrets are in clear."""
    # Both follow from others when they are left out, and a child may have those in its environment otherwise.
    found = {f"{PREFIX}HOME": str(settings.home), f"{PREFIX}URL": settings.url}
    for name, field in Settings.model_fields.items():
        value: object = getattr(settings, name)
        if isinstance(value, Area):
            unset = type(value)()
            pairs = [(f"{name}_{inner}", given, getattr(unset, inner)) for inner, given in _fields(value).items()]
        else:
            pairs = [(name, value, None if field.default_factory else field.default)]
        found |= {f"{PREFIX}{n}".upper(): _written(given) for n, given, default in pairs if given != default}
    return found


def environment_with(settings: Settings) -> dict[str, str]:
    """This process's environment, with these settings: for a child that works for the same service."""
    return {**os.environ, **as_environment(settings)}


def unknown_variables(environment: Mapping[str, str] | None = None) -> dict[str, str | None]:
    """AFTERTURN_* names that are set, here or in secret files, and that nothing reads; each with what may be meant."""
    known = [name for name, _ in variables()]
    names = {**secret_texts(), **os.environ} if environment is None else environment
    strange = (name for name in names if name.startswith(PREFIX) and name not in {*known, *_DEPLOYED})
    return {
        name: setting_faults.nearest(name, known) for name in sorted(strange) if not name.startswith(f"{PREFIX}TEST_")
    }


def _fields(area: Area) -> dict[str, Any]:
    return {name: getattr(area, name) for name in type(area).model_fields}


def _written(value: object) -> str:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    return json.dumps(value, default=_fields) if isinstance(value, (bool, dict)) else str(value)


def _broken_json() -> str:
    texts = {**secret_texts(), **os.environ}
    complex_names = [name for name, default in variables() if isinstance(default, dict)]
    areas = {
        f"{PREFIX}{name}".upper(): f"{PREFIX}{name}_{next(iter(_fields(field.default)))}".upper()
        for name, field in Settings.model_fields.items()
        if isinstance(field.default, Area)
    }
    return setting_faults.broken_json(texts, complex_names, areas) or f"{PREFIX}*: must be JSON"
