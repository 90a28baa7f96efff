"""One chaos run: start everything, publish, break things by plan, wait for quiet, audit, tell."""

from __future__ import annotations

import json
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from sqlmodel import Session

from schemas.errors import BadSettings, StoreBusy
from stores import progress, tenancy, windows
from stores.audit import Audit, audit
from stores.kit import open_kit
from stores.settings import LlmSettings, Settings, embedded_broker_url, load_settings
from stores.sql import Database
from workers import broker, processes
from workers.chaos import cluster, losses
from workers.chaos.faults import Injector, Undo, patiently
from workers.chaos.plan import Fault, outage, plan
from workers.chaos.stage import Stage
from workers.chaos.stream import TENANTS, Job
from workers.chaos.verdict import Verdict, judge, read_journal
from workers.first_run import prepare

POLL_SECONDS = 0.02
READY_SECONDS = 120.0
#: Longer than any lease, visibility time-out and pause of the shipped settings: then something hangs.
QUIET_SECONDS = 1_200.0
STILL_SECONDS = 3.0
STATUS_SECONDS = 15.0
SAMPLE_SECONDS = 0.5
#: Now and then one call asks whether the model is back, and takes as long as its time-out; nothing else holds a slot.
MOST_HELD = 1.0
POOLED = 10
WARM_EVENTS = 50
#: Deadlines and leases of seconds, for a run that must end soon. Everything else stays as it ships.
QUICK: dict[str, dict[str, Any]] = {
    "llm": {"timeout_seconds": 2.0, "connect_seconds": 1.0},
    "embed": {"timeout_seconds": 5.0},
    "window": {"write_margin_seconds": 7.0, "idle_seconds": 5.0},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What was asked for. With durability `spool` the publisher's process is killed, too."""

    seconds: float
    seed: int
    stores: Literal["sqlite", "postgres"] = "sqlite"
    broker: Literal["valkey", "redis"] = "valkey"
    durability: Literal["memory", "spool"] = "memory"
    per_second: float = 30.0
    only_model: bool = False

    def plan(self) -> list[Fault]:
        """Its faults; `only_model`: nothing fails but the model, and that all the time."""
        if self.only_model:
            return outage(seconds=self.seconds)
        return plan(
            seconds=self.seconds,
            seed=self.seed,
            may_kill_publisher=self.durability == "spool",
            has_server=self.stores == "postgres",
        )


@dataclass(slots=True)
class Report:
    """What a run did and found."""

    order: Order
    faults: list[Fault]
    injected: list[str] = field(default_factory=list[str])
    wrong: list[str] = field(default_factory=list[str])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    starts: dict[str, int] = field(default_factory=dict[str, int])
    notes: dict[str, str] = field(default_factory=dict[str, str])
    model_calls: int = 0
    model_failures: int = 0
    held: list[int] = field(default_factory=list[int])
    windows: int = 0
    verdict: Verdict | None = None
    audit: Audit | None = None

    @property
    def is_clean(self) -> bool:
        """Every promise was kept and every account adds up."""
        audited = self.audit is not None and self.audit.is_clean
        return audited and self.verdict is not None and not self.verdict.wrong and not self.wrong


def run(order: Order, tell: Callable[[str], None], *, settings: dict[str, Any] | None = None) -> Report:
    """Runs it on a scratch folder. `settings` change the shipped ones. Raises: BadSettings, StoreBusy."""
    report = Report(order, order.plan())
    with ExitStack() as stack:
        home = stack.enter_context(_scratch(report))
        url = stack.enter_context(cluster.cluster(home / "pg")) if order.stores == "postgres" else None
        _Run(order, report, tell, home, _settings(home, url, settings or {})).play(stack)
    return report


@contextmanager
def _scratch(report: Report) -> Generator[Path]:
    home = Path(tempfile.mkdtemp(prefix="at-chaos-"))
    home.chmod(0o755)  # PostgreSQL runs as another user
    yield home
    if report.is_clean:
        shutil.rmtree(home, ignore_errors=True)
    else:
        report.notes["kept"] = str(home)


def _settings(home: Path, database_url: str | None, changes: dict[str, Any]) -> Settings:
    """The shipped settings, on stores, ports and a model of this run's own."""
    llm = LlmSettings(base_url=f"http://127.0.0.1:{_free_port()}/v1", api_key="chaos", model_small="chaos")  # pyright: ignore[reportArgumentType]
    given: dict[str, Any] = {
        "home": home / "h",
        "key": None,
        "url": f"http://127.0.0.1:{_free_port()}",
        "broker_url": embedded_broker_url(home / "b"),
        "llm": llm,
        "flower": {"port": 0},
    }
    given |= {"embed": {"base_url": llm.base_url, "api_key": "chaos", "model": "chaos"}}
    if database_url is not None:
        given["database_url"] = database_url
    loaded = load_settings(**given)
    for area, fields in changes.items():
        loaded = loaded.model_copy(update={area: getattr(loaded, area).model_copy(update=fields)})
    return loaded


class _Run:
    def __init__(
        self, order: Order, report: Report, tell: Callable[[str], None], home: Path, settings: Settings
    ) -> None:
        self.order = order
        self.report = report
        self.tell = tell
        self.home = home
        self.settings = settings
        self.stage = Stage(settings, home, binary=_binary(order.broker))
        self.undos: list[tuple[float, Undo]] = []
        self.sampled_at = 0.0

    def play(self, stack: ExitStack) -> None:
        began = time.monotonic()
        stack.callback(self.stage.stop)
        self.stage.start_broker()
        prepare(self.settings)
        self.db = Database(self.settings.database_url)
        stack.callback(self.db.dispose)
        keys = self._keys()
        self._start(keys)
        self.report.seconds["start"] = time.monotonic() - began
        injector = Injector(self.stage, list(keys.values()), self.home / "model")
        self._break(injector)
        faulted = time.monotonic()
        self._finish_stream()
        self._await_quiet()
        self.report.seconds["faults"] = faulted - began - self.report.seconds["start"]
        self.report.seconds["quiet"] = time.monotonic() - faulted
        self.report.starts = {name: actor.starts for name, actor in self.stage.actors.items()}
        self.stage.stop()
        self._judge(injector)

    def _keys(self) -> dict[str, str]:
        def make(session: Session) -> dict[str, str]:
            return {
                name: tenancy.create_key(session, tenancy.create_tenant(session, name), ("publish", "recall"))[1]
                for name in TENANTS
            }

        return self.db.write(make)

    def _start(self, keys: dict[str, str]) -> None:
        folder, spool = self.home / "model", self.home / "spool"
        folder.mkdir()
        spool.mkdir(mode=0o700)
        port = str(self.settings.llm.base_url).rsplit(":", 1)[1].partition("/")[0]
        environment = processes.environment(self.settings)
        self.stage.add("model", (sys.executable, "-m", "workers.chaos.model", port, str(folder)), environment)
        self.stage.add_roles()
        self.journal = self.home / "journal"
        self.stop = self.home / "stop"
        job = Job(
            keys=keys,
            broker_url=self.settings.broker_url,
            http_url=self.settings.url,
            durability=self.order.durability,
            spool=str(spool),
            journal=str(self.journal),
            stop=str(self.stop),
            seed=self.order.seed,
            per_second=self.order.per_second,
            ends_all=self.order.seconds < 60,
        )
        path = self.home / "job.json"
        path.write_text(json.dumps(asdict(job)), "utf-8")
        self.stage.add("publisher", (sys.executable, "-m", "workers.chaos.stream", str(path)), environment)
        self._until(lambda: self._progress().events >= WARM_EVENTS, READY_SECONDS, "the first events")

    def _break(self, injector: Injector) -> None:
        """The plan, in its time; what is undone later is undone in between."""
        began = time.monotonic()
        for fault in self.report.faults:
            while (now := time.monotonic()) < began + fault.at:
                self._tend(now)
                time.sleep(POLL_SECONDS)
            self.tell(str(fault))
            undo = patiently(lambda fault=fault: injector.inject(fault), lambda: self._tend(time.monotonic()))
            self.report.injected.append(str(fault))
            if undo is not None:
                self.undos.append((began + fault.at + fault.seconds, undo))
        while self.undos:
            self._tend(time.monotonic())
            time.sleep(POLL_SECONDS)

    def _tend(self, now: float) -> None:
        due = [pair for pair in self.undos if pair[0] <= now]
        self.undos = [pair for pair in self.undos if pair[0] > now]
        for _, undo in due:
            undo()
        self.report.wrong += self.stage.look()
        if self.order.only_model and self.undos and now >= self.sampled_at + SAMPLE_SECONDS:
            self.sampled_at = now
            with self.db.read() as session:
                self.report.held.append(windows.backlog(session).running)

    def _finish_stream(self) -> None:
        self.stage.actors["publisher"].may_end = True
        self.stop.touch()
        if not self.stage.await_end("publisher", QUIET_SECONDS, lambda: self._tend(time.monotonic())):
            self.report.wrong.append("the publisher did not get rid of what it held")

    def _await_quiet(self) -> None:
        promised = len(read_journal(self.journal).promised)
        still_since = 0.0

        def is_quiet() -> bool:
            nonlocal still_since
            if not self._is_still():
                still_since = time.monotonic()
                return False
            return self._progress().events >= promised or time.monotonic() - still_since > STILL_SECONDS

        self._until(is_quiet, QUIET_SECONDS, "quiet")

    def _is_still(self) -> bool:
        """Nothing waits in SQL, in the ingest queue, or in a worker's hands."""
        now = self._progress()
        if not now.is_quiet:
            return False
        client: Any = broker.connect(self.settings.broker_url)
        try:
            return not client.llen(losses.QUEUE) and not client.hlen(losses.UNACKED)
        finally:
            client.close()

    def _progress(self) -> progress.Progress:
        """What SQL says; a connection of our own may be among those that the plan has dropped."""
        for _ in range(POOLED):
            try:
                with self.db.read() as session:
                    return progress.progress(session)
            except StoreBusy:
                time.sleep(0.2)
        with self.db.read() as session:
            return progress.progress(session)

    def _until(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        said_at = time.monotonic()
        deadline = said_at + seconds
        while not condition():
            if time.monotonic() > deadline:
                self.report.wrong.append(f"waited {seconds:.0f} s in vain for {what}: {self._told()}")
                return
            if time.monotonic() > said_at + STATUS_SECONDS:
                said_at = time.monotonic()
                self.tell(f"waiting for {what}: {self._told()}")
            self._tend(time.monotonic())
            time.sleep(0.2)

    def _told(self) -> str:
        now = self._progress()
        return (
            f"{now.events} events, {now.undigested} turns undigested, {now.windows_open} windows open, "
            f"{now.owed} index writes owed, {now.dead} dead letters"
        )

    def _judge(self, injector: Injector) -> None:
        journal = read_journal(self.journal)
        kit = open_kit(self.settings)
        try:
            with kit.db.read() as session:
                self.report.verdict = judge(
                    session,
                    journal,
                    destroyed=injector.destroyed,
                    poisoned=injector.poisoned,
                    lost_poison=len(injector.destroyed_blobs),
                )
                self.report.windows = progress.progress(session).windows_applied
            self.report.audit = audit(kit.db, kit.index, procedures=kit.policies.procedures)
        finally:
            kit.close()
        self.report.notes |= journal.notes
        calls = (self.home / "model" / "calls").read_bytes()
        self.report.model_calls, self.report.model_failures = len(calls), calls.count(b"x")
        if self.order.only_model:
            self.report.wrong += outage_differences(self.report)


def outage_differences(report: Report) -> list[str]:
    """What an outage of the model alone must not have done: cost more calls than it ended, or held slots meanwhile."""
    wrong: list[str] = []
    if report.model_calls > report.windows + report.model_failures:
        wrong.append(
            f"{report.model_calls} calls for {report.windows} windows and {report.model_failures} failed calls"
        )
    held = sum(report.held) / max(1, len(report.held))
    report.notes["slots"] = (
        f"{held:.2f} held on average while the model was away, {max(report.held, default=0)} at most"
    )
    if held > MOST_HELD:
        wrong.append(f"{held:.1f} slots were held on average while the model was away")
    return wrong


def _binary(kind: str) -> Path:
    """The server of that kind. Raises: BadSettings when it is not installed."""
    if kind == "valkey":
        return broker.find_binary()
    found = shutil.which("redis-server")
    if found is None:
        raise BadSettings("--broker redis: there is no redis-server on PATH. Mend: install redis-server")
    return Path(found)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
