"""Dead letters in an operator's hands: retried, refused, dropped; the ledger's equations hold throughout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import update
from sqlmodel import Session, col

from afterturn.batches import encode_batch
from afterturn.credentials import parse_credential, seal_key
from afterturn.ids import uuid7
from afterturn.sealing import Sealer
from delivery_fixtures import BATCH, START, World, ended, tenant_key, turn, world
from schemas.errors import BadBatch, NotFound
from schemas.tables import DeadLetter, User
from stores import cutting, dead, fates, ledger, tenancy, windows
from stores.ledger import Tally
from tasks import letters
from tasks.ingest import ingest_batch, ingest_events
from tasks.letters import Retried

__all__ = ["world"]


def _seal(world: World, events: Sequence[dict[str, Any]]) -> str:
    parsed = parse_credential(world.credential)
    plain = [{k: str(v) if isinstance(v, UUID) else v for k, v in one.items()} for one in events]
    sealer = Sealer(parsed.key_id, seal_key(parsed.secret), uuid7())
    return sealer.seal(uuid7(), encode_batch(plain, sent_at=START))


def _letters(world: World) -> list[DeadLetter]:
    with world.db.read() as session:
        return dead.waiting(session)


def _letter(world: World) -> DeadLetter:
    (found,) = _letters(world)
    return found


def _adds_up(world: World) -> tuple[Tally, dict[str, int]]:
    """Receptions and states, once it is sure that they agree."""
    with world.db.read() as session:
        told, states = ledger.receptions(session), ledger.states(session)
    kept = sum(count for state, count in states.items() if state not in ("rejected", "dead"))
    assert told.stored == kept
    assert told.dead == states.get("dead", 0)
    assert min(told) >= 0
    return told, states


def _dead_event(world: World, event: dict[str, Any]) -> DeadLetter:
    """An event that has cost three workers already, as the fourth one finds it."""
    name = f"{world.key.tenant_id}:{event['event_id']}"
    for _ in range(3):
        world.db.write(lambda session: dead.begin_attempt(session, name))
    ingest_batch(world.kit, _seal(world, [event, turn("a neighbour", 5)]), redelivered=True)
    return _letter(world)


def _dead_window(world: World) -> DeadLetter:
    ingest_events(world.kit, world.key, [turn("a", 0), turn("b", 1), ended(5)], batch=BATCH)
    policy = world.kit.policies.windows
    world.db.write(
        lambda session: cutting.cut_due(session, policy=policy, limit=5, new_id=uuid7, prompt_version="test-1")
    )
    claim = windows.claim_next(world.db, lease_seconds=60)
    assert claim is not None
    world.db.write(lambda session: windows.bury(session, claim, "bad_answer"))
    return _letter(world)


def _moves(world: World) -> None:
    moved = update(User).values(generation=col(User.generation) + 1)
    world.db.write(lambda session: session.connection().execute(moved))


def test_a_dead_event_is_taken_in_again_and_counted_as_stored(world: World):
    event = turn("I moved to Lyon.", 0)
    letter = _dead_event(world, event)
    assert _adds_up(world) == (Tally(stored=1, dead=1), {"dead": 1, "stored": 1})

    assert letters.retry(world.kit, letter.id) == Retried(is_alive=True)

    assert _adds_up(world) == (Tally(stored=2), {"stored": 2})
    assert _letters(world) == []
    with world.db.read() as session:
        fate = fates.fate(session, world.key.tenant_id, event["event_id"])
    assert fate is not None
    assert (fate.state, fate.reason, fate.letter_id) == ("stored", None, None)
    assert letters.retry(world.kit, letter.id) == Retried(is_alive=False, code="resolved")


def test_an_event_that_comes_again_by_itself_after_its_retry_is_a_duplicate(world: World):
    event = turn("I moved to Lyon.", 0)
    letters.retry(world.kit, _dead_event(world, event).id)

    (receipt,) = ingest_batch(world.kit, _seal(world, [event]))

    assert receipt.state == "duplicate"
    assert _adds_up(world)[0] == Tally(stored=2, duplicate=1)


def test_an_event_whose_key_was_revoked_stays_dead(world: World):
    letter = _dead_event(world, turn("I moved to Lyon.", 0))
    world.db.write(lambda session: tenancy.revoke(session, world.key.key_id))

    assert letters.retry(world.kit, letter.id) == Retried(is_alive=False, code="key_revoked")

    assert [open_one.id for open_one in _letters(world)] == [letter.id]
    assert _adds_up(world) == (Tally(stored=1, dead=1), {"dead": 1, "stored": 1})


def test_a_dropped_letter_loses_its_content_and_the_ledger_still_says_dead(world: World):
    letter = _dead_event(world, turn("I moved to Lyon.", 0))

    assert letters.drop(world.kit, letter.id)
    assert not letters.drop(world.kit, letter.id)

    assert _letters(world) == []
    with world.db.read() as session:
        gone = letters.find(session, letter.id)
    assert gone.payload is None
    assert gone.resolved_at is not None
    assert _adds_up(world) == (Tally(stored=1, dead=1), {"dead": 1, "stored": 1})


def test_content_is_shown_for_events_alone(world: World):
    letter = _dead_event(world, turn("I moved to Lyon.", 0))

    shown = letters.content(letter)

    assert shown is not None
    assert shown["content"] == "I moved to Lyon."


def test_a_dead_window_is_due_again(world: World):
    letter = _dead_window(world)

    assert letters.retry(world.kit, letter.id) == Retried(is_alive=True)

    assert _letters(world) == []
    assert _adds_up(world)[1] == {"stored": 2, "applied": 1}
    claim = windows.claim_next(world.db, lease_seconds=60)
    assert claim is not None
    assert (str(claim.window_id), claim.attempts) == (letter.key, 1)


def test_a_dead_window_of_an_erased_user_does_not_come_back(world: World):
    letter = _dead_window(world)
    _moves(world)

    assert letters.retry(world.kit, letter.id) == Retried(is_alive=False, code="window_gone")

    assert [open_one.id for open_one in _letters(world)] == [letter.id]


def test_a_window_that_dies_again_is_the_same_letter_open_again(world: World):
    letter = _dead_window(world)
    letters.retry(world.kit, letter.id)
    claim = windows.claim_next(world.db, lease_seconds=60)
    assert claim is not None

    world.db.write(lambda session: windows.bury(session, claim, "truncated"))

    again = _letter(world)
    assert (again.id, again.error_code, again.attempts) == (letter.id, "truncated", 2)


def test_a_batch_is_opened_again_once_its_key_is_known(world: World):
    blob = _seal(world, [turn("one", 0), turn("two", 1)])
    _hide_key(world, is_hidden=True)
    with pytest.raises(BadBatch):
        ingest_batch(world.kit, blob)
    letter = _letter(world)
    assert letters.retry(world.kit, letter.id) == Retried(is_alive=False, code="unknown_key")
    assert _letter(world).payload is not None

    _hide_key(world, is_hidden=False)

    assert letters.retry(world.kit, letter.id) == Retried(is_alive=True)
    assert _letters(world) == []
    assert _adds_up(world) == (Tally(stored=2), {"stored": 2})


def _hide_key(world: World, *, is_hidden: bool) -> None:
    """A key that is not here yet, as after a database was restored from a backup."""
    from schemas.tables import Key

    names = [world.key.key_id, "elsewhere"]

    def change(session: Session) -> None:
        here, there = names if is_hidden else names[::-1]
        session.connection().execute(update(Key).where(col(Key.id) == here).values(id=there))

    world.db.write(change)


def test_a_batch_that_was_dropped_and_comes_again_has_its_content_again(world: World):
    with pytest.raises(BadBatch):
        ingest_batch(world.kit, "no batch at all")
    letters.drop(world.kit, _letter(world).id)

    with pytest.raises(BadBatch):
        ingest_batch(world.kit, "no batch at all")

    again = _letter(world)
    assert again.attempts == 2
    assert again.payload is not None


def test_nobody_reaches_a_letter_of_another_tenant(world: World):
    letter = _dead_event(world, turn("I moved to Lyon.", 0))
    other = tenant_key(world.db, "other", "admin")

    with pytest.raises(NotFound):
        letters.retry(world.kit, letter.id, tenant_id=other.tenant_id)
    with pytest.raises(NotFound):
        letters.drop(world.kit, letter.id, tenant_id=other.tenant_id)
    with pytest.raises(NotFound):
        letters.retry(world.kit, uuid4())


def test_one_poison_after_another_in_a_batch_ends_alone_and_the_rest_goes_on(world: World):
    first, second = turn("poison one", 0), turn("poison two", 2)
    blob = _seal(world, [first, turn("good", 1), second, turn("good", 3)])
    # Each round ends where the process died: the attempt on that event is begun, and nothing else.
    for poison in (first, second):
        for _ in range(3):
            world.db.write(lambda session, one=poison: dead.begin_attempt(session, _name(world, one)))

    receipts = ingest_batch(world.kit, blob, redelivered=True)

    assert [receipt.state for receipt in receipts] == ["dead", "stored", "dead", "stored"]
    assert [letter.kind for letter in _letters(world)] == ["event", "event"]
    assert _adds_up(world) == (Tally(stored=2, dead=2), {"dead": 2, "stored": 2})


def _name(world: World, event: dict[str, Any]) -> str:
    return f"{world.key.tenant_id}:{event['event_id']}"
