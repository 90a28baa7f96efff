"""UUIDv7 as the library makes them."""

from __future__ import annotations

import os
import threading
from uuid import RFC_4122

from hypothesis import given
from hypothesis import strategies as st

from afterturn.ids import uuid7, uuid7_text


@given(st.integers(min_value=0, max_value=(1 << 48) * 1_000_000 - 1))
def test_an_id_is_a_version_7_uuid(now_ns: int) -> None:
    made = uuid7(now_ns)

    assert made.version == 7
    assert made.variant == RFC_4122


def test_ids_of_one_process_grow_strictly_even_when_the_clock_goes_back() -> None:
    now = 1_800_000_000_000_000_000
    times = [now, now, now + 1_000_000, now - 5_000_000_000, now + 1_000_000, now + 2_000_000]

    ids = [uuid7_text(at) for at in times * 100]

    assert ids == sorted(set(ids))


def test_threads_never_share_an_id() -> None:
    made: list[str] = []
    threads = [threading.Thread(target=lambda: made.extend([uuid7_text() for _ in range(2000)])) for _ in range(4)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(made)) == 8000


def test_a_forked_child_makes_other_ids() -> None:
    uuid7_text()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, "".join(uuid7_text(0) for _ in range(10)).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        theirs = pipe.read()
    os.waitpid(child, 0)

    ours = {uuid7_text(0)[15:] for _ in range(10)}

    assert len(theirs) == 360
    assert not {theirs[start : start + 36][15:] for start in range(0, 360, 36)} & ours
