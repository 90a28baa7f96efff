"""The scratch instances of one run: the processes of `up`, with nothing due before a case says so."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from celery import Celery
from pydantic import SecretStr

from stores import tenancy
from stores.settings import EmbedSettings, LlmSettings, Settings, embedded_broker_url, load_settings
from stores.sql import Database
from tasks.app import ROUTES, configuration
from workers import processes
from workers.first_run import prepare
from workers.supervisor import Supervisor

#: The longest that the settings take: only an end, a digest or a full window makes turns due.
IDLE_SECONDS = 86_400.0
#: Only an advance of the clock runs the upkeep jobs.
UPKEEP_SECONDS = 86_400.0
SWEEP_SECONDS = 0.2

#: Alembic keeps its place in globals: two instances must not migrate at the same time.
_migrating = threading.Lock()

AGENT_RIGHTS = ("publish", "recall", "staff", "admin")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a case plays: a tenant of its own, and the credential of its agent."""

    tenant_id: UUID
    credential: str


@dataclass(frozen=True, slots=True)
class Instance:
    """A running installation. `sender` gives its workers hints."""

    settings: Settings
    db: Database
    sender: Celery

    def places(self, names: Iterable[str]) -> list[Place]:
        """A tenant for each name, so that cases do not meet."""
        wanted = list(names)
        return self.db.write(
            lambda session: [
                Place(tenant.id, tenancy.create_key(session, tenant, AGENT_RIGHTS)[1])
                for tenant in (tenancy.create_tenant(session, name) for name in wanted)
            ]
        )

    def hint(self, task: str) -> None:
        """Tells the workers that work of this kind is due."""
        self.sender.send_task(task, queue=ROUTES[task], argsrepr="", kwargsrepr="")


@contextmanager
def scratch(*, model_url: str | None, given: LlmSettings | None) -> Generator[Instance]:
    """Everything on a folder that is removed afterwards; the model is a scripted one, the operator's, or the rules.

    Raises: NotReady, naming the process and its log.
    """
    # What the children leave behind while they end must not stop the end.
    with tempfile.TemporaryDirectory(prefix="at-eval-", ignore_cleanup_errors=True) as folder:
        settings = _settings(Path(folder), _llm(model_url, given))
        with Supervisor(settings=settings, make_roles=processes.roles, prepare=_prepare) as supervisor:
            supervisor.start()
            watching = threading.Thread(target=supervisor.watch, name="eval-supervisor")
            watching.start()
            db = Database(supervisor.settings.database_url)
            try:
                yield Instance(supervisor.settings, db, _sender(supervisor.settings))
            finally:
                db.dispose()
                supervisor.is_stopping = True
                watching.join()


def _llm(model_url: str | None, given: LlmSettings | None) -> LlmSettings:
    if model_url is not None:
        return LlmSettings(
            base_url=model_url, api_key=SecretStr("scripted"), model_small="scripted", timeout_seconds=20
        )
    return given or LlmSettings()


def _settings(home: Path, llm: LlmSettings) -> Settings:
    """Stores, broker, ports and clocks of this run alone: the operator's own rules are what is measured."""
    given = load_settings()
    changed: dict[str, Any] = {
        "window": {"idle_seconds": IDLE_SECONDS, "max_wait_seconds": IDLE_SECONDS},
        "workers": {"sweep_seconds": SWEEP_SECONDS, "upkeep_seconds": UPKEEP_SECONDS, "grace_seconds": 5.0},
        "api": {"host": None, "port": None},
        "flower": {"port": 0},
    }
    return load_settings(
        home=home,
        key=None,
        url=f"http://127.0.0.1:{_free_port()}",
        broker_url=embedded_broker_url(home),
        database_url=f"sqlite:///{home / 'afterturn.db'}",
        llm=llm,
        embed=EmbedSettings(),
        **{area: getattr(given, area).model_copy(update=values) for area, values in changed.items()},
    )


def _prepare(settings: Settings) -> None:
    with _migrating:
        prepare(settings)


def _sender(settings: Settings) -> Celery:
    # Not the application of this process: two instances may run, each with a broker of its own.
    sender = Celery("afterturn-eval", set_as_current=False)
    sender.conf.update(configuration(settings))
    return sender


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
