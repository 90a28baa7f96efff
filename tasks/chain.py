"""A beat job as a chain of short transactions: bounded links, one run at a time, a deadline, a place to go on from."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from schemas.errors import StaleClaim
from stores import jobs
from stores.kit import Kit

logger = logging.getLogger(__name__)

#: How long one link may take, unless its job says otherwise.
#: How long one link may take, unless its job says otherwise.
LEASE_SECONDS = 60.0
DEADLINE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Step:
    """Where a chain stands: go on after `after` ("" is the beginning), in a transaction that begins with `hold`."""

    name: str
    epoch: int
    after: str
    lease_seconds: float = LEASE_SECONDS

    def hold(self, session: Session) -> None:
        """Holds the run for another lease. Raises: StaleClaim when another run has begun: this one ends."""
        jobs.renew(session, self.name, self.epoch, self.lease_seconds)


@dataclass(frozen=True, slots=True)
class Link:
    """What one step did. `after` is where the next one goes on; None ends the chain."""

    changed: int
    after: str | None


def run(
    kit: Kit,
    name: str,
    link: Callable[[Step], Link],
    *,
    not_within_seconds: float = 0.0,
    deadline_seconds: float = DEADLINE_SECONDS,
    lease_seconds: float = LEASE_SECONDS,
) -> int | None:
    """Runs a job to its end or its deadline; answers how many rows it changed, or None while another run is on.

    A run that met its deadline goes on from there next time. Repeat: harmless when each link is.
    Raises: StaleClaim when another run has begun.
    """
    begun = kit.db.write(lambda session: _begin(session, name, not_within_seconds, lease_seconds))
    if begun is None:
        return None
    epoch, place = begun
    changed, stops_at = 0, time.monotonic() + deadline_seconds
    try:
        while place is not None and time.monotonic() < stops_at:
            done = link(Step(name, epoch, place, lease_seconds))
            changed, place = changed + done.changed, done.after
    except StaleClaim:
        raise
    except BaseException:
        kit.db.write(lambda session: jobs.abandon(session, name, epoch))
        raise
    result: dict[str, Any] = {"changed": changed, "after": place or ""}
    kit.db.write(lambda session: jobs.finish(session, name, epoch, result))
    logger.info("job done name=%s changed=%d", name, changed)
    return changed


def _begin(
    session: Session, name: str, not_within_seconds: float, lease_seconds: float
) -> tuple[int, str | None] | None:
    epoch = jobs.begin(session, name, lease_seconds, not_within_seconds=not_within_seconds)
    if epoch is None:
        return None
    row = jobs.current(session, name)
    return epoch, str(row.last_result.get("after", "")) if row is not None else ""
