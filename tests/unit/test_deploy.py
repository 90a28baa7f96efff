"""What ships in `deploy/` agrees with the code: settings, roles, ports; and nothing runs with more than it needs."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path
from typing import Any

import pytest

from deploy_files import CHART, DEPLOY, ROOT, UNITS, compose, load, unit, variables_named
from stores.settings import variables
from workers.roles import INDEX, INGEST, LLM, UPKEEP

APART = {role.name for role in (INGEST, LLM, INDEX, UPKEEP)}
#: May run as root for a moment, with one capability: a new volume belongs to root.
OWNERS = {"weaviate-owner": ["CHOWN"]}


def test_every_variable_that_is_named_is_a_setting() -> None:
    known = {name for name, _ in variables()}

    unknown = {path: names - known for path, names in variables_named().items() if names - known}

    assert not unknown


@pytest.mark.parametrize("path", [*DEPLOY.rglob("*.yaml"), *CHART.glob("*.yaml")], ids=lambda path: path.name)
def test_yaml_parses(path: Path) -> None:
    if path.parent.name != "templates":  # those are Go templates
        assert load(path)


def test_compose_runs_every_role_once_and_one_beat() -> None:
    services = compose()
    commands = [service.get("command") for service in services.values()]

    assert {command[1] for command in commands if command and command[0] == "worker"} == APART
    assert commands.count(["beat"]) == 1
    assert services["beat"]["deploy"] == {"replicas": 1}
    assert commands.count(["api"]) == 1
    assert commands.count(["migrate"]) == 1


def test_every_service_has_a_health_check_and_waits_for_what_it_needs() -> None:
    services = compose()
    # The image brings one for our roles; a command that ends has none.
    ends = {name for name, service in services.items() if service.get("healthcheck") == {"disable": True}}
    ends |= {"weaviate-owner"}
    stores = {"postgres", "valkey", "weaviate", "prometheus", "grafana"}

    assert ends == {"migrate", "demo", "weaviate-owner"}
    assert all(services[name]["healthcheck"]["test"] for name in stores)
    for name in (*APART, "beat", "api"):
        assert services[name]["depends_on"] == {
            "migrate": {"condition": "service_completed_successfully"},
            **{store: {"condition": "service_healthy"} for store in ("postgres", "valkey", "weaviate")},
        }


def test_profiles_hold_what_they_promise() -> None:
    by_profile: dict[str, set[str]] = {}
    for name, service in compose().items():
        for profile in service["profiles"]:
            by_profile.setdefault(profile, set()).add(name)

    assert set(by_profile) == {"core", "ops", "demo"}
    assert by_profile["ops"] - by_profile["core"] == {"flower", "prometheus", "grafana"}
    assert by_profile["demo"] == {"demo"}
    # What is depended on comes with whoever depends on it.
    for name, service in compose().items():
        for profile in service["profiles"]:
            assert set(service.get("depends_on", {})) <= by_profile[profile], name


@pytest.mark.parametrize("name", list(compose()))
def test_no_container_has_more_than_it_needs(name: str) -> None:
    service: dict[str, Any] = compose()[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service.get("cap_add", []) == OWNERS.get(name, [])
    assert "no-new-privileges:true" in service["security_opt"]
    assert not service.get("privileged")
    assert service.get("network_mode") in (None, "none")
    assert not [volume for volume in service.get("volumes", ()) if "docker.sock" in str(volume)]
    # Everything that is published is published on loopback.
    assert all(str(port).startswith("127.0.0.1:") for port in service.get("ports", ()))
    if name not in OWNERS and name not in ("prometheus", "grafana"):  # whose images have a user of their own
        assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", service["user"])


def test_no_secret_stands_in_compose() -> None:
    text = (DEPLOY / "compose.yaml").read_text("utf-8")

    for service in compose().values():
        for name, value in service.get("environment", {}).items():
            assert not re.search(r"PASSWORD|API_KEY|SECRET", name) or str(value).startswith(("/run/secrets", "true")), (
                name
            )
    assert "://afterturn:" not in text


def test_the_image_holds_what_it_copies_and_nothing_else() -> None:
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    kept = [rule[1:].rstrip("/") for rule in rules if rule.startswith("!")]

    assert rules[0] == "*"
    assert all((ROOT / path).exists() for path in kept), "a path that is gone"
    for source in ("deploy/requirements.lock", "deploy/bootstrap", "pyproject.toml", "deploy/healthcheck.py", "api"):
        assert source in kept
    for never in (".git", ".venv", "tests", "deploy/secrets", "deploy/compose.env", "deploy/helm"):
        assert not [path for path in kept if fnmatch.fnmatch(never, path) or never.startswith(f"{path}/")]


def test_the_dockerfile_is_hashed_multistage_and_unprivileged() -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    stages = re.split(r"^FROM ", text, flags=re.MULTILINE)
    install = (DEPLOY / "bootstrap" / "install.sh").read_text("utf-8")

    assert len(stages) == 3
    assert "install.sh run" in stages[1]
    assert "--require-hashes" in install
    assert "USER 10001:10001" in stages[2]
    assert "HEALTHCHECK" in stages[2]
    assert "COPY . ." not in stages[2]
    assert not re.search(r"curl|wget|apt-get", text)


def test_systemd_has_a_unit_for_every_role_and_one_beat() -> None:
    wanted = " ".join(value for _, key, value in unit("afterturn.target") if key == "Wants")

    assert set(re.findall(r"afterturn-worker@(\w+)\.service", wanted)) == APART
    assert wanted.count("afterturn-beat.service") == 1
    started = {path.name: dict((k, v) for _, k, v in unit(path.name)).get("ExecStart", "") for path in units()}
    assert started["afterturn-worker@.service"].endswith("-m workers worker %i")
    for name in ("beat", "api", "flower", "migrate"):
        assert started[f"afterturn-{name}.service"].endswith(f"-m workers {name}")


def test_units_are_hardened_alike_and_hold_no_secret() -> None:
    shared = {(key, value) for _, key, value in unit("10-afterturn.conf")}

    for line in (
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "PrivateTmp=yes",
        "PrivateDevices=yes",
        "RestrictNamespaces=yes",
        "MemoryDenyWriteExecute=yes",
        "SystemCallFilter=@system-service",
        "User=afterturn",
        "LoadCredential=secrets:/etc/afterturn/secrets",
        "Environment=AFTERTURN_SECRETS_DIR=%d",
    ):
        key, _, value = line.partition("=")
        assert (key, value) in shared, line
    for path in units():
        assert not [key for _, key, _ in unit(path.name) if key in ("User", "Environment", "EnvironmentFile")]


def test_what_stops_a_process_waits_longer_than_its_grace() -> None:
    grace = int(compose()["llm"]["environment"]["AFTERTURN_WORKERS_GRACE_SECONDS"])
    values = load(CHART / "values.yaml")
    stops = {key: value for _, key, value in unit("afterturn-worker@.service")}

    assert int(compose()["llm"]["stop_grace_period"].rstrip("s")) > grace + 5
    assert values["terminationGracePeriodSeconds"] > int(values["settings"]["AFTERTURN_WORKERS_GRACE_SECONDS"]) + 5
    assert int(stops["TimeoutStopSec"]) > grace + 5


def units() -> list[Path]:
    return sorted(UNITS.glob("*.service"))
