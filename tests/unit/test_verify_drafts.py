"""Verification: a draft counts only with its evidence, and every refusal has its reason."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.turns import TurnView
from memory.verify import VerifyPolicy, verify
from memory_fixtures import START, cases, fact, talk, turn, window
from schemas.decisions import Dropped, Verified
from schemas.drafts import FactDraft, WindowDraft


def only(draft: FactDraft, turns: Sequence[TurnView], **options: Any) -> Verified | str:
    (one,) = verify(window(draft), turns, **options)
    return one.reason_code if isinstance(one, Dropped) else one


def kept(draft: FactDraft, turns: Sequence[TurnView], **options: Any) -> Verified:
    one = only(draft, turns, **options)
    assert isinstance(one, Verified), one
    return one


def test_a_statement_carries_where_it_stands_and_whose_it_is() -> None:
    said = turn("Hi! I live in  Ghent, thanks.", number=7, tz="Europe/Brussels", source="chat", agent_id="a1")

    one = kept(fact("city", "Ghent", "i live in ghent"), [said])

    assert one.quote == "I live in  Ghent"
    assert said.content[one.quote_start : one.quote_end] == one.quote
    assert (one.event_id, one.role, one.scope, one.scope_key) == (UUID(int=7), "user", "user", None)
    assert (one.value, one.canonical, one.language, one.tz) == ("Ghent", "ghent", "en", "Europe/Brussels")
    assert (one.type, one.confidence, one.source, one.agent_id) == ("identity", 0.9, "chat", "a1")


def test_full_width_and_white_space_are_folded() -> None:
    one = kept(fact("city", "上海", "我住在 上海"), [turn("我住在上海。")])

    assert (one.quote, one.value) == ("我住在上海", "上海")
    assert kept(fact("likes", "jazz", "I like jazz"), [turn("Ｉ ｌｉｋｅ\n ｊａｚｚ")]).canonical == "jazz"


@pytest.mark.parametrize(
    ("draft", "said", "reason"),
    [
        (fact("city", "Ghent", "I live in Ghent"), "Hello", "quote_not_found"),
        (fact("city", "Ghent", ""), "I live in Ghent", "no_quote"),
        (fact("city", "Ghent", "I live in Ghent", label="t9"), "I live in Ghent", "unknown_turn"),
        (fact("city", "Ghent", "I live in Ghent", label="first"), "I live in Ghent", "unknown_turn"),
        (fact("shoe_size", "9", "I wear 9"), "I wear 9", "unknown_key"),
        (fact("city", "Ghent", "I live in Ghent", modality="hypothetical"), "I live in Ghent", "not_asserted"),
        (fact("city", "Paris", "I live in Ghent"), "I live in Ghent", "value_not_in_quote"),
        (fact("likes", "art", "I like to start early"), "I like to start early", "value_not_in_quote"),
        (fact("age", "200", "I am 200"), "I am 200", "invalid_value"),
        (fact("diet", "tofu", "I eat tofu"), "I eat tofu", "invalid_value"),
        (fact("likes", "<b>tea</b>", "I like <b>tea</b>"), "I like <b>tea</b>", "invalid_value"),
        (fact("likes", "x" * 201, "I like " + "x" * 201), "I like " + "x" * 201, "value_shape"),
        (fact("city", "Madrid", "I lived in Madrid"), "If I lived in Madrid I would walk.", "supposed"),
        (fact("company", "阿里", "我要是在阿里上班就好了"), "我要是在阿里上班就好了", "supposed"),
        (fact("likes", "jazz", "Do I like jazz?"), "Do I like jazz?", "question"),
        (fact("likes", "coffee", "I don't like coffee"), "I don't like coffee", "polarity_positive"),
        (fact("likes", "咖啡", "我不喜欢咖啡"), "我不喜欢咖啡", "polarity_positive"),
        (fact("likes", "tea", "I like tea", polarity="-"), "I like tea", "polarity_negative"),
        (fact("likes", "tea", "I like tea", polarity="retract"), "I like tea", "polarity_retract"),
        (fact("city", "Oslo", "I live in Oslo", polarity="past"), "I live in Oslo", "polarity_past"),
        (fact("city", "Oslo", "I used to live in Oslo"), "I used to live in Oslo", "polarity_past"),
        (fact("company", "Google", "I no longer work at Google"), "I no longer work at Google", "polarity_retract"),
        (fact("likes", "spicy food", "I don't hate spicy food"), "I don't hate spicy food", "double_negation"),
        (fact("likes", "吃辣", "我不是不喜欢吃辣", polarity="-"), "我不是不喜欢吃辣", "double_negation"),
        (fact("likes", "black tea", "My husband likes black tea"), "My husband likes black tea", "third_party"),
        (fact("likes", "绿茶", "我老婆喜欢喝绿茶"), "我老婆喜欢喝绿茶", "third_party"),
        (fact("likes", "tea", "I like tea", subject="assistant"), "I like tea", "about_assistant"),
        (fact("likes", "tea", "I like tea", subject="Bob"), "I like tea", "subject_not_said"),
    ],
)
def test_what_does_not_count(draft: FactDraft, said: str, reason: str) -> None:
    assert only(draft, [turn(said)]) == reason


@pytest.mark.parametrize(
    ("draft", "said", "value", "canonical"),
    [
        (fact("likes", "cilantro", "I love hiking and hate cilantro", polarity="-"), None, "cilantro", "cilantro"),
        (fact("likes", "hiking", "I love hiking and hate cilantro"), None, "hiking", "hiking"),
        (fact("contact", "email", "有事请发邮件联系我，不要打电话"), None, "email", "email"),
        (fact("contact", "phone", "有事请发邮件联系我，不要打电话", polarity="-"), None, "phone", "phone"),
        (fact("diet", "vegetarian", "我吃素"), None, "vegetarian", "vegetarian"),
        (fact("budget", "<=300 EUR", "My budget is under 300 euros"), None, "under 300 euros", "<=300 EUR"),
        (fact("budget", "2,000", "My budget is under $2,000."), None, "under $2,000", "<=2000 USD"),
        (fact("budget", "2000元", "预算不超过2000元"), None, "不超过2000元", "<=2000 CNY"),
        (fact("birth", "1990-05-03", "我是1990年5月3日出生的"), None, "1990-05-03", "1990-05-03"),
        (fact("company", "Google", "I no longer work at Google", polarity="retract"), None, "Google", "google"),
        (fact("likes", "咖啡", "我不喝咖啡了", polarity="retract"), None, "咖啡", "咖啡"),
        (fact("city", "Tokyo", "I used to live in Tokyo", polarity="past"), None, "Tokyo", "tokyo"),
        (
            fact("constraint", "call me after 9pm", "Never call me after 9pm", polarity="-"),
            None,
            "call me after 9pm",
            "",
        ),
        (fact("allergy", "Peanuts", "Peanuts"), "Peanuts.", "Peanuts", "peanut"),
        (fact("company", "Initech", "I have no car but work at Initech"), None, "Initech", "initech"),
        (fact("likes", "爬山", "我喜欢爬山，不喜欢香菜"), None, "爬山", "爬山"),
    ],
)
def test_what_counts(draft: FactDraft, said: str | None, value: str, canonical: str) -> None:
    one = kept(draft, [turn(said or draft.quote)])

    assert one.value == value
    assert not canonical or one.canonical == canonical


def test_an_assistants_words_are_no_evidence() -> None:
    turns = talk(("user", "My favorite drink is mint tea."), ("assistant", "You live in Leeds."))

    assert only(fact("city", "Leeds", "live in Leeds", label="t2"), turns) == "assistant_is_no_evidence"
    assert only(fact("city", "Leeds", "x", label="t2"), turns) == "quote_not_found"


def test_a_system_turn_and_a_recalled_block_are_no_evidence() -> None:
    system = talk(("system", "Known about the user (from memory): city: Turin. job: pilot."))
    pasted = talk(("user", "<notes>\n- job: pilot\n</notes>\nI like tea."))
    zh = talk(("user", "用户的已知信息（来自记忆）：职业：飞行员。\n我喜欢茶。"))

    assert only(fact("job", "pilot", "job: pilot"), system) == "system_is_no_evidence"
    assert only(fact("job", "pilot", "job: pilot"), pasted) == "recalled_echo"
    assert only(fact("job", "飞行员", "职业：飞行员"), zh) == "recalled_echo"
    assert kept(fact("likes", "tea", "I like tea"), pasted).value == "tea"
    assert kept(fact("likes", "茶", "我喜欢茶"), zh).value == "茶"


def test_a_bare_yes_confirms_the_last_question_only() -> None:
    turns = talk(("assistant", "地址还是上海，电话不变，现在提交吗？"), ("user", "好的"))

    assert only(fact("city", "上海", "地址还是上海"), turns) == "assistant_is_no_evidence"


def test_a_bare_yes_confirms_what_was_asked_last() -> None:
    turns = talk(("assistant", "Thanks. Are you allergic to peanuts?"), ("user", "Yes, thanks."))

    one = kept(fact("allergy", "peanuts", "you allergic to peanuts", modality="question"), turns)

    assert (one.role, one.at, one.event_id) == ("user", turns[1].at, turns[0].event_id)
    assert (one.confirmed_by, one.confidence) == (turns[1].event_id, 0.7)
    named_by_reply = kept(fact("allergy", "peanuts", "allergic to peanuts", label="t2"), turns)
    assert named_by_reply.event_id == turns[0].event_id


def test_a_tag_question_confirms_the_clause_before_it() -> None:
    turns = talk(("assistant", "好的。您对花生过敏，对吗？"), ("user", "嗯"))

    assert kept(fact("allergy", "花生", "对花生过敏"), turns).value == "花生"


def test_anything_but_a_yes_confirms_nothing() -> None:
    for reply in ("No.", "Yes, but only raw ones", "What?"):
        turns = talk(("assistant", "Are you allergic to peanuts?"), ("user", reply))
        assert only(fact("allergy", "peanuts", "allergic to peanuts"), turns) == "assistant_is_no_evidence"


def test_the_question_may_stand_in_the_context_of_the_window() -> None:
    before, reply = talk(("assistant", "Do you live in Ghent?"), ("user", "Yes"))

    one = kept(fact("city", "Ghent", "live in Ghent"), [reply], context=[before])

    assert one.event_id == before.event_id


def test_context_turns_are_no_evidence_themselves() -> None:
    before, now = talk(("user", "I live in Ghent."), ("user", "Hello again"))

    assert only(fact("city", "Ghent", "I live in Ghent"), [now], context=[before]) == "quote_not_found"


def test_a_tool_is_heard_for_its_keys_only_and_only_when_it_worked() -> None:
    text = '{"order": "8831", "status": "in_transit"}'
    draft = fact("order_status", "in_transit", '"status": "in_transit"', object_text="8831")

    one = kept(draft, [turn(text, "tool", tool_ok=True, ticket_id="K7")])

    assert (one.scope, one.scope_key, one.role, one.object) == ("ticket", "K7", "tool", "8831")
    assert kept(draft, [turn(text, "tool", tool_ok=True)]).scope == "thread"
    assert only(draft, [turn(text, "tool", tool_ok=False)]) == "tool_failed"
    assert only(draft, [turn(text, "tool")]) == "tool_failed"
    city = fact("city", "in_transit", "in_transit")
    assert only(city, [turn(text, "tool", tool_ok=True)]) == "tool_is_no_evidence"


def test_a_staff_turn_is_evidence_in_its_ticket() -> None:
    said = turn("本次延迟符合补偿券规则，可发放一张。", "staff", ticket_id="K7")

    one = kept(fact("other", "符合补偿券规则", "本次延迟符合补偿券规则"), [said])

    assert (one.role, one.scope, one.scope_key) == ("staff", "ticket", "K7")


def test_a_relatives_fact_is_the_relatives() -> None:
    said = turn("My husband likes black tea, and my brother is 39.")

    tea = kept(fact("likes", "black tea", "My husband likes black tea", subject="my husband"), [said])
    age = kept(fact("age", "39", "my brother is 39", subject="brother"), [said])

    assert (tea.subject, age.subject, age.canonical) == ("husband", "brother", "39")


def test_yesterday_is_resolved_in_the_zone_of_the_turn() -> None:
    said = turn("I moved to Lyon yesterday.", at=datetime(2026, 7, 24, 17, 30, tzinfo=UTC), offset_minutes=480)

    one = kept(fact("city", "Lyon", "I moved to Lyon yesterday", when="yesterday"), [said])

    assert one.valid_from == datetime(2026, 7, 23, 16, tzinfo=UTC)
    assert (one.precision, one.valid_until) == ("day", None)


def test_a_deadline_is_an_end_and_a_past_interval_has_both() -> None:
    need = turn("I need the report by next Friday.")
    past = turn("I lived in Tokyo in 2019.")

    deadline = kept(fact("need", "the report", "I need the report by next Friday", when="next Friday"), [need])
    tokyo = kept(fact("city", "Tokyo", "I lived in Tokyo in 2019", polarity="past", when="in 2019"), [past])

    assert deadline.valid_from is None
    assert deadline.valid_until is not None
    assert deadline.valid_until > need.at
    assert (tokyo.valid_from, tokyo.valid_until) == (datetime(2019, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC))


def test_a_time_that_nobody_said_is_ignored() -> None:
    one = kept(fact("city", "Lyon", "I moved to Lyon", when="yesterday"), [turn("I moved to Lyon.")])

    assert (one.valid_from, one.precision) == (None, "unknown")


def test_one_statement_twice_is_one_and_the_list_is_bounded() -> None:
    draft = fact("likes", "tea", "I like tea")
    said = [turn("I like tea.")]

    twice = verify(window(draft, fact("likes", "Tea", "I like tea")), said)
    many = verify(window(*([draft] * 3)), said, policy=VerifyPolicy(max_facts=1))

    assert isinstance(twice[0], Verified)
    assert twice[1] == Dropped(1, "duplicate")
    assert many[1:] == [Dropped(1, "too_many_facts"), Dropped(2, "too_many_facts")]


def test_an_object_counts_for_keys_by_object_and_for_split_cities() -> None:
    text = "周一到周四在上海，周五回杭州"
    split = kept(fact("city", "上海", text, object_text="周一到周四"), [turn(text)])
    noise = kept(fact("city", "Ghent", "I live in Ghent", object_text="home"), [turn("I live in Ghent")])
    budget = kept(
        fact("budget", "2000元", "我买耳机的预算是2000元", object_text="耳机"), [turn("我买耳机的预算是2000元。")]
    )

    assert (split.object, noise.object, budget.object) == ("周一到周四", None, "耳机")


def test_to_ask_that_it_be_remembered_makes_surer() -> None:
    one = kept(fact("likes", "tea", "I like tea"), [turn("Please remember that I like tea.")])

    assert one.confidence == 0.95


_TEXTS = st.text(max_size=60)


@given(_TEXTS, _TEXTS, _TEXTS, st.sampled_from(["user", "assistant", "tool", "staff", "system"]))
@settings(max_examples=150, deadline=None)
def test_whatever_a_model_answers_gets_a_verdict(quote: str, value: str, content: str, role: str) -> None:
    said = turn(content, role, tool_ok=True)

    for key in ("city", "other", "order_status", "budget"):
        (one,) = verify(window(fact(key, value, quote)), [said])
        assert isinstance(one, Dropped) or content[one.quote_start : one.quote_end] == one.quote
        assert isinstance(one, Dropped) or role in {"user", "staff", "tool"}


@pytest.mark.parametrize("case", [c for c in cases("dialogues.jsonl") if "model" in c], ids=lambda case: case["id"])
def test_the_drafts_of_the_dialogue_cases(case: dict[str, Any]) -> None:
    found: list[str] = []
    for session, answers in case["model"].items():
        turns = [
            turn(said["text"], said["role"], number=place + 1, at=datetime.fromisoformat(said["at"]).astimezone(UTC))
            for place, said in enumerate(case["turns"])
            if said.get("session") == session and "text" in said
        ]
        for one in verify(WindowDraft.model_validate(answers[0]), turns):
            found += [one.value] if isinstance(one, Verified) else []

    for wanted in (*case["expect"].get("current", []), *case["expect"].get("past", [])):
        assert any(wanted.casefold() in value.casefold() for value in found)
    for unwanted in case["expect"].get("not_current", []):
        assert not any(unwanted.casefold() in value.casefold() for value in found)


def test_a_turn_of_the_future_is_no_trouble() -> None:
    said = turn("I am moving to Lyon next month.", at=START + timedelta(days=400))

    one = kept(fact("city", "Lyon", "I am moving to Lyon next month", when="next month"), [said])

    assert one.valid_from is not None
    assert one.valid_from > said.at


@pytest.mark.parametrize(
    ("draft", "said", "reason"),
    [
        (fact("likes", "green tea", "likes green tea"), "I love hiking and my wife likes green tea", "third_party"),
        (fact("likes", "绿茶", "喜欢喝绿茶"), "我老婆喜欢喝绿茶", "third_party"),
        (fact("company", "Netflix", "she works at Netflix"), "My sister moved; she works at Netflix", "third_party"),
        (fact("likes", "jazz", "I like jazz"), "Do you think I like jazz?", "question"),
        (fact("likes", "jazz", "I like jazz"), "If I had time, say, I like jazz", "supposed"),
    ],
)
def test_a_quote_cannot_leave_out_what_changes_its_meaning(draft: FactDraft, said: str, reason: str) -> None:
    assert only(draft, [turn(said)]) == reason


@pytest.mark.parametrize(
    ("draft", "said"),
    [
        (fact("name", "Max", "My friends call me Max"), "My friends call me Max"),
        (fact("name", "小林", "我朋友叫我小林"), "我朋友叫我小林"),
        (fact("likes", "hiking", "My wife and I love hiking"), "My wife and I love hiking"),
        (fact("contact", "email", "contact me by email if possible"), "Please contact me by email if possible."),
        (fact("diet", "vegetarian", "I'm vegetarian"), "I don't know if it matters, but I'm vegetarian"),
        (fact("language", "中文", "如果方便的话请用中文回复"), "如果方便的话请用中文回复"),
        (fact("likes", "tea", "I like tea"), "I like tea, do you?"),
        (fact("contact", "Slack", "ping me on Slack"), "If you need me, ping me on Slack."),
        (fact("contact", "phone", "call me"), "Whenever you need to reach me, call me."),
        (fact("contact", "wechat", "微信找我"), "如果您需要联系我，微信找我。"),
        (fact("company", "阿里", "我从阿里跳槽到腾讯了", polarity="retract"), "我从阿里跳槽到腾讯了。"),
    ],
)
def test_plain_statements_in_polite_or_mixed_sentences_count(draft: FactDraft, said: str) -> None:
    assert kept(draft, [turn(said)]).value == draft.value


@pytest.mark.parametrize(
    ("draft", "said"),
    [
        (fact("city", "Rome", "I live in Rome"), "If you were me, I live in Rome"),
        (fact("contact", "slack", "ping me on Slack"), "If I had an account, ping me on Slack."),
    ],
)
def test_a_supposition_about_the_speaker_stays_one(draft: FactDraft, said: str) -> None:
    assert only(draft, [turn(said)]) == "supposed"


def test_a_relation_keeps_a_predicate_that_is_known_or_was_said() -> None:
    text = "Order 4711 contains a BT-500 and sits next to crate 9."

    known = kept(fact("relation", "BT-500", text, subject="Order 4711", object_text="includes"), [turn(text)])
    heard = kept(fact("relation", "crate 9", text, subject="order 4711", object_text="sits next to"), [turn(text)])
    guessed = kept(fact("relation", "BT-500", text, subject="order 4711", object_text="was stolen by"), [turn(text)])

    assert (known.subject, known.object) == ("order 4711", "contains")
    assert heard.object == "sits next to"
    assert guessed.object is None
    assert only(fact("relation", "BT-500", text, subject="order 9"), [turn(text)]) == "subject_not_said"


def test_what_is_drunk_is_one_thing_with_or_without_its_verb() -> None:
    drunk = kept(fact("likes", "喝咖啡", "我喜欢喝咖啡"), [turn("我喜欢喝咖啡。")])
    gone = kept(fact("likes", "咖啡", "我不喝咖啡了", polarity="retract"), [turn("我不喝咖啡了。")])

    assert drunk.canonical == gone.canonical == "咖啡"
    assert drunk.value == "喝咖啡"


@pytest.mark.parametrize("sign", ["+", "-"])
def test_what_is_avoided_is_one_thing_whichever_sign_a_model_gives_it(sign: Literal["+", "-"]) -> None:
    said = "I avoid dairy."

    assert kept(fact("avoid", "dairy", said, polarity=sign), [turn(said)]).op == "-"
