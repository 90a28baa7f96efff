"""The fold by worked examples: one story a test, with its dates."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from memory.facts import current_at, fold, importance, slot_parts
from memory.precision import window_end
from memory.refinement import is_refinement
from memory.registry import spec_of
from memory_fixtures import day, evidence, folded, ids
from schemas.decisions import FactVersion, Fold


def spans(one: Fold) -> list[tuple[str, str, float | None, float | None]]:
    return [(v.polarity, v.value, _days(v, "valid_from"), _days(v, "valid_until")) for v in one.versions]


def _days(version: FactVersion, name: str) -> float | None:
    at = getattr(version, name)
    return None if at is None else round((at - day(0)).total_seconds() / 86_400, 3)


def ops(one: Fold) -> list[tuple[str, str]]:
    return [(change.op, change.rule_id) for change in one.changes]


def test_a_newer_statement_closes_the_older_one() -> None:
    one = folded([evidence(1, 0, "+", "Harbor Foods", key="company"), evidence(2, 92, "+", "Cedar", key="company")])

    assert spans(one) == [("+", "Harbor Foods", 0, 92), ("+", "Cedar", 92, None)]
    assert [v.value for v in current_at(one.versions, day(30))] == ["Harbor Foods"]
    assert [v.value for v in current_at(one.versions, day(100))] == ["Cedar"]


def test_a_move_holds_from_the_day_that_was_named() -> None:
    one = folded([evidence(1, 0, "+", "Oslo"), evidence(2, 60, "+", "Lyon", since=53, precision="day")])

    assert spans(one) == [("+", "Oslo", 0, 53), ("+", "Lyon", 53, None)]
    assert one.versions[1].precision == "day"
    assert one.versions[0].precision == "unknown"


def test_last_week_leaves_room_for_what_was_said_inside_that_week() -> None:
    one = folded([evidence(1, 55, "+", "Oslo"), evidence(2, 60, "+", "Lyon", since=53, precision="week")])

    assert spans(one) == [("+", "Oslo", 55, 55), ("+", "Lyon", 55, None)]
    assert one.versions[1].valid_from == day(55) + timedelta(microseconds=1)


def test_a_stale_statement_becomes_history_of_unknown_begin() -> None:
    one = folded([evidence(1, 50, "+", "Oslo"), evidence(2, 60, "+", "Lyon", since=20, precision="day")])

    assert spans(one) == [("+", "Oslo", None, 20), ("+", "Lyon", 20, None)]


def test_an_older_event_that_arrives_late_becomes_history_at_its_own_time() -> None:
    late = evidence(1, 0, "+", "Oslo")
    new = evidence(2, 180, "+", "Porto")
    first = folded([new])

    one = fold([new, late], current=first.versions, now=day(200), new_id=ids(900), added=[late.id])

    assert spans(one) == [("+", "Oslo", 0, 180), ("+", "Porto", 180, None)]
    assert one.supersede == ()
    assert [v.value for v in one.insert] == ["Oslo"]


def test_the_same_value_in_four_sessions_is_one_row_with_four_pieces_of_evidence() -> None:
    rows = [evidence(n, n, "+", "teal", key="likes") for n in range(1, 5)]
    first = folded(rows[:1])

    one = fold(rows, current=first.versions, now=day(9), new_id=ids(900), added=[row.id for row in rows[1:]])

    assert one.insert == ()
    assert one.supersede == ()
    assert [len(v.evidence_ids) for v in one.confirm] == [4]
    assert one.confirm[0].id == first.versions[0].id
    assert one.confirm[0].confidence == pytest.approx(1 - 0.4 * 0.8**3, abs=1e-3)
    assert ops(one) == [("confirm", "same_value")]


def test_said_often_then_moved_is_moved() -> None:
    rows = [evidence(n, 7 * n, "+", "Oslo") for n in range(1, 5)]

    one = folded([*rows, evidence(9, 60, "+", "Lyon")])

    assert spans(one) == [("+", "Oslo", 7, 60), ("+", "Lyon", 60, None)]
    assert not any(v.contested for v in one.versions)


def test_the_opposite_polarity_of_one_value_supersedes() -> None:
    one = folded([evidence(1, 0, "+", "Thai food", key="likes"), evidence(2, 31, "-", "Thai food", key="likes")])

    assert spans(one) == [("+", "Thai food", 0, 31), ("-", "Thai food", 31, None)]


def test_a_retraction_closes_and_asserts_nothing() -> None:
    one = folded([evidence(1, 0, "+", "coffee", key="likes"), evidence(2, 31, "retract", "coffee", key="likes")])

    assert spans(one) == [("+", "coffee", 0, 31)]
    assert ops(one) == [("retract", "retraction")]


def test_a_retraction_of_what_nobody_said_is_told_as_a_noop() -> None:
    one = folded([evidence(2, 31, "retract", "Google", key="company")])

    assert one.versions == ()
    assert ops(one) == [("noop", "retraction_of_nothing_held")]


def test_a_retraction_that_came_first_closes_the_older_statement_that_arrives_late() -> None:
    retraction = evidence(2, 31, "retract", "coffee", key="likes")
    first = folded([retraction])

    one = fold(
        [retraction, evidence(1, 0, "+", "coffee", key="likes")], current=first.versions, now=day(40), new_id=ids(900)
    )

    assert spans(one) == [("+", "coffee", 0, 31)]


def test_what_was_added_to_another_slot_is_no_change_of_this_one() -> None:
    said = evidence(1, 0, "+", "Oslo")

    one = fold([said], current=(), now=day(1), new_id=ids(), added={said.id, UUID(int=7)})

    assert ops(one) == [("add", "first_statement")]


def test_to_say_it_again_after_a_retraction_opens_it_again() -> None:
    rows = [evidence(1, 0, "+", "Oslo"), evidence(2, 10, "retract", "Oslo"), evidence(3, 20, "+", "Oslo")]

    assert spans(folded(rows)) == [("+", "Oslo", 0, 10), ("+", "Oslo", 20, None)]


def test_a_past_statement_is_history_beside_the_present() -> None:
    one = folded([evidence(1, 0, "past", "Tokyo"), evidence(2, 0, "+", "Split")])

    assert spans(one) == [("+", "Tokyo", None, 0), ("+", "Split", 0, None)]


def test_a_past_statement_fills_only_what_nobody_claims() -> None:
    one = folded([evidence(1, 0, "+", "Split"), evidence(2, 40, "past", "Tokyo")])

    assert spans(one) == [("+", "Tokyo", None, 0), ("+", "Split", 0, None)]


def test_to_say_that_it_used_to_be_so_ends_it() -> None:
    one = folded([evidence(1, 0, "+", "Tokyo"), evidence(2, 40, "past", "Tokyo")])

    assert spans(one) == [("+", "Tokyo", 0, 40)]
    assert ops(one) == [("retract", "said_to_be_past")]


def test_moved_from_one_place_to_another_last_month() -> None:
    one = folded([evidence(1, 60, "+", "Seattle", since=31, precision="month"), evidence(2, 60, "past", "Boston")])

    assert spans(one) == [("+", "Boston", None, 31), ("+", "Seattle", 31, None)]


def test_a_move_that_is_still_to_come_leaves_the_present_alone() -> None:
    rows = [evidence(1, 0, "+", "Oslo"), evidence(2, 5, "+", "Lyon", since=30), evidence(3, 9, "+", "Oslo")]

    one = folded(rows)

    assert spans(one) == [("+", "Oslo", 0, 30), ("+", "Lyon", 30, None)]
    assert [v.value for v in current_at(one.versions, day(10))] == ["Oslo"]


def test_a_more_precise_value_refines_and_a_coarser_one_confirms() -> None:
    one = folded([evidence(1, 0, "+", "上海"), evidence(2, 5, "+", "上海浦东"), evidence(3, 6, "+", "上海")])

    assert spans(one) == [("+", "上海浦东", 0, None)]
    assert len(one.versions[0].evidence_ids) == 3


@pytest.mark.parametrize(
    ("key", "longer", "shorter", "expected"),
    [
        ("city", "上海浦东", "上海", True),
        ("city", "new york city", "new york", True),
        ("city", "newport", "new", False),
        ("name", "jon smith", "jon", True),
        ("name", "王芳芳", "王芳", False),
        ("job", "senior data engineer", "data engineer", True),
        ("job", "软件工程师", "工程师", True),
        ("company", "acme 2", "acme", False),
        ("likes", "green tea", "tea", False),
        ("city", "york", "new york", False),
    ],
)
def test_what_refines_what(key: str, longer: str, shorter: str, *, expected: bool) -> None:
    assert is_refinement(key, longer, shorter) is expected


def test_a_lesser_origin_that_contradicts_is_contested_and_both_are_kept() -> None:
    one = folded([evidence(1, 0, "+", "Porto"), evidence(2, 5, "+", "Oslo", role="staff")])

    assert spans(one) == [("+", "Porto", 0, None), ("+", "Oslo", 5, None)]
    assert [v.contested for v in one.versions] == [True, True]


def test_the_users_own_word_ends_a_contest() -> None:
    rows = [evidence(1, 0, "+", "Porto"), evidence(2, 5, "+", "Oslo", role="staff"), evidence(3, 9, "+", "Porto")]

    one = folded(rows)

    assert spans(one) == [("+", "Porto", 0, None)]
    assert not one.versions[0].contested


def test_a_rival_stands_alone_once_the_user_takes_the_other_back() -> None:
    rows = [evidence(1, 0, "+", "Porto"), evidence(2, 5, "+", "Oslo", role="staff"), evidence(3, 9, "retract", "Porto")]

    one = folded(rows)

    assert spans(one) == [("+", "Porto", 0, 9), ("+", "Oslo", 9, None)]
    assert not any(v.contested for v in one.versions)


def test_a_tool_knows_an_order_better_than_the_user() -> None:
    rows = [
        evidence(1, 0, "+", "in transit", key="order_status", role="tool"),
        evidence(2, 1, "+", "delivered", key="order_status", role="user"),
        evidence(3, 2, "+", "returned", key="order_status", role="tool"),
    ]

    assert [v.contested for v in folded(rows[:2]).versions] == [True, True]
    assert spans(folded(rows)) == [("+", "in transit", 0, 2), ("+", "returned", 2, None)]


def test_flagged_text_does_not_outweigh_what_was_said_in_two_sessions() -> None:
    held = [evidence(1, 0, "+", "Porto"), evidence(2, 3, "+", "Porto")]
    flagged = evidence(3, 9, "+", "Oslo", flags=("bias",))

    assert [v.contested for v in folded([*held, flagged]).versions] == [True, True]
    assert spans(folded([held[0], flagged])) == [("+", "Porto", 0, 9), ("+", "Oslo", 9, None)]


def test_an_approved_flag_is_a_plain_statement_again() -> None:
    held = [evidence(1, 0, "+", "Porto"), evidence(2, 3, "+", "Porto")]
    approved = evidence(3, 9, "+", "Oslo", flags=("bias",), status="approved")

    assert spans(folded([*held, approved])) == [("+", "Porto", 0, 9), ("+", "Oslo", 9, None)]


def test_an_approval_acts_at_the_place_of_what_it_approves() -> None:
    old = evidence(1, 0, "+", "admin", key="role", status="pending_review")
    new = evidence(2, 9, "+", "guest", key="role", status="approved")
    before = folded([old, new])
    approved = evidence(1, 0, "+", "admin", key="role", status="approved")

    one = fold([approved, new], current=before.versions, now=day(20), new_id=ids(900))

    assert spans(one) == [("+", "admin", 0, 9), ("+", "guest", 9, None)]


def test_an_allergy_is_not_ended_by_a_denial_but_by_a_retraction() -> None:
    allergy = evidence(1, 0, "+", "peanuts", key="allergy")
    denied = folded([allergy, evidence(2, 9, "-", "peanuts", key="allergy")])
    retracted = folded([allergy, evidence(2, 9, "retract", "peanuts", key="allergy")])

    assert [(v.polarity, v.valid_until, v.contested) for v in denied.versions] == [
        ("+", None, True),
        ("-", None, True),
    ]
    assert spans(retracted) == [("+", "peanuts", 0, 9)]


def test_an_allergy_that_is_stated_again_stands_alone() -> None:
    stated = [evidence(n, n, "+", "peanuts", key="allergy") for n in (1, 3)]
    rows = [*stated, evidence(2, 2, "-", "peanuts", key="allergy")]

    one = folded(rows)

    assert spans(one) == [("+", "peanuts", 1, None)]
    assert not one.versions[0].contested


def test_a_denial_of_a_single_value_closes_it_and_names_no_other() -> None:
    one = folded([evidence(1, 0, "+", "John", key="name"), evidence(2, 3, "-", "John", key="name")])

    assert spans(one) == [("+", "John", 0, 3)]


def test_a_tombstone_binds_what_stands_before_it_only() -> None:
    old, tombstone = evidence(1, 0, "+", "Porto"), evidence(2, 5, "forget", "")
    first = folded([old])

    gone = fold([old, tombstone], current=first.versions, now=day(6), new_id=ids(900), added=[tombstone.id])
    again = folded([old, tombstone, evidence(3, 9, "+", "Porto")])

    assert gone.versions == ()
    assert gone.supersede == (first.versions[0].id,)
    assert ops(gone)[0] == ("retract", "forgotten")
    assert spans(again) == [("+", "Porto", 9, None)]


def test_undoing_a_statement_brings_back_what_it_replaced() -> None:
    old, new = evidence(1, 0, "+", "Porto"), evidence(2, 5, "+", "Oslo")
    first = folded([old, new])

    undone = fold(
        [old, evidence(2, 5, "+", "Oslo", status="rejected")], current=first.versions, now=day(6), new_id=ids(900)
    )

    assert spans(undone) == [("+", "Porto", 0, None)]
    assert set(undone.supersede) == {row.id for row in first.versions}
    assert ("retract", "evidence_withdrawn") in ops(undone)


def test_a_deadline_is_the_end_and_can_be_set_later() -> None:
    rows = [evidence(1, 0, "+", "the report", key="need"), evidence(2, 1, "+", "the report", key="need", until=9)]

    assert spans(folded(rows)) == [("+", "the report", 0, 9)]


def test_a_closed_row_tells_which_row_it_stands_in_for() -> None:
    old, new = evidence(1, 0, "+", "Porto"), evidence(2, 5, "+", "Oslo")
    first = folded([old])

    one = fold([old, new], current=first.versions, now=day(6), new_id=ids(900), added=[new.id])

    closed = next(v for v in one.insert if v.value == "Porto")
    assert closed.replaces == first.versions[0].id
    assert one.supersede == (first.versions[0].id,)
    assert {change.op for change in one.changes} == {"supersede"}
    assert all("Porto" not in str(change.inputs) for change in one.changes)


def test_the_parts_of_a_slot() -> None:
    def slot(key: str, object_text: str | None, canonical: str) -> tuple[str, ...]:
        return slot_parts(
            scope="user", scope_key="u", subject="user", key=key, object_text=object_text, canonical=canonical
        )

    assert slot("city", None, "oslo") == slot("city", None, "lyon")
    assert slot("city", "weekdays", "oslo") != slot("city", "weekends", "lyon")
    assert slot("likes", None, "tea") != slot("likes", None, "rice")
    assert slot("budget", "耳机", "2000 CNY") != slot("budget", "装修", "100000 CNY")
    assert slot("budget", "Headset", "1") == slot("budget", "headset ", "2")
    assert slot("need", None, "report") != slot("need", None, "flat")
    assert slot("employer", None, "a") == slot("company", None, "b")
    assert slot("other", None, "ticket 260 is merged") != slot("other", None, "ticket 480 is merged")


def test_importance_follows_what_protects_the_user() -> None:
    assert importance("constraint", spec_of("allergy")) == 0.9
    assert importance("identity", spec_of("city")) == 0.8
    assert importance("requirement", spec_of("order_status")) == 0.2


def test_the_window_of_a_precision_ends_in_its_own_zone() -> None:
    midnight = day(0).replace(hour=16)

    assert window_end(midnight, "day", "Asia/Shanghai") == midnight + timedelta(days=1)
    assert window_end(midnight, "week", None) == midnight + timedelta(days=7)
    assert window_end(midnight, "month", "Asia/Shanghai") == day(0).replace(month=1, day=31, hour=16)
    assert window_end(midnight, "instant", None) == midnight


def test_a_naive_now_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        fold([], current=(), now=day(0).replace(tzinfo=None), new_id=lambda: UUID(int=1))


def test_a_new_end_reaches_to_what_is_known_to_follow_and_not_over_it() -> None:
    rows = [
        evidence(1, 0, "+", "Oslo", since=0, until=9),
        evidence(2, 1, "+", "Lyon", since=9),
        evidence(3, 2, "+", "Oslo", until=20),
    ]

    assert spans(folded(rows)) == [("+", "Oslo", 0, 9), ("+", "Lyon", 9, None)]


def test_what_was_taken_back_between_stays_between() -> None:
    rows = [
        evidence(1, 7, "-", "tea", key="likes", until=10),
        evidence(2, 7, "past", "tea", key="likes", since=4),
        evidence(3, 12, "+", "tea", key="likes", since=4, precision="month"),
    ]

    one = folded(rows)

    assert [(v.polarity, _days(v, "valid_from"), _days(v, "valid_until")) for v in one.versions] == [
        ("+", 4, 7),
        ("-", 7, 7),
        ("+", 7, None),
    ]
