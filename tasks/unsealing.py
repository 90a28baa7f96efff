"""Opens sealed batches: under which key and secret, whose, and whether that secret was still good."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from afterturn.batches import Batch
from afterturn.errors import BadSeal
from afterturn.sealing import Opened, open_sealed
from stores import tenancy
from stores.keys import End, Secret
from stores.sql import Database
from stores.tenancy import KeyInfo
from tasks.receipts import Sender, sender_of


class Unsealed(NamedTuple):
    """What a blob holds, who sealed it with which secret, and what that key may do while the secret is good."""

    opened: Opened
    sender: Sender
    secret: Secret
    key: KeyInfo

    def end(self, batch: Batch | None, now: datetime) -> End | None:
        """Why it is not taken, or None. A batch that cannot be read does not say when it was sealed."""
        if batch is None:
            return self.secret.end(now)
        # By the broker's clock. The seal vouches for it as far as the key's holder is honest: `end_for` is for those.
        sent_at = batch.sent_at - timedelta(milliseconds=batch.clock_offset_ms or 0)
        return self.secret.end_for(sent_at, now)


def unseal(db: Database, blob: str) -> Unsealed:
    """The blob, opened, also under a secret that has ended, so that its holder can be told. Raises: BadSeal."""
    found: list[tuple[Secret, KeyInfo]] = []

    def newest(key_id: str) -> bytes | None:
        with db.read() as session:
            found.extend(tenancy.sealers(session, key_id))
        return found[0][0].seal_key if found else None

    by = 0
    try:
        opened = open_sealed(blob, newest)
    except BadSeal as exc:
        if exc.code != "forged" or len(found) == 1:
            raise
        by = 1
        opened = open_sealed(blob, lambda _: found[1][0].seal_key)
    secret, key = found[by]
    return Unsealed(opened, sender_of(opened, secret.seal_key), secret, key)
