"""Receipts on the wire: only the key's holders make them, each for one producer; they say what became of a batch."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.errors import BadSeal
from afterturn.receipts import WHOLE, BatchReceipt, Fault, State, list_name, open_receipt, runs_of, seal_receipt
from afterturn.sealing import Sealer, open_sealed

KEY, OTHER = bytes(range(32)), bytes(32)
PRODUCER = UUID(int=7)
STATES: list[State] = ["stored", "duplicate", "rejected", "dead"]


def receipts() -> st.SearchStrategy[BatchReceipt]:
    text = st.text(max_size=40)
    return st.builds(
        BatchReceipt,
        st.uuids(),
        st.lists(st.sampled_from(STATES), max_size=50).map(runs_of),
        st.lists(
            st.builds(
                Fault,
                st.uuids().map(str) | st.none(),
                st.sampled_from(STATES),
                text.filter(bool),
                text | st.none(),
            ),
            max_size=5,
        ).map(tuple),
    )


@given(receipts())
def test_what_was_sealed_is_what_opens(receipt: BatchReceipt) -> None:
    assert open_receipt(seal_receipt(receipt, KEY, PRODUCER), KEY, PRODUCER) == receipt


@given(receipts(), st.data())
def test_a_changed_receipt_does_not_open(receipt: BatchReceipt, data: st.DataObject) -> None:
    element = bytearray(seal_receipt(receipt, KEY, PRODUCER))
    place = data.draw(st.integers(0, len(element) - 1))
    element[place] ^= data.draw(st.integers(1, 255))

    with pytest.raises(BadSeal):
        open_receipt(bytes(element), KEY, PRODUCER)


@given(st.binary(max_size=200))
def test_noise_does_not_open(noise: bytes) -> None:
    with pytest.raises(BadSeal):
        open_receipt(noise, KEY, PRODUCER)


def test_a_receipt_is_for_one_key_and_one_producer() -> None:
    element = seal_receipt(BatchReceipt(uuid4(), (("stored", 3),)), KEY, PRODUCER)

    for key, producer in ((OTHER, PRODUCER), (KEY, UUID(int=8))):
        with pytest.raises(BadSeal):
            open_receipt(element, key, producer)


def test_the_lists_name_needs_the_key_and_says_nothing() -> None:
    names = {list_name(key, producer) for key in (KEY, OTHER) for producer in (PRODUCER, UUID(int=8))}

    assert len(names) == 4
    assert all(name.startswith("afterturn:v1:receipts:") and len(name) == 54 for name in names)
    assert not any(PRODUCER.hex in name for name in names)


def test_a_batch_is_no_receipt_and_a_receipt_no_batch() -> None:
    element = seal_receipt(BatchReceipt(uuid4(), ()), KEY, PRODUCER)
    blob = Sealer("a" * 12, KEY, PRODUCER).seal(uuid4(), b"{}")

    with pytest.raises(BadSeal):
        open_sealed(element.hex(), lambda _: KEY)
    with pytest.raises(BadSeal):
        open_receipt(blob.encode(), KEY, PRODUCER)


def test_equal_states_are_counted_and_a_whole_batch_counts_as_all_of_it() -> None:
    assert runs_of(["stored", "stored", "dead", "stored"]) == (("stored", 2), ("dead", 1), ("stored", 1))
    assert BatchReceipt(uuid4(), runs_of(["stored", "dead", "stored"])).count("stored", 3) == 2
    whole = BatchReceipt(uuid4(), (("dead", WHOLE),))
    assert (whole.count("dead", 7), whole.count("stored", 7), whole.is_whole) == (7, 0, True)


def test_no_two_receipts_are_alike() -> None:
    receipt = BatchReceipt(uuid4(), (("stored", 1),))

    assert seal_receipt(receipt, KEY, PRODUCER) != seal_receipt(receipt, KEY, PRODUCER)
