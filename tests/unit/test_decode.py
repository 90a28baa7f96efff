"""Decoding: whatever a model wrote becomes a draft or one of our errors, and never tells what was written."""

from __future__ import annotations

import json
import time
import traceback
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.completion import Completion, read_completion
from llm.decode import MAX_CHARS, MAX_ITEMS, Decoded, Undecodable, decode, decode_text
from schemas.drafts import WindowDraft
from schemas.errors import BadAnswer, ModelBusy

Json = dict[str, Any]


def answer(**fields: Any) -> Json:
    return {"summary": "s", "outcome": "unknown", "sentiment": "neutral", **fields}


def fact(**fields: Any) -> Json:
    plain = {
        "reason": "r",
        "quote": "q",
        "turn": "t1",
        "subject": "user",
        "modality": "asserted",
        "polarity": "+",
        "type": "identity",
        "key": "city",
        "value": "v",
    }
    return {**plain, **fields}


def code_of(text: str, *, lenient: bool = False) -> str:
    with pytest.raises((BadAnswer, ModelBusy)) as raised:
        decode_text(text, lenient=lenient)
    return raised.value.code


@pytest.mark.parametrize(
    "wrap",
    [
        "%s",
        "\ufeff %s \n",
        "```json\n%s\n```",
        "Sure, here it is:\n```json\n%s\n```",
        "结果如下：\n```\n%s\n```\n以上。",
        "Here is the {JSON}: %s",
        "<think>{%% maybe %%} {}</think>%s",
        "thinking without an opening tag </think>\n%s",
        "<THINK>a</THINK><think>b</think> %s",
        '{"reply": %s}',
        '[%s, {"summary": "another"}]',
        '{"note": "not this one"} %s',
        "%s\n\n" + "\n" * 500,
    ],
)
def test_a_draft_is_found_inside_its_wrapping(wrap: str) -> None:
    assert decode_text(wrap % json.dumps(answer(summary="found"))).draft.summary == "found"


def test_what_looks_like_a_thought_inside_the_answer_stays() -> None:
    said = "she typed <think>hm</think> and left"

    assert decode_text(json.dumps(answer(summary=said))).draft.summary == said


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("<think>only thoughts</think>", "empty"),
        ("<think>never ends", "empty"),
        ("I'm sorry, but I can’t help with that.", "refused"),
        ("很抱歉，我无法协助处理这个请求。", "refused"),
        ("我不能回答这个问题", "refused"),
        ("As an AI language model, no.", "refused"),
        ("The user lives in Lyon.", "invalid"),
        ("null", "invalid"),
        ("[1, 2]", "invalid"),
        ("{}", "invalid"),
        ('{"summary": nope}', "invalid"),
        ('{"type": "object", "properties": {"summary": {"type": "string"}}}', "invalid"),
        ('{"summary": "she said "hi", twice", "facts": []}', "invalid"),
        ('```json\n{"summary": "an inch is 1"", "facts": []}\n```', "invalid"),
        ('{"summary":"x","facts":[{"quote":"My bud', "truncated"),
        ('{"summary": "s", "facts": [{"quote": "a", "value": "b"}, {"quo', "truncated"),
        ('```json\n{"summary": "s",\n', "truncated"),
        ("<!DOCTYPE html><title>502</title>", "bad_response"),
        ("<html><body>{}</body></html>", "bad_response"),
    ],
)
def test_what_is_no_draft_has_a_code(text: str, code: str) -> None:
    assert code_of(text) == code


def test_the_ends_that_servers_name_come_first() -> None:
    whole = json.dumps(answer())

    assert _code(Completion(whole, finish_reason="length")) == "truncated"
    assert _code(Completion(whole, finish_reason="content_filter")) == "content_filter"
    assert _code(Completion(whole, refused=True)) == "refused"


def _code(completion: Completion) -> str:
    with pytest.raises(BadAnswer) as raised:
        decode(completion)
    return raised.value.code


