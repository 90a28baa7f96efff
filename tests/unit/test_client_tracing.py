"""The trace of a call, where nobody traces."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from afterturn.tracing import traceparent


def test_a_library_that_another_thread_is_importing_has_no_span_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found as an exception out of turn(), in one start of three with two busy threads."""
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", ModuleType("opentelemetry.trace"))

    assert traceparent() is None
