"""Durability "spool": what a call returned for is on disk, sealed, and arrives, whatever becomes of its process."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from afterturn import BadSetting, Credential, Publisher, generate_credential
from client_fixtures import Broker, broker, credential, events_in, wait_until
from receipt_fixtures import Intake
from spool_fixtures import MIB, NOWHERE, finished, folder, ids, make, run, say, segments

__all__ = ["broker", "credential", "folder", "make"]


def test_what_was_said_arrives_whole_and_in_order(
    make: Callable[..., Publisher], broker: Broker, credential: Credential
) -> None:
    publisher = make()
    said = say(publisher, 250)
    publisher.turn("u1", "s1", "user", "你好" * 9000, tool={"name": "t", "arguments": {"a": ["长" * 9000, 1.5, None]}})
    assert publisher.flush(20)

    events = events_in(broker, credential)
    assert [event["event_id"] for event in events][:250] == said
    assert [event["seq"] for event in events] == list(range(251))
    assert events[-1]["content"] == "你好" * 9000
    assert publisher.stats().spooled_bytes > 250 * 100


def test_a_spool_is_private_and_holds_no_readable_text(make: Callable[..., Publisher], folder: Path) -> None:
    publisher = make(NOWHERE)
    for number in range(50):
        publisher.turn("user-one", "planted-session", "user", f"planted-{number} password is hunter2 {'胡椒' * 2000}")
    publisher.state("user-one", "s1", {"intent": "planted-intent"})

    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_dir()} == {0o700}
    for planted in ("planted-", "user-one", "hunter2", "胡椒胡椒"):
        assert not [path.name for path in files if planted.encode() in path.read_bytes()]


def test_an_agent_killed_right_after_its_call_loses_nothing(
    make: Callable[..., Publisher], broker: Broker, credential: Credential, folder: Path
) -> None:
    agent = run(
        "print(pub.turn('u', 's', 'user', 'last words'), flush=True); os.kill(os.getpid(), signal.SIGKILL)",
        *(broker, credential, folder),
        AFTERTURN_BROKER_URL=NOWHERE,
    )
    code, said, _ = finished(agent)
    assert code == -signal.SIGKILL

    publisher = make()
    wait_until(lambda: publisher.stats().adopted == 1)

    (event,) = events_in(broker, credential)
    assert (event["event_id"], event["content"], event["seq"]) == (said.strip(), "last words", 0)


KILLED = """
import random
pub.close()
turns = 0
for number in range(100):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        pub = Publisher(durability="spool")
        size = random.Random(number).randrange(10, 6000)
        while True:
            event_id = pub.turn("u", "s", "user", "x" * size)
            os.write(write, event_id.encode())
    os.close(write)
    said = os.read(read, 36)
    time.sleep(random.Random(number).uniform(0.0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while part := os.read(read, 1 << 20):
        said += part
    os.close(read)
    for place in range(0, len(said) - 35, 36):
        print(said[place:place + 36].decode())
"""


@pytest.mark.timeout(300)
def test_a_hundred_random_kills_lose_nothing(
    make: Callable[..., Publisher], broker: Broker, credential: Credential, folder: Path
) -> None:
    """Children say what they have been told is safe, and die anywhere; the broker is away all the time."""
    code, out, err = finished(run(KILLED, broker, credential, folder, AFTERTURN_BROKER_URL=NOWHERE))
    assert (code, err) == (0, "")
    said = out.split()
    assert len(said) >= 100

    with Intake(broker, credential) as intake:
        heirs = [make(), make()]
        wait_until(lambda: set(said) <= intake.events.keys(), 60)
        wait_until(lambda: len(list(folder.rglob("*.lock"))) == len(heirs))

    assert len(intake.events) <= len(said) + 100  # A child may have died between its word and its report.
    assert sum(heir.stats().damaged for heir in heirs) <= 100


def test_two_processes_share_a_folder(
    broker: Broker, credential: Credential, make: Callable[..., Publisher], folder: Path
) -> None:
    script = """
for number in range(200):
    pub.turn("u", "s", "user", f"other {number}")
    time.sleep(0.001)
assert pub.flush(20, receipts=True)
"""
    with Intake(broker, credential) as intake:
        other = run(script, broker, credential, folder)
        publisher = make()
        wait_until(lambda: len(list(folder.rglob("*.lock"))) == 2)
        say(publisher, 200)
        assert publisher.flush(20, receipts=True)
        assert finished(other)[0] == 0

        assert sorted(intake.contents()) == sorted(
            [f"turn {n}" for n in range(200)] + [f"other {n}" for n in range(200)]
        )
        assert len({event["producer"] for event in intake.events.values()}) == 2
        assert publisher.stats().adopted == 0


def test_a_living_process_keeps_its_spool(make: Callable[..., Publisher], folder: Path) -> None:
    say(make(NOWHERE), 3)

    second = make(NOWHERE)

    assert say(second, 1)
    assert second.stats().adopted == 0
    assert len(list(folder.rglob("*.lock"))) == 2


def test_what_a_dead_process_left_is_sent_once_under_its_name_and_then_removed(
    broker: Broker, credential: Credential, make: Callable[..., Publisher], folder: Path
) -> None:
    first = make(NOWHERE)
    said = say(first, 250)
    assert not first.close(0.2)
    (left,) = segments(folder)
    half_wiped = left.with_suffix(".old")
    half_wiped.write_bytes(b"as a kill leaves it, in the middle of making a new segment of an old one")

    with Intake(broker, credential) as intake:
        heir = make()
        own = say(heir, 1)
        wait_until(lambda: len(intake.events) == 251)
        wait_until(lambda: not [path for path in segments(folder) if str(heir._producer.hex) not in path.name])  # pyright: ignore[reportPrivateUsage] - whose file it is

        stats = heir.stats()
        assert (stats.adopted, stats.sent, stats.damaged) == (250, 1, 0)
        assert [key for key in intake.events if key not in own] == said
        assert [intake.events[key]["seq"] for key in said] == list(range(250))
        assert len({str(intake.events[key]["producer"]) for key in said}) == 1
        assert {intake.events[key]["producer"] for key in said}.isdisjoint({intake.events[own[0]]["producer"]})
        wait_until(lambda: len(list(folder.rglob("*.lock"))) == 1)
        assert not half_wiped.exists()


def test_another_key_finds_nothing_of_this_one(make: Callable[..., Publisher], broker: Broker, folder: Path) -> None:
    first = make(NOWHERE)
    say(first, 3)
    first.close(0.2)

    stranger = generate_credential()
    with Intake(broker, stranger) as intake, Publisher(stranger.text(), broker.url, "spool", spool=folder) as other:
        say(other, 1)
        assert other.flush(20, receipts=True)
        assert len(intake.events) == 1
        assert other.stats().adopted == 0


def test_receipted_segments_are_removed_and_the_spool_does_not_grow(
    make: Callable[..., Publisher], broker: Broker, credential: Credential, folder: Path
) -> None:
    with Intake(broker, credential):
        publisher = make(spool_bytes=8 * MIB)
        for _ in range(20):
            for _ in range(1000):
                publisher.turn("u", "s", "user", "x" * 1000)
            assert publisher.flush(30, receipts=True)

        assert publisher.stats().refused == 0
        assert sum(path.stat().st_size for path in segments(folder)) <= 8 * MIB


def test_at_its_bound_the_newest_is_refused_and_counted_and_room_takes_it_up_again(
    make: Callable[..., Publisher], broker: Broker, credential: Credential, folder: Path
) -> None:
    broker.kill()
    publisher = make(spool_bytes=4 * MIB)

    said = [publisher.turn("u", "s", "user", "x" * 1000) for _ in range(6000)]
    full = publisher.stats()
    assert full.refused > 1000
    assert full.accepted + full.refused == 6000
    assert sum(path.stat().st_size for path in segments(folder)) == 4 * MIB

    broker.start()
    with Intake(broker, credential) as intake:
        assert publisher.flush(30, receipts=True)
        assert list(intake.events) == said[: full.accepted]
        publisher.turn("u", "s", "user", "there is room again")
        assert publisher.flush(30, receipts=True)
        assert "there is room again" in intake.contents()


def test_memory_bounds_spill_to_disk_and_refuse_nothing(
    make: Callable[..., Publisher], broker: Broker, credential: Credential
) -> None:
    broker.kill()
    publisher = make(max_events=50)
    said = say(publisher, 1000)
    assert publisher.stats().refused == 0

    broker.start()
    with Intake(broker, credential) as intake:
        said += say(publisher, 100, first=1000)
        assert publisher.flush(30, receipts=True)

        assert list(intake.events) == said
        assert [event["seq"] for event in intake.events.values()] == list(range(1100))


def test_a_full_disk_refuses_counts_and_kills_nobody(broker: Broker, credential: Credential, folder: Path) -> None:
    """RLIMIT_FSIZE stands for the disk: allocating fails as on a full one, and no page is ever touched in vain."""
    script = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
for _ in range(20000):
    pub.turn("u", "s", "user", "x" * 1000)
stats = pub.stats()
assert stats.refused > 0, stats
assert stats.published == 20000 == stats.accepted + stats.refused
assert pub.flush(20)
print(stats.accepted)
"""
    code, out, err = finished(run(script, broker, credential, folder))

    assert (code, err) == (0, "spool gets no new segment: reason=EFBIG\n")
    assert len(ids(broker, credential)) == int(out)


def test_a_folder_that_cannot_be_used_stops_the_start(credential: Credential, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(BadSetting, match="spool: the folder"):
        Publisher(credential.text(), NOWHERE, "spool", spool=tmp_path / "file")
    with pytest.raises(BadSetting, match="spool_bytes"):
        Publisher(credential.text(), NOWHERE, "spool", spool=tmp_path, spool_bytes=1)


@pytest.mark.parametrize("harm", ["cut", "change"])
def test_a_torn_or_damaged_spool_costs_what_was_damaged_and_says_so(
    harm: str, broker: Broker, credential: Credential, make: Callable[..., Publisher], folder: Path
) -> None:
    first = make(NOWHERE)
    said = [first.turn("u", "s", "user", f"turn {number} " + "x" * 1000) for number in range(20)]
    first.close(0.2)
    (path,) = segments(folder)
    used = len(path.read_bytes().rstrip(b"\0"))
    with path.open("r+b") as file:
        if harm == "cut":
            file.truncate(used - 300)
        else:
            file.seek(used // 2)
            file.write(b"damage")

    with Intake(broker, credential) as intake:
        heir = make()
        wait_until(lambda: heir.stats().adopted == 19 and not [p for p in segments(folder) if p == path])

        lost = set(said) - intake.events.keys()
        assert lost == {said[-1]} if harm == "cut" else len(lost) == 1
        assert heir.stats().damaged == 1


def test_a_spool_of_a_newer_version_is_left_alone(make: Callable[..., Publisher], folder: Path) -> None:
    first = make(NOWHERE)
    say(first, 3)
    first.close(0.2)
    (path,) = segments(folder)
    with path.open("r+b") as file:
        file.write(b"ATSPOOL\x02")

    heir = make()
    say(heir, 1)
    assert heir.flush(20)
    heir.close()

    assert path in segments(folder)
    assert heir.stats().adopted == 0
