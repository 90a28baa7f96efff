"""The spool's parts of one process, put together: what is written, what the dead left, and what memory holds of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from afterturn import local
from afterturn.credentials import Credential, seal_key
from afterturn.spool import SEGMENT_BYTES, Spool
from afterturn.spooled import SpooledBuffer
from afterturn.takeover import Takeover

SMALLEST_SEGMENT_BYTES = 1024 * 1024
SMALLEST_SPOOL_BYTES = 4 * SMALLEST_SEGMENT_BYTES


@dataclass(frozen=True, slots=True)
class Spooling:
    """One process's durability "spool"."""

    buffer: SpooledBuffer
    spool: Spool
    takeover: Takeover

    def hold(self) -> None:
        """Before a fork: no file is being made and no lock taken."""
        self.spool.hold()
        self.takeover.hold()

    def resume(self) -> None:
        """After a fork, in the parent."""
        self.takeover.resume()
        self.spool.resume()

    def abandon(self) -> None:
        """In a forked child: closes what is the parent's."""
        self.spool.abandon()
        self.takeover.abandon()

    def close(self) -> None:
        """Lets go of the folder; what waits for a receipt stays in it. Repeat: harmless."""
        self.spool.close()
        self.takeover.close()


def spooling(
    folder: Path, credential: Credential, producer: UUID, *, max_events: int, max_bytes: int, spool_bytes: int
) -> Spooling:
    """The parts for one producer, nothing opened yet. Processes of one key share a folder, those of others do not."""
    own = folder / credential.key_id
    key = seal_key(credential.secret)
    segment_bytes = max(SMALLEST_SEGMENT_BYTES, min(SEGMENT_BYTES, spool_bytes // 8))
    spool = Spool(own, key, producer, max_bytes=spool_bytes, segment_bytes=segment_bytes)
    buffer = SpooledBuffer(spool, max_events=max_events, max_bytes=max_bytes)
    return Spooling(buffer, spool, Takeover(own, key))


def folder_of(given: str | os.PathLike[str] | None) -> Path:
    """The folder that was given, else `spool` in AFTERTURN_HOME."""
    return Path(local.home(), "spool") if given is None else Path(given).absolute()
