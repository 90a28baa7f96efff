"""What the files of `deploy/` say, read without any tool of theirs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "afterturn"
UNITS = DEPLOY / "systemd"
DASHBOARDS = DEPLOY / "grafana" / "dashboards"

VARIABLE = re.compile(r"\bAFTERTURN_[A-Z][A-Z_]*[A-Z]\b")
#: Of Docker, Compose and our own tests, not the service's.
NOT_OURS = {"AFTERTURN_IMAGE", "AFTERTURN_EXTRAS", "AFTERTURN_PUBLISHED_PORT"}


class Rule(NamedTuple):
    """An alert, or a panel of a dashboard: its name and its PromQL."""

    name: str
    expression: str


def compose() -> dict[str, Any]:
    """The services of compose.yaml, anchors resolved."""
    return dict(load(DEPLOY / "compose.yaml")["services"])


def load(path: Path) -> Any:
    """A YAML file of one document."""
    return yaml.safe_load(path.read_text("utf-8"))


def unit(name: str) -> list[tuple[str, str, str]]:
    """(section, key, value) of a systemd unit, in order; keys may stand there more than once."""
    found: list[tuple[str, str, str]] = []
    section = ""
    for line in (UNITS / name).read_text("utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.append((section, key, value))
    return found


def variables_named() -> dict[str, set[str]]:
    """The AFTERTURN_* names in every file that tells somebody to set one, by file."""
    paths = [
        *(DEPLOY / name for name in ("Dockerfile", "compose.yaml", "compose.env.example", "healthcheck.py")),
        *(DEPLOY / name for name in ("make_secrets.py",)),
        *CHART.rglob("*.yaml"),
        *CHART.rglob("*.tpl"),
        *UNITS.iterdir(),
        *(ROOT / "docs").glob("operations*.md"),
        DEPLOY / "README.md",
    ]
    return {str(path.relative_to(ROOT)): _names(path) for path in paths if path.is_file()}


def alerts() -> list[Rule]:
    """Every alert."""
    groups = load(DEPLOY / "prometheus" / "alerts.yaml")["groups"]
    return [Rule(rule["alert"], rule["expr"]) for group in groups for rule in group["rules"]]


def panels() -> Iterator[Rule]:
    """Every query of every panel."""
    for path in DASHBOARDS.glob("*.json"):
        for panel in json.loads(path.read_text("utf-8"))["panels"]:
            for target in panel.get("targets", ()):
                yield Rule(panel["title"], target["expr"])


def _names(path: Path) -> set[str]:
    text = path.read_text("utf-8")
    found = set(VARIABLE.findall(text)) - NOT_OURS
    return {name for name in found if not name.startswith("AFTERTURN_TEST_")}
