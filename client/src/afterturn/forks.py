"""What a fork waits for: work of a publisher's own thread that a child must not inherit half-done.

A child gets every lock as it was at the fork, and no thread that would let it go. Those of modules being imported,
of OpenSSL while it fetches a cipher, of pydantic-core while it loads: measured beside four busy processes, one child in
fifty then waited for ever in its first `hmac.digest`.
"""

from __future__ import annotations

import threading

WAIT_SECONDS = 5.0
"""A module that forks while it is being imported could wait for us, and we for it."""


class ForkGate:
    """Whoever is inside delays forks, by at most `WAIT_SECONDS`: `with fork_gate:`. Never around the agent's code."""

    def __init__(self) -> None:
        # Reentrant: an import may make a publisher, and a thread that is inside may fork.
        self._lock = threading.RLock()
        self._forking: int | None = None

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exc_info: object) -> None:
        self._lock.release()

    def hold(self) -> None:
        """Before a fork: waits until nobody is inside, at most `WAIT_SECONDS`."""
        if self._lock.acquire(timeout=WAIT_SECONDS):
            self._forking = threading.get_ident()

    def resume(self) -> None:
        """After a fork, in the parent."""
        if self._forking == threading.get_ident():
            self._forking = None
            self._lock.release()

    def restart(self) -> None:
        """After a fork, in the child: whoever was still inside is not here."""
        if self._forking == threading.get_ident():
            self.resume()
        else:
            self._forking = None
            self._lock = threading.RLock()


fork_gate = ForkGate()
"""The process's."""
