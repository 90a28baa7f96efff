"""A short chaos run: real processes, a fixed seed, nothing lost, nothing twice. Longer ones: docs/reliability.md."""

from __future__ import annotations

import pytest

from workers.chaos.run import QUICK, Order, run

SECONDS = 20.0


@pytest.mark.timeout(400)
def test_what_was_published_is_stored_once_whatever_breaks():
    order = Order(seconds=SECONDS, seed=11, durability="spool", per_second=20.0)

    report = run(order, lambda _: None, settings=QUICK)

    assert report.is_clean, (report.wrong, report.verdict, report.audit and report.audit.differences, report.notes)
    assert report.verdict is not None
    assert report.verdict.promised > 150
    assert report.verdict.stored >= report.verdict.promised
    assert len(report.injected) == len(report.faults) > 10
    assert report.starts["publisher"] > 1