def test_thoughts_beside_an_answer_are_never_read() -> None:
    thought = json.dumps(answer(summary="thought"))

    assert decode(Completion("", reasoning=thought)).draft.summary == "thought"
    assert _code(Completion("I think so.", reasoning=thought)) == "invalid"


def test_a_broken_escape_costs_one_character() -> None:
    text = (
        '{"summary":"\\ud83d 自我介绍","outcome":"unknown","sentiment":"neutral","tags":["a\\u0000b","\\ud83d\\ude00"]}'
    )

    draft = decode_text(text).draft

    assert draft.summary == "\ufffd 自我介绍"
    assert draft.tags == ["ab", "😀"]
    draft.model_dump_json().encode()


def test_small_slips_are_forgiven() -> None:
    slips = answer(
        outcome_turns=[1, "T2", "[t3]"],
        tags=None,
        facts=[fact(turn=4, value=300, confidence=0.5)],
        procedure={"name": "exchange", "verdict": "success", "turns": None},
        mood="fine",
    )

    draft = decode_text(json.dumps(slips)).draft

    assert draft.outcome_turns == ["t1", "t2", "t3"]
    assert (draft.facts[0].turn, draft.facts[0].value, draft.facts[0].object) == ("t4", "300", None)
    assert draft.procedure is not None
    assert draft.procedure.turns == []


def test_lenient_leaves_malformed_items_out_and_counts_them() -> None:
    text = json.dumps(
        answer(
            facts=[fact(), fact(modality="sure"), "city: Lyon", fact(value="w")],
            entities=[{"name": "BT-500", "kind": "product"}, {"name": "x"}],
            tags=["ok", ["no"]],
            procedure={"name": "p"},
        )
    )

    assert code_of(text) == "invalid"
    decoded = decode_text(text, lenient=True)
    assert [item.value for item in decoded.draft.facts] == ["v", "w"]
    assert [item.name for item in decoded.draft.entities] == ["BT-500"]
    assert (decoded.draft.tags, decoded.draft.procedure, decoded.dropped) == (["ok"], None, 5)


def test_lenient_does_not_make_up_what_an_answer_must_say() -> None:
    assert code_of(json.dumps({"summary": "s", "facts": []}), lenient=True) == "invalid"
    assert code_of(json.dumps(answer(sentiment="angry")), lenient=True) == "invalid"


def test_a_list_that_is_no_list_is_left_out_whole() -> None:
    decoded = decode_text(json.dumps(answer(facts={"city": "Lyon"}, tags="a, b")), lenient=True)

    assert (decoded.draft.facts, decoded.draft.tags, decoded.dropped) == ([], [], 2)


def test_an_answer_is_bounded() -> None:
    decoded = decode_text(json.dumps(answer(summary="x" * 50_000, tags=["t"] * 1000)))

    assert len(decoded.draft.summary) == MAX_CHARS
    assert (len(decoded.draft.tags), decoded.dropped) == (MAX_ITEMS, 1000 - MAX_ITEMS)


@pytest.mark.parametrize("depth", [50, 900, 5_000, 200_000])
def test_nesting_exhausts_nothing(depth: int) -> None:
    deep = "[" * depth + "]" * depth

    started = time.process_time()
    for text in (deep, f'{{"summary": {deep}}}', f'{{"summary": "s", "extra": {deep}}}', "{" * depth, '{"a":' * depth):
        assert code_of(text) in ("invalid", "truncated")
    assert time.process_time() - started < 5


@pytest.mark.parametrize("piece", ['\\"', '"', "\\", "<think>", "</think>", "{", '{"a":', "}", "{}", "```", " "])
def test_long_rubbish_takes_time_in_proportion(piece: str) -> None:
    started = time.process_time()

    for text in (piece * 60_000, '{"summary": "' + piece * 60_000, "x" + piece * 60_000):
        assert code_of(text) in ("invalid", "truncated", "empty")
    assert time.process_time() - started < 5


