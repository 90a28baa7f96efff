"""The spool's format: what was written comes back; what was damaged costs its own record and is reported."""

from __future__ import annotations

import os
from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.segments import (
    PIECE_BYTES,
    START,
    Damage,
    Record,
    read_record,
    read_segment,
    record_bytes,
    segment_cipher,
    write_record,
)

KEY = bytes(range(32))
PRODUCER = UUID(int=7)
SIZE = 64 * 1024
RECORDS = st.lists(st.binary(max_size=3 * PIECE_BYTES + 5), max_size=8)


def written(plains: list[bytes], key: bytes = KEY, number: int = 0) -> tuple[bytearray, list[int]]:
    """A segment with these records, and where each begins, the end last."""
    segment = bytearray(SIZE)
    places = [START]
    for seq, plain in enumerate(plains):
        write_record(segment, segment_cipher(key, PRODUCER, number), places[-1], seq, plain)
        places.append(places[-1] + record_bytes(len(plain)))
    return segment, places


def read(segment: bytes | bytearray, key: bytes = KEY, number: int = 0) -> list[Record | Damage]:
    return list(read_segment(bytes(segment), segment_cipher(key, PRODUCER, number)))


def kept(plains: list[bytes]) -> list[Record]:
    return [Record(seq, plain) for seq, plain in enumerate(plains)]


@given(RECORDS)
def test_what_was_written_comes_back(plains: list[bytes]) -> None:
    segment, places = written(plains)

    assert read(segment) == kept(plains)
    assert not segment[places[-1] :].strip(b"\0")


@given(st.integers(0, 20_000))
def test_a_record_takes_what_it_says(size: int) -> None:
    segment, places = written([b"x" * size])

    assert places[1] % 8 == 0
    assert 0 <= places[1] - len(segment.rstrip(b"\0")) < 16


@given(RECORDS, st.integers(0, SIZE))
def test_a_torn_tail_costs_the_record_it_tore(plains: list[bytes], cut: int) -> None:
    segment, places = written(plains)
    whole = sum(end <= cut for end in places[1:])

    found = read(segment[:cut])

    # The padding behind a record's last byte may be cut without harm.
    assert [one for one in found if isinstance(one, Record)] in (kept(plains)[:whole], kept(plains)[: whole + 1])
    assert sum(isinstance(one, Damage) for one in found) <= 1


@given(RECORDS, st.integers(0, SIZE))
def test_a_death_while_writing_costs_the_record_it_interrupted(plains: list[bytes], until: int) -> None:
    """A killed process leaves the bytes that it had copied, and nothing after them."""
    segment, places = written(plains)
    torn = segment[:until] + bytes(SIZE - until)

    records = [one for one in read(torn) if isinstance(one, Record)]

    whole = sum(end <= until for end in places[1:])
    assert records in (kept(plains)[:whole], kept(plains)[: whole + 1])


@given(RECORDS, st.data())
def test_changed_bytes_cost_the_records_they_lie_in(plains: list[bytes], data: st.DataObject) -> None:
    segment, places = written(plains)
    first = data.draw(st.integers(START, max(START, places[-1] - 1)))
    harm = data.draw(st.binary(min_size=1, max_size=200))
    before = bytes(segment)
    segment[first : first + len(harm)] = harm
    touched = {
        seq for seq, (begin, end) in enumerate(pairwise(places)) if before[begin:end] != bytes(segment[begin:end])
    }

    found = read(segment)

    records = [one for one in found if isinstance(one, Record)]
    # Only padding can be changed without harm.
    assert [one for one in kept(plains) if one.seq not in touched] == [one for one in records if one.seq not in touched]
    assert all(one == kept(plains)[one.seq] for one in records)
    assert len(records) == len(plains) or any(isinstance(one, Damage) for one in found) or not any(harm)


def test_a_piece_opens_at_its_own_place_under_its_own_key_alone() -> None:
    segment, places = written([b"first", b"second", b"x" * 5000])
    moved = segment[:START] + segment[places[1] : places[2]] + segment[places[0] : places[1]] + segment[places[2] :]

    assert [one for one in read(moved) if isinstance(one, Record)] == [Record(2, b"x" * 5000)]
    assert not [one for one in read(segment, key=bytes(32)) if isinstance(one, Record)]
    assert not [one for one in read(segment, number=1) if isinstance(one, Record)]


def test_pieces_of_two_records_make_none() -> None:
    """Index and count are under the seal: the end of one long record cannot stand in for that of another."""
    segment, places = written([b"a" * 3000])
    other, _ = written([b"b" * 3000])
    half = places[0] + record_bytes(PIECE_BYTES)
    segment[half + 24 : places[1]] = other[half + 24 : places[1]]

    assert [type(one) for one in read(segment)] == [Damage]


def test_a_part_of_a_file_is_read_by_its_place_in_it() -> None:
    segment, places = written([b"first", b"second"])
    cipher = segment_cipher(KEY, PRODUCER, 0)

    assert read_record(bytes(segment[places[1] :]), cipher, places[1], base=places[1]) == (
        Record(1, b"second"),
        places[2],
    )
    assert read_record(bytes(segment[places[1] :]), cipher, places[1]) is None


@pytest.mark.parametrize("filler", [b"\xff", b"\xa7spl"])
def test_noise_is_one_damage_and_no_record(filler: bytes) -> None:
    noise = bytearray(SIZE)
    noise[START:] = (filler * SIZE)[: SIZE - START]

    assert read(noise) == [Damage(START)]
    assert read(os.urandom(SIZE))[:1] == [Damage(START)]
