"""Where calls become rows: the process's buffer and sender, and what happens to them at a fork and at the end."""

from __future__ import annotations

import logging
import os
import sys
import time
from sys import getsizeof
from typing import TYPE_CHECKING, Literal, Self, TypeVar, cast
from uuid import UUID

from afterturn import lifetime, local
from afterturn.arguments import EventOptions, add_options, require, true_or_false, uuid_fault
from afterturn.buffer import Buffer
from afterturn.credentials import find_credential
from afterturn.errors import BadSetting
from afterturn.forks import fork_gate
from afterturn.ids import uuid7, uuid7_text
from afterturn.limits import id_fault, time_fault
from afterturn.sender import Sender
from afterturn.stats import Stats, stats_of
from afterturn.times import microseconds, offset_minutes
from afterturn.tracing import traceparent

if TYPE_CHECKING:
    from afterturn.durability import Spooling
    from afterturn.masking import Json
    from afterturn.receipts import OnReject

_SCHEMES = ("redis://", "rediss://", "redis+socket://")
_ROW_BYTES = 1024
_GOOD_IDS = 4096
_CLOSE_SECONDS = 5.0
_RECEIPT_SECONDS = 1.0
_SPOOL_BYTES = 256 * 1024 * 1024
Number = TypeVar("Number", int, float)

log = logging.getLogger("afterturn")


class Outlet:
    """A buffer and its sender, one pair per process. `Publisher` gives it words."""

    def __init__(
        self,
        key: str | None = None,
        url: str | None = None,
        durability: Literal["memory", "spool"] = "memory",
        *,
        agent: str | None = None,
        max_events: int = 100_000,
        max_bytes: int = 64 * 1024 * 1024,
        exit_seconds: float = _CLOSE_SECONDS,
        on_reject: OnReject | None = None,
        spool: str | os.PathLike[str] | None = None,
        spool_bytes: int = _SPOOL_BYTES,
    ) -> None:
        self._credential = find_credential(key)
        self._url = _broker_url(url)
        if durability not in ("memory", "spool"):
            msg = 'durability: must be "memory" or "spool"'
            raise BadSetting(msg)
        if agent is not None:
            require("agent", agent, id_fault)
        self._agent = agent
        self._max_events = _at_least("max_events", max_events, 1)
        self._max_bytes = _at_least("max_bytes", max_bytes, 1)
        self._exit_seconds = _at_least("exit_seconds", exit_seconds, 0)
        self._on_reject = on_reject
        self._durability = durability
        self._spool_folder = spool
        self._spool_bytes = _at_least("spool_bytes", spool_bytes, 1)
        self._spooling: Spooling | None = None
        self._sender: Sender | None = None
        self._has_told_closed = False
        self._good_ids: set[object] = set()
        self._producer = uuid7()
        with fork_gate:  # Until forks know of it: a child would keep the lock of a spool that it does not let go.
            self._buffer = self._new_buffer()
            if self._spooling is not None:
                try:
                    self._spooling.spool.open()
                except OSError as exc:
                    msg = f"spool: the folder cannot be used ({exc.strerror})"
                    raise BadSetting(msg) from None
            lifetime.begin(self)
        self._start()

    def _new_buffer(self) -> Buffer:
        """An empty buffer for this process; under durability "spool" it needs opening before it takes anything.

        No fork happens meanwhile: the constructor is inside the gate, or a fork holds it.
        """
        if self._durability == "memory":
            return Buffer(max_events=self._max_events, max_bytes=self._max_bytes)
        try:
            from afterturn import durability  # noqa: PLC0415 - 100 ms of imports, for those who chose this
        except ImportError as exc:
            msg = f"durability: no spool on this system (no {exc.name})"
            raise BadSetting(msg) from None
        if self._spool_bytes < durability.SMALLEST_SPOOL_BYTES:
            msg = f"spool_bytes: at least {durability.SMALLEST_SPOOL_BYTES}"
            raise BadSetting(msg)
        self._spooling = durability.spooling(
            durability.folder_of(self._spool_folder),
            self._credential,
            self._producer,
            max_events=self._max_events,
            max_bytes=self._max_bytes,
            spool_bytes=self._spool_bytes,
        )
        return self._spooling.buffer

    def flush(self, timeout: float = 2.0, *, receipts: bool = False) -> bool:
        """Whether everything published so far is in the broker, waiting at most `timeout` seconds for it.

        receipts: waits for more, the workers' word on every event. Where this key may not fetch receipts, the broker
        has to do.
        """
        if self._sender is not None:
            self._sender.hasten(timeout, receipts=receipts)
        if not receipts:
            return self._buffer.wait_until_empty(timeout)
        try:
            return self._buffer.wait_until_released(timeout)
        finally:
            if self._sender is not None:
                self._sender.relax()

    def close(self, timeout: float = _CLOSE_SECONDS) -> bool:
        """Sends what is left, for at most `timeout` seconds, and takes no more. Repeat: harmless. As flush otherwise.

        A broker that does not answer is tried once: what it did not take by then is told on stderr, and in `stats()`.
        """
        try:
            return self._close(timeout)
        finally:
            lifetime.end(self)  # Now: a child that is forked meanwhile lets go of what is ours.

    def _close(self, timeout: float) -> bool:
        was_closed = self._buffer.closed
        if self._sender is None:
            self._buffer.close()
        else:
            # What a spool holds without a receipt, the next process sends again: a second's wait spares it most of it.
            self._sender.stop(0.0 if self._spooling is None else min(timeout, _RECEIPT_SECONDS))
            self._sender.thread.join(timeout)
        if self._spooling is not None:
            self._spooling.close()
        left = self._buffer.held
        if left and not was_closed:
            error = self.stats().last_error or "no time"
            what = "were not delivered" if self._spooling is None else "wait in the spool, not delivered"
            sys.stderr.write(f"afterturn: {left} events {what} before the end ({error})\n")
        return not left

    def stats(self) -> Stats:
        """Counts of this process; a forked child counts from zero."""
        return stats_of(self._buffer, self._sender, self._spooling)

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
        try:
            if user not in self._good_ids or session not in self._good_ids:
                self._judge(user, session)
        except TypeError:  # What has no hash is no string.
            self._judge(user, session)
        now_ns = time.time_ns()
        now_us = at_us = now_ns // 1000
        at_offset = event_id = None
        if self._agent is not None:
            own["agent_id"] = self._agent
        if options:
            add_options(own, options)
            at_us, at_offset = _given_time(options) or (now_us, None)
            event_id = _given_id(options)
            if _says_nothing(options):
                own, content = _without_content(own), None if content is None else ""
        if "opentelemetry.trace" in sys.modules:
            _add_trace(own)
        size = _ROW_BYTES + getsizeof(content) + (_size_of(own) if own else 0)
        if self._sender is None:
            self._start()
        buffer = self._buffer
        with buffer.lock:
            # Under the lock, so that ids and numbers grow together.
            event_id = event_id or uuid7_text(now_ns)
            row = (kind, event_id, user, session, at_us, at_offset, now_us, buffer.accepted, role, content, own or None)
            if not buffer.add(row, size):
                self._tell_if_closed()
        return event_id

    def _judge(self, user: object, session: object) -> None:
        """Raises BadEvent unless both are ids. Good ones are known from now on: most calls say the same again."""
        require("user", user, id_fault)
        require("session", session, id_fault)
        if len(self._good_ids) >= _GOOD_IDS:
            self._good_ids.clear()
        self._good_ids.update((user, session))

    def _tell_if_closed(self) -> None:
        if self._buffer.closed and not self._has_told_closed:
            self._has_told_closed = True
            sys.stderr.write("afterturn: published after close(); such events are refused and counted\n")

    def _start(self) -> None:
        lifetime.finish_with_child(self)
        with self._buffer.lock:
            if self._sender is not None or self._buffer.closed:
                return
            if self._spooling is not None and not self._spooling.spool.is_open:  # A forked child's first word.
                try:
                    self._spooling.spool.open()
                except OSError as exc:
                    log.error("spool cannot be used, events are refused: error=%s", exc.strerror)
            sender = Sender(
                self._buffer,
                self._credential,
                self._url,
                self._producer,
                on_reject=self._on_reject,
                orphans=None if self._spooling is None else self._spooling.takeover,
            )
            try:
                sender.thread.start()
            except RuntimeError:  # The process is ending, or is out of threads: the events wait, and are counted.
                return
            self._sender = sender

    def hold(self) -> None:
        """Before a fork: nobody is inside the buffer, or at the spool's files."""
        self._buffer.lock.acquire()
        if self._spooling is not None:
            self._spooling.hold()

    def resume(self) -> None:
        """After a fork, in the parent."""
        if self._spooling is not None:
            self._spooling.resume()
        self._buffer.lock.release()

    def restart(self) -> None:
        """After a fork, in the child: empty, with a producer of its own. What was buffered is the parent's to send.

        The thread starts with the first call: most children exec or never publish.
        """
        if self._spooling is not None:
            self._spooling.abandon()
        self._producer = uuid7()
        self._buffer = self._new_buffer()
        self._sender = None

    def finish(self) -> None:
        """The process ends: as close. Repeat: says nothing."""
        if not self._buffer.closed:
            self.close(self._exit_seconds)