def test_a_huge_number_is_no_crash() -> None:
    assert code_of(json.dumps(answer()).replace('"s"', "9" * 5000)) == "invalid"


def test_problems_name_fields_and_never_values() -> None:
    with pytest.raises(Undecodable) as raised:
        decode_text(json.dumps(answer(facts=[fact(polarity="SECRET"), {"SECRET": 1}], sentiment="SECRET")))

    told = " ".join(raised.value.problems) + "".join(traceback.format_exception(raised.value))
    assert "facts.0.polarity" in told
    assert "SECRET" not in " ".join(raised.value.problems) + str(raised.value)
    assert raised.value.__context__ is None
    assert len(raised.value.problems) <= 8


_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20)
_names = st.sampled_from([*WindowDraft.model_fields, "quote", "turn", "turns", "name"]) | st.text(max_size=5)
_values = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_names, inner, max_size=6), max_leaves=20
)
_PIECES = ["{", "}", "[", "]", '"', "\\", ":", ",", "<think>", "</think>", "```", "json", '"summary"', "\ud83d", "\0"]
_texts = st.text(st.characters(), max_size=60) | st.lists(
    st.sampled_from(_PIECES) | st.text(st.characters(), max_size=5), max_size=30
).map("".join)


def outcome(text: str, *, lenient: bool) -> Decoded | None:
    """The draft, or None for one of our errors; anything else escapes and fails the test."""
    try:
        decoded = decode_text(text, lenient=lenient)
    except (BadAnswer, ModelBusy) as error:
        assert error.__context__ is None
        return None
    decoded.draft.model_dump_json().encode()
    return decoded


@given(text=_texts, lenient=st.booleans())
def test_any_text_is_a_draft_or_one_of_our_errors(text: str, lenient: bool) -> None:
    outcome(text, lenient=lenient)


@given(value=_values, lenient=st.booleans())
def test_any_json_is_a_draft_or_one_of_our_errors(value: object, lenient: bool) -> None:
    outcome(json.dumps(value), lenient=lenient)


@given(value=st.dictionaries(_names, _values, max_size=8), lenient=st.booleans())
def test_any_fields_are_a_draft_or_one_of_our_errors(value: Json, lenient: bool) -> None:
    outcome(json.dumps(answer(**value)), lenient=lenient)


@given(end=st.integers(0, 400))
def test_every_prefix_of_an_answer_is_truncated_or_empty(end: int) -> None:
    text = json.dumps(answer(facts=[fact(), fact()], entities=[{"name": "n", "kind": "k"}]), ensure_ascii=False)
    if end < len(text):
        assert code_of(text[:end]) == ("empty" if end == 0 else "truncated")


@given(body=_texts | _values.map(json.dumps))
def test_any_body_is_a_completion_or_one_of_our_errors(body: str) -> None:
    assert isinstance(read_completion(body), Completion | ModelBusy | BadAnswer)


@given(
    content=_values,
    usage=_values,
    finish=_values,
    reasoning=_values,
)
def test_any_completion_is_a_draft_or_one_of_our_errors(
    content: object, usage: object, finish: object, reasoning: object
) -> None:
    message = {"content": content, "reasoning_content": reasoning}
    read = read_completion(json.dumps({"choices": [{"message": message, "finish_reason": finish}], "usage": usage}))

    assert isinstance(read, Completion)
    try:
        decode(read)
    except (BadAnswer, ModelBusy) as error:
        assert error.code


def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": '{"summary": "s", "outcome": "unknown",'}, {"text": '"sentiment": "neutral"}'}, 3]
    read = read_completion(json.dumps({"choices": [{"message": {"role": "assistant", "content": parts}}]}))

    assert isinstance(read, Completion)
    assert decode(read).draft.summary == "s"
