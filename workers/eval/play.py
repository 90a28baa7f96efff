"""Plays dialogues through an instance: published by the client, digested by real workers, in order of their times.

One world clock serves all tenants, so the steps of all cases are played day by day; those of one day play at once.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, cast
from uuid import UUID, uuid5

from sqlmodel import col, select

from afterturn import Publisher
from afterturn.errors import BadEvent
from schemas.tables import Session as SessionRow
from stores import clock, sessions
from stores.sql import database_now
from tasks.app import CONSOLIDATE, DECAY, EXPIRE, SWEEP
from workers.eval import verdicts, waiting
from workers.eval.cases import VERDICTS, Action, Dialogue, Said
from workers.eval.instance import Instance, Place
from workers.eval.plan import Step, clock_after, steps

ARRIVAL_SECONDS = 60.0
JOB_SECONDS = 60.0
_HOURLY_DAYS, _DAILY_DAYS = 1 / 24, 1.0


@dataclass(slots=True, kw_only=True)
class Play:
    """One case in the course of being played. `faults` are what went wrong on the way."""

    case: Dialogue
    number: int
    place: Place
    steps: Sequence[Step]
    at: int = 0
    clock: datetime | None = None
    published: int = 0
    said: list[Said] = field(default_factory=list[Said])
    faults: list[str] = field(default_factory=list[str])

    @property
    def is_over(self) -> bool:
        """Nothing is left to play, or nothing can be."""
        return bool(self.faults) or self.at >= len(self.steps)

    @property
    def now(self) -> datetime:
        """The case's own world time."""
        return self.clock or datetime.now(UTC)

    @property
    def step(self) -> Step:
        """What is played next."""
        return self.steps[self.at]

    def event_id(self, said: Said) -> UUID:
        """The id of a turn: turns of one `event` share theirs. As an agent's ids do, they grow in the file's order.

        What is said at one instant is ordered by its ids, however it arrives. Source: RFC 9562, version 7.
        """
        spoken = [one for one in self.case.turns if isinstance(one, Said)]
        same = [one for one in spoken if one is said or (said.event is not None and one.event == said.event)]
        number = min(spoken.index(one) for one in same)
        milliseconds = int(same[0].at.timestamp() * 1000) & (2**48 - 1)
        rest = uuid5(self.place.tenant_id, f"turn {number}").int & (2**62 - 1)
        return UUID(int=milliseconds << 80 | 7 << 76 | (number & 0xFFF) << 64 | 2 << 62 | rest)


def plays(instance: Instance, cases: Iterable[tuple[Dialogue, int]], *, seed: int) -> list[Play]:
    """Each (case, round) on a tenant of its own. The first round keeps the file's order, later ones are shuffled."""
    wanted = list(cases)
    # Numbered: two files may have a case of one id.
    places = instance.places(f"{place} {case.id} #{number}" for place, (case, number) in enumerate(wanted, 1))
    return [
        Play(
            case=case,
            number=number,
            place=place,
            steps=steps(case, random.Random(f"{seed}/{number}/{case.id}") if number > 1 else None),  # noqa: S311
        )
        for (case, number), place in zip(wanted, places, strict=True)
    ]


def play(
    instance: Instance,
    all_plays: Sequence[Play],
    *,
    quiet_seconds: float,
    finished: Callable[[Sequence[Play]], None],
) -> None:
    """Plays them to their ends. `finished` is called with those that are over, while the clock still stands there."""
    left: list[Play] = list(all_plays)
    while left:
        begins = min(clock_after(one.step, one.clock) for one in left).astimezone(UTC).date()
        today = [one for one in left if clock_after(one.step, one.clock).astimezone(UTC).date() == begins]
        _Day(instance, today, quiet_seconds).run()
        over = [one for one in today if one.is_over]
        if over:
            finished(over)
        left = [one for one in left if not one.is_over]


