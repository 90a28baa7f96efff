"""Does what the plan says, and undoes it: on processes by signals, on stores by what an operator's bad day does."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
from redis.exceptions import RedisError

from afterturn.envelope import wrap
from workers import broker
from workers.chaos import cluster, losses
from workers.chaos.plan import Fault, Kind
from workers.chaos.stage import Stage

Undo = Callable[[], object]


class Injector:
    """Injects faults into one stage. `destroyed` are the events whose only copy in the broker was lost with it.

    `poisoned` are the names of the dead letters that must be there in the end.
    """

    def __init__(self, stage: Stage, credentials: list[str], model_folder: Path) -> None:
        self._stage = stage
        self._credentials = credentials
        self._model_folder = model_folder
        self.destroyed: set[UUID] = set()
        self.poisoned: set[str] = set()
        self.destroyed_blobs: set[str] = set()

    def inject(self, fault: Fault) -> Undo | None:
        """Does it. Answers what undoes it; None when that is not needed. Raises: OSError, RedisError, sqlite3.Error."""
        match fault.target:
            case "broker":
                return self._broker(fault)
            case "model" if fault.kind is Kind.ANSWERS:
                return self._answers(fault.detail)
            case "index":
                return self._index(fault)
            case "database":
                return self._database(fault)
            case _:
                return self._process(fault)

    def _process(self, fault: Fault) -> Undo | None:
        stage, name = self._stage, fault.target
        match fault.kind:
            case Kind.KILL | Kind.KILL_LEADER:
                stage.kill(name, leader_only=fault.kind is Kind.KILL_LEADER)
                return lambda: stage.revive(name)
            case Kind.FREEZE:
                stage.send(name, signal.SIGSTOP)
                return lambda: stage.send(name, signal.SIGCONT)
            case Kind.KILL_CHILD:
                for pid in stage.children(name)[:1]:
                    _signal(pid, signal.SIGKILL)
                return None
            case _:
                frozen = stage.children(name)[:1]
                for pid in frozen:
                    _signal(pid, signal.SIGSTOP)
                return lambda: [_signal(pid, signal.SIGCONT) for pid in frozen]

    def _broker(self, fault: Fault) -> Undo | None:
        stage = self._stage
        match fault.kind:
            case Kind.KILL | Kind.AMNESIA:
                stage.kill_broker()
                if fault.kind is Kind.AMNESIA:
                    self._lost(losses.forget(stage.broker_home, stage.binary))
                return stage.start_broker
            case Kind.FREEZE:
                stage.signal_broker(signal.SIGSTOP)
                return lambda: stage.signal_broker(signal.SIGCONT)
            case _:
                return self._broker_content(fault)

    def _broker_content(self, fault: Fault) -> Undo | None:
        match fault.kind:
            case Kind.FLUSH:
                self._lost(losses.flush(self._stage.settings.broker_url))
                return None
            case Kind.FULL:
                self._ask("config_set", "maxmemory", "1mb")
                return lambda: self._ask("config_set", "maxmemory", "0")
            case Kind.POISON:
                return self._poison()
            case _:
                self._ask("client_kill_filter", _type="normal", skipme=True)
                return None

    def _ask(self, name: str, *words: object, **named: object) -> None:
        client: Any = broker.connect(self._stage.settings.broker_url)
        try:
            getattr(client, name)(*words, **named)
        finally:
            client.close()

    def _poison(self) -> None:
        blob = f"chaos-{uuid4().hex}"
        self._ask("lpush", losses.QUEUE, wrap(blob, str(uuid4()), str(uuid4())))
        self.poisoned.add(blob)

    def _lost(self, messages: list[str]) -> None:
        self.destroyed |= losses.event_ids(messages, self._credentials)
        self.destroyed_blobs |= {blob for blob in self.poisoned if any(blob in message for message in messages)}

    def _answers(self, manner: str) -> Undo:
        told = self._model_folder / "answers"

        def say(word: str) -> None:
            draft = told.with_suffix(".new")
            draft.write_text(word, "ascii")
            draft.replace(told)

        say(manner)
        return lambda: say("good")

    def _index(self, fault: Fault) -> Undo | None:
        folder = self._stage.settings.home / "index"
        if fault.kind is Kind.LOCK:
            return _locked([path for path in folder.glob("*.db")])
        away = folder.with_name("index.away")
        if not folder.is_dir():
            return None
        folder.rename(away)
        folder.write_text("taken away", "ascii")  # else the next writer makes a new, empty folder

        def back() -> None:
            folder.unlink()
            away.rename(folder)

        return back

    def _database(self, fault: Fault) -> Undo | None:
        settings = self._stage.settings
        if settings.is_sqlite:
            return _locked([settings.home / "afterturn.db"])
        if fault.kind is Kind.KICK:
            cluster.drop_connections(settings.database_url)
            return None
        return cluster.lock_turns(settings.database_url).close


def _locked(paths: list[Path]) -> Undo:
    """Holds the write lock of SQLite files, as somebody's forgotten shell does."""
    held: list[sqlite3.Connection] = []
    for path in paths:
        connection = sqlite3.connect(path, timeout=2.0, isolation_level=None)
        held.append(connection)
        with suppress(sqlite3.OperationalError):  # busy: others keep it locked well enough
            connection.execute("BEGIN IMMEDIATE")

    def free() -> None:
        for connection in held:
            connection.close()

    return free


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def patiently(
    action: Callable[[], Undo | None], meanwhile: Callable[[], None] = lambda: None, seconds: float = 20.0
) -> Undo | None:
    """The action, tried again while the broker, a file or the database is not in the state that it needs.

    `meanwhile` runs in between: what stands in the way may be a process that this run has frozen.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return action()
        except (OSError, RedisError, sqlite3.Error, psycopg.OperationalError):
            if time.monotonic() > deadline:
                raise
            meanwhile()
            time.sleep(0.05)
