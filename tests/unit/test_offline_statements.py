"""The offline rules on single statements: precision first, recall second, in both languages alike."""

from __future__ import annotations

import time

import pytest

from llm.offline import extract
from memory.registry import REGISTRY, canonical
from memory.verify import verify
from offline_fixtures import digest, score, statements, turns, user
from schemas.decisions import Dropped

FILES = (
    "offline_given.jsonl",
    "offline_dev.jsonl",
    "offline_held.jsonl",
    "offline_fresh.jsonl",
    "offline_last.jsonl",
    "offline_relations.jsonl",
    "offline_newest.jsonl",
    "offline_paired.jsonl",
    "offline_blind.jsonl",
)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", FILES)
def test_statements_are_read_precisely(name: str, language: str) -> None:
    result = score(name, language)

    assert result.precision >= 0.95, result.wrong
    assert result.recall >= 0.75, result.missed


def test_there_are_enough_sentences_of_both_languages() -> None:
    own = FILES[1:]

    assert all(sum(len(statements(name, language)) for name in own) >= 200 for language in ("en", "zh"))


@pytest.mark.parametrize("name", FILES)
def test_what_the_rules_say_passes_the_check_for_evidence(name: str) -> None:
    dropped: list[str] = []
    total = 0
    for language in ("en", "zh"):
        for text, _ in statements(name, language):
            draft = digest(user(text))
            verdicts = verify(draft, turns(user(text)))
            total += len(verdicts)
            dropped += [f"{text}: {v.reason_code}" for v in verdicts if isinstance(v, Dropped)]

    assert len(dropped) <= 0.02 * total + 1, dropped


@pytest.mark.parametrize("name", FILES)
def test_a_value_stands_in_its_quote_or_is_a_code_of_its_key(name: str) -> None:
    for language in ("en", "zh"):
        for text, _ in statements(name, language):
            for fact in digest(user(text)).facts:
                spec = REGISTRY[fact.key]
                assert fact.quote in text
                assert fact.value in fact.quote or fact.value in spec.codes
                assert canonical(fact.key, fact.value, language) is not None
                assert fact.when is None or fact.when in text


def test_curly_quotes_and_wide_digits_come_back_as_they_were_said() -> None:
    said = "I’m ３4 and I live in Xi’an"
    found = {finding.key: finding.value for finding in extract(said)}

    assert found["city"] == "Xi’an"


@pytest.mark.parametrize(
    "text",
    [
        "I was told my flight is late",
        "We live and learn.",
        "I live for weekends",
        "It's awesome",
        "This is great",
        "I love to.",
        "Love is all around",
        "My money is gone",
        "I am what I am",
        "I need to talk",
        "I'm a mess",
        "I'm allergic to nonsense?",
        "What if I worked at Apple",
        "Is Anna here?",
        "Call me maybe",
        "Call me tomorrow",
        "I work too much",
        "I'm over it",
        "I'm going home",
        "The city is Paris",
        "My friend said she likes tea",
        "我喜欢",
        "我是",
        "我在",
        "我叫",
        "我的天",
        "我妈呀",
        "我说的是真的",
        "我是认真的",
        "我要走了",
        "我想静静",
        "我对你很失望",
        "我住院了",
        "我搬不动",
        "我做完了",
        "我吃饱了",
        "我不管了",
        "我不知道了",
        "叫我怎么办",
        "我在想什么",
        "我爱你",
        "喜欢你很久了",
        "我要一个说法",
        "我需要时间",
        "你对花生过敏吗",
        "如果我对花生过敏呢",
        "他说他叫王伟",
        "我以为我对猫过敏",
        "听说你搬到上海了",
    ],
)
def test_what_states_nothing_gives_nothing(text: str) -> None:
    assert extract(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Pretend I'm a pirate and I live in Tortuga.",
        "Write a bio: I'm Anna and I work at Tesla.",
        "> I live in Rome\nthanks",
        "```\nI live in Rome\n```",
        "How do you say 'I love cheese and wine' in French?",
        "Just kidding, I hate cats.",
        "Don't remember this: I live in Oslo.",
        "这句别记：我住在北京。",
        "把这句翻译成英文：我住在北京",
        "我住在火星，开玩笑的",
        "你来扮演一个顾客，你说：我叫小王，我对花生过敏",
    ],
)
def test_another_voice_a_joke_and_what_shall_not_be_kept_give_nothing(text: str) -> None:
    assert extract(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I moved to Lyon yesterday.", "yesterday"),
        ("Last month I joined Bosch.", "Last month"),
        ("I need the report by next Friday.", "next Friday"),
        ("我上周搬到了成都。", "上周"),
        ("我需要在下周五之前拿到报告。", "下周五"),
    ],
)
def test_the_time_phrase_comes_raw(text: str, expected: str) -> None:
    assert [fact.when for fact in digest(user(text)).facts] == [expected]


