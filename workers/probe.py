"""What an orchestrator asks a worker or beat: alive, ready, metrics. A small HTTP server, off unless a port is set.

Alive means that the loop that takes messages goes round. A worker that stands still while its broker answers is deaf,
and says 503 so that it is started again; one whose broker is away waits for it, as it should.
"""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from schemas.errors import BadSettings
from stores.settings import Settings

#: A worker's heart beats every 2 s, beat looks up every 5 s.
STILL_SECONDS = 60.0
BROKER_SECONDS = 1.0


@dataclass(slots=True)
class Pulse:
    """When this process last showed that it goes round, and whether it takes work."""

    is_ready: bool = False
    last_at: float = field(default_factory=time.monotonic)

    def beats(self) -> None:
        """It went round just now."""
        self.last_at = time.monotonic()

    @property
    def still_seconds(self) -> float:
        """How long it has stood still."""
        return time.monotonic() - self.last_at


pulse = Pulse()
"""This process's."""


def serve(settings: Settings) -> None:
    """Answers in a thread of its own until the process ends. Raises: BadSettings when the port is taken."""
    workers = settings.workers
    if not workers.probe_port:
        return
    pulse.beats()
    try:
        server = ThreadingHTTPServer((workers.probe_host, workers.probe_port), _handler(settings.redis_url))
    except OSError as exc:
        where = f"{workers.probe_host}:{workers.probe_port}"
        raise BadSettings(f"AFTERTURN_WORKERS_PROBE_PORT: cannot listen on {where} ({exc.strerror})") from None
    # A pool's child would keep the port when its parent dies.
    os.register_at_fork(after_in_child=server.socket.close)
    threading.Thread(target=server.serve_forever, name="probe", daemon=True).start()


def state(redis_url: str) -> str:
    """ok, deaf (start it again), or broker_down (leave it)."""
    if pulse.still_seconds < STILL_SECONDS:
        return "ok"
    return "deaf" if _answers(redis_url) else "broker_down"


def _answers(redis_url: str) -> bool:
    from redis import Redis  # noqa: PLC0415 - a tenth of a second that every command would pay
    from redis.exceptions import RedisError  # noqa: PLC0415

    with Redis.from_url(  # pyright: ignore[reportUnknownMemberType]  keyword arguments untyped
        redis_url, socket_timeout=BROKER_SECONDS, socket_connect_timeout=BROKER_SECONDS
    ) as client:
        try:
            client.ping()  # pyright: ignore[reportUnknownMemberType]  keyword arguments untyped
        except (RedisError, OSError):
            return False
    return True


def _handler(redis_url: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version = "afterturn", ""

        def do_GET(self) -> None:
            """One of three answers."""
            if self.path == "/metrics":
                from stores import counting  # noqa: PLC0415 - beat counts nothing and need not load it

                self._answer(200, counting.exposition(), "text/plain; version=0.0.4; charset=utf-8")
            elif self.path == "/healthz":
                told = state(redis_url)
                self._answer(503 if told == "deaf" else 200, _json(status=told))
            elif self.path == "/readyz":
                self._answer(200 if pulse.is_ready else 503, _json(status="ok" if pulse.is_ready else "starting"))
            else:
                self._answer(404, _json(status="unknown"))

        def _answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: a probe every few seconds is no news."""

    return Handler


def _json(**fields: str) -> bytes:
    return json.dumps(fields).encode()