def _broker_url(url: str | None) -> str:
    if not isinstance(cast("object", url), str | None):
        msg = "url: must be a string"
        raise BadSetting(msg)
    text = url if url is not None else os.environ.get("AFTERTURN_BROKER_URL") or local.broker_url()
    if not text:
        msg = "url: no broker; pass url= or set AFTERTURN_BROKER_URL"
        raise BadSetting(msg)
    if not text.startswith(_SCHEMES):
        msg = f"url: must begin with one of {', '.join(_SCHEMES)}"
        raise BadSetting(msg)
    return text


def _at_least(name: str, number: Number, least: int) -> Number:
    if not isinstance(cast("object", number), int | float) or isinstance(number, bool) or not number >= least:
        msg = f"{name}: must be a number of at least {least}"
        raise BadSetting(msg)
    return number


def _given_id(options: EventOptions) -> str | None:
    event_id = options.get("event_id")
    if event_id is None:
        return None
    require("event_id", event_id, uuid_fault)
    return str(UUID(str(event_id)))


def _given_time(options: EventOptions) -> tuple[int, int | None] | None:
    at = options.get("at")
    if at is None:
        return None
    require("at", at, time_fault)
    return microseconds(at), offset_minutes(at) or None


def _says_nothing(options: EventOptions) -> bool:
    if "no_store" not in options:
        return False
    true_or_false("no_store", options["no_store"])
    return options["no_store"]


def _add_trace(own: dict[str, Json]) -> None:
    if "traceparent" not in own and (trace := traceparent()) is not None:
        own["traceparent"] = trace


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
