"""A worker process by its role: configured, checked against its broker, and how it says that it is ready."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import (
    celeryd_init,
    heartbeat_sent,
    setup_logging,
    worker_init,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
    worker_shutdown,
    worker_shutting_down,
)

from schemas.errors import BadSettings, ServiceError, StoreBusy
from stores import pools, tracing
from stores.settings import Settings, load_settings
from tasks.app import app, transport_options
from tasks.inhand import in_hand
from workers import broker, logs, transport
from workers.presence import ready_file, start_record
from workers.probe import pulse
from workers.roles import Role

logger = logging.getLogger(__name__)

#: What a stopping process needs at the end of its grace to give back what it holds.
LAST_SECONDS = 2.0


def serve(role: Role) -> Celery:
    """The application as this role's worker runs it. Once per process: a process has one role."""
    transport.install()
    pools.act_as(role.name)
    app.add_defaults(lambda: role_configuration(role, load_settings()))
    life = _Life(role)
    for moment, receiver in (
        (setup_logging, life.set_up_logs),
        (celeryd_init, life.choose_queues),
        (worker_init, life.check_broker),
        (worker_process_init, life.start_tracing),
        (worker_process_shutdown, life.end_tracing),
        (heartbeat_sent, life.say_alive),
        (worker_ready, life.say_ready),
        (worker_shutting_down, life.bound_the_stop),
        (worker_shutdown, life.say_gone),
    ):
        moment.connect(receiver, weak=False)
    return app


def role_configuration(role: Role, settings: Settings) -> dict[str, Any]:
    """What a role changes in the shared configuration."""
    return {
        "include": list(role.modules),
        "broker_transport_options": transport_options(
            visibility_seconds=role.visibility_seconds(settings), unacked=role.name
        ),
        "worker_pool": role.pool,
        "worker_concurrency": role.slots(settings),
        "worker_enable_remote_control": role.has_remote_control,
        # fork is cheaper, but macOS kills forked children that touch its frameworks.
        "worker_pool_start_method": "spawn" if sys.platform == "darwin" else "fork",
        "worker_max_tasks_per_child": role.recycle_after_tasks,
        # After the grace, which bound_the_stop has given already.
        "worker_soft_shutdown_timeout": 0.5,
    }


class _Life:
    """The receivers of one worker's signals."""

    def __init__(self, role: Role) -> None:
        self.role = role
        self._is_stopping = False

    def set_up_logs(self, **_: object) -> None:
        """Our log lines instead of Celery's, which show return values and error texts."""
        logs.configure(load_settings().workers.log_level)

    def choose_queues(self, options: Mapping[str, Any], **_: object) -> None:
        """The role's own queues, unless the command line names others."""
        if not options.get("queues"):
            app.amqp.queues.select(list(self.role.queues))

    def check_broker(self, **_: object) -> None:
        """Refuses a broker that may throw messages away when its memory is full."""
        ready_file(load_settings().home, self.role.name).unlink(missing_ok=True)
        try:
            broker.refuse_evicting(load_settings().broker_url)
        except BadSettings as exc:
            # Celery logs what a receiver raises and goes on; only an exit stops the worker.
            logger.error("broker refused code=%s %s", exc.code, exc)
            raise SystemExit(2) from None
        except StoreBusy as exc:
            logger.warning("broker not ready yet: %s", exc)

    def say_alive(self, **_: object) -> None:
        """The loop that takes messages goes round."""
        pulse.beats()

    def say_ready(self, **_: object) -> None:
        """Leaves the ready file and the start record."""
        home = load_settings().home
        record = {
            "role": self.role.name,
            "pid": os.getpid(),
            "queues": list(self.role.queues),
            "tasks": sorted(app.tasks),
            "remote_control": self.role.has_remote_control,
        }
        for path in (start_record(home, self.role.name), ready_file(home, self.role.name)):
            _write(path, record)
        pulse.is_ready = True
        if self.role.pool != "prefork":
            self.start_tracing()

    def start_tracing(self, **_: object) -> None:
        """In the process that works: threads that send spans do not survive a fork."""
        tracing.start(load_settings(), self.role.name)

    def end_tracing(self, **_: object) -> None:
        """Sends what is left."""
        tracing.flush()

    def bound_the_stop(self, **_: object) -> None:
        """Celery waits for running tasks however long they take; a model's call takes longer than any grace."""
        if self._is_stopping:
            return
        self._is_stopping = True
        pulse.is_ready = False
        grace = load_settings().workers.grace_seconds
        end = threading.Timer(max(0.5, grace - LAST_SECONDS), self._end_now)
        end.daemon = True
        end.start()

    def _end_now(self) -> None:
        if self.role.pool == "prefork":
            # A cold stop puts what the children had in hand back into the queue.
            os.kill(os.getpid(), signal.SIGQUIT)
            return
        # Threads cannot be ended, and the interpreter would wait for them; so would we for their hints' return.
        try:
            logger.warning("stopped in the middle windows=%d", in_hand.give_back())
        except ServiceError as exc:
            logger.warning("stopped in the middle, leases must run out code=%s", exc.code)
        tracing.flush()
        self.say_gone()
        os._exit(0)

    def say_gone(self, **_: object) -> None:
        """Takes the ready file away."""
        tracing.flush()
        ready_file(load_settings().home, self.role.name).unlink(missing_ok=True)


def _write(path: Path, record: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Written aside and renamed: who waits for the file never reads half of it.
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(record), "utf-8")
    draft.replace(path)
