"""The known stream: an agent in a process of its own that publishes, and writes down what it was promised.

    python -m workers.chaos.stream JOB.json

Conversations of several tenants and users go on at once: late turns, turns out of order, events that are published
twice, procedure outcomes, states, session ends; most through the Publisher, some over HTTP. The journal is a line an
event, written with one system call each, so that it survives a SIGKILL: `+` before the call, `=` once the promise
stands (the call has returned, or HTTP said 202). A killed stream is started again and goes on with new conversations.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import random
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, cast

from afterturn import Publisher
from afterturn.ids import uuid7_text

TENANTS = ("acme", "bolt", "chai")
USERS = 5
TALKS = 12
HTTP_SHARE = 0.06
LATE_SECONDS = 3600.0
_TEAS = ("oolong tea", "green tea", "dark chocolate", "white bread", "cold brew")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What one stream does. `stop` is a file: once it is there, open conversations end and the stream flushes."""

    keys: dict[str, str]
    broker_url: str
    http_url: str
    durability: Literal["memory", "spool"]
    spool: str
    journal: str
    stop: str
    seed: int
    per_second: float
    ends_all: bool


@dataclass(slots=True)
class _Talk:
    tenant: str
    user: str
    session: str
    turns: int = 0
    length: int = 10
    ids: list[str] = field(default_factory=list[str])


class Journal:
    """One line an event: mark, tenant, id, kind, hash of the content, detail. Lines of many threads do not mix."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def begin(self, tenant: str, event_id: str, kind: str, content: str, detail: str = "") -> None:
        """The event exists: it may be stored."""
        self._line("+", tenant, event_id, kind, digest(content), detail)

    def promise(self, tenant: str, event_id: str) -> None:
        """The event must be stored."""
        self._line("=", tenant, event_id)

    def again(self, tenant: str, event_id: str) -> None:
        """The event is published once more."""
        self._line("~", tenant, event_id)

    def note(self, word: str, value: object) -> None:
        """A remark for the report."""
        self._line("#", word, str(value))

    def _line(self, *words: str) -> None:
        os.write(self._file, ("\t".join(words) + "\n").encode())


def digest(content: str) -> str:
    """A short hash of what was said."""
    return hashlib.sha256(content.encode()).hexdigest()[:16]


class Agent:
    """The stream's Publishers, one a tenant, and its lines over HTTP."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.journal = Journal(Path(job.journal))
        # An incarnation after a SIGKILL says other things in other conversations.
        self.run = os.getpid()
        self.roll = random.Random(f"{job.seed}:{self.run}")  # noqa: S311 - a story, not a secret
        self.number = itertools.count()
        self.publishers = {tenant: self._publisher(key) for tenant, key in job.keys.items()}
        self.over_http = HttpLine(job, self.journal)
        self.talks: deque[_Talk] = deque()
        self.over: deque[_Talk] = deque(maxlen=40)

    def _publisher(self, key: str) -> Publisher:
        given: dict[str, Any] = {"durability": self.job.durability}
        if self.job.durability == "spool":
            given["spool"] = self.job.spool
        return Publisher(key=key, url=self.job.broker_url, **given)

    def step(self) -> None:
        """One event, sometimes two."""
        while len(self.talks) < TALKS:
            self.talks.append(self._new_talk())
        talk = self.roll.choice(self.talks)
        chance = self.roll.random()
        if talk.turns >= talk.length:
            self.talks.remove(talk)
            self.over.append(talk)
            self.end(talk)
        elif chance < 0.06 and self.over:
            self.say(self.roll.choice(self.over), late=True)
        elif chance < 0.10:
            self.outcome(talk)
        elif chance < 0.14:
            self.state(talk)
        elif chance < 0.16:
            self.remember(talk)
        else:
            self.say(talk)

    def say(self, talk: _Talk, *, late: bool = False) -> None:
        """A turn: in order, out of order, late, of a tool, a reply; now and then published twice."""
        number = next(self.number)
        role, content = self._words(talk, number)
        shift = self.roll.uniform(5, LATE_SECONDS) if late or self.roll.random() < 0.1 else 0.0
        options: dict[str, Any] = {"at": datetime.now(UTC) - timedelta(seconds=shift)}
        if talk.ids and self.roll.random() < 0.2:
            options["reply_to"] = self.roll.choice(talk.ids)
        if self.roll.random() < 0.3:
            options["thread"] = f"{talk.tenant}-thread-{talk.turns % 3}"
        if role == "tool":
            options |= {"tool": "crm", "ok": self.roll.random() < 0.8, "procedure": ("look-up", 1)}
        talk.turns += 1
        event_id = uuid7_text()
        talk.ids.append(event_id)
        if role != "tool" and self.roll.random() < HTTP_SHARE:
            self.over_http.say(talk.tenant, talk.user, talk.session, role=role, content=content, event_id=event_id)
            return
        publisher = self.publishers[talk.tenant]

        def call() -> str:
            return publisher.turn(talk.user, talk.session, role, content, event_id=event_id, **options)

        self._publish(talk.tenant, event_id, call, kind=f"turn:{role}", content=content)
        if self.roll.random() < 0.05:
            self.journal.again(talk.tenant, event_id)
            call()

    def _words(self, talk: _Talk, number: int) -> tuple[str, str]:
        role = ("user", "assistant", "user", "tool" if self.roll.random() < 0.4 else "user")[talk.turns % 4]
        mark = f"[{self.run}-{number}]"
        if role == "assistant":
            return role, f"I see, tell me more. {mark}"
        if role == "tool":
            return role, json.dumps({"found": number, "mark": mark})
        if self.roll.random() < 0.2:
            return role, f"我喜欢绿茶{number % 50}号。{mark}"
        if self.roll.random() < 0.4:
            return role, f"I like {self.roll.choice(_TEAS)} {number % 50}. {mark}"
        return role, f"The parcel of order {number} has still not arrived, please look into it. {mark}"

    def outcome(self, talk: _Talk) -> None:
        """A procedure worked, or did not."""
        name, succeeded = self.roll.choice(("refund", "exchange")), self.roll.random() < 0.7
        event_id = uuid7_text()
        publisher = self.publishers[talk.tenant]

        def call() -> str:
            return publisher.outcome(talk.user, talk.session, (name, 1), succeeded, event_id=event_id)

        self._publish(talk.tenant, event_id, call, kind="outcome", detail=f"{name}:{int(succeeded)}")

    def state(self, talk: _Talk) -> None:
        """The session's working state moved."""
        event_id = uuid7_text()
        publisher, patch = self.publishers[talk.tenant], {"intent": f"step {talk.turns}"}

        def call() -> str:
            return publisher.state(talk.user, talk.session, patch, event_id=event_id)

        self._publish(talk.tenant, event_id, call, kind="state")

    def remember(self, talk: _Talk) -> None:
        """An explicit wish."""
        event_id, content = uuid7_text(), f"Remember that I like white bread {next(self.number) % 50}. [{self.run}]"
        publisher = self.publishers[talk.tenant]

        def call() -> str:
            return publisher.remember(talk.user, talk.session, content, event_id=event_id)

        self._publish(talk.tenant, event_id, call, kind="remember", content=content)

    def end(self, talk: _Talk) -> None:
        """The conversation is over."""
        event_id = uuid7_text()
        publisher = self.publishers[talk.tenant]

        def call() -> str:
            return publisher.end(talk.session, user=talk.user, event_id=event_id)

        self._publish(talk.tenant, event_id, call, kind="end")

    def finish(self) -> None:
        """Ends what goes on (all, or all but two), then lives until every batch has its receipt."""
        for talk in list(self.talks)[0 if self.job.ends_all else 2 :]:
            self.end(talk)
        self.over_http.close()
        for publisher in self.publishers.values():
            while not publisher.flush(5.0) or publisher.stats().unreceipted:
                time.sleep(0.1)
        for tenant, publisher in self.publishers.items():
            self.journal.note(f"stats:{tenant}", publisher.stats())
            publisher.close(30.0)

    def _publish(
        self, tenant: str, event_id: str, call: Callable[[], str], *, kind: str, content: str = "", detail: str = ""
    ) -> None:
        refused = self.publishers[tenant].stats().refused
        self.journal.begin(tenant, event_id, kind, content, detail)
        call()
        if self.publishers[tenant].stats().refused == refused:
            self.journal.promise(tenant, event_id)

    def _new_talk(self) -> _Talk:
        number = next(self.number)
        tenant = self.roll.choice(list(self.publishers))
        user = f"user-{self.roll.randrange(USERS)}"
        return _Talk(tenant, user, f"session-{self.run}-{number}", length=self.roll.randrange(4, 16))


