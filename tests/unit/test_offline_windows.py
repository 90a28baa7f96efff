"""The offline provider on whole windows: replies, corrections, tools, outcome, summary, mood, procedures."""

from __future__ import annotations

import pytest

from llm.offline import EMPTY
from offline_fixtures import Say, assistant, digest, facts, turns, user


def test_an_uninformative_window_gets_an_empty_answer() -> None:
    assert digest(user("ok, thanks!"), assistant("You're welcome."), user("谢谢")) == EMPTY


@pytest.mark.parametrize(
    ("question", "reply", "expected"),
    [
        ("Do you have any allergies?", "Shellfish.", [("allergy", "Shellfish", "+")]),
        (
            "Any allergies we should know about?",
            "Yes, walnuts and eggs",
            [("allergy", "eggs", "+"), ("allergy", "walnuts", "+")],
        ),
        ("Do you have any allergies?", "No.", []),
        ("May I have your name please?", "Ann-Marie O'Neil", [("name", "Ann-Marie O'Neil", "+")]),
        ("How old are you?", "34", [("age", "34", "+")]),
        ("Which city do you live in?", "in Ghent", [("city", "Ghent", "+")]),
        ("How should we contact you?", "by text please", [("contact", "sms", "+")]),
        ("What is your budget?", "about 500 euros", [("budget", "500 euros", "+")]),
        ("What do you do for a living?", "I think maybe a nurse", []),
        ("Shall I go on?", "Peanuts", []),
        ("您对什么过敏吗？", "花生和海鲜", [("allergy", "海鲜", "+"), ("allergy", "花生", "+")]),
        ("怎么称呼您？", "王芳", [("name", "王芳", "+")]),
        ("您住在哪个城市？", "杭州", [("city", "杭州", "+")]),
        ("您做什么工作？", "护士", [("job", "护士", "+")]),
        ("预算大概多少？", "3000左右", [("budget", "3000左右", "+")]),
        ("怎么联系您方便？", "微信吧", [("contact", "wechat", "+")]),
        ("有什么忌口吗？", "香菜", [("avoid", "香菜", "-")]),
        ("有什么忌口吗？", "没有", []),
    ],
)
def test_a_short_reply_takes_its_key_from_the_question(
    question: str, reply: str, expected: list[tuple[str, str, str]]
) -> None:
    assert facts(digest(assistant(question), user(reply))) == [("user", *fact) for fact in expected]


@pytest.mark.parametrize(
    ("question", "yes", "expected"),
    [
        ("Just to confirm, you live in Leeds, right?", "yes", [("user", "city", "Leeds", "+")]),
        ("Are you a vegetarian?", "yep", [("user", "diet", "vegetarian", "+")]),
        ("Do you like jazz?", "Yes.", [("user", "likes", "jazz", "+")]),
        ("您是对花生过敏，对吗？", "对的", [("user", "allergy", "花生", "+")]),
        ("您住在上海，对吧？", "是的", [("user", "city", "上海", "+")]),
        ("地址还是上海，电话不变，现在提交吗？", "好的", []),
        ("You live in Leeds. Shall I submit the order now?", "yes", []),
        ("Do you live in Leeds or in York?", "yes", []),
        ("Do you live in Leeds?", "no", []),
    ],
)
def test_a_bare_yes_confirms_the_last_question_only(
    question: str, yes: str, expected: list[tuple[str, str, str, str]]
) -> None:
    draft = digest(assistant(question), user(yes))

    assert facts(draft) == expected
    assert all(fact.turn == "t1" and fact.quote in question for fact in draft.facts)


def test_a_question_of_the_context_gives_the_key_but_no_evidence() -> None:
    asked = turns(assistant("Do you have any allergies?"))
    closed = turns(assistant("Are you vegan?"))

    assert facts(digest(user("Peanuts."), context=asked)) == [("user", "allergy", "Peanuts", "+")]
    assert facts(digest(user("yes"), context=closed)) == []


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("I live in Lyon.", "Sorry, Lille, not Lyon.", ("user", "city", "Lille", "+")),
        ("My name is John.", "Not John, it's Jon.", ("user", "name", "Jon", "+")),
        ("我叫王方。", "不对，不是王方，是王芳。", ("user", "name", "王芳", "+")),
        ("我住在里昂。", "不是里昂，是里尔", ("user", "city", "里尔", "+")),
    ],
)
def test_a_correction_takes_its_key_from_what_it_corrects(
    first: str, second: str, expected: tuple[str, str, str, str]
) -> None:
    assert expected in facts(digest(user(first), user(second)))


def test_a_correction_of_nothing_known_is_no_fact() -> None:
    assert facts(digest(user("Tuesday, not Monday."))) == []


def test_only_the_user_is_evidence() -> None:
    draft = digest(
        user("My favourite drink is mint tea."),
        assistant("Noted: you like mint tea and live in Leeds."),
        Say("system", "Known about the user: city: Turin. I live in Turin."),
        Say("staff", "I live in Rome."),
        Say("tool", "I live in Paris.", ok=True),
    )

    assert facts(draft) == [("user", "likes", "mint tea", "+")]


def test_a_tool_result_gives_facts_for_tool_keys_only() -> None:
    payload = (
        '{"order_id": "8831", "status": "in_transit", "purchase_date": "2026-05-20", "name": "Ann", "city": "Rome"}'
    )
    draft = digest(user("Where is order 8831?"), Say("tool", payload, tool="order_status", ok=True))

    assert {(fact.key, fact.value, fact.object) for fact in draft.facts} == {
        ("order_status", "in_transit", "8831"),
        ("purchase_date", "2026-05-20", "8831"),
    }
    assert all(fact.quote in payload and fact.turn == "t2" for fact in draft.facts)


