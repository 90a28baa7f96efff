"""`./afterturn dead`: list, show, retry, drop; no content unless it is asked for."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import run, run_apart
from delivery_fixtures import World, new_world, turn
from delivery_messages import sealed
from stores import dead
from tasks.ingest import ingest_batch

SAID = "I moved to Zanzibar."


def _dead_event(world: World, number: int) -> None:
    event = turn(SAID, number)
    for _ in range(3):
        world.db.write(lambda session: dead.begin_attempt(session, f"{world.key.tenant_id}:{event['event_id']}"))
    ingest_batch(world.kit, sealed(world, [event])[0], redelivered=True)


def test_letters_in_an_operators_hands(home: Path):
    world = new_world(home)
    for number in range(2):
        _dead_event(world, number)

    listed = run_apart(home, "dead", "list", "--json")
    first, second = (letter["id"] for letter in json.loads(listed.stdout))
    plain = run(home, "dead", "show", first, "--lang", "zh")
    full = run(home, "dead", "show", first, "--content", "--json")
    retried = run(home, "dead", "retry", first, "--json")
    again = run(home, "dead", "retry", first, "--lang", "en")
    dropped = run(home, "dead", "drop", second, "--lang", "zh")

    assert "Zanzibar" not in listed.stdout + plain.stdout
    assert "原因: lost_workers" in plain.stdout
    assert json.loads(full.stdout)["content"]["content"] == SAID
    assert (retried.returncode, json.loads(retried.stdout)[0]["is_alive"]) == (0, True)
    assert (again.returncode, "still dead (resolved)" in again.stdout) == (1, True)
    assert (dropped.returncode, "已放弃" in dropped.stdout) == (0, True)
    world.db.dispose()