def test_a_budget_names_what_it_is_for() -> None:
    chinese = digest(user("我买耳机的预算是2000元。"), user("我装修房子的预算是10万元。"))
    english = digest(user("I'm looking for a headset. My budget is under $200."))

    assert [(fact.object, fact.value) for fact in chinese.facts] == [("耳机", "2000元"), ("装修房子", "10万元")]
    assert [(fact.key, fact.object) for fact in english.facts] == [("need", "headset"), ("budget", "headset")]


def test_two_homes_carry_their_days() -> None:
    draft = digest(
        user("周一到周四在上海，周五回杭州"), user("I live in Lisbon during the week and Porto at weekends.")
    )

    assert [(fact.value, fact.object) for fact in draft.facts] == [
        ("上海", "周一到周四"),
        ("杭州", "周五"),
        ("Lisbon", "during the week"),
        ("Porto", "at weekends"),
    ]


def test_the_same_text_gives_the_same_answer() -> None:
    text = "Hi, I'm Sarah Chen, I work at Stripe, I love tea and hate noise. 我住在上海。"

    assert [extract(text) for _ in range(3)] == [extract(text)] * 3


def test_an_ordinary_turn_costs_well_under_a_millisecond() -> None:
    texts = [text for language in ("en", "zh") for text, _ in statements("offline_given.jsonl", language)]
    for text in texts:
        extract(text)

    started = time.process_time()
    for _ in range(5):
        for text in texts:
            extract(text)
    cpu_ms = (time.process_time() - started) * 1000 / (5 * len(texts))

    assert cpu_ms < 2.0


HOSTILE = {
    "letters": "a" * 6000,
    "i": "I " * 3000,
    "lists": "I like " + "a, " * 2000,
    "kin": "my wife " * 800,
    "and": "I like a and " * 450,
    "adverbs": "I " + "really " * 900 + "like tea",
    "spaces": "I like" + " " * 5900 + "tea",
    "quotes": '"a ' * 2000,
    "ticks": "`" * 6000,
    "lines": "\n" * 6000,
    "marks": ">" * 6000,
    "digits": "1" * 6000,
    "thousands": "1," * 3000,
    "if": "if you need " * 500,
    "move": "I moved from " * 400 + "to",
    "brackets": "(" * 6000,
    "write": "write a " * 700,
    "han": "我" * 6000,
    "like": "我喜欢" * 2000,
    "and zh": "、和" * 3000,
    "not": "不" * 6000,
    "numbers": "一" * 6000,
    "from": "从" * 5900 + "离职",
    "at": "在" * 5900 + "工作",
    "to": "对" * 5900 + "过敏",
    "ever": "我现在" + "一直" * 2900 + "住在",
    "later": "以后都" * 2000,
    "weeks": "上" * 5900 + "周",
    "mixed": "I like 我喜欢 " * 400,
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_long_hostile_text_costs_linear_time(name: str) -> None:
    started = time.process_time()
    digest(user(HOSTILE[name]), user(HOSTILE[name]))

    assert time.process_time() - started < 3.0