@pytest.mark.parametrize("payload", ["[" * 5000, '{"status": ', "null", '{"order": "1", "status": null}', "plain text"])
def test_a_strange_payload_gives_nothing(payload: str) -> None:
    assert digest(user("Where is my order?"), Say("tool", payload, tool="order_status", ok=True)).facts == []


def test_a_failed_tool_gives_nothing() -> None:
    failed = Say("tool", '{"order": "8831", "status": "in_transit"}', tool="order_status", ok=False)

    assert digest(user("Where is my order?"), failed).facts == []


OUTCOMES: list[tuple[list[Say], str, str]] = [
    ([user("My headset is noisy"), assistant("Try a reset."), user("That worked, thanks!")], "success", "t3"),
    ([user("My headset is noisy"), assistant("Try a reset."), user("It's still not working")], "failure", "t3"),
    ([user("耳机有杂音"), assistant("请重启。"), user("好了，没杂音了")], "success", "t3"),
    ([user("耳机有杂音"), assistant("请重启。"), user("还是不行")], "failure", "t3"),
    ([user("My headset is noisy"), assistant("Try a reset."), user("Thank you")], "unknown", ""),
    ([user("Refund me"), Say("tool", "{}", tool="refund", ok=True)], "success", "t2"),
    ([user("Refund me"), Say("tool", "{}", tool="refund", ok=False)], "failure", "t2"),
    (
        [user("Refund me"), Say("tool", "{}", tool="refund", ok=True), user("It still hasn't arrived")],
        "failure",
        "t3",
    ),
]


@pytest.mark.parametrize(("lines", "outcome", "shown"), OUTCOMES)
def test_the_outcome_names_the_turns_that_show_it(lines: list[Say], outcome: str, shown: str) -> None:
    draft = digest(*lines)

    assert (draft.outcome, draft.outcome_turns) == (outcome, [shown] if shown else [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("This is great, I'm very happy with it, thank you", "positive"),
        ("It broke again, this is ridiculous and useless", "negative"),
        ("Where is my order 8831?", "neutral"),
        ("太好了，很满意", "positive"),
        ("又坏了，太差了，气死我了", "negative"),
        ("帮我查一下订单", "neutral"),
        ("我不讨厌它", "neutral"),
        ("Not bad at all", "neutral"),
    ],
)
def test_the_mood_is_the_users(text: str, expected: str) -> None:
    assert digest(assistant("I am so sorry, terrible, awful."), user(text)).sentiment == expected


def test_the_summary_keeps_request_agreement_and_last_state_in_the_users_words() -> None:
    draft = digest(
        user("Hi! My BT-500 headset makes a noise, order 8831."),
        assistant("I've created exchange EX-221 for you. Anything else?"),
        assistant("Your exchange EX-221 is confirmed."),
        user("That worked, thanks!"),
    )

    assert draft.summary.split("\n") == [
        "User: My BT-500 headset makes a noise, order 8831.",
        "Assistant: Your exchange EX-221 is confirmed.",
        "User: That worked, thanks!",
    ]
    assert {(entity.kind, entity.name) for entity in draft.entities} == {
        ("product", "BT-500"),
        ("order", "8831"),
        ("exchange", "EX-221"),
    }
    assert "exchange" in draft.tags


def test_a_chinese_window_is_summed_up_in_chinese() -> None:
    draft = digest(user("我的耳机有杂音，想换货"), assistant("已为您登记换货。"))

    assert draft.summary == "用户：我的耳机有杂音，想换货\n助手：已为您登记换货。"
    assert draft.tags[0] == "换货"


def test_a_volatile_state_carries_its_time_in_the_summary() -> None:
    tool = Say("tool", '{"order": "8831", "status": "in_transit"}', tool="order_status", ok=True)
    draft = digest(user("Where is order 8831?"), tool, assistant("Your order is on its way."))

    assert draft.summary.endswith("(as of 2026-05-04 09:02)")


@pytest.mark.parametrize(("ok", "verdict"), [(True, "success"), (False, "failure")])
def test_a_procedure_is_judged_by_its_tool_first(ok: bool, verdict: str) -> None:
    draft = digest(
        user("Reset my headset"),
        Say("tool", "{}", tool="reset", ok=ok, procedure="reset-headset"),
        user("thanks, that worked"),
    )

    assert draft.procedure is not None
    assert (draft.procedure.name, draft.procedure.verdict, draft.procedure.turns) == ("reset-headset", verdict, ["t2"])


def test_a_procedure_without_a_tool_is_judged_by_the_users_word() -> None:
    step = Say("assistant", "Hold the button for ten seconds.", procedure="reset-headset")

    worked = digest(user("My headset is noisy"), step, user("That fixed it!")).procedure
    silent = digest(user("My headset is noisy"), step, user("thanks")).procedure

    assert worked is not None
    assert (worked.verdict, worked.turns) == ("success", ["t3"])
    assert silent is not None
    assert silent.verdict == "unknown"


def test_what_shall_be_remembered_and_has_no_key_is_kept_as_said() -> None:
    draft = digest(
        user("Please note: ticket 260 is merged."), user("记住，我每周三休息。"), user("Remember to call me back!")
    )

    assert facts(draft) == [("user", "other", "ticket 260 is merged", "+"), ("user", "other", "我每周三休息", "+")]
