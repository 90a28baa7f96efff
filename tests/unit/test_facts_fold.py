"""Promises of the fold that hold for any evidence, in any order of arrival."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from memory.facts import confidence, fold, slot_parts
from memory.refinement import is_refinement
from memory_fixtures import START, day, evidence, ids
from schemas.decisions import EvidenceView, FactVersion, Fold

_VALUES = st.sampled_from(["Oslo", "Porto", "Lyon", "Lyon Est"])
_DAYS = st.integers(0, 12)
_NOW = day(900)


@st.composite
def statements(draw: st.DrawFn, key: str = "city", values: st.SearchStrategy[str] = _VALUES) -> list[EvidenceView]:
    rows: list[EvidenceView] = []
    for number in range(1, draw(st.integers(1, 8)) + 1):
        since = draw(st.none() | _DAYS)
        until = draw(st.none() | _DAYS)
        rows.append(
            evidence(
                number,
                draw(_DAYS),
                draw(st.sampled_from(["+", "+", "+", "-", "retract", "past", "forget"])),
                draw(values),
                key=key,
                role=draw(st.sampled_from(["user", "user", "staff", "tool"])),
                status=draw(st.sampled_from(["auto", "auto", "auto", "approved", "pending_review", "rejected"])),
                since=since,
                until=until if since is None or until is None or until > since else None,
                precision=draw(st.sampled_from(["instant", "day", "week", "month"])),
                session=draw(st.integers(1, 3)),
                flags=draw(st.sampled_from([(), (), ("bias",)])),
                quote_start=draw(st.integers(0, 2)),
            )
        )
    return rows


_ANY = st.one_of(
    statements(),
    statements(key="likes", values=st.just("tea")),
    statements(key="allergy", values=st.just("nuts")),
    statements(key="order_status", values=st.sampled_from(["in transit", "delivered"])),
)


def _content(version: FactVersion) -> FactVersion:
    """A version without what depends on when it was written: ids, system time, and the rule that wrote the row."""
    return replace(version, id=UUID(int=0), recorded_at=START, rule_id="", replaces=None)


def _state(versions: Sequence[FactVersion]) -> list[FactVersion]:
    return [_content(one) for one in versions]


def _arrive(rows: Sequence[EvidenceView]) -> tuple[list[FactVersion], list[FactVersion], list[Fold]]:
    """(current, ever written, folds) when the rows arrive one after the other."""
    new_id = ids(1000)
    current: list[FactVersion] = []
    ever: dict[UUID, FactVersion] = {}
    folds: list[Fold] = []
    for count in range(1, len(rows) + 1):
        known = rows[:count]
        one = fold(known, current=current, now=_NOW, new_id=new_id, added=[known[-1].id])
        kept = [row for row in current if row.id not in one.supersede and row.id not in {c.id for c in one.confirm}]
        assert {row.id for row in one.versions} == {row.id for row in (*kept, *one.confirm, *one.insert)}
        current = list(one.versions)
        ever.update({row.id: row for row in current})
        folds.append(one)
    return current, list(ever.values()), folds


@given(_ANY.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))))
@settings(max_examples=200, deadline=None)
def test_the_order_of_arrival_never_changes_the_final_state(
    arrivals: tuple[list[EvidenceView], list[EvidenceView]],
) -> None:
    rows, shuffled = arrivals

    one, _, _ = _arrive(rows)
    other, _, _ = _arrive(shuffled)
    at_once = fold(shuffled, current=(), now=_NOW, new_id=ids(5000))

    assert _state(one) == _state(other) == _state(at_once.versions)


@given(_ANY)
@settings(max_examples=80, deadline=None)
def test_folding_twice_changes_nothing(rows: list[EvidenceView]) -> None:
    once = fold(rows, current=(), now=_NOW, new_id=ids(1000))
    again = fold(rows, current=once.versions, now=_NOW, new_id=ids(2000))

    assert (again.insert, again.supersede, again.confirm, again.changes) == ((), (), (), ())
    assert again.versions == once.versions


@given(_ANY.flatmap(lambda rows: st.tuples(st.just(rows), st.sampled_from(rows))))
@settings(max_examples=80, deadline=None)
def test_applying_an_event_twice_changes_nothing(given_rows: tuple[list[EvidenceView], EvidenceView]) -> None:
    rows, twice = given_rows
    once = fold(rows, current=(), now=_NOW, new_id=ids(1000))

    again = fold(rows, current=once.versions, now=day(950), new_id=ids(2000), added=[twice.id])

    assert (again.insert, again.supersede, again.confirm) == ((), (), ())
    assert again.versions == once.versions
    assert {change.op for change in again.changes} <= {"noop"}


@given(_ANY)
@settings(max_examples=80, deadline=None)
def test_what_was_known_on_a_day_stays_known(rows: list[EvidenceView]) -> None:
    """Each arrival on a day of its own: every later day still tells what was believed then."""
    new_id, current, believed = ids(1000), list[FactVersion](), list[list[tuple[object, ...]]]()
    written: dict[UUID, FactVersion] = {}
    superseded: dict[UUID, datetime] = {}
    for count in range(1, len(rows) + 1):
        now = day(900 + count)
        one = fold(rows[:count], current=current, now=now, new_id=new_id, added=[rows[count - 1].id])
        written.update({row.id: row for row in one.insert})
        superseded.update(dict.fromkeys(one.supersede, now))
        current = list(one.versions)
        believed.append([_told(row) for row in current])

    for count, told in enumerate(believed, 1):
        then = day(900 + count)
        shown = [row for row in written.values() if row.recorded_at <= then < superseded.get(row.id, _LAST)]
        assert sorted(map(repr, map(_told, shown))) == sorted(map(repr, told))


_LAST = datetime.max.replace(tzinfo=START.tzinfo)


def _told(row: FactVersion) -> tuple[object, ...]:
    """What a version says: no later statement of the same changes it."""
    return (row.id, row.value, row.canonical, row.polarity, row.valid_from, row.valid_until, row.recorded_at)


_SAID = st.tuples(_DAYS, _VALUES, st.sampled_from(["user", "staff", "tool"]))


@given(st.lists(_SAID, min_size=1, max_size=8, unique_by=lambda one: one[0]))
@settings(max_examples=120, deadline=None)
def test_nothing_is_ever_deleted_by_a_conflict(said: list[tuple[int, str, str]]) -> None:
    """What the user asserted stays: current, past or contested, or inside the longer form that refined it.

    What a lesser origin said against it stays as a row that was replaced, or as evidence without effect.

    Each at a time of its own: of two values said in one instant the first held for no time.
    """
    rows = [evidence(number, at, "+", value, key="city", role=role) for number, (at, value, role) in enumerate(said, 1)]

    current, ever, folds = _arrive(rows)

    kept = {row.canonical for row in current}
    for one in {row.canonical for row in rows if row.role == "user"}:
        assert any(one == value or is_refinement("city", value, one) for value in kept)
    closed = {row_id for one in folds for row_id in one.supersede}
    assert {row.id for row in ever} == {row.id for row in current} | closed
    used = {use for row in ever for use in row.evidence_ids}
    assert used | {change.evidence_id for one in folds for change in one.changes} >= {row.id for row in rows}


@given(_ANY)
@settings(max_examples=120, deadline=None)
def test_uncontested_intervals_of_one_slot_never_overlap_and_are_never_empty(rows: list[EvidenceView]) -> None:
    versions = fold(rows, current=(), now=_NOW, new_id=ids(1000)).versions

    for one in versions:
        assert one.valid_from is None or one.valid_until is None or one.valid_from < one.valid_until
    clean = sorted((one for one in versions if not one.contested), key=lambda one: one.valid_from or _FIRST)
    for one, following in pairwise(clean):
        assert one.valid_until is not None
        assert following.valid_from is not None
        assert one.valid_until <= following.valid_from


_FIRST = datetime.min.replace(tzinfo=START.tzinfo)


@given(_ANY)
@settings(max_examples=60, deadline=None)
def test_nothing_is_deleted_and_every_change_is_explained(rows: list[EvidenceView]) -> None:
    current, ever, folds = _arrive(rows)

    assert {row.id for row in current} <= {row.id for row in ever}
    for one in folds:
        explained = {change.fact_id for change in one.changes} | {i for c in one.changes for i in c.replaced_ids}
        assert {row.id for row in (*one.insert, *one.confirm)} <= explained
        assert set(one.supersede) <= explained
        assert all(change.rule_id for change in one.changes)
        assert len({row.id for row in one.insert}) == len(one.insert)


@given(_ANY)
@settings(max_examples=60, deadline=None)
def test_pending_and_rejected_evidence_leaves_no_trace_in_the_facts(rows: list[EvidenceView]) -> None:
    effective = [one for one in rows if one.write_status in {"auto", "approved"}]

    with_all = fold(rows, current=(), now=_NOW, new_id=ids(1000))
    without = fold(effective, current=(), now=_NOW, new_id=ids(1000))

    assert with_all.versions == without.versions


@given(_ANY)
@settings(max_examples=50, deadline=None)
def test_confidence_is_a_share_and_rises_with_sessions(rows: list[EvidenceView]) -> None:
    assert 0 <= confidence(rows) <= 1
    assert confidence(rows) >= max(one.confidence for one in rows)
    assert confidence(rows[:1]) <= confidence(rows)


@given(st.text("ab 1京上海", max_size=6), st.text("ab 1京上海", max_size=6))
def test_a_refinement_is_longer_and_never_goes_both_ways(one: str, other: str) -> None:
    for key in ("city", "job", "name", "company", "likes"):
        assert not (is_refinement(key, one, other) and is_refinement(key, other, one))
        assert not is_refinement(key, one, other) or len(one) > len(other)


@given(st.sampled_from(["city", "likes", "budget", "need", "other"]), st.text(max_size=8), st.text(max_size=8))
def test_slots_of_different_users_or_subjects_differ(key: str, object_text: str, canonical: str) -> None:
    def slot(scope_key: str, subject: str) -> tuple[str, ...]:
        return slot_parts(
            scope="user", scope_key=scope_key, subject=subject, key=key, object_text=object_text, canonical=canonical
        )

    assert slot("u1", "user") != slot("u2", "user")
    assert slot("u1", "user") != slot("u1", "wife")
    assert slot("u1", "User ") == slot("u1", "user")
