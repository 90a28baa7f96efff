"""The files of one spool: what is written, read back, settled and removed, without any network or sender."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from afterturn.buffer import Row
from afterturn.segments import START, Record, read_segment, segment_cipher
from afterturn.spool import SPARES, USED_SPARES, Spool
from afterturn.spooled import SpooledBuffer
from services import wait_until

KEY = bytes(range(32))
SEGMENT = 64 * 1024


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    made = Spool(tmp_path, KEY, uuid4(), max_bytes=64 * SEGMENT, segment_bytes=SEGMENT)
    made.open()
    yield made
    made.close()


def read_all(spool: Spool, count: int, *, max_events: int = 7, max_bytes: int = 5000) -> list[bytes | None]:
    found: list[bytes | None] = []
    while len(found) < count:
        found += spool.read(len(found), max_events, max_bytes)
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(st.lists(st.binary(max_size=6000), min_size=1, max_size=60))
def test_what_is_appended_is_read_back_across_segments(tmp_path: Path, plains: list[bytes]) -> None:
    spool = Spool(tmp_path, KEY, uuid4(), max_bytes=64 * SEGMENT, segment_bytes=SEGMENT)
    spool.open()
    try:
        assert all(spool.append(seq, plain) for seq, plain in enumerate(plains))
        assert read_all(spool, len(plains)) == plains
    finally:
        spool.settle(0, len(plains))
        spool.close()
    assert not list(tmp_path.iterdir())


def test_what_is_not_settled_stays_when_it_closes(spool: Spool, tmp_path: Path) -> None:
    for seq in range(200):
        assert spool.append(seq, b"x" * 1000)
    spool.settle(0, 120)
    spool.close()

    records: list[int] = []
    for path in sorted(tmp_path.glob("*.seg")):
        cipher = segment_cipher(KEY, spool._producer, int(path.stem[-8:]))  # pyright: ignore[reportPrivateUsage]
        records += [one.seq for one in read_segment(path.read_bytes(), cipher) if isinstance(one, Record)]
    # Which of two segments was made first says nothing of their order: a spare one waits until it is its turn.
    assert set(range(121, 200)) <= set(records) <= set(range(1, 200))


def test_segments_that_nobody_needs_are_used_again_and_hold_nothing_old(spool: Spool, tmp_path: Path) -> None:
    plain = b"x" * 1000
    for seq in range(1000):
        assert spool.append(seq, plain)
        spool.settle(seq, seq)
        if seq % 50 == 49:
            wait_until(lambda: len(spool._spares) >= SPARES)  # pyright: ignore[reportPrivateUsage]

    numbers = {path: int(path.stem[-8:]) for path in tmp_path.glob("*.seg")}
    records = {
        number: list(
            read_segment(path.read_bytes(), segment_cipher(KEY, spool._producer, number))  # pyright: ignore[reportPrivateUsage]
        )
        for path, number in numbers.items()
    }
    # Each file holds what was written since it got its name: a run up to the newest event, and no damage.
    found = [one for number in sorted(records) for one in records[number]]
    assert found
    assert all(isinstance(one, Record) and one.seq >= 900 for one in found)
    assert len(numbers) <= 2 + USED_SPARES
    assert max(numbers.values()) > 10


def test_an_event_larger_than_a_segment_is_refused(spool: Spool) -> None:
    assert not spool.append(0, b"x" * SEGMENT)
    assert spool.append(0, b"x" * (SEGMENT - START - 2000))
    assert not spool.append(1, b"x" * SEGMENT)


def test_a_call_that_was_interrupted_leaves_no_wrong_place(spool: Spool) -> None:
    spool.append(0, b"first")
    spool.append(1, b"interrupted before it counted")
    spool.append(1, b"second")
    spool.append(2, b"third")

    assert read_all(spool, 3) == [b"first", b"second", b"third"]


def test_a_damaged_event_is_given_up_and_the_others_go_on(spool: Spool, tmp_path: Path) -> None:
    buffer = SpooledBuffer(spool, max_events=1, max_bytes=10**6)
    for number in range(4):
        row: Row = ("turn", f"e{number}", "u", "s", 0, None, 0, number, "user", f"text {number}", None)
        assert buffer.add(row, 100)
    path = next(path for path in sorted(tmp_path.glob("*.seg")) if path.read_bytes()[START:].strip(b"\0"))
    content = bytearray(path.read_bytes())
    content[content.index(b"\xa7spl", START + 8) + 30 + 24] ^= 1  # inside the second
    path.write_bytes(content)

    rows: list[Row] = []
    while buffer.held:
        taken, size = buffer.take(100, 10**6)
        rows += taken
        buffer.hand_over(len(taken))
        buffer.release(len(taken), size, 0)

    assert [row[1] for row in rows] == ["e0", "e2", "e3"]
    assert buffer.unreadable == 1
