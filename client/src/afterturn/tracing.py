"""The trace that a call stands in, where the agent uses OpenTelemetry. Imports nothing: who traces has imported it."""

from __future__ import annotations

import sys
from typing import Any


def traceparent() -> str | None:
    """The current span as W3C trace context; None outside a span, or without OpenTelemetry."""
    trace: Any = sys.modules.get("opentelemetry.trace")
    # A module that another thread is just importing (redis does, in ours) is there, and empty: nobody has a span yet.
    current_span = getattr(trace, "get_current_span", None)
    if current_span is None:
        return None
    context = current_span().get_span_context()
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"
