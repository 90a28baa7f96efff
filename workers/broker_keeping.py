"""Keeps the embedded broker of a running installation: a look never waits for it and never raises because of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from schemas.errors import ServiceError
from workers import broker
from workers.restarts import Falls

logger = logging.getLogger(__name__)

PULSE_EVERY_SECONDS = 0.25
SILENCE_SECONDS = 10.0


@dataclass(slots=True, kw_only=True)
class BrokerKeeping:
    """One data folder's broker. `tell` informs the undertaker, `on_event` whoever watches the screen."""

    home: Path
    tell: Callable[[str, int], None]
    on_event: Callable[[str, str], None]
    falls: Falls = field(default_factory=Falls)
    _running: broker.Running | None = None
    _is_ready: bool = False
    _pulse_at: float = 0.0
    _patience_until: float = 0.0

    @property
    def pid(self) -> int | None:
        """The server's pid while there is one."""
        return None if self._running is None else self._running.pid

    def start(self) -> None:
        """Starts it and waits until it answers. Raises: BadSettings, StoreBusy."""
        self._take(broker.start(self.home))
        self._got_ready()

    def look(self) -> None:
        """Notices its death and its readiness, starts it again when that is due."""
        if self._running is None:
            if self.falls.may_start():
                self._launch()
        elif self._has_died(self._running):
            self._fell("ended")
        elif not self._is_ready and time.monotonic() >= self._pulse_at:
            self._feel_pulse(self._running)

    def stop(self, grace_seconds: float) -> None:
        """Ends it. Raises: StoreBusy when even SIGKILL did not end it in time."""
        broker.stop(self.home, timeout_seconds=grace_seconds)
        if self._running is not None and self._running.process is not None:
            self._running.process.wait()
        self._running = None

    def _launch(self) -> None:
        self.falls.started()
        try:
            self._take(broker.launch(self.home))
        except (ServiceError, OSError) as exc:
            self._fell(type(exc).__name__)

    def _take(self, running: broker.Running) -> None:
        self._running = running
        self._is_ready = False
        self.falls.started()
        self._patience_until = time.monotonic() + SILENCE_SECONDS
        self.tell("last", running.pid)

    def _feel_pulse(self, running: broker.Running) -> None:
        pulse = broker.pulse(self.home)
        self._pulse_at = time.monotonic() + PULSE_EVERY_SECONDS
        if pulse == "answers":
            self._got_ready()
        elif pulse == "loading":  # a long append-only file: killing it would start over
            self._patience_until = time.monotonic() + SILENCE_SECONDS
        elif time.monotonic() > self._patience_until and running.process is not None:
            running.process.kill()

    def _got_ready(self) -> None:
        self._is_ready = True
        logger.info("process ready", extra={"role": "broker"})
        self.on_event("ready", "broker")

    def _has_died(self, running: broker.Running) -> bool:
        if running.process is not None:
            return running.process.poll() is not None
        return broker.status(self.home) is None

    def _fell(self, how: str) -> None:
        status = None
        if self._running is not None:
            self.tell("gone", self._running.pid)
            status = None if self._running.process is None else self._running.process.returncode
        self._running = None
        self._is_ready = False
        self.falls.fell()
        logger.warning(
            "process ended", extra={"role": "broker", "how": how, "status": status, "restarts": self.falls.total}
        )
        self.on_event("restart", "broker")
