"""Dead letters in an operator's hands: taken in again, or dropped. The ledger's equations hold either way."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from sqlmodel import Session

from schemas.envelopes import disclose, disclose_json
from schemas.errors import BadBatch, NotFound, Permanent, ServiceError
from schemas.tables import DeadLetter
from stores import dead, windows
from tasks.ingest import ingest_batch
from tasks.intake import Stores
from tasks.parked import take_again

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    """How a retry ended; `code` says why a letter stays dead."""

    is_alive: bool
    code: str | None = None


def find(session: Session, letter_id: UUID, *, tenant_id: UUID | None = None) -> DeadLetter:
    """A letter, resolved or not; with `tenant_id`, of that tenant alone. Raises: NotFound."""
    letter = dead.get(session, letter_id)
    if letter is None or letter.kind not in dead.KINDS or tenant_id not in (None, letter.tenant_id):
        raise NotFound("dead letter", letter_id)
    return letter


def content(letter: DeadLetter) -> dict[str, Any] | None:
    """What an event's letter holds: words of users. A batch stays sealed, and a window's turns stand where they were.

    Whoever calls this has asked whether the reader may see it.
    """
    if letter.kind != dead.EVENT or letter.payload is None:
        return None
    return cast("dict[str, Any]", disclose_json(letter.payload)["event"])


def retry(kit: Stores, letter_id: UUID, *, tenant_id: UUID | None = None) -> Retried:
    """Gives what died another life: a window is due again, an event or a batch is taken in again.

    Repeat: harmless; a letter that was dealt with is refused. Raises: NotFound, StoreBusy.
    """
    with kit.db.read() as session:
        letter = find(session, letter_id, tenant_id=tenant_id)
    if letter.resolved_at is not None:
        return Retried(is_alive=False, code="resolved")
    try:
        _retry(kit, letter)
    except Permanent as exc:
        logger.warning("letter stays dead letter=%s kind=%s code=%s", letter.id, letter.kind, exc.code)
        return Retried(is_alive=False, code=exc.code)
    logger.info("letter retried letter=%s kind=%s", letter.id, letter.kind)
    return Retried(is_alive=True)


def drop(kit: Stores, letter_id: UUID, *, tenant_id: UUID | None = None) -> bool:
    """Ends the matter: the letter counts as dealt with, and its content is gone. False when it was before.

    The ledger goes on saying what became of its events: `dead` or `dead_window`. Raises: NotFound, StoreBusy.
    """

    def end(session: Session) -> bool:
        return dead.resolve(session, find(session, letter_id, tenant_id=tenant_id).id)

    is_dropped = kit.db.write(end)
    logger.info("letter dropped letter=%s was_open=%s", letter_id, is_dropped)
    return is_dropped


def _retry(kit: Stores, letter: DeadLetter) -> None:
    if letter.kind == dead.WINDOW:
        kit.db.write(lambda session: _revive(session, letter))
    elif letter.kind == dead.EVENT:
        kit.db.write(lambda session: _take_again(session, kit, letter))
    else:
        _reopen(kit, letter)


def _revive(session: Session, letter: DeadLetter) -> None:
    if not windows.revive(session, UUID(letter.key)):
        raise Permanent(f"window {letter.key}: not dead, or its user was erased", code="window_gone")
    dead.resolve(session, letter.id)


def _take_again(session: Session, kit: Stores, letter: DeadLetter) -> None:
    """Whatever raises here rolls everything back: the letter is what it was."""
    try:
        receipt = take_again(session, kit, letter, counted="dead")
    except ServiceError:
        raise
    except Exception as exc:
        raise Permanent(f"letter {letter.id}: its event fails as before", code=type(exc).__qualname__) from exc
    if receipt is None:
        raise Permanent(f"letter {letter.id}: its event cannot be read", code="unread")
    if receipt.state != "stored":
        raise Permanent(f"letter {letter.id}: its event is refused", code=receipt.code)


def _reopen(kit: Stores, letter: DeadLetter) -> None:
    """The batch event by event, as one that has cost a worker is taken."""
    if letter.payload is None:
        raise BadBatch(code="payload_gone")
    ingest_batch(kit, disclose(letter.payload), redelivered=True, arrived_at=letter.first_at)
    kit.db.write(lambda session: dead.resolve(session, letter.id))
