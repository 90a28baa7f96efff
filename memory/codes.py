"""Closed sets of values: contact channels, diets, genders, languages, currencies, each with its zh and en words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache


@dataclass(frozen=True, slots=True)
class Code:
    """One value of a closed set: how it is written, how people read it, and how they say it."""

    code: str
    en: str
    zh: str
    said: tuple[str, ...] = field(default=())


def _table(*codes: Code) -> Mapping[str, Code]:
    return {code.code: code for code in codes}


CONTACT = _table(
    Code("email", "email", "邮件", ("e-mail", "mail me", "电子邮件", "邮箱", "电邮", "伊妹儿")),
    Code(
        "phone",
        "phone",
        "电话",
        (
            "telephone",
            "call",
            "calls",
            "calling",
            "ring",
            "phone call",
            "phone calls",
            "打电话",
            "来电",
            "致电",
            "手机",
        ),
    ),
    Code("sms", "text message", "短信", ("sms", "text", "texts", "texting", "text messages", "短讯", "手机短信")),
    Code("wechat", "WeChat", "微信", ("we chat", "weixin", "vx")),
    Code("whatsapp", "WhatsApp", "WhatsApp", ("whats app",)),
    Code("telegram", "Telegram", "Telegram", ("电报",)),
    Code("signal", "Signal", "Signal"),
    Code("slack", "Slack", "Slack", ("slack dm",)),
    Code("teams", "Teams", "Teams", ("microsoft teams", "ms teams")),
    Code("qq", "QQ", "QQ"),
    Code("line", "LINE", "LINE"),
    Code("dingtalk", "DingTalk", "钉钉", ("ding talk",)),
    Code("feishu", "Feishu", "飞书", ("lark",)),
    Code("video", "video call", "视频通话", ("zoom", "video calls", "视频", "视频会议")),
    Code(
        "chat",
        "chat",
        "在线聊天",
        ("live chat", "in-app chat", "in-app message", "in-app messages", "在线客服", "站内信", "私信"),
    ),
    Code("post", "post", "信件", ("letter", "letters", "postal mail", "snail mail", "by mail", "寄信", "写信")),
    Code("in_person", "in person", "当面", ("face to face", "面谈", "上门")),
)

DIET = _table(
    Code(
        "vegetarian",
        "vegetarian",
        "素食",
        ("veggie", "a vegetarian", "吃素", "吃素的", "素食者", "素食主义", "素食主义者", "吃斋", "meat-free"),
    ),
    Code("vegan", "vegan", "纯素", ("a vegan", "plant-based", "plant based", "全素", "纯素食", "纯素食者", "严格素食")),
    Code("pescatarian", "pescatarian", "鱼素", ("pescetarian", "鱼素者")),
    Code("flexitarian", "flexitarian", "弹性素食"),
    Code("halal", "halal", "清真", ("清真食品", "清真饮食")),
    Code("kosher", "kosher", "犹太洁食", ("洁食",)),
    Code(
        "gluten_free", "gluten-free", "无麸质", ("gluten free", "coeliac diet", "celiac diet", "不含麸质", "无麸质饮食")
    ),
    Code(
        "dairy_free", "dairy-free", "无乳制品", ("dairy free", "lactose-free", "lactose free", "无乳糖", "不含乳制品")
    ),
    Code("low_carb", "low-carb", "低碳水", ("low carb", "低碳", "低碳水饮食")),
    Code("keto", "keto", "生酮", ("ketogenic", "生酮饮食")),
    Code("paleo", "paleo", "原始饮食"),
    Code("low_salt", "low-salt", "低盐", ("low salt", "low sodium", "low-sodium", "低盐饮食", "少盐")),
    Code("low_sugar", "low-sugar", "低糖", ("low sugar", "低糖饮食", "控糖", "无糖")),
)

GENDER = _table(
    Code(
        "female", "female", "女", ("woman", "girl", "lady", "she/her", "女性", "女生", "女的", "女士", "女孩", "女人")
    ),
    Code("male", "male", "男", ("man", "guy", "boy", "he/him", "男性", "男生", "男的", "先生", "男孩", "男人")),
    Code("nonbinary", "nonbinary", "非二元性别", ("non-binary", "non binary", "they/them", "enby", "非二元")),
)

LANGUAGE = _table(
    Code("zh", "Chinese", "中文", ("mandarin", "汉语", "普通话", "国语", "简体中文", "simplified chinese")),
    Code("zh-Hant", "Traditional Chinese", "繁体中文", ("繁体", "繁體中文")),
    Code("yue", "Cantonese", "粤语", ("广东话", "白话")),
    Code("en", "English", "英语", ("英文",)),
    Code("ja", "Japanese", "日语", ("日文",)),
    Code("ko", "Korean", "韩语", ("韩文", "朝鲜语")),
    Code("fr", "French", "法语", ("法文", "français")),
    Code("de", "German", "德语", ("德文", "deutsch")),
    Code("es", "Spanish", "西班牙语", ("西语", "西班牙文", "español")),
    Code("pt", "Portuguese", "葡萄牙语", ("葡语", "português")),
    Code("it", "Italian", "意大利语", ("意语", "italiano")),
    Code("nl", "Dutch", "荷兰语"),
    Code("ru", "Russian", "俄语", ("俄文",)),
    Code("uk", "Ukrainian", "乌克兰语"),
    Code("pl", "Polish", "波兰语"),
    Code("sv", "Swedish", "瑞典语"),
    Code("tr", "Turkish", "土耳其语"),
    Code("ar", "Arabic", "阿拉伯语", ("阿语",)),
    Code("hi", "Hindi", "印地语"),
    Code("th", "Thai", "泰语", ("泰文",)),
    Code("vi", "Vietnamese", "越南语", ("越语",)),
    Code("id", "Indonesian", "印尼语", ("bahasa indonesia",)),
)

CURRENCY = _table(
    Code("CNY", "yuan", "元", ("¥", "￥", "rmb", "cny", "人民币", "块钱", "块", "元人民币", "renminbi")),
    Code("USD", "dollars", "美元", ("$", "us$", "usd", "dollar", "bucks", "buck", "美金", "刀")),
    Code("EUR", "euros", "欧元", ("€", "eur", "euro")),
    Code("GBP", "pounds", "英镑", ("£", "gbp", "pound", "quid", "pounds sterling")),
    Code("JPY", "yen", "日元", ("jpy", "円", "日圆")),
    Code("KRW", "won", "韩元", ("₩", "krw", "韩币")),
    Code("HKD", "Hong Kong dollars", "港币", ("hk$", "hkd", "港元")),
    Code("TWD", "Taiwan dollars", "台币", ("nt$", "twd", "新台币")),
    Code("INR", "rupees", "卢比", ("₹", "inr", "rupee")),
    Code("CHF", "Swiss francs", "瑞士法郎", ("chf", "francs")),
    Code("CAD", "Canadian dollars", "加元", ("c$", "cad")),
    Code("AUD", "Australian dollars", "澳元", ("a$", "aud")),
    Code("SGD", "Singapore dollars", "新加坡元", ("s$", "sgd", "新币")),
)

_SPACE = re.compile(r"\s+")
_TRIM = " \t\n.,;:!?\"'()[]，。；：！？、“”‘’（）《》「」…~～"


def fold(text: str) -> str:
    """The form in which two spellings of one value are equal: NFKC, case and spaces folded, no outer punctuation."""
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip(_TRIM)


@cache
def _words_of(names: tuple[tuple[str, tuple[str, ...]], ...]) -> Sequence[tuple[str, str]]:
    pairs = [(fold(word) or word, code) for code, said in names for word in said]
    return sorted(pairs, key=lambda pair: (-len(pair[0]), pair[0]))


def _named(codes: Mapping[str, Code]) -> Sequence[tuple[str, str]]:
    return _words_of(tuple((c.code, (c.code, c.en, c.zh, *c.said)) for c in codes.values()))


def code_of(codes: Mapping[str, Code], value: str) -> str | None:
    """The code that `value` names, whole; else the only one that stands in it as a word. None for none or several."""
    said = fold(value)
    words = _named(codes)
    for word, code in words:
        if word == said:
            return code
    found: set[str] = set()
    rest = said
    for word, code in words:
        if _stands_in(word, rest):
            found.add(code)
            rest = rest.replace(word, " ")
    return found.pop() if len(found) == 1 else None


def _stands_in(word: str, text: str) -> bool:
    if not word.isascii():
        return word in text
    at = text.find(word)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(word) : at + len(word) + 1]
        if not _is_ascii_word(before) and not _is_ascii_word(after):
            return True
        at = text.find(word, at + 1)
    return False


def _is_ascii_word(char: str) -> bool:
    return char.isascii() and char.isalnum()
