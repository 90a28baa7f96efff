"""Whether a user let something of a special category be kept, in both languages."""

from __future__ import annotations

import pytest

from memory.consent import answers, asked_of
from memory.policy import SPECIAL_CLASSES
from memory.recalled import confirm_question
from memory.records import PendingRecord
from memory_fixtures import START, ids, talk

ASKED = "You said something about your health. May it be remembered?"
ASKED_ZH = "您提到过与“健康”有关的信息，可以记住它吗？"


@pytest.mark.parametrize("name", SPECIAL_CLASSES)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_our_own_questions_are_understood(name: str, language: str) -> None:
    record = PendingRecord(id=ids()(), key="other", at=START, reason_codes=(f"special_{name}", "privilege"))

    asked = confirm_question(record, language=language)

    assert asked is not None
    assert asked_of(asked.question) == (name,)


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("Is it okay if I keep your pregnancy in mind for later?", ("pregnancy",)),
        ("Shall I remember what you said about your faith and your union?", ("religion", "union")),
        ("需要我记录您的病情吗？", ("health",)),
        ("How is your health?", ()),
        ("Shall I remember your address?", ()),
        ("I noted your health. Anything else?", ()),
        ("Shall I keep your health insurance card on file?", ()),
        ("I will remember your health condition.", ()),
    ],
)
def test_only_a_question_about_keeping_asks(text: str, classes: tuple[str, ...]) -> None:
    assert asked_of(text) == classes


@pytest.mark.parametrize(
    ("question", "reply", "verdict"),
    [
        (ASKED, "Yes, please.", "confirm"),
        (ASKED, "Sure, go ahead and remember it.", "confirm"),
        (ASKED, "No problem, keep it.", "confirm"),
        (ASKED, "No, please don't.", "refuse"),
        (ASKED, "I'd rather not.", "refuse"),
        (ASKED, "Yes, but not the details.", None),
        (ASKED, "What do you need it for?", None),
        (ASKED, "I like tea.", None),
        (ASKED_ZH, "可以", "confirm"),
        (ASKED_ZH, "好的，记住吧。", "confirm"),
        (ASKED_ZH, "不要记", "refuse"),
        (ASKED_ZH, "别了", "refuse"),
        (ASKED_ZH, "可以，不过不要告诉别人", None),
        (ASKED_ZH, "为什么要记？", None),
    ],
)
def test_a_reply_says_yes_or_no_or_nothing(question: str, reply: str, verdict: str | None) -> None:
    found = answers(talk(("assistant", question), ("user", reply)))

    assert [one.verdict for one in found] == ([] if verdict is None else [verdict])


def test_only_the_user_right_after_the_question_answers() -> None:
    assert not answers(talk(("assistant", ASKED), ("assistant", "Yes.")))
    assert not answers(talk(("assistant", ASKED), ("tool", "yes"), ("user", "Yes.")))
    assert not answers(talk(("user", ASKED), ("user", "Yes.")))
    assert not answers(talk(("assistant", ASKED), ("user", "Wait."), ("user", "Yes.")))
    context, said = talk(("assistant", ASKED)), talk(("user", "Yes."))
    assert len(answers(said, context)) == 1
