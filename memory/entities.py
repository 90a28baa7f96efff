"""What a name means inside one scope: a person by kinship, an order, a ticket, a product by its code, a value, a name.

Two texts are one thing when their entities are equal. Nothing is guessed: a number that may be two things stays apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from memory.codes import Code, fold
from memory.speakers import SPEAKER, is_speaker, named
from memory.validators import phrase

EntityKind = Literal["user", "kin", "order", "ticket", "id", "value", "name"]


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """One thing. `id` is its folded name; an `id` kind is a number or code that does not say what it numbers."""

    kind: EntityKind
    id: str

    @property
    def is_value(self) -> bool:
        """Whether it is an amount, a day or a span of time: it ends a path, and joins nothing."""
        return self.kind == "value"


USER = Entity("user", SPEAKER)

KIN: Mapping[str, Code] = {
    code.code: code
    for code in (
        Code("wife", "wife", "妻子", ("老婆", "太太", "媳妇", "夫人")),
        Code("husband", "husband", "丈夫", ("hubby", "老公", "先生")),
        Code("partner", "partner", "伴侣", ("spouse", "爱人", "对象", "另一半")),
        Code("girlfriend", "girlfriend", "女朋友", ("gf", "女友")),
        Code("boyfriend", "boyfriend", "男朋友", ("bf", "男友")),
        Code("fiance", "fiancé", "未婚夫", ("fiance",)),
        Code("fiancee", "fiancée", "未婚妻", ("fiancee",)),
        Code("mother", "mother", "妈妈", ("mom", "mum", "mommy", "妈", "母亲", "我妈", "老妈")),
        Code("father", "father", "爸爸", ("dad", "daddy", "爸", "父亲", "老爸")),
        Code("parents", "parents", "父母", ("爸妈",)),
        Code("son", "son", "儿子"),
        Code("daughter", "daughter", "女儿", ("闺女",)),
        Code("child", "child", "孩子", ("kid", "baby", "宝宝", "娃")),
        Code("older_brother", "older brother", "哥哥", ("big brother", "哥")),
        Code("younger_brother", "younger brother", "弟弟", ("little brother", "弟")),
        Code("older_sister", "older sister", "姐姐", ("big sister", "姐")),
        Code("younger_sister", "younger sister", "妹妹", ("little sister", "妹")),
        Code("brother", "brother", "兄弟"),
        Code("sister", "sister", "姐妹"),
        Code("grandmother", "grandmother", "祖母", ("grandma", "granny")),
        Code("paternal_grandmother", "paternal grandmother", "奶奶"),
        Code("maternal_grandmother", "maternal grandmother", "外婆", ("姥姥",)),
        Code("grandfather", "grandfather", "祖父", ("grandpa",)),
        Code("paternal_grandfather", "paternal grandfather", "爷爷"),
        Code("maternal_grandfather", "maternal grandfather", "外公", ("姥爷",)),
        Code("friend", "friend", "朋友"),
        Code("roommate", "roommate", "室友", ("flatmate",)),
        Code("neighbour", "neighbour", "邻居", ("neighbor",)),
        Code("boss", "boss", "老板", ("manager", "领导", "经理", "上司")),
        Code("colleague", "colleague", "同事", ("coworker", "co-worker")),
        Code("teacher", "teacher", "老师"),
        Code("doctor", "doctor", "医生"),
        Code("dog", "dog", "狗", ("puppy", "狗狗")),
        Code("cat", "cat", "猫", ("kitten", "猫咪")),
    )
}
"""Who somebody is to the speaker, by code. One code means one person at most: two brothers are told apart by name."""

_KIN_BY_WORD = {fold(word): code.code for code in KIN.values() for word in (code.code, code.en, code.zh, *code.said)}
_TYPED = re.compile(
    r"^(?:(?P<order>(?:purchase )?order|订单)|(?P<ticket>(?:support )?ticket|case|工单))"
    r"\s*(?:number|no\.?|id|号码?|编号)?\s*[:：#]?\s*(?:is |是|为)?\s*#?(?P<id>[a-z0-9][a-z0-9_/-]*)$"
)
_POLICY = re.compile(r"^policy://(?P<name>[^/]+)(?:/[^/]*)?$")
_CODE = r"(?=[a-z0-9/_-]*\d)(?:[a-z0-9]+[-/_])*[a-z0-9]+"
_BARE_ID = re.compile(rf"^#?(?P<id>{_CODE})$")
_PRODUCT = r"[a-z]{1,8}-?\d{2,6}[a-z]{0,3}"
_CODE_LAST = re.compile(rf"^[^\W\d_](?:[^\W\d_]|[ -]){{0,39}}?\s*(?<![a-z0-9])(?P<id>{_PRODUCT})$")
_CODE_FIRST = re.compile(rf"^(?P<id>{_PRODUCT})(?![a-z0-9])\s*(?P<rest>[^\W\d_]+(?: [^\W\d_]+)?)$")
_ACCESSORY = re.compile(
    r"\b(?:case|cable|charger|strap|battery|cover|bag|stand|adapter|remote|parts?|manual|box)s?\b"
    r"|套|线|充电|电池|盒|包|支架|配件|遥控|说明书|壳|贴膜"
)
_VALUE = re.compile(
    r"^(?:[<>=~≤≥]+ ?|under |over |about |around |up to |within )?(?:[$€£¥￥] ?)?\d[\d.,]*(?:-\d{1,2}){0,2}"
    r"(?: ?(?:%|[a-z]{2,12}(?: [a-z]{2,12}){0,2}|个?[\u4e00-\u9fff]{1,12}))?$"
)
_ALL = re.compile(r"^(?:all |any |every |each |the |所有的?|全部的?|任何|各类|一切)")
_MIN_ID_DIGITS = 4


def entity_of(said: str) -> Entity:
    """The entity that a text names by itself: the same for `order #4711` and 订单4711, `BT-500` and 蓝牙耳机 BT-500."""
    if is_speaker(said):
        return USER
    bare = named(said) or fold(said)
    if bare in _KIN_BY_WORD:
        return Entity("kin", _KIN_BY_WORD[bare])
    if (typed := _TYPED.match(bare)) and any(char.isdigit() for char in typed["id"]):
        return Entity("order" if typed["order"] else "ticket", typed["id"])
    if policy := _POLICY.match(bare):
        return Entity("name", policy["name"])
    return _numbered(bare) or Entity("name", phrase(_ALL.sub("", bare), "und") or bare)


def numbered(kind: Literal["order", "ticket"], said: str) -> Entity:
    """The order or ticket that `said` numbers, whether or not it says what it is: `4711`, `order 4711`, #4711."""
    found = entity_of(said)
    return found if found.kind == kind else Entity(kind, fold(said).lstrip("#"))


def kin_text(code: str, language: str) -> str:
    """A kinship as it is read in `zh` or `en`."""
    kin = KIN[code]
    return kin.zh if language == "zh" else kin.en


def _numbered(bare: str) -> Entity | None:
    is_short = bare.isdigit() and len(bare) < _MIN_ID_DIGITS
    if (found := _BARE_ID.match(bare)) and not is_short and not _is_amount(bare):
        return Entity("id", found["id"])
    if _VALUE.match(bare) or is_short:
        return Entity("value", bare.replace(" ", ""))
    if found := _CODE_LAST.match(bare):
        return Entity("id", found["id"])
    if (found := _CODE_FIRST.match(bare)) and not _ACCESSORY.search(found["rest"]):
        return Entity("id", found["id"])
    return None


_AMOUNT = re.compile(
    r"^(?:\d{4}-\d{2}(?:-\d{2})?|\d+(?:st|nd|rd|th|h|d|m|y|k|kg|cm|mm|gb|mb|tb|ml|days?|years?|usd|cny))$"
)


def _is_amount(bare: str) -> bool:
    return _AMOUNT.match(bare) is not None
