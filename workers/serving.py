"""One role in this process, in the foreground, until it is told to stop.

Workers and beat are started without Celery's command line: that one imports every command there is, Flower's web
server included, which costs each process a second and 35 MB.
"""

from __future__ import annotations

import gc
import os
import socket
from importlib import import_module
from typing import Any

from schemas.errors import BadSettings
from stores.settings import Settings
from workers import logs, presence, probe
from workers.processes import WORKERS, flower_arguments, flower_password


def serve_worker(settings: Settings, role: str) -> int:
    """Runs one worker; queues, pool and tasks stand in its application. Answers its exit code."""
    if role not in WORKERS:
        raise BadSettings(f"role: one of {', '.join(WORKERS)}")
    _log(settings)
    count(settings, role)
    application = _application(f"workers.{role}")
    probe.serve(settings)
    worker = application.Worker(
        hostname=f"{role}@{socket.gethostname()}",
        loglevel=settings.workers.log_level,
        quiet=True,
        without_gossip=True,
        without_mingle=True,
    )
    worker.start()
    return int(worker.exitcode or 0)


def serve_beat(settings: Settings) -> None:
    """Runs beat."""
    _log(settings)
    presence.announce_beat(settings.home)
    probe.serve(settings)
    _application("workers.sender").Beat(loglevel=settings.workers.log_level, quiet=True).run()


def serve_flower(settings: Settings) -> None:
    """Runs the task monitor behind its password."""
    from celery.bin.celery import celery  # noqa: PLC0415 - see above

    _log(settings)
    # Flower reads it from the environment; a command line can be read by everybody.
    os.environ["FLOWER_BASIC_AUTH"] = f"{settings.flower.user}:{flower_password(settings)}"
    celery(args=flower_arguments(settings), prog_name="celery")


def serve_api(settings: Settings) -> None:
    """Runs the HTTP API."""
    import uvicorn  # noqa: PLC0415 - only this role serves HTTP

    logs.configure(settings.workers.log_level)
    count(settings, "api")
    uvicorn.run(
        "api.app:create_app",
        factory=True,
        host=settings.api_host,
        port=settings.api_port,
        log_config=None,
        access_log=False,  # its lines would hold users' names
        timeout_graceful_shutdown=max(1, int(settings.workers.grace_seconds) - 1),
    )


def _log(settings: Settings) -> None:
    logs.configure(settings.workers.log_level)
    logs.keep_celery_out(settings.workers.log_level)


def count(settings: Settings, role: str) -> None:
    """Has this process count where the others of the data folder do."""
    from stores import counting  # noqa: PLC0415 - what only runs a command counts nothing

    counting.share(settings.home, role)


def _application(module: str) -> Any:
    # What is imported stays: nobody looks through it for garbage, and no child of a pool copies it for that.
    gc.disable()
    application = import_module(module).app
    gc.enable()
    gc.freeze()
    application.set_current()
    return application
