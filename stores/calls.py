"""Measures calls to models: how long, and how they ended."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

from schemas.errors import ServiceError
from stores import metrics


@contextmanager
def timed(operation: Literal["digest", "embed"]) -> Generator[None]:
    """Times one call; `outcome` is ok, or the code of the error that comes out."""
    started, outcome = time.monotonic(), "bug"
    try:
        yield
        outcome = "ok"
    except ServiceError as exc:
        outcome = exc.code
        raise
    finally:
        metrics.LLM_DURATION.labels(operation, outcome).observe(time.monotonic() - started)
