"""The analyser: what a text's keywords are, in Chinese and English."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.terms import MAX_QUERY_TERMS, MAX_TERM_CHARS, exact_terms, held_terms, query_terms, term_set, terms

TEXTS = st.text(
    alphabet=st.one_of(st.characters(codec="utf-8"), st.sampled_from("耳机退货abcXYZ 019-_./:@+'’,，。éß")), max_size=60
)


def test_chinese_gives_every_character_and_every_pair() -> None:
    assert terms("降噪耳机") == ["降", "噪", "耳", "机", "降噪", "噪耳", "耳机"]


def test_punctuation_and_latin_words_end_a_run_of_characters() -> None:
    assert terms("退货，换货") == ["退", "货", "退货", "换", "货", "换货"]
    assert terms("用iPhone付") == ["用", "iphon", "付"]


def test_japanese_and_korean_runs_are_cut_alike() -> None:
    assert terms("ヘッド") == ["ヘ", "ッ", "ド", "ヘッ", "ッド"]
    assert "서울" in terms("서울에서")


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("The headsets were returned", "returning a headset"),
        ("José's café", "jose cafe"),
        ("ＡＢＣ", "abc"),
        ("Straße", "straße"),
        ("the customers' refunds", "customer refund"),
        ("It doesn’t work", "work"),
    ],
)
def test_english_words_meet_across_form_case_accent_and_width(written: str, asked: str) -> None:
    assert set(terms(asked)) <= set(terms(written))
    assert terms(asked)


def test_stop_words_and_contractions_are_left_out() -> None:
    assert terms("I don't think it's the one that you've been in") == ["think", "one"]
    assert terms("who are you") == []


def test_a_name_with_an_apostrophe_is_two_words() -> None:
    assert terms("O'Brien") == ["o", "brien"]


def test_an_id_is_a_term_as_a_whole_without_joints_and_in_parts() -> None:
    assert terms("BT-500") == ["bt-500", "bt500", "bt", "500"]
    assert terms("订单20240301-00789的") == [
        *("订", "单", "订单", "20240301-00789", "2024030100789", "20240301", "00789", "的"),
    ]


@pytest.mark.parametrize("spelling", ["BT-500", "bt500", "BT_500", "ＢＴ－５００", "bt.500"])
def test_spellings_of_one_id_share_a_term(spelling: str) -> None:
    assert "bt500" in terms(spelling)


def test_a_decimal_is_not_read_without_its_point() -> None:
    assert "35" not in terms("3.5")
    assert "3.5" in terms("3.5")


def test_thousands_separators_are_gone() -> None:
    assert "1299" in terms("花了1,299元")
    assert "1234567" in terms("1,234,567")
    assert "12" in terms("12,34")


def test_exact_terms_are_ids_long_numbers_and_addresses() -> None:
    text = "BT-500，单号20240301-00789，花了 3 件 1,299 元，zhang.wei@example.com，10:30，well-known，iPhone15's"

    assert exact_terms(text) == ["bt-500", "20240301-00789", "1299", "zhang.wei@example.com", "10:30", "iphone15"]


def test_a_question_asks_each_term_once_and_ids_first() -> None:
    assert query_terms("耳机 耳机 BT-500") == ["bt-500", "耳", "机", "耳机", "bt500", "bt", "500"]


def test_a_pasted_page_is_cut_to_a_bounded_question() -> None:
    page = "".join(chr(0x4E00 + n) for n in range(3000)) + " 订单 AB-1234"

    asked = query_terms(page)

    assert len(asked) == MAX_QUERY_TERMS
    assert asked[0] == "ab-1234"


def test_no_term_is_longer_than_the_bound() -> None:
    assert max(map(len, terms("x1" * 500 + " " + "y" * 500))) == MAX_TERM_CHARS


@given(TEXTS)
def test_terms_hold_no_space_quote_or_upper_case(text: str) -> None:
    for term in terms(text) + exact_terms(text):
        assert term
        assert not set(term) & set(" \t\n\"'")
        assert term == term.lower()


@given(TEXTS)
def test_what_is_asked_is_among_what_is_written(text: str) -> None:
    assert set(query_terms(text)) <= set(terms(text))
    assert set(exact_terms(text)) <= set(terms(text))


def test_threads_stem_alike() -> None:
    words = [f"running{chr(97 + n % 26)}{chr(97 + n // 26)}ings" for n in range(400)]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(terms, words * 4))

    assert found == [terms(word) for word in words] * 4


@given(TEXTS)
def test_the_quick_set_holds_the_same_terms(text: str) -> None:
    assert term_set(text) == set(terms(text))


@given(TEXTS, TEXTS)
def test_of_the_terms_asked_for_those_are_found_that_the_text_has(text: str, other: str) -> None:
    wanted = {*terms(text)[::2], *terms(other), *query_terms(f"{text[1:]} {other}")}

    assert held_terms(text, wanted) == term_set(text) & wanted


@pytest.mark.parametrize(
    "text",
    [
        "She's dying to see the skies; the BT-500 is tied to José's café order 019-77",
        "买了BT-500降噪耳机，左耳有杂音，ＡＢＣ 1,299元",
        "don't worry about e-mail me@example.com, generals generously agreed",
    ],
)
def test_every_term_of_a_text_is_found_in_it(text: str) -> None:
    assert held_terms(text, terms(text)) == set(terms(text))
    assert held_terms(text, ["花生", "peanut"]) == set()
