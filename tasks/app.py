"""The one Celery application: names, routes and the settings that were measured. Importing it reads no environment.

A message is only a hint: what is due stands in SQL, and a lost message costs one sweep. So there is no result backend,
nothing carries an eta, and no message but a sealed batch holds anything that a user said.
"""

from __future__ import annotations

from typing import Any

from celery import Celery
from kombu import Exchange, Queue

from stores.settings import Settings, load_settings

PREFIX = "afterturn:v1:"

INGEST = "afterturn.ingest"
SWEEP = "afterturn.sweep"
DIGEST = "afterturn.digest"
INDEX = "afterturn.index"
DECAY = "afterturn.decay"
EXPIRE = "afterturn.expire"
CONSOLIDATE = "afterturn.consolidate"
RECONCILE = "afterturn.reconcile"

ROUTES = {
    INGEST: "ingest",
    SWEEP: "pulse",
    DIGEST: "llm",
    INDEX: "index",
    DECAY: "upkeep",
    EXPIRE: "upkeep",
    CONSOLIDATE: "upkeep",
    RECONCILE: "upkeep",
}
QUEUES = tuple(dict.fromkeys(ROUTES.values()))


def transport_options(*, visibility_seconds: float = 3600.0, unacked: str = "shared") -> dict[str, Any]:
    """How a process talks to the broker.

    `unacked` names the books of unacknowledged messages. Each role keeps its own: a worker with a visibility of 5 s
    otherwise re-delivers what one with 900 s still works on. Restoring looks every 5 s; by default it takes 100 s.
    The socket time-out exceeds the 25 s health check, and ends a publish to a broker that is frozen.
    """
    return {
        "global_keyprefix": PREFIX,
        "visibility_timeout": visibility_seconds,
        "unacked_key": f"unacked.{unacked}",
        "unacked_index_key": f"unacked_index.{unacked}",
        "unacked_mutex_key": f"unacked_mutex.{unacked}",
        "unacked_restore_interval": 5,
        "unacked_restore_throttle": 1,
        "health_check_interval": 25,
        "socket_keepalive": True,
        "socket_connect_timeout": 5,
        "socket_timeout": 60,
    }


def configuration(settings: Settings) -> dict[str, Any]:
    """What every process shares, beat and Flower included. A role adds its own part."""
    return {
        "broker_url": settings.broker_url,
        "broker_transport_options": transport_options(),
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        # A result backend would stall a publisher for 19 s when the broker is down, and nobody reads results.
        "result_backend": None,
        "result_expires": None,
        "task_ignore_result": True,
        "task_store_errors_even_if_ignored": False,
        "task_serializer": "json",
        "accept_content": ["json"],
        # Late, and rejected when the process dies: without the second a killed child acknowledges what it never did.
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "task_acks_on_failure": True,
        "task_acks_on_timeout": True,
        # An exchange each: else Celery binds every queue to the default one, and a message to that reaches them all.
        "task_queues": [Queue(name, Exchange(name, "direct"), routing_key=name) for name in QUEUES],
        "task_routes": {name: {"queue": queue} for name, queue in ROUTES.items()},
        "task_default_queue": "upkeep",
        "task_create_missing_queues": False,
        "task_publish_retry": False,
        "task_send_sent_event": False,
        "worker_send_task_events": True,
        "worker_prefetch_multiplier": 1,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        "enable_utc": True,
        "timezone": "UTC",
    }


def beat_seconds(settings: Settings) -> dict[str, float]:
    """How often beat sends each job."""
    workers = settings.workers
    return {
        SWEEP: workers.sweep_seconds,
        DECAY: workers.upkeep_seconds,
        EXPIRE: workers.upkeep_seconds,
        CONSOLIDATE: workers.upkeep_seconds,
        RECONCILE: workers.reconcile_seconds,
    }


def _defaults() -> dict[str, Any]:
    return configuration(load_settings())


app = Celery("afterturn", set_as_current=False)
app.add_defaults(_defaults)
# Without it a hint from any thread but the main one goes to a default app and a broker on localhost.
app.set_default()


def _keep_ours(sender: Celery, **_: object) -> None:
    """Drops Celery's own tasks (chords, maps, clean-up): nothing here uses them, so no message may name them."""
    for name in [name for name in sender.tasks if name.startswith("celery.")]:
        del sender.tasks[name]


app.on_after_finalize.connect(_keep_ours)
