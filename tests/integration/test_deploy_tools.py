"""The files of `deploy/` as the tools that they are for read them; each is used where it is found, and skipped aloud.

Helm renders, kubeconform checks against AFTERTURN_TEST_KUBE_SCHEMAS (a folder or URL, or `default`), Compose resolves,
promtool runs the alerts' tests, systemd-analyze verifies. No cluster is needed, and none is used.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy_files import CHART, DEPLOY, UNITS
from services import free_port
from workers.roles import INDEX, INGEST, LLM, UPKEEP

APART = [role.name for role in (INGEST, LLM, INDEX, UPKEEP)]
EVERYTHING = (
    "flower.enabled=true",
    "api.ingress.enabled=true",
    "api.ingress.host=memory.example",
    "monitoring.podMonitor=true",
    "monitoring.rules=true",
    "monitoring.dashboard=true",
    *(f"workers.{role}.scaling.kind=keda" for role in ("ingest", "llm", "index")),
)
#: Resources of operators: their schemas are theirs.
OPERATORS = "PodMonitor,PrometheusRule,ScaledObject"


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} on PATH: what it would have checked was not checked")
    return found


def run(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


@cache
def rendered(*given: str) -> str:
    # As strings: Helm makes 2e+06 of the number 2000000, and so the chart takes strings for settings.
    sets = [word for one in given for word in (_how(one), one)]
    ran = run(tool("helm"), "template", "shop", CHART, "--namespace", "memory", "--kube-version", "1.33.0", *sets)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def _how(given: str) -> str:
    return "--set-string" if ".AFTERTURN_" in given else "--set"


def objects(*given: str) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(rendered(*given)) if one]


def pods(*given: str) -> dict[str, dict[str, Any]]:
    return {
        one["metadata"]["labels"]["app.kubernetes.io/component"]: one
        for one in objects(*given)
        if one["kind"] in ("Deployment", "Job")
    }


def test_the_chart_is_linted() -> None:
    ran = run(tool("helm"), "lint", "--strict", CHART)

    assert ran.returncode == 0, ran.stdout


def test_each_role_is_a_deployment_and_beat_is_one() -> None:
    found = pods()

    assert set(found) == {*APART, "beat", "api", "migrate"}
    for role in APART:
        (container,) = found[role]["spec"]["template"]["spec"]["containers"]
        assert container["args"] == ["worker", role]
    assert found["beat"]["spec"]["replicas"] == 1
    assert found["beat"]["spec"]["strategy"] == {"type": "Recreate"}
    assert found["migrate"]["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"


def test_no_pod_is_privileged_and_every_one_is_probed() -> None:
    for name, one in pods(*EVERYTHING).items():
        pod = one["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
        assert not [volume for volume in pod["volumes"] if "hostPath" in volume]
        assert container["resources"]["limits"]["memory"]
        # Secrets are files: the environment holds none.
        assert not [e["name"] for e in container["env"] if "valueFrom" in e or e["name"].endswith(("_KEY", "PASSWORD"))]
        assert name == "migrate" or {"livenessProbe", "readinessProbe"} <= set(container)


def test_keda_scales_on_our_own_metrics_and_leaves_replicas_alone() -> None:
    scaled = {
        one["spec"]["scaleTargetRef"]["name"]: one for one in objects(*EVERYTHING) if one["kind"] == "ScaledObject"
    }

    assert set(scaled) == {"shop-afterturn-ingest", "shop-afterturn-llm", "shop-afterturn-index"}
    queries = [trigger["metadata"]["query"] for one in scaled.values() for trigger in one["spec"]["triggers"]]
    assert all(query.startswith("max(afterturn_") for query in queries)
    assert "replicas" not in pods(*EVERYTHING)["llm"]["spec"]
    assert pods()["llm"]["spec"]["replicas"] == 2


def test_the_sweep_knows_of_all_slots() -> None:
    def slots(*given: str) -> list[str]:
        env = pods(*given)["ingest"]["spec"]["template"]["spec"]["containers"][0]["env"]
        return [one["value"] for one in env if one["name"] == "AFTERTURN_WORKERS_SLOTS"]

    assert slots("workers.llm.replicas=3") == ["40"]
    assert slots("workers.llm.scaling.kind=keda", "workers.llm.scaling.max=8") == ["100"]
    assert slots("settings.AFTERTURN_WORKERS_SLOTS=20") == ["20"]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("settings.AFTERTURN_DATABASE_URL=postgresql://u:p@h/d", "AFTERTURN_DATABASE_URL"),
        ("settings.AFTERTURN_LLM_API_KEY=sk", "AFTERTURN_LLM_API_KEY"),
        ("workers.lllm.replicas=2", "lllm"),
        ("workers.llm.scaling.kind=magic", "kind"),
        ("existingSecret=", "existingSecret"),
        ("settings.AFTERTURN_LLM_DAILY_TOKENS=2000000", "AFTERTURN_LLM_DAILY_TOKENS"),
    ],
)
def test_wrong_values_are_refused_by_name(given: str, named: str) -> None:
    ran = run(tool("helm"), "template", "shop", CHART, "--kube-version", "1.33.0", "--set", given)

    assert ran.returncode != 0
    assert named in ran.stderr


@pytest.mark.parametrize("given", [(), EVERYTHING], ids=["defaults", "everything"])
def test_kubernetes_takes_what_is_rendered(given: tuple[str, ...]) -> None:
    kubeconform, schemas = tool("kubeconform"), os.environ.get("AFTERTURN_TEST_KUBE_SCHEMAS")
    if schemas is None:
        pytest.skip("AFTERTURN_TEST_KUBE_SCHEMAS is not set: the chart was not checked against Kubernetes' schemas")

    words = ("-strict", "-kubernetes-version", "1.33.0", "-schema-location", schemas, "-skip", OPERATORS)
    ran = run(kubeconform, *words, input=rendered(*given))

    assert ran.returncode == 0, ran.stdout


def test_compose_resolves_every_profile(tmp_path: Path) -> None:
    words = _compose()
    shutil.copytree(DEPLOY, tmp_path / "deploy", ignore=shutil.ignore_patterns("migrations", "helm"))

    for profile in ("core", "ops", "demo"):
        ran = run(*words, "-f", tmp_path / "deploy" / "compose.yaml", "--profile", profile, "config", "--quiet")
        assert ran.returncode == 0, ran.stderr


def _compose() -> list[str]:
    if found := shutil.which("docker-compose"):
        return [found]
    docker = tool("docker")
    if run(docker, "compose", "version").returncode != 0:
        pytest.skip("no Docker Compose here: compose.yaml was read by our own tests alone")
    return [docker, "compose"]


def test_what_the_image_takes_in_is_all_that_runs(tmp_path: Path) -> None:
    rules = [line for line in (DEPLOY.parent / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for rule in rules:
        source = DEPLOY.parent / rule[1:].rstrip("/")
        target = tmp_path / "app" / source.relative_to(DEPLOY.parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    app = tmp_path / "app"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AFTERTURN_")}
    environment = {**kept, "PYTHONPATH": f"{app}:{app}/client/src", "AFTERTURN_HOME": str(tmp_path / "data")}
    silent = {f"AFTERTURN_{name}_PORT": str(free_port()) for name in ("API", "FLOWER", "WORKERS_PROBE")}
    code = "import api.app, workers.app, workers.cli, workers.ingest; print(workers.cli.__file__)"

    imported = run(sys.executable, "-c", code, cwd=tmp_path, env=environment)
    migrated = run(sys.executable, "-m", "workers", "migrate", "--json", cwd=tmp_path, env=environment)
    healthy = run(sys.executable, "-I", "-S", app / "deploy" / "healthcheck.py", env=silent)

    assert imported.stdout.startswith(str(app)), imported.stderr
    assert migrated.returncode == 0, migrated.stderr
    assert (healthy.returncode, healthy.stdout.strip()) == (1, "nobody listens")


def test_promtool_takes_the_alerts_and_their_tests_pass() -> None:
    promtool, folder = tool("promtool"), DEPLOY / "prometheus"

    assert run(promtool, "check", "rules", folder / "alerts.yaml").returncode == 0
    ran = run(promtool, "test", "rules", folder / "alerts.test.yaml")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    config = run(promtool, "check", "config", "--syntax-only", folder / "prometheus.yaml")
    assert config.returncode == 0, config.stderr


def test_systemd_verifies_the_units_as_they_are_installed(tmp_path: Path) -> None:
    analyze, units = tool("systemd-analyze"), Path("/usr/lib/systemd/system")
    if not units.is_dir():
        pytest.skip("no units of systemd's own here: ours were not verified")
    run("sh", UNITS / "install.sh", env={**os.environ, "DESTDIR": str(tmp_path)}).check_returncode()
    shutil.copytree(units, tmp_path / "usr" / "lib" / "systemd" / "system", symlinks=True)
    python = tmp_path / "opt" / "afterturn" / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    shutil.copy("/bin/true", python)
    names = ["afterturn.target", "afterturn-flower.service", *(f"afterturn-worker@{role}.service" for role in APART)]

    ran = run(analyze, "verify", "--man=no", f"--root={tmp_path}", *names)
    ours = [line for line in ran.stderr.splitlines() if "afterturn" in line]
    security = run(analyze, "security", "--offline=yes", f"--root={tmp_path}", "afterturn-worker@llm.service")

    assert ours == []
    assert _exposure(security.stdout) <= 2.0


def _exposure(text: str) -> float:
    return float(text.rpartition("exposure level for ")[2].split()[1])
