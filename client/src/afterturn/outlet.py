"""Where calls become rows: the process's buffer and sender, and what happens to them at a fork and at the end."""

from __future__ import annotations

import os
import sys
import time
from sys import getsizeof
from typing import TYPE_CHECKING, Literal, Self
from uuid import UUID

from afterturn import lifetime, local
from afterturn.arguments import EventOptions, add_options, require, true_or_false, uuid_fault
from afterturn.buffer import Buffer
from afterturn.credentials import find_credential
from afterturn.errors import BadEvent, BadSetting
from afterturn.ids import uuid7, uuid7_text
from afterturn.limits import id_fault, time_fault
from afterturn.sender import Sender
from afterturn.stats import Stats, stats_of
from afterturn.times import microseconds, offset_minutes

if TYPE_CHECKING:
    from afterturn.masking import Json
    from afterturn.receipts import OnReject

_SCHEMES = ("redis://", "rediss://", "redis+socket://")
_ROW_BYTES = 1024
_CLOSE_SECONDS = 5.0


class Outlet:
    """A buffer and its sender, one pair per process. `Publisher` gives it words."""

    def __init__(
        self,
        key: str | None = None,
        url: str | None = None,
        durability: Literal["memory"] = "memory",
        *,
        agent: str | None = None,
        max_events: int = 100_000,
        max_bytes: int = 64 * 1024 * 1024,
        exit_seconds: float = _CLOSE_SECONDS,
        on_reject: OnReject | None = None,
    ) -> None:
        self._credential = find_credential(key)
        self._url = _broker_url(url)
        if durability != "memory":
            msg = 'durability: only "memory" exists in this version'
            raise BadSetting(msg)
        if agent is not None:
            require("agent", agent, id_fault)
        self._agent = agent
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._exit_seconds = exit_seconds
        self._on_reject = on_reject
        self._buffer = Buffer(max_events=max_events, max_bytes=max_bytes)
        self._sender: Sender | None = None
        lifetime.begin(self)
        self._start()

    def flush(self, timeout: float = 2.0, *, receipts: bool = False) -> bool:
        """Whether everything published so far is in the broker, waiting at most `timeout` seconds for it.

        receipts: waits for more, the workers' word on every event. Where this key may not fetch receipts, the broker
        has to do.
        """
        if self._sender is not None:
            self._sender.hasten(timeout, receipts=receipts)
        if receipts:
            return self._buffer.wait_until_released(timeout)
        return self._buffer.wait_until_empty(timeout)

    def close(self, timeout: float = _CLOSE_SECONDS) -> bool:
        """Sends what is left, for at most `timeout` seconds, and takes no more. Repeat: harmless. As flush otherwise.

        A broker that does not answer is tried once: what it did not take by then is lost, and `stats()` counts it.
        """
        lifetime.end(self)
        if self._sender is None:
            self._buffer.close()
            return not self._buffer.held
        self._sender.stop()
        self._sender.thread.join(timeout)
        return not self._buffer.held

    def stats(self) -> Stats:
        """Counts of this process; a forked child counts from zero."""
        return stats_of(self._buffer, self._sender)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _accept(
        self,
        kind: str,
        user: str,
        session: str,
        own: dict[str, Json],
        options: EventOptions,
        *,
        role: str | None = None,
        content: str | None = None,
    ) -> str:
        reason = id_fault(user)
        if reason is not None:
            raise BadEvent("user", reason)
        reason = id_fault(session)
        if reason is not None:
            raise BadEvent("session", reason)
        now_ns = time.time_ns()
        now_us = at_us = now_ns // 1000
        at_offset = event_id = None
        if self._agent is not None:
            own["agent_id"] = self._agent
        if options:
            add_options(own, options)
            at = options.get("at")
            if at is not None:
                require("at", at, time_fault)
                at_us, at_offset = microseconds(at), offset_minutes(at) or None
            event_id = options.get("event_id")
            if event_id is not None:
                require("event_id", event_id, uuid_fault)
                event_id = str(UUID(str(event_id)))
            if "no_store" in options:
                true_or_false("no_store", options["no_store"])
                if options["no_store"]:
                    own, content = _without_content(own), None if content is None else ""
        size = _ROW_BYTES + getsizeof(content) + (_size_of(own) if own else 0)
        if self._sender is None:
            self._start()
        buffer = self._buffer
        with buffer.lock:
            # Under the lock, so that ids and numbers grow together.
            event_id = event_id or uuid7_text(now_ns)
            row = (kind, event_id, user, session, at_us, at_offset, now_us, buffer.accepted, role, content, own or None)
            buffer.add(row, size)
        return event_id

    def _start(self) -> None:
        lifetime.finish_with_child(self)
        with self._buffer.lock:
            if self._sender is not None or self._buffer.closed:
                return
            sender = Sender(self._buffer, self._credential, self._url, uuid7(), on_reject=self._on_reject)
            try:
                sender.thread.start()
            except RuntimeError:  # The process is ending, or is out of threads: the events wait, and are counted.
                return
            self._sender = sender

    def hold(self) -> None:
        """Before a fork: nobody is inside the buffer."""
        self._buffer.lock.acquire()

    def resume(self) -> None:
        """After a fork, in the parent."""
        self._buffer.lock.release()

    def restart(self) -> None:
        """After a fork, in the child: empty, with a producer of its own. What was buffered is the parent's to send.

        The thread starts with the first call: most children exec or never publish.
        """
        self._buffer = Buffer(max_events=self._max_events, max_bytes=self._max_bytes)
        self._sender = None

    def finish(self) -> None:
        """The process ends: as close, and what is left is told on stderr. Repeat: says nothing."""
        if self._buffer.closed:
            return
        self.close(self._exit_seconds)
        left = self._buffer.held
        if left:
            error = self.stats().last_error or "no time"
            sys.stderr.write(f"afterturn: {left} events were not delivered before the process ended ({error})\n")


def _broker_url(url: str | None) -> str:
    text = url if url is not None else os.environ.get("AFTERTURN_BROKER_URL") or local.broker_url()
    if not text:
        msg = "url: no broker; pass url= or set AFTERTURN_BROKER_URL"
        raise BadSetting(msg)
    if not text.startswith(_SCHEMES):
        msg = f"url: must begin with one of {', '.join(_SCHEMES)}"
        raise BadSetting(msg)
    return text


def _without_content(own: dict[str, Json]) -> dict[str, Json]:
    """The fields that say what happened and nothing of what was said; they alone leave this process."""
    kept: dict[str, Json] = {
        name: value for name, value in own.items() if name not in ("name", "what", "reason", "correction")
    }
    tool = kept.get("tool")
    if isinstance(tool, dict):
        kept["tool"] = {name: tool[name] for name in ("name", "ok") if name in tool}
    if "patch" in kept:
        kept["patch"] = {}
    if "what" in own:
        kept["what"] = ""
    kept["no_store"] = True
    return kept


def _size_of(own: dict[str, Json]) -> int:
    """About the memory that these fields take."""
    return sum(getsizeof(value) if isinstance(value, str) else 64 * _count(value) for value in own.values())


def _count(value: Json) -> int:
    if isinstance(value, dict):
        return 2 + sum(_count(inner) for inner in value.values())
    if isinstance(value, list):
        return 2 + sum(_count(inner) for inner in value)
    return 2 + (len(value) // 64 if isinstance(value, str) else 0)
