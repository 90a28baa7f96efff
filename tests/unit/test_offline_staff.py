"""What staff say in a conversation: approvals and refusals of theirs, and notes of a customer, in both languages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llm.face import WindowRequest
from llm.offline import OfflineModel
from memory.gate import decide
from memory.guard import flags
from memory.prompts import PROMPT_VERSION
from memory.turns import TurnView
from memory.verify import verify
from memory_fixtures import turn
from schemas.decisions import Verified
from schemas.drafts import Polarity


def kept(said: TurnView) -> list[tuple[str, Polarity, str, str | None]]:
    """What the gate keeps at once of a turn that the offline rules read, all of it in the turn's ticket."""
    draft = OfflineModel().digest(WindowRequest(turns=[said], prompt_version=PROMPT_VERSION)).draft
    found = [one for one in verify(draft, [said]) if isinstance(one, Verified)]
    assert len(found) == len(draft.facts)
    assert all((one.role, one.scope, one.scope_key) == (said.role, "ticket", "K7") for one in found)
    statuses = [decide(one, flags(said.content)).write_status for one in found]
    assert set(statuses) <= {"auto"}
    return [(one.key, one.op, one.value, one.object) for one in found]


def noted(text: str, *marks: str) -> TurnView:
    return replace(turn(text, "staff", ticket_id="K7"), actor_id="boss", flags=marks)


@pytest.mark.parametrize(
    ("text", "value", "thing"),
    [
        ("I approve a refund of 40 EUR for order 8831.", "refund of 40 EUR for order 8831", "refund 8831"),
        ("Approved: one-off goodwill voucher, 30 EUR.", "one-off goodwill voucher, 30 EUR", "voucher"),
        ("The exchange for order A-1200 has been approved.", "exchange for order A-1200", "exchange A-1200"),
        ("We can't approve the refund for order 8831.", "can't approve the refund for order 8831", "refund 8831"),
        ("My manager declined the return request.", "declined the return request", "return"),
        ("The upgrade was not approved by my team.", "upgrade was not approved", "upgrade"),
        ("同意为订单8831退款40元。", "订单8831退款40元", "退款 8831"),
        ("订单8831的换货申请已批准。", "订单8831的换货申请", "换货 8831"),
        ("主管批准了免运费一次。", "免运费一次", "免运费"),
        ("不同意订单8831的退款申请。", "不同意订单8831的退款申请", "退款 8831"),
        ("驳回退货申请。", "驳回退货申请", "退货"),
    ],
)
def test_staff_approve_and_refuse(text: str, value: str, thing: str) -> None:
    assert kept(noted(text)) == [("past_approval", "+", value, thing)]


@pytest.mark.parametrize("text", ["40 EUR back for order 8831\nlate twice", "为订单8831补偿40元\n两次晚到"])
def test_an_approval_that_comes_as_such_needs_no_verb(text: str) -> None:
    first = text.split("\n", 1)[0]

    ((key, op, value, _),) = kept(noted(text, "approved"))

    assert (key, op, value) == ("past_approval", "+", first)
    assert kept(noted(text, "refused")) == []


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("The customer lives in Lyon.", "city", "Lyon"),
        ("Note: the customer is vegetarian.", "diet", "vegetarian"),
        ("Customer's name is Ana Ruiz.", "name", "Ana Ruiz"),
        ("The client called twice. The client prefers email.", "contact", "email"),
        ("客户住在里昂。", "city", "里昂"),
        ("该客户叫林悦，今天来电。", "name", "林悦"),
        ("已致电。用户对花生过敏。", "allergy", "花生"),
    ],
)
def test_a_note_of_the_customer_is_theirs_in_the_ticket(text: str, key: str, value: str) -> None:
    assert [(one[0], one[2]) for one in kept(noted(text))] == [(key, value)]


@pytest.mark.parametrize(
    "text",
    [
        "I live in Rome.",
        "I like this order.",
        "If the manager approves the refund, I'll call.",
        "Should we approve the refund?",
        "I agree with you.",
        "Our customer line closes at six.",
        "我住在罗马。",
        "我同意您的看法。",
        "如果主管同意退款，我会通知您。",
        "本次延迟符合补偿券规则，可发放一张。",
        "客户服务部在三楼。",
    ],
)
def test_what_staff_say_of_themselves_or_suppose_is_nothing(text: str) -> None:
    assert kept(noted(text)) == []


@pytest.mark.parametrize("text", ["You approved a refund of 40 EUR for order 8831.", "主管批准了免运费一次。"])
def test_a_user_approves_nothing(text: str) -> None:
    assert [one for one in kept(turn(text, ticket_id="K7")) if one[0] == "past_approval"] == []
