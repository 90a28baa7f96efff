"""One JSON object a line: time, level, logger, message, ids. Never text that a user wrote.

Our own messages hold ids and counts by convention. Those of libraries may quote what they were given (a message body,
an SQL parameter), so of their warnings and of foreign exceptions only the fixed part is kept.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from schemas.errors import ServiceError
from stores import logcontext

OURS = frozenset({"afterturn", "api", "llm", "memory", "schemas", "stores", "tasks", "workers", "__main__"})

# celery.app.trace logs every return value and error text; our tasks write their own line.
QUIET = {
    "celery.app.trace": logging.ERROR,
    "celery.beat": logging.WARNING,
    "celery.worker.strategy": logging.WARNING,
    "httpcore": logging.WARNING,
    "httpcore2": logging.WARNING,
    "httpx": logging.WARNING,
    "httpx2": logging.WARNING,
    "openai": logging.WARNING,
    "alembic": logging.WARNING,
    "sqlalchemy": logging.WARNING,
    "tornado.access": logging.CRITICAL,
    "uvicorn.access": logging.CRITICAL,
}

# Messages of these name files, attributes and addresses, not what a user wrote.
_PLAIN = (ServiceError, OSError, ImportError, AttributeError, NameError)
_RECORD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "color_message", "data"}


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line. Shape: keys at, level, logger, message, the bound ids, extra fields, error, trace."""
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": _message(record),
            **logcontext.current(),
        }
        if _is_ours(record.name):
            line |= {name: value for name, value in record.__dict__.items() if name not in _RECORD}
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = describe(record.exc_info[1])
            line["trace"] = _frames(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False, default=str)


def describe(error: BaseException) -> str:
    """The error's class, with its message only where that cannot quote a user."""
    name = type(error).__name__
    return f"{name}: {error}" if isinstance(error, _PLAIN) else name


def configure(level: str = "INFO", *, path: Path | None = None) -> None:
    """Sends every logger of this process to stderr, or to a file, as JSON lines. Repeat: replaces what was set."""
    if path is not None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handler = logging.StreamHandler(sys.stderr) if path is None else logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name, least in QUIET.items():
        logging.getLogger(name).setLevel(max(least, root.level))
    logging.captureWarnings(capture=True)


def keep_celery_out(level: str = "INFO") -> None:
    """Makes Celery use this module's set-up in this process, and in the pool's children that import the caller.

    Celery leaves logging alone as soon as someone listens to `setup_logging`. Repeat: harmless.
    """
    from celery.signals import setup_logging  # noqa: PLC0415 - only workers and beat need Celery

    def on_setup(**_: Any) -> None:
        configure(level)

    setup_logging.connect(on_setup, weak=False, dispatch_uid="afterturn.logs")  # pyright: ignore[reportUnknownMemberType]


def _is_ours(logger: str) -> bool:
    return logger.partition(".")[0] in OURS


def _message(record: logging.LogRecord) -> str:
    if record.name == "py.warnings":
        return _warning(record)
    if _is_ours(record.name) or record.levelno < logging.WARNING:
        return record.getMessage()
    template = str(record.msg).partition("\n")[0]
    try:
        return template % _shown(record.args) if record.args else template
    except (TypeError, ValueError, KeyError):
        return template


def _shown(args: object) -> Any:
    if isinstance(args, Mapping):
        named = cast("Mapping[str, object]", args)
        return {name: _value(value) for name, value in named.items()}
    if isinstance(args, tuple):
        listed = cast("tuple[object, ...]", args)
        return tuple(_value(value) for value in listed)
    return _value(args)


def _value(value: object) -> object:
    if isinstance(value, (bool, int, float)):
        return value
    return type(value).__name__ if isinstance(value, BaseException) else "..."


def _warning(record: logging.LogRecord) -> str:
    # "file:line: Category: text": the text may quote a value (pydantic's serializer does).
    text = str(record.args[0]) if isinstance(record.args, tuple) and record.args else str(record.msg)
    return ":".join(text.split(":", 3)[:3])


def _frames(error: BaseException) -> list[str]:
    frames: list[str] = []
    link: BaseException | None = error
    while link is not None:
        frames += [f"{f.filename}:{f.lineno} {f.name}" for f in traceback.extract_tb(link.__traceback__)]
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
        if link is not None:
            frames.append(f"from {describe(link)}")
    return frames
