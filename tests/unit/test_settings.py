"""Settings: names, bounds, secrets, and the example file that lists them all."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from afterturn.asking import base_url
from schemas.errors import BadSettings
from schemas.fault_words import fault_text
from stores.setting_areas import Area
from stores.settings import Settings, as_environment, load_settings, redis_url, unknown_variables, variables

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "deploy" / ".env.example"


def test_defaults_stay_on_this_machine(home: Path) -> None:
    settings = load_settings(home=home)

    assert settings.database_url == f"sqlite:///{home}/afterturn.db"
    assert settings.broker_url == f"redis+socket://{home}/broker/valkey.sock?virtual_host=0"
    assert settings.redis_url == f"unix://{home}/broker/valkey.sock?db=0"
    assert settings.has_embedded_broker
    assert settings.llm.is_offline
    assert settings.embed.is_offline
    assert (settings.api_host, settings.api_port) == ("127.0.0.1", 8710)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({"AFTERTURN_API_PORT": "9000"}, "http://127.0.0.1:9000"),
        ({"AFTERTURN_API_HOST": "0.0.0.0"}, "http://127.0.0.1:8710"),  # noqa: S104
        ({"AFTERTURN_API_HOST": "::", "AFTERTURN_API_PORT": "9000"}, "http://[::1]:9000"),
        ({"AFTERTURN_API_HOST": "memory.lan", "AFTERTURN_API_PORT": "9000"}, "http://memory.lan:9000"),
        ({"AFTERTURN_URL": "https://memory.example", "AFTERTURN_API_PORT": "9000"}, "https://memory.example"),
        ({"AFTERTURN_URL": "http://127.0.0.1:8710", "AFTERTURN_API_PORT": "9000"}, "http://127.0.0.1:8710"),
    ],
)
def test_the_api_is_looked_for_where_it_listens(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], url: str
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)

    settings = load_settings()

    assert settings.url == url
    assert base_url(None) == url
    assert as_environment(settings)["AFTERTURN_URL"] == url


def test_the_data_folder_defaults_to_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AFTERTURN_HOME")
    monkeypatch.setenv("HOME", "/nowhere")

    assert load_settings().home == Path("/nowhere/.local/share/afterturn")


@pytest.mark.parametrize(
    ("name", "value", "path", "read"),
    [
        ("AFTERTURN_LLM_BASE_URL", "http://model/v1", "llm.base_url", "http://model/v1"),
        ("AFTERTURN_LLM_EXTRA_BODY", '{"enable_thinking": false}', "llm.extra_body", {"enable_thinking": False}),
        ("AFTERTURN_LLM_THINKING_OFF", "true", "llm.thinking_off", True),
        ("AFTERTURN_EMBED_DIMENSIONS", "512", "embed.dimensions", 512),
        ("AFTERTURN_WINDOW_IDLE_SECONDS", "0.5", "window.idle_seconds", 0.5),
        ("AFTERTURN_BROKER_URL", "rediss://broker/1", "broker_url", "rediss://broker/1"),
        ("AFTERTURN_URL", "http://host:9/", "url", "http://host:9"),
        ("AFTERTURN_FLOWER_PORT", "", "flower.port", 8711),
    ],
)
def test_a_variable_reaches_its_field(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, path: str, read: object
) -> None:
    monkeypatch.setenv(name, value)

    found: object = load_settings()
    for part in path.split("."):
        found = getattr(found, part)
    assert found == read


@pytest.mark.parametrize(
    ("name", "value", "where", "must"),
    [
        ("WINDOW_IDLE_SECONDS", "-1", "", "must be a number from 0 to 86400"),
        ("LLM_TIMEOUT_SECONDS", "soon", "", "must be a number above 0, at most 86400"),
        ("INGEST_MAX_BATCH_EVENTS", "0", "", "must be a whole number of at least 1"),
        ("EMBED_DIMENSIONS", "2.5", "", "must be a whole number from 8 to 8192"),
        ("LLM_STRUCTURED", "yaml", "", "must be one of auto, json_schema, json_object, prompt"),
        ("LLM_THINKING_OFF", "secret", "", "must be true or false"),
        ("LLM_EXTRA_BODY", "{secret", "", "must be JSON, and is none from line 1, column 2"),
        ("LLM_EXTRA_BODY", "7", "", "must be a JSON object"),
        ("LLM_STAGES", '{"digset": "small"}', '["digset"]', "is no field here; known are digest, repair"),
        ("LLM_STAGES", '{"digest": "secret"}', '["digest"]', "must be one of small, large"),
        ("LLM_PRICES", '{"m-4.1": {"input": -1, "output": 2}}', '["m-4.1"]["input"]', "must be a number of at least 0"),
        ("LLM_PRICES", '{"m": {"input": 1}}', '["m"]["output"]', "is required"),
        ("LLM_PRICES", '{"m": {"inptu": 1}}', '["m"]["input"]', "is required"),
        ("POSTGRES_CONNECTIONS", '{"app": "secret"}', '["app"]', "must be a whole number from 1 to 1000"),
        ("LLM", "secret", "", "is no setting, others begin like it: AFTERTURN_LLM_BASE_URL"),
        ("LLM_MODLE_SMALL", "secret", "", "there is no such setting; did you mean AFTERTURN_LLM_MODEL_SMALL?"),
        ("LLM_COLOUR", "secret", "", "there is no such setting"),
        ("WORKERS_RESERVED_SLOTS", "12", "", "must be below AFTERTURN_WORKERS_SLOTS"),
        ("URL", "localhost:8710", "", "must be http://HOST:PORT or https://HOST:PORT"),
        ("URL", "http://127.0.0.1:99999", "", "must be http://HOST:PORT or https://HOST:PORT"),
        ("URL", "http://[::1", "", "must be http://HOST:PORT or https://HOST:PORT"),
        ("API_HOST", "http://0.0.0.0", "", "must be a host, without a port"),
        ("WEAVIATE_GRPC", "secret", "", "must be HOST:PORT"),
        ("FLOWER_USER", "a:b", "", "must be letters, digits, points, dashes or underscores"),
        ("DATABASE_REPLICA_URL", "secret", "", "must begin with postgresql://, and so must AFTERTURN_DATABASE_URL"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, where: str, must: str
) -> None:
    monkeypatch.setenv(f"AFTERTURN_{name}", value)

    with pytest.raises(BadSettings) as caught:
        load_settings()

    told = str(caught.value)
    assert told == f"AFTERTURN_{name}{where}: {must}"
    assert fault_text(told, "zh").startswith(f"AFTERTURN_{name}{where}：")
    assert must not in fault_text(told, "zh")
    assert caught.value.__cause__ is None


def test_too_few_slots_are_told_where_they_are_reserved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_WORKERS_SLOTS", "4")

    with pytest.raises(BadSettings, match="AFTERTURN_WORKERS_RESERVED_SLOTS: must be below AFTERTURN_WORKERS_SLOTS"):
        load_settings()


def test_a_secret_file_that_is_no_json_is_named(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    (home / "AFTERTURN_LLM_EXTRA_BODY").write_text("{secret")
    monkeypatch.setenv("AFTERTURN_SECRETS_DIR", str(home))

    with pytest.raises(BadSettings, match="AFTERTURN_LLM_EXTRA_BODY: must be JSON"):
        load_settings()


def test_secrets_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KEY", "LLM_API_KEY", "EMBED_API_KEY", "FLOWER_PASSWORD"):
        monkeypatch.setenv(f"AFTERTURN_{name}", "hush-hush")
    monkeypatch.setenv("AFTERTURN_DATABASE_URL", "postgresql+psycopg://u:hush-hush@h/d")
    monkeypatch.setenv("AFTERTURN_BROKER_URL", "redis://:hush-hush@h/0")

    settings = load_settings()

    assert "hush-hush" not in repr(settings)
    assert settings.llm.api_key is not None
    assert settings.llm.api_key.get_secret_value() == "hush-hush"


def test_secrets_come_from_files_named_like_variables(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    (home / "AFTERTURN_DATABASE_URL").write_text("postgresql+psycopg://u:from-a-file@h/d\n")
    (home / "AFTERTURN_LLM_API_KEY").write_text("from-a-file\n")
    (home / "AFTERTURN_FLOWER_PASSWORD").write_text("from-a-file\n")
    (home / "secrets_AFTERTURN_EMBED_API_KEY").write_text("from-systemd\n")
    (home / "..data").mkdir()  # Kubernetes keeps versions so
    monkeypatch.setenv("AFTERTURN_SECRETS_DIR", str(home))
    monkeypatch.setenv("AFTERTURN_FLOWER_PASSWORD", "from-the-environment")
    monkeypatch.setenv("AFTERTURN_LLM_BASE_URL", "http://model")

    settings = load_settings()

    assert settings.database_url == "postgresql+psycopg://u:from-a-file@h/d"
    assert settings.llm.api_key == SecretStr("from-a-file")
    assert settings.llm.base_url == "http://model"
    assert settings.embed.api_key == SecretStr("from-systemd")
    assert settings.flower.password == SecretStr("from-the-environment")
    assert "from-a-file" not in repr(settings)


def test_a_secrets_folder_that_is_missing_stops_the_start(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("AFTERTURN_SECRETS_DIR", str(home / "gone"))

    with pytest.raises(BadSettings, match="AFTERTURN_SECRETS_DIR"):
        load_settings()


def test_settings_are_frozen(home: Path) -> None:
    settings = load_settings(home=home)

    with pytest.raises(ValidationError):
        setattr(settings, "url", "http://other")  # noqa: B010 - the type checker would refuse the plain form


def test_the_key_file_stands_in_for_the_variable(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    assert load_settings(home=home).credential() is None

    (home / "key").write_text("at_from_file\n")
    assert load_settings(home=home).credential() == SecretStr("at_from_file")

    monkeypatch.setenv("AFTERTURN_KEY", "at_from_environment")
    assert load_settings(home=home).credential() == SecretStr("at_from_environment")


def test_a_broker_that_redis_cannot_speak_to_is_refused() -> None:
    with pytest.raises(BadSettings, match="AFTERTURN_BROKER_URL"):
        redis_url("amqp://guest@h//")
    for wrong in ("redis://:hunter2？@h:6379/0", "redis://[::1/0", "redis://:hunter2@h:99999/0"):
        with pytest.raises(BadSettings, match=r"^AFTERTURN_BROKER_URL: must be redis://HOST:PORT/NUMBER$") as caught:
            redis_url(wrong)
        assert caught.value.__cause__ is None


def test_a_misspelt_variable_is_found() -> None:
    set_here = ("BROKR_URL", "WINDOW_IDLE", "POLICY", "KEY", "TEST_REDIS_URL", "IMAGE")

    found = unknown_variables({"PATH": "", **{f"AFTERTURN_{name}": "" for name in set_here}})

    assert found == {
        "AFTERTURN_BROKR_URL": "AFTERTURN_BROKER_URL",
        "AFTERTURN_POLICY": None,
        "AFTERTURN_WINDOW_IDLE": "AFTERTURN_WINDOW_IDLE_SECONDS",
    }


def test_a_misspelt_secret_file_is_found(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    (home / "AFTERTURN_DATABSE_URL").write_text("postgresql://u:hush@h/d")
    monkeypatch.setenv("AFTERTURN_SECRETS_DIR", str(home))

    assert unknown_variables() == {"AFTERTURN_DATABSE_URL": "AFTERTURN_DATABASE_URL"}


def test_the_example_lists_every_variable_with_its_default() -> None:
    listed = dict(re.findall(r"^#?\s?(AFTERTURN_[A-Z_]+)=(.*)$", EXAMPLE.read_text("utf-8"), re.MULTILINE))
    known = {name: _written(default) for name, default in variables()}

    assert {name: value for name, value in listed.items() if known.get(name) is not None} == {
        name: value for name, value in known.items() if value is not None
    }
    assert list(listed) == list(known)


def _written(default: object) -> str | None:
    if default is None or isinstance(default, SecretStr):
        return None
    return json.dumps(default) if isinstance(default, (bool, dict)) else str(default)


def test_another_process_gets_the_same_settings(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    given = load_settings(
        home=home,
        url="http://127.0.0.1:9",
        llm={"api_key": SecretStr("hush"), "extra_body": {"a": [1]}, "thinking_off": True},
        window={"idle_seconds": 0.5},
        flower={"port": 0},
    )
    for name, value in as_environment(given).items():
        monkeypatch.setenv(name, value)

    assert load_settings() == given


def test_every_setting_is_read_by_something() -> None:
    own = {ROOT / "stores" / "settings.py", ROOT / "stores" / "setting_areas.py"}
    folders = ("schemas", "memory", "llm", "stores", "tasks", "workers", "api")
    code = [path for folder in folders for path in (ROOT / folder).rglob("*.py") if path not in own]
    trees = [ast.parse(path.read_text("utf-8")) for path in code]
    read = {node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    # Read through a property of the settings themselves, or before there are any.
    read |= {"key", "host", "port", "hot_cache", "secrets_dir"}

    areas = {name: field.annotation for name, field in Settings.model_fields.items()}
    unread = {name for name in areas if name not in read}
    for name, area in areas.items():
        if isinstance(area, type) and issubclass(area, Area):
            unread |= {f"{name}_{inner}" for inner in area.model_fields if inner not in read}
    assert unread == set()
