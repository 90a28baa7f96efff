"""The windows that this process works on, so that a process that must stop can give them back."""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator
from contextlib import contextmanager

from stores import suspects
from stores.sql import Database
from stores.windows import Claim

logger = logging.getLogger(__name__)


class _InHand:
    """Claims by window, with the database that they stand in."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._claims: dict[Claim, Database] = {}

    @contextmanager
    def hold(self, claim: Claim, db: Database) -> Generator[None]:
        """Keeps the claim for the block."""
        with self._lock:
            self._claims[claim] = db
        try:
            yield
        finally:
            with self._lock:
                self._claims.pop(claim, None)

    def give_back(self) -> int:
        """Releases every claim at once, so that another process need not wait for a lease; answers how many."""
        with self._lock:
            held = dict(self._claims)
        given = 0
        for db in set(held.values()):
            claims = [claim for claim, own in held.items() if own is db]
            given += db.write(lambda session, claims=claims: suspects.release(session, claims))
        return given


in_hand = _InHand()
