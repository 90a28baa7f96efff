"""What every task does around its work: who and what in the log, which errors end how, hints to the next.

Transient errors are left to SQL, whose sweep finds the row again; permanent ones are the use case's to bury. Anything
else is a bug: it fails the task, with frames in the log and never the error's own text, which may quote a user.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from celery import Task
from celery.exceptions import Ignore, Reject, Retry
from kombu import Connection
from kombu.exceptions import LimitExceeded, OperationalError
from redis.exceptions import RedisError

from schemas.errors import Permanent, StaleClaim, Transient
from stores import metrics
from stores.logcontext import bound
from tasks.app import ROUTES, app, transport_options

logger = logging.getLogger(__name__)

# kombu passes redis-py's own errors through when it reads.
_NO_ANSWER = (OperationalError, LimitExceeded, RedisError, OSError)

_slots: dict[str, threading.BoundedSemaphore] = {}


class Failed(Exception):
    """A task failed by a bug. Holds the error's class name and place, never its text: Celery logs and shows it."""


if TYPE_CHECKING:  # celery's stubs make Task generic, the class itself is not
    _Task = Task[..., Any]
else:
    _Task = Task


class MemoryTask(_Task):
    """Base of every task of the service."""

    abstract = True
    ignore_result = True
    acks_late = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the use case; a task whose slots are all taken answers at once and leaves its row to the next hint."""
        with bound(task=self.name, task_id=self.request.id), _slot(self.name) as is_free:
            if not is_free:
                logger.debug("slots taken")
                return None
            return self._guarded(*args, **kwargs)

    def _guarded(self, *args: Any, **kwargs: Any) -> Any:
        started, outcome = time.monotonic(), "failed"
        try:
            answer = self.run(*args, **kwargs)
            outcome = "done"
            return answer
        except (Ignore, Reject, Retry):
            outcome = "given_back"
            raise
        except StaleClaim:
            outcome = "passed_on"
            logger.info("claim passed on")
        except Transient as exc:
            outcome = "later"
            logger.warning("left for later code=%s duration_ms=%d", exc.code, _ms_since(started))
        except Permanent as exc:
            outcome = "refused"
            logger.error("refused code=%s duration_ms=%d", exc.code, _ms_since(started))
        except Exception as exc:
            logger.error("failed error=%s\n%s", type(exc).__qualname__, frames(exc))
            raise Failed(place(exc)) from None
        finally:
            metrics.TASK_DURATION.labels(self.name, outcome).observe(time.monotonic() - started)
        return None


class _Line:
    """Connections for hints, apart from those that consume: short time-outs, no retry that would hold up a caller."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: tuple[int, Any] | None = None

    @contextmanager
    def connection(self) -> Generator[Connection]:
        """One of this process's connections; a forked child makes its own. Raises what kombu raises."""
        with self._lock:
            if self._pool is None or self._pool[0] != os.getpid():
                quick = {**transport_options(), "socket_timeout": 1, "socket_connect_timeout": 1, "max_retries": 0}
                self._pool = os.getpid(), app.connection_for_write(transport_options=quick).Pool(limit=4)
        with self._pool[1].acquire(block=True, timeout=1) as connection:
            yield connection


_line = _Line()


def memory_task(name: str, **options: Any) -> Callable[[Callable[..., Any]], _Task]:
    """Makes a task of the service from a function that takes the task (its request) first."""

    def register(function: Callable[..., Any]) -> _Task:
        return app.task(name=name, base=MemoryTask, bind=True, **options)(function)

    return register


def hint(name: str, count: int = 1) -> bool:
    """Says that work of this kind is due. False when the broker cannot take it: the sweep will say it again.

    Waits about two seconds at most, whatever the broker does.
    """
    try:
        with _line.connection() as connection:
            for _ in range(count):
                app.send_task(name, queue=ROUTES[name], connection=connection, retry=False, argsrepr="", kwargsrepr="")
    except _NO_ANSWER as exc:
        logger.warning("hint lost task=%s error=%s", name, type(exc).__qualname__)
        return False
    return True


def queued(name: str) -> int:
    """How many messages wait in the queue of this task; 0 when the broker does not say."""
    try:
        with _line.connection() as connection:
            # The usual passive declare finds no queue: kombu 5.7 asks for the key without its prefix.
            return int(cast("Any", connection.default_channel).client.llen(ROUTES[name]))
    except _NO_ANSWER:
        return 0


def limit(name: str, slots: int) -> None:
    """At most `slots` of this task run in this process at once; 1 or more."""
    _slots[name] = threading.BoundedSemaphore(slots)


def frames(exc: BaseException) -> str:
    """Where it happened: the traceback's frames, without the error's text and without source lines."""
    stack = traceback.extract_tb(exc.__traceback__)
    return "\n".join(f"  {frame.filename}:{frame.lineno} in {frame.name}" for frame in stack)


def place(exc: BaseException) -> str:
    """The error's class and the innermost frame."""
    stack = traceback.extract_tb(exc.__traceback__)
    where = f" at {stack[-1].filename}:{stack[-1].lineno}" if stack else ""
    return f"{type(exc).__qualname__}{where}"


@contextmanager
def _slot(name: str) -> Generator[bool]:
    slots = _slots.get(name)
    if slots is None:
        yield True
        return
    is_free = slots.acquire(blocking=False)
    try:
        yield is_free
    finally:
        if is_free:
            slots.release()


def _ms_since(started: float) -> int:
    return int((time.monotonic() - started) * 1000)