class HttpLine:
    """Turns over HTTP, as an agent of another language would send them: again and again until it is told 202."""

    def __init__(self, job: Job, journal: Journal) -> None:
        self._job = job
        self._journal = journal
        self._waiting: deque[tuple[str, dict[str, object]]] = deque()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)
        self._thread.start()

    def say(self, tenant: str, user: str, session: str, *, role: str, content: str, event_id: str) -> None:
        """Queues one turn."""
        fields: dict[str, object] = {"v": 1, "kind": "turn", "event_id": event_id, "user_id": user}
        fields |= {"session_id": session, "role": role, "content": content, "at": datetime.now(UTC).isoformat()}
        self._journal.begin(tenant, event_id, f"turn:{role}", content)
        self._waiting.append((tenant, fields))

    def close(self) -> None:
        """Returns when all that was queued is stored."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        import httpx  # noqa: PLC0415 - the Publisher's process needs it for this line alone

        with httpx.Client(timeout=5.0) as client:
            while not (self._closing.is_set() and not self._waiting):
                if not self._waiting:
                    self._closing.wait(0.05)
                    continue
                tenant, fields = self._waiting[0]
                try:
                    answer = client.post(
                        f"{self._job.http_url}/v1/events",
                        json=[fields],
                        headers={"Authorization": f"Bearer {self._job.keys[tenant]}"},
                    )
                except httpx.HTTPError:
                    time.sleep(0.2)
                    continue
                if answer.status_code == 202:
                    self._journal.promise(tenant, str(fields["event_id"]))
                    self._waiting.popleft()
                else:
                    time.sleep(0.2)


def main(path: str) -> None:
    """Streams until the stop file is there."""
    job = Job(**cast("dict[str, Any]", json.loads(Path(path).read_text("utf-8"))))
    agent = Agent(job)
    stop = Path(job.stop)
    while not stop.exists():
        agent.step()
        time.sleep(agent.roll.expovariate(job.per_second))
    agent.finish()


if __name__ == "__main__":
    main(sys.argv[1])
