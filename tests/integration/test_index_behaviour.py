"""What every hybrid index does, whichever it is: one suite for the embedded index and for Weaviate."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
import pytest

from index_fixtures import DAY, DIMENSIONS, INDEXES, NOW, SNAPSHOTS, Shelf, environment, open_index, unit
from memory.question import coverage, weight
from memory.ranking import Candidate, RankPolicy, answering
from memory.terms import query_terms
from schemas.errors import Permanent, StoreBusy
from schemas.indexing import IndexQuery
from services import wait_until
from stores.index import Index

WRITER = Path(__file__).resolve().parent.parent / "index_writer.py"


@pytest.fixture(params=sorted(INDEXES))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place(kind: str, request: pytest.FixtureRequest) -> Generator[str]:
    with INDEXES[kind][0](request) as found:
        yield found


@pytest.fixture
def index(kind: str, place: str) -> Generator[Index]:
    opened = open_index(kind, place)
    yield opened
    opened.close()


@pytest.fixture
def shelf(index: Index) -> Shelf:
    return Shelf(index)


# Finding


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("左耳一直有杂音，想退货", "耳机有杂音怎么退"),
        ("客户换了一只新的降噪耳机", "换新"),
        ("She moved to Lyon last spring", "where did she move?"),
        ("The headsets were returned", "returning a headset"),
        ("Un café à Zürich", "cafe zurich"),
        ("换货单 20240301-00789 已寄出", "20240301-00789 到哪了"),
        ("用户买的是BT-500", "bt500 还在保修吗"),
        ("The BT-500 hums", "BT-500"),
        ("ＢＴ－５００ 降价到 1,299 元", "1299"),
    ],
)
def test_a_keyword_of_either_language_finds_the_text(shelf: Shelf, text: str, question: str) -> None:
    wanted = shelf.put(text)
    shelf.put("今天天气很好，适合散步。 Nothing to see here, 42.")

    hits = shelf.ask(question)

    assert list(hits) == [wanted]
    hit = hits[wanted]
    assert hit.cosine is None
    assert hit.own_bm25 is not None
    assert hit.own_bm25 > 0
    assert hit.context_bm25 is not None
    assert hit.context_bm25 > 0


def test_the_rarer_word_weighs_more(shelf: Shelf) -> None:
    rare = shelf.put("客户对花生过敏")
    for _ in range(8):
        shelf.put("客户对客服很满意")

    hits = shelf.ask("客户 花生")

    assert max(hits, key=lambda found: hits[found].own_bm25 or 0.0) == rare


def test_a_neighbour_s_word_is_found_by_the_context_field_alone(shelf: Shelf) -> None:
    wanted = shelf.put("好的，可以", context="您要换货还是退款？")

    hit = shelf.ask("退款")[wanted]

    assert hit.own_bm25 is None
    assert hit.context_bm25 is not None


def test_a_vector_alone_finds_what_shares_no_word(shelf: Shelf) -> None:
    near = shelf.put("我不吃荤", vector=unit(1, 0.1))
    far = shelf.put("发票开好了", vector=unit(0, 1))

    hits = shelf.ask("vegetarian", unit(1, 0))

    assert hits[near].cosine == pytest.approx(1 / np.hypot(1, 0.1), abs=0.01)
    assert hits[far].cosine == pytest.approx(0.0, abs=0.01)
    assert all(hit.own_bm25 is None and hit.context_bm25 is None for hit in hits.values())


def test_a_row_without_a_vector_is_found_by_keyword_among_rows_with_one(shelf: Shelf) -> None:
    silent = shelf.put("保修期两年")
    shelf.put("发票开好了", vector=unit(1))

    hits = shelf.ask("保修", unit(1))

    assert len(hits) == 2
    assert hits[silent].cosine is None


def test_every_leg_lists_its_own_best(shelf: Shelf) -> None:
    by_word = shelf.put("退款 退款", vector=unit(0, 1))
    by_vector = shelf.put("别的", vector=unit(1))
    shelf.put("另一个", vector=unit(0.5, 1))

    hits = shelf.ask("退款", unit(1), limit=1)

    assert set(hits) == {by_word, by_vector}
    assert hits[by_word].cosine is None
    assert hits[by_vector].own_bm25 is None


def test_a_question_without_words_or_vector_finds_nothing(shelf: Shelf) -> None:
    shelf.put("保修期两年", vector=unit(1))

    assert shelf.ask("") == {}
    assert shelf.ask("who are you") == {}


def test_a_question_to_a_tenant_that_has_nothing_finds_nothing(shelf: Shelf) -> None:
    assert shelf.ask("保修", unit(1)) == {}
    assert shelf.listed() == []
    assert shelf.index.delete_user(shelf.tenant_id, shelf.user) == 0
    shelf.index.delete(shelf.tenant_id, [uuid4()])


# Abstaining


SAID = (
    "客户王女士买了一只降噪耳机",
    "耳机左耳一直有杂音，想退货",
    "耳机的发票抬头开公司的名字",
    "客户说周末在家，可以收耳机",
    "She bought the noise cancelling headset in March",
    "The headset hums whenever the charger is plugged in",
    "She moved to Lyon and wants the headset sent there",
    "Her order for the headset is BT-500-7781",
)


@pytest.mark.parametrize(
    ("question", "is_answered"),
    [
        ("耳机的发票抬头是什么？", True),
        ("客户周末在家吗？", True),
        ("左耳为什么有杂音？", True),
        ("Does the headset hum with the charger?", True),
        ("Where did she move, to Lyon?", True),
        ("what about BT-500-7781", True),
        ("法国的首都是哪里？", False),
        ("怎么用一百行代码写一个爬虫？", False),
        ("客户的狗在北京的宠物医院打过几次疫苗？", False),
        ("请问你可以帮我做什么？", False),
        ("What is the boiling point of tungsten in vacuum?", False),
        ("Did she ever finish painting the blue fishing boat with her uncle?", False),
        ("zxqv plomf wrugle", False),
    ],
)
def test_the_same_questions_are_answered_whatever_others_in_the_organisation_talk_about(
    shelf: Shelf, question: str, is_answered: bool
) -> None:
    texts = {shelf.put(text): text for text in SAID}
    # All this user's words are rare in the organisation, and half of them common in what this user says.
    strangers = [shelf.row(f"第{n}页 page {n} 食谱 recipe", user_ref=uuid4(), scope_key="") for n in range(200)]
    shelf.index.upsert(strangers)
    asked = query_terms(question)

    pool = [
        Candidate(id=hit.id, kind=hit.kind, text=texts[hit.id], at=NOW).with_hit(
            hit, coverage=coverage(asked, texts[hit.id])
        )
        for hit in shelf.ask(question).values()
    ]

    assert bool(answering(pool, RankPolicy().asked(weight(asked)))) is is_answered


# Seeing


def test_tenants_never_see_each_other(index: Index) -> None:
    ours, theirs = Shelf(index), Shelf(index)
    theirs.user = ours.user
    mine, yours = (shelf.put("我对花生过敏", vector=unit(1)) for shelf in (ours, theirs))

    assert set(ours.ask("花生", unit(1))) == {mine}
    assert set(theirs.ask("花生", unit(1))) == {yours}

    index.delete(theirs.tenant_id, [mine])
    assert index.delete_user(ours.tenant_id, ours.user) == 0

    assert set(theirs.ask("花生", unit(1))) == {yours}


def test_a_user_sees_its_own_rows_and_the_organisation_s(shelf: Shelf) -> None:
    mine = shelf.put("退货规则：七天", vector=unit(1))
    house = shelf.put("退货规则：十五天", vector=unit(1), scope="organization", scope_key="", user_ref=uuid4())
    other = shelf.put("退货规则：三十天", vector=unit(1), user_ref=uuid4())

    assert set(shelf.ask("退货", unit(1))) == {mine, house}
    assert other not in shelf.ask("退货", unit(1), users=[])


def test_several_users_of_one_person_are_asked_together(shelf: Shelf) -> None:
    alias = uuid4()
    first, second = shelf.put("住在里昂", vector=unit(1)), shelf.put("住在里昂", vector=unit(1), user_ref=alias)

    assert set(shelf.ask("里昂", unit(1), users=[shelf.user, alias])) == {first, second}


def test_a_ticket_s_rows_return_with_that_ticket_alone(shelf: Shelf) -> None:
    note = shelf.put("主管同意换货", vector=unit(1), scope="ticket", scope_key="T-1", ticket_id="T-1")

    assert set(shelf.ask("换货", unit(1), ticket_id="T-1")) == {note}
    assert shelf.ask("换货", unit(1), ticket_id="T-2") == {}
    assert shelf.ask("换货", unit(1)) == {}


def test_a_thread_s_rows_are_never_found_but_listed_and_deleted(shelf: Shelf) -> None:
    note = shelf.put("换货", vector=unit(1), scope="thread", scope_key="th1")

    assert shelf.ask("换货", unit(1)) == {}
    assert shelf.listed() == [(note, 1, True)]
    assert shelf.index.delete_user(shelf.tenant_id, shelf.user) == 0
    assert shelf.listed() == []


@pytest.mark.parametrize(
    ("kept", "left_out", "asked"),
    [
        ({"kind": "episode"}, {"kind": "fact"}, {"kinds": ["episode", "procedure"]}),
        ({"tags": ["退货", "vip"]}, {"tags": ["退货款"]}, {"tags": ["退货"]}),
        ({"tags": ["a", "b", "c"]}, {"tags": ["a"]}, {"tags": ["a", "b"]}),
        ({"outcome": "failure"}, {"outcome": None}, {"outcome": "failure"}),
        ({"agent_id": "support"}, {"agent_id": "sales"}, {"agent_id": "support"}),
        ({"agent_id": "support"}, {"agent_id": None}, {"agent_id": "support"}),
        ({"agent_id": "support"}, {"agent_id": "sales"}, {"visible_agents": ["support"]}),
        ({"agent_id": None}, {"agent_id": "sales"}, {"visible_agents": []}),
        ({"agent_id": None}, {"agent_id": "sales"}, {"hidden_agents": ["sales", "other"]}),
        ({"created_at": NOW}, {"created_at": NOW - DAY}, {"between": (NOW, NOW + DAY)}),
        ({"created_at": NOW}, {"created_at": NOW + DAY}, {"between": (NOW, NOW + DAY)}),
        ({"valid_until": NOW + DAY}, {"valid_until": NOW}, {}),
        ({"valid_from": NOW}, {"valid_from": NOW + DAY}, {}),
        ({"valid_from": NOW - 9 * DAY, "valid_until": NOW - 3 * DAY}, {"valid_from": NOW}, {"as_of": NOW - 4 * DAY}),
        ({"expires_at": NOW + DAY}, {"expires_at": NOW}, {}),
        ({"expires_at": NOW + DAY}, {"expires_at": NOW - DAY}, {"as_of": NOW - 4 * DAY}),
        ({"expires_at": None, "valid_until": None, "valid_from": None}, {"expires_at": NOW - DAY}, {}),
    ],
    ids=lambda value: ",".join(map(str, value)) or "as now",
)
def test_a_filter_holds_in_every_leg(
    shelf: Shelf, kept: dict[str, object], left_out: dict[str, object], asked: dict[str, object]
) -> None:
    wanted = shelf.put("左耳有杂音", vector=unit(1), **kept)
    shelf.put("左耳有杂音 杂音", vector=unit(1), **left_out)

    assert set(shelf.ask("杂音", None, **asked)) == {wanted}
    assert set(shelf.ask("", unit(1), **asked)) == {wanted}
    # A leg's limit counts what may be seen.
    assert set(shelf.ask("杂音", unit(1), limit=1, **asked)) == {wanted}


# Writing


def test_an_upsert_replaces_the_whole_row(shelf: Shelf) -> None:
    row = shelf.row("住在里昂", vector=unit(1), tags=["city"])
    shelf.index.upsert([row])
    shelf.put("住在里昂", id=row.id, vector=unit(0, 1), row_version=2)
    moved = shelf.put("住在巴黎", id=row.id, vector=unit(0, 1), row_version=3, user_ref=shelf.user)

    assert shelf.ask("里昂") == {}
    hit = shelf.ask("巴黎", unit(0, 1))[moved]
    assert hit.row_version == 3
    assert hit.cosine == pytest.approx(1.0, abs=0.001)
    assert shelf.ask("巴黎", tags=["city"]) == {}
    assert shelf.listed() == [(moved, 3, True)]


def test_a_row_can_change_its_scope(shelf: Shelf) -> None:
    row = shelf.put("退货十五天", vector=unit(1))
    shelf.put("退货十五天", id=row, vector=unit(1), scope="organization", scope_key="")

    assert set(shelf.ask("退货", unit(1), users=[uuid4()])) == {row}


def test_keywords_come_first_and_the_vector_later(shelf: Shelf) -> None:
    row = shelf.put("住在里昂")
    assert shelf.listed() == [(row, 1, False)]

    shelf.put("住在里昂", id=row, vector=unit(1))
    assert shelf.listed() == [(row, 1, True)]
    assert shelf.ask("", unit(1))[row].cosine == pytest.approx(1.0, abs=0.001)

    shelf.put("住在里昂", id=row)
    assert shelf.listed() == [(row, 1, False)]
    assert shelf.ask("", unit(1)) == {}


def test_of_two_rows_with_one_id_in_a_batch_the_last_stands(shelf: Shelf) -> None:
    first = shelf.row("住在里昂", vector=unit(1))
    second = shelf.row("住在巴黎", id=first.id, vector=unit(1), row_version=2)

    shelf.index.upsert([first, second])

    assert shelf.ask("里昂") == {}
    assert shelf.listed() == [(first.id, 2, True)]


def test_a_deleted_row_is_gone_from_every_leg(shelf: Shelf) -> None:
    gone, kept = shelf.put("住在里昂", vector=unit(1)), shelf.put("住在里昂", vector=unit(1))

    for _ in range(2):
        shelf.index.delete(shelf.tenant_id, [gone, uuid4()])

    assert set(shelf.ask("里昂", unit(1))) == {kept}
    assert shelf.listed() == [(kept, 1, True)]


def test_deleting_a_user_takes_every_scope_and_nobody_else_s(shelf: Shelf) -> None:
    other = uuid4()
    for scope, key in (("user", ""), ("ticket", "T-1"), ("thread", "th"), ("organization", "")):
        shelf.put("住在里昂", vector=unit(1), scope=scope, scope_key=key)
        kept = shelf.put("住在里昂", vector=unit(1), scope=scope, scope_key=key, user_ref=other)

    assert shelf.index.delete_user(shelf.tenant_id, shelf.user) == 0

    assert shelf.listed(shelf.user) == []
    assert len(shelf.listed(other)) == 4
    assert set(shelf.ask("里昂", unit(1), users=[shelf.user])) == {kept}


def test_many_rows_are_listed_in_id_order_and_survive_thinning(shelf: Shelf) -> None:
    rows = [shelf.row(f"第{n}号 item", vector=unit(1, n / 100)) for n in range(700)]
    shelf.index.upsert(rows)
    gone = {row.id for n, row in enumerate(rows) if n % 4}

    shelf.index.delete(shelf.tenant_id, list(gone))

    left = sorted(row.id for row in rows if row.id not in gone)
    assert [found for found, _, _ in shelf.listed()] == left
    hits = shelf.ask("item", unit(1), limit=700)
    assert sorted(hits) == left
    for n, row in enumerate(rows):
        if row.id in hits:
            assert hits[row.id].cosine == pytest.approx(1 / np.hypot(1, n / 100), abs=0.01)


# Refusing


@pytest.mark.parametrize(
    "vector",
    [
        np.ones(DIMENSIONS + 1, dtype=np.float32),
        np.zeros(DIMENSIONS, dtype=np.float32),
        np.full(DIMENSIONS, np.nan, dtype=np.float32),
    ],
    ids=["dimensions", "zero", "nan"],
)
def test_a_vector_that_does_not_fit_is_refused_and_nothing_of_the_batch_is_kept(
    shelf: Shelf, vector: np.ndarray[tuple[int], np.dtype[np.float32]]
) -> None:
    kept = shelf.put("住在里昂", vector=unit(1))

    with pytest.raises(Permanent, match="vector"):
        shelf.index.upsert([shelf.row("住在巴黎", vector=unit(1)), shelf.row("住在罗马", vector=vector)])

    assert [found for found, _, _ in shelf.listed()] == [kept]


def test_a_question_s_vector_of_other_dimensions_is_refused(shelf: Shelf) -> None:
    shelf.put("住在里昂", vector=unit(1))

    with pytest.raises(Permanent, match="dimensions"):
        shelf.ask("里昂", np.ones(3, dtype=np.float32))


def test_rows_of_two_tenants_are_refused(shelf: Shelf) -> None:
    with pytest.raises(Permanent, match="tenant"):
        shelf.index.upsert([shelf.row("a"), shelf.row("b", tenant_id=uuid4())])


def test_a_search_that_has_no_time_left_says_so_and_the_next_one_works(shelf: Shelf) -> None:
    row = shelf.put("住在里昂", vector=unit(1))
    question = IndexQuery(
        tenant_id=shelf.tenant_id, users=[shelf.user], terms="里昂", vector=unit(1), now=NOW, as_of=NOW
    )

    started = time.monotonic()
    with pytest.raises(StoreBusy):
        asyncio.run(shelf.index.search(question, timeout_seconds=0.0))

    assert time.monotonic() - started < 5.0
    assert set(shelf.ask("里昂", unit(1))) == {row}


def test_searches_of_one_loop_run_side_by_side(shelf: Shelf) -> None:
    rows = {shelf.put(f"住在里昂 {n}", vector=unit(1, n)) for n in range(20)}
    question = IndexQuery(
        tenant_id=shelf.tenant_id, users=[shelf.user], terms="里昂", vector=unit(1), now=NOW, as_of=NOW
    )

    async def ask_often() -> list[set[UUID]]:
        asked = [shelf.index.search(question, timeout_seconds=20.0) for _ in range(40)]
        return [{hit.id for hit in hits} for hits in await asyncio.gather(*asked)]

    assert asyncio.run(ask_often()) == [rows] * 40


def test_close_and_open_may_be_repeated(kind: str, place: str) -> None:
    index = open_index(kind, place)
    row = Shelf(index).put("住在里昂")
    index.close()
    index.close()
    index.open()
    index.open()
    index.close()

    assert row


# Several processes


def _writer(kind: str, place: str, shelf: Shelf, batches: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(WRITER), kind, place, str(shelf.tenant_id), str(shelf.user), str(batches)]
    return subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)


def test_several_processes_write_and_read_at_once(kind: str, place: str, shelf: Shelf) -> None:
    writers = [_writer(kind, place, shelf, 15) for _ in range(2)]
    counts: list[int] = []
    while any(writer.poll() is None for writer in writers):
        hits = shelf.ask("headset", unit(1), limit=1_000)
        counts.append(len(hits))
        # A snapshot is whole: what one leg can see, the others can.
        assert kind not in SNAPSHOTS or all(
            hit.cosine is not None and hit.own_bm25 is not None for hit in hits.values()
        )

    assert [writer.wait() for writer in writers] == [0, 0]
    assert counts
    assert len(shelf.listed()) == 2 * 15 * 4
    assert len(shelf.ask("headset", unit(1), limit=1_000)) == 2 * 15 * 4
    for writer in writers:
        writer.communicate()


def test_killing_a_writer_loses_nothing_it_was_told_is_written(kind: str, place: str, shelf: Shelf) -> None:
    for _ in range(3):
        writer = _writer(kind, place, shelf, 100_000)
        assert writer.stdout is not None
        acknowledged = [UUID(writer.stdout.readline().strip()) for _ in range(8)]
        writer.send_signal(signal.SIGKILL)
        assert writer.wait() == -signal.SIGKILL
        acknowledged += [UUID(line.strip()) for line in writer.communicate()[0].splitlines() if len(line) == 37]

        listed = {found for found, _, has_vector in shelf.listed() if has_vector}
        hits = shelf.ask("headset", unit(1), limit=100_000)
        assert set(acknowledged) <= listed
        assert set(hits) == listed
        assert all(hit.cosine is not None and hit.own_bm25 is not None for hit in hits.values())

    row = wait_until(lambda: shelf.put("换货", vector=unit(1)), what="a write after the kills")
    assert set(shelf.ask("换货")) == {row}
