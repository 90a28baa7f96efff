"""What a log line is about: ids bound for the length of a block, on this thread or task only. Never text."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

_EMPTY: Mapping[str, str] = MappingProxyType({})
_bound: ContextVar[Mapping[str, str]] = ContextVar("afterturn_log_context", default=_EMPTY)


@contextmanager
def bound(**ids: object) -> Generator[None]:
    """Binds ids (task_id, session_ref, event_id, ...) to every log line of the block; inner blocks add to outer."""
    token = _bound.set({**_bound.get(), **{name: str(value) for name, value in ids.items()}})
    try:
        yield
    finally:
        _bound.reset(token)


def current() -> Mapping[str, str]:
    """The ids that are bound now."""
    return _bound.get()
