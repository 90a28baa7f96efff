"""How every key is called: its English and Chinese titles, and other names that people or models use for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

LABELS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "name": ("name", "姓名", ("名字", "nickname", "昵称", "称呼", "first name", "full name")),
    "gender": ("gender", "性别", ("sex", "pronouns")),
    "birth": ("date of birth", "出生日期", ("birthday", "birth year", "birth date", "生日", "出生年份", "born")),
    "age": ("age", "年龄", ("岁数", "years old")),
    "language": ("language", "语言", ("preferred language", "reply language", "回复语言")),
    "timezone": ("time zone", "时区", ("tz", "timezone")),
    "company": ("employer", "公司", ("workplace", "雇主", "单位", "工作单位", "organisation", "organization")),
    "diet": ("diet", "饮食", ("饮食习惯", "dietary preference")),
    "job": ("job", "职业", ("occupation", "profession", "job title", "position", "工作", "职位", "岗位")),
    "city": (
        "city",
        "城市",
        ("location", "home city", "residence", "place of residence", "lives in", "居住地", "所在地", "住址城市"),
    ),
    "contact": ("contact channel", "联系方式", ("preferred contact", "contact method", "联系渠道")),
    "likes": (
        "likes",
        "喜好",
        ("like", "dislikes", "dislike", "preference", "favorite", "favourite", "喜欢", "不喜欢", "爱好", "偏好"),
    ),
    "habit": ("habit", "习惯", ("habits", "routine", "作息")),
    "skill": ("skill", "技能", ("skills", "特长")),
    "tool": ("tool", "工具", ("tools", "uses", "device", "设备", "软件")),
    "avoid": ("avoids", "忌口", ("avoids", "避免", "忌讳")),
    "constraint": ("constraint", "约束", ("constraints", "rule", "instruction", "要求", "限制")),
    "allergy": (
        "allergy",
        "过敏",
        ("allergies", "allergic to", "过敏源", "过敏原", "intolerance", "intolerant to", "不耐受", "不耐症"),
    ),
    "relation": ("relation", "关系", ("relationship", "kin", "family", "亲属", "家人")),
    "need": ("need", "需求", ("needs", "wants", "requirement", "goal", "需要")),
    "budget": ("budget", "预算", ("price limit", "价位")),
    "order_status": (
        "order status",
        "订单状态",
        ("order state", "ticket status", "refund status", "退款状态", "工单状态"),
    ),
    "stock": ("stock", "库存", ("availability", "inventory", "有货")),
    "balance": ("balance", "余额", ("account balance", "积分")),
    "parcel": ("parcel location", "包裹位置", ("shipment", "tracking", "delivery status", "物流", "快递")),
    "purchase_date": ("purchase date", "购买日期", ("order date", "bought on", "下单日期", "购买时间")),
    "exchange_number": ("exchange number", "换货单号", ("exchange id", "return number", "rma", "退换单号", "退货单号")),
    "past_approval": ("past approval", "人工批准记录", ("approval", "审批记录", "人工批准")),
    "legal_name": ("legal name", "法定姓名", ("real name", "真实姓名")),
    "payout": ("payout account", "收款账户", ("bank account", "refund account", "收款账号", "退款账户", "银行账户")),
    "recovery_contact": (
        "recovery contact",
        "找回联系方式",
        ("recovery email", "recovery phone", "安全邮箱", "安全手机"),
    ),
    "role": ("role", "角色", ("permission", "permissions", "privilege", "权限", "身份权限")),
    "health": ("health", "健康", ("condition", "illness", "diagnosis", "medication", "病情", "疾病", "用药")),
    "pregnancy": ("pregnancy", "怀孕", ("pregnant", "孕期")),
    "religion": ("religion", "宗教信仰", ("faith", "信仰", "宗教")),
    "orientation": ("sexual orientation", "性取向", ("sexuality",)),
    "politics": ("politics", "政治立场", ("political view", "party", "政治观点", "党派")),
    "union": ("union membership", "工会", ("trade union", "工会会员")),
    "other": ("note", "备注", ("misc", "其他")),
}
"""Key -> (en, zh, aliases)."""

_INTOLERANCE = ("intolerance", "不耐受")
_NOT_BORNE = re.compile(r"intoleran|(?:can'?t|can ?not) (?:tolerate|digest)|不耐(?:受|症)", re.IGNORECASE)
_ALLERGIC = re.compile(r"allerg|过敏", re.IGNORECASE)


def title(key: str, language: str, said: Iterable[str] = ()) -> str:
    """What a key is called to a reader of `language`, given the words that a fact rests on, newest first.

    An intolerance is kept beside allergies, and is called what it is. A key without a title is called by its name.
    """
    names = LABELS.get(key, (key, key, ()))
    if key == "allergy":
        telling = next((words for words in said if _NOT_BORNE.search(words) or _ALLERGIC.search(words)), "")
        names = names if not telling or _ALLERGIC.search(telling) else _INTOLERANCE
    return names[1] if language == "zh" else names[0]
