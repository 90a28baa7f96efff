"""How many connections a process opens to PostgreSQL, under which name, and how long what it does there may take.

A process has one role, said once as it starts. SQLite has no sessions to bound: there only the wait for locks counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from stores.setting_areas import Role
from stores.settings import Settings

#: Connections above these are closed when they are given back.
KEPT = 5
#: A worker's threads need one each; its probe and what it counts aside a few more.
SPARE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What one process asks of its database. A bound of 0 is none. `most`: connections at once.

    turn_seconds: on SQLite, the pause between two looks whether the one write lock is free: the shorter, the sooner.
    """

    name: str = "afterturn"
    most: int = 30
    statement_seconds: float = 0.0
    lock_seconds: float = 15.0
    idle_seconds: float = 60.0
    connect_seconds: int = 10
    turn_seconds: float = 0.001


OPERATOR = Terms(name="afterturn-cli")


class _Process:
    role: Role = "cli"


_process = _Process()


def act_as(role: Role) -> None:
    """Says what this process, and those it forks, are: for connections that are opened from then on."""
    _process.role = role


def terms(settings: Settings, role: Role | None = None) -> Terms:
    """The terms of a role by the settings, of this process's without one."""
    of = role or _process.role
    statement, lock, idle = settings.postgres.bounds(of)
    return Terms(
        name=f"afterturn-{of}",
        most=settings.postgres.connections.get(of) or _most(settings, of),
        statement_seconds=statement,
        lock_seconds=lock,
        idle_seconds=idle,
        # A replica that does not answer is soon passed by.
        connect_seconds=2 if of == "recall" else OPERATOR.connect_seconds,
        # Behind a backlog its processes write all the time: whoever writes a little goes first.
        turn_seconds=0.005 if of == "ingest" else OPERATOR.turn_seconds,
    )


def _most(settings: Settings, role: Role) -> int:
    match role:
        case "ingest":
            return 2  # its processes have one thread each
        case "app" | "llm":
            return settings.workers.slots + SPARE
        case "index":
            return settings.workers.index_slots + SPARE
        case "upkeep":
            return SPARE
        case "recall":
            return 12  # recall has eight threads for SQL
        case _:
            return OPERATOR.most
