"""Alerts, dashboards and scalers ask for metrics that exist, by labels that they have; and none is declared in vain."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pytest
from prometheus_client import Counter, Histogram

from afterturn.credentials import generate_credential
from afterturn.metrics import PublisherCollector
from afterturn.publisher import Publisher
from deploy_files import CHART, ROOT, Rule, alerts, panels
from services import free_port
from stores import metrics
from stores.metrics import Reading

#: Of the target, not of the metric.
TARGET_LABELS = {"namespace", "instance", "pod"}
_SELECTED = re.compile(r"\b(afterturn_\w+)(?:\{([^}]*)\})?")
_SPOKEN = re.compile(r'"(?:[^"\\]|\\.)*"')


def exported() -> dict[str, set[str]]:
    """Every name that Prometheus sees, with its labels."""
    found: dict[str, set[str]] = {}
    for one in vars(metrics).values():
        if isinstance(one, Reading):
            (family,) = one.describe()
            found[family.name] = set(cast("Iterable[str]", vars(one)["_labels"]))
        elif isinstance(one, Counter):
            (family,) = one.describe()
            found[f"{family.name}_total"] = set(cast("Iterable[str]", vars(one)["_labelnames"]))
        elif isinstance(one, Histogram):
            (family,) = one.describe()
            labels = set(cast("Iterable[str]", vars(one)["_labelnames"]))
            found |= {f"{family.name}_count": labels, f"{family.name}_sum": labels}
            found[f"{family.name}_bucket"] = labels | {"le"}
    return found | of_a_publisher()


def of_a_publisher() -> dict[str, set[str]]:
    publisher = Publisher(generate_credential().text(), f"redis://127.0.0.1:{free_port()}/0")
    samples = [sample for family in PublisherCollector(publisher).collect() for sample in family.samples]
    publisher.close(0)
    return {sample.name: set(sample.labels) for sample in samples}


def test_a_publisher_tells_what_it_had_to_drop() -> None:
    publisher = Publisher(generate_credential().text(), f"redis://127.0.0.1:{free_port()}/0", max_events=1)
    for content in ("I live in Lyon.", "And I like it."):
        publisher.turn("u1", "s1", "user", content)

    told = {s.name: s.value for family in PublisherCollector(publisher).collect() for s in family.samples}

    publisher.close(0)
    assert told["afterturn_publish_events_total"] == 2
    assert told["afterturn_publish_dropped_total"] == 1
    assert told["afterturn_publish_waiting"] == 1


NAMES = exported()


def scalers() -> list[Rule]:
    text = (CHART / "templates" / "scaling.yaml").read_text("utf-8")
    queries = re.findall(r"query: (.*)$", text, re.MULTILINE)
    return [Rule("keda", re.sub(r"\{\{.*?\}\}", '"x"', query)) for query in queries]


@pytest.mark.parametrize("rule", [*alerts(), *panels(), *scalers()], ids=lambda rule: rule.name)
def test_a_query_asks_for_what_is_exported(rule: Rule) -> None:
    expression = _SPOKEN.sub('""', rule.expression)
    selected = _SELECTED.findall(expression)

    assert selected
    for name, matchers in selected:
        assert name in NAMES
        asked = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers))
        assert asked <= NAMES[name] | TARGET_LABELS
    labels = set[str]().union(*(NAMES[name] for name, _ in selected))
    for grouped in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", expression):
        assert set(re.findall(r"\w+", grouped)) <= labels | TARGET_LABELS


def test_the_dashboard_shows_every_metric() -> None:
    shown = {name for panel in panels() for name, _ in _SELECTED.findall(panel.expression)}
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in NAMES}
    # Told beside others, or by the agent's own board.
    left_out = {"afterturn_beat_interval_seconds", "afterturn_publish_events_total", "afterturn_publish_receipts_total"}
    left_out |= {"afterturn_publish_failures_total", "afterturn_publish_spooled_bytes"}

    assert families - {re.sub(r"_(bucket|count|sum)$", "", name) for name in shown} == left_out


@pytest.mark.parametrize("name", [name for name in vars(metrics) if name.isupper() and not name.startswith("_")])
def test_no_metric_is_declared_in_vain(name: str) -> None:
    code = [path for floor in ("stores", "tasks", "workers", "api") for path in (ROOT / floor).rglob("*.py")]
    users = [path for path in code if path.name != "metrics.py" and name in path.read_text("utf-8")]

    assert users


def test_no_label_is_a_users_nor_one_that_prometheus_takes() -> None:
    labels = set[str]().union(*NAMES.values())

    assert not labels & {"job", "instance", "user", "user_id", "session", "event", "key", "producer"}


@pytest.mark.parametrize("name", ["operations.md", "operations.zh-CN.md"])
def test_every_alert_has_its_chapter_in_both_languages(name: str) -> None:
    chapters = set(re.findall(r"^### (\w+)", Path(ROOT / "docs" / name).read_text("utf-8"), re.MULTILINE))

    assert chapters == {rule.name for rule in alerts()}