@dataclass(frozen=True, slots=True)
class _Day:
    """One step of each of these plays, all at one world time."""

    instance: Instance
    plays: Sequence[Play]
    quiet_seconds: float

    def run(self) -> None:
        for one in self.plays:
            one.clock = clock_after(one.step, one.clock)
        self._set_clock(max(one.now for one in self.plays))
        self._publish(self.plays, lambda one, publisher: _say_all(one, publisher, one.step.turns))
        after = [one for one in self.plays if one.step.action.do in ("redeliver", "end")]
        self._publish(after, _act)
        self._judge([one for one in self.plays if one.step.action.do in VERDICTS and not one.faults])
        self._digest([one for one in self.plays if one.step.action.do == "digest"])
        self._settle([one for one in self.plays if one.step.action.do == "end"])
        self._advance([one for one in self.plays if one.step.action.do == "advance"])
        for one in self.plays:
            one.at += 1

    def _set_clock(self, to: datetime) -> None:
        seconds = (to - datetime.now(UTC)).total_seconds()
        self.instance.db.write(lambda session: clock.set_offset(session, seconds))

    def _publish(self, plays: Sequence[Play], say: Callable[[Play, Publisher], None]) -> None:
        """Publishes for each as its agent, and waits until all of it has arrived."""
        speaking = [one for one in plays if not one.faults]
        if not speaking:
            return
        with ExitStack() as stack:
            for one in speaking:
                url = self.instance.settings.broker_url
                publisher = stack.enter_context(Publisher(key=one.place.credential, url=url))
                try:
                    say(one, publisher)
                except BadEvent as exc:
                    one.faults.append(f"the client refuses an event: {exc}")
                one.published += publisher.stats().accepted
        counts = {one.place.tenant_id: one.published for one in speaking}
        late = self._until(speaking, lambda tenant, now: now.arrived >= counts[tenant], ARRIVAL_SECONDS)
        for one in late:
            one.faults.append(f"not all of its {one.published} events arrived, none for {ARRIVAL_SECONDS:.0f} s")

    def _digest(self, plays: Sequence[Play]) -> None:
        """What idle time would do: every session with something new is due."""
        if not plays:
            return
        tenants = [one.place.tenant_id for one in plays]

        def make_due(session: Any) -> None:
            refs = session.exec(select(SessionRow.id).where(col(SessionRow.tenant_id).in_(tenants))).all()
            sessions.due_now(session, refs, database_now(session))

        self.instance.db.write(make_due)
        self.instance.hint(SWEEP)
        self._note_late(self._until(plays, lambda _, now: now.is_quiet, self.quiet_seconds))

    def _judge(self, plays: Sequence[Play]) -> None:
        """What a reviewer says of what waits."""
        if not plays:
            return
        with verdicts.desk(self.instance.settings) as kit:
            for one in plays:
                fault = verdicts.judge(kit, one.place.tenant_id, one.step.action)
                one.faults += [] if fault is None else [fault]
        self._note_late(self._until(plays, lambda _, now: not now.owed, self.quiet_seconds))

    def _settle(self, plays: Sequence[Play]) -> None:
        """Waits for what an ended session made due."""
        self._note_late(self._until(plays, lambda _, now: now.is_done_with_due, self.quiet_seconds))

    def _advance(self, plays: Sequence[Play]) -> None:
        """Runs the upkeep jobs that the passed time makes due: hourly, then daily ones."""
        days = max((one.step.action.days for one in plays), default=0.0)
        due = [EXPIRE] if days >= _HOURLY_DAYS else []
        due += [DECAY, CONSOLIDATE] if days >= _DAILY_DAYS else []
        for name in due:
            since = waiting.last_success(self.instance.db, name)
            self.instance.hint(name)
            if not waiting.job_done(self.instance.db, name, since=since, timeout_seconds=JOB_SECONDS):
                for one in plays:
                    one.faults.append(f"{name} did not end in {JOB_SECONDS:.0f} s")
        self._note_late(self._until(plays, lambda _, now: now.is_quiet, self.quiet_seconds))

    def _until(
        self, plays: Sequence[Play], is_ready: Callable[[UUID, waiting.Waiting], bool], seconds: float
    ) -> list[Play]:
        by_tenant = {one.place.tenant_id: one for one in plays if not one.faults}
        late = waiting.until(self.instance.db, list(by_tenant), is_ready, timeout_seconds=seconds)
        return [by_tenant[tenant] for tenant in late]

    def _note_late(self, plays: Sequence[Play]) -> None:
        for one in plays:
            with self.instance.db.read() as session:
                codes = waiting.lost(session, one.place.tenant_id)
            one.faults.append(
                f"not quiet, and nothing moved for {self.quiet_seconds:.0f} s ({'; '.join(codes) or 'no reason found'})"
            )


def _act(one: Play, publisher: Publisher) -> None:
    if one.step.action.do == "redeliver":
        _say_all(one, publisher, tuple(one.said), again=True)
    else:
        _end(one, publisher, one.step.action)


def _end(one: Play, publisher: Publisher, action: Action) -> None:
    users = [said.user for said in one.case.turns if isinstance(said, Said) and said.session == action.session]
    outcome = cast('Literal["success", "failure", "unknown"]', action.outcome)
    publisher.end(action.session or "", user=action.user or users[0], outcome=outcome, at=one.now)


def _say_all(one: Play, publisher: Publisher, turns: Sequence[Said], *, again: bool = False) -> None:
    for said in turns:
        is_tool = said.role == "tool"
        publisher.turn(
            said.user,
            said.session,
            said.role,
            said.text,
            at=said.at,
            name=None if is_tool else said.name,
            tool=said.name if is_tool else None,
            ok=said.ok,
            ticket=said.ticket,
            thread=said.thread,
            actor=said.actor,
            tz=said.tz,
            no_store=said.no_store,
            event_id=one.event_id(said),
        )
        if not again:
            one.said.append(said)
