"""When a service that keeps failing is left alone, and for how long. One state for all who ask it.

Closed: everybody asks. Open: nobody does until its time has passed. Then one caller probes; its outcome decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitPolicy:
    """Opens after `failures` in a row, for `rest_seconds`, twice as long each time it stays broken, up to the cap."""

    failures: int = 5
    rest_seconds: float = 15.0
    max_rest_seconds: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitState:
    """Failures in a row, openings in a row, and until when nobody, or nobody but the probe, asks."""

    failures: int = 0
    openings: int = 0
    opened_until: datetime | None = None
    probe_until: datetime | None = None

    def wait_seconds(self, now: datetime) -> float:
        """Seconds until somebody may ask again; 0.0 when somebody may now."""
        if self.opened_until is None:
            return 0.0
        until = max(self.opened_until, self.probe_until or self.opened_until)
        return max(0.0, (until - now).total_seconds())

    @property
    def is_closed(self) -> bool:
        """Everybody may ask."""
        return self.opened_until is None


def after_failure(
    state: CircuitState, now: datetime, retry_after_seconds: float | None, policy: CircuitPolicy
) -> CircuitState:
    """The state after one more failure; a server's Retry-After is honoured in full once the circuit is open.

    A failure of a call that was begun before it opened does not count as another opening.
    """
    failures = state.failures + 1
    if failures < policy.failures and state.is_closed:
        return replace(state, failures=failures)
    asked = now + timedelta(seconds=retry_after_seconds or 0.0)
    if state.opened_until is not None and now < state.opened_until:
        return replace(state, failures=failures, opened_until=max(state.opened_until, asked))
    rest = min(policy.max_rest_seconds, policy.rest_seconds * 2.0 ** min(state.openings, 16))
    until = max(now + timedelta(seconds=rest), asked)
    return CircuitState(failures=failures, openings=state.openings + 1, opened_until=until)
