"""Whose statement a draft is: the speaker's own, or one about somebody whom the speaker named."""

from __future__ import annotations

import re

from memory.codes import fold

SPEAKER = "user"

_SPEAKER = frozenset(
    {
        *("user", "the user", "speaker", "the speaker", "me", "i", "self", "myself", "customer", "the customer"),
        *("用户", "我", "客户", "本人", "说话人"),
    }
)
_ASSISTANT = frozenset(
    {
        *("assistant", "the assistant", "agent", "bot", "ai", "you", "system"),
        *("助手", "客服", "机器人", "你", "系统"),
    }
)
_KIN = (
    r"(?:husband|wife|spouse|partner|boyfriend|girlfriend|fianc[eé]e?|mother|father|mom|mum|dad|parents?|brother"
    r"|sister|sibling|son|daughter|child|kids?|children|baby|uncle|aunt|cousin|nephew|niece|grand(?:mother|father|ma"
    r"|pa|son|daughter)|friend|roommate|flatmate|neighbou?r|boss|manager|colleague|coworker|co-worker|teacher|doctor"
    r"|dog|cat)"
)
_ZH_KIN = (
    r"(?:老公|老婆|丈夫|妻子|爱人|先生|太太|男朋友|女朋友|男友|女友|对象|妈妈|爸爸|母亲|父亲|爸妈|父母|妈|爸"
    r"|哥哥|姐姐|弟弟|妹妹|哥|姐|弟|妹|儿子|女儿|孩子|宝宝|叔叔|阿姨|舅舅|姑姑|爷爷|奶奶|外公|外婆|姥姥|姥爷"
    r"|表哥|表姐|表弟|表妹|堂哥|侄子|朋友|室友|邻居|老板|领导|经理|同事|同学|老师|医生|狗|猫)"
)
_THIRD = re.compile(
    rf"^\W*(?:and |but |so |also )?(?:my|our|his|her) (?:\w+ )?{_KIN}\b(?!'s (?:name|house|place)| and (?:i|me)\b)"
    rf"|^\W*我(?:的|家|们)?{_ZH_KIN}(?!们?[和跟与]我)"
    r"|^\W*(?:and |but |so |also )?(?:he|she|they)(?:'s|'re|\b)|^\W*[他她]们?",
    re.IGNORECASE,
)
_BORDER = re.compile(r"[,.;!?\n，。；！？、]|\b(?:and|but|while|because|that)\b|而且|但是?|不过|因为", re.IGNORECASE)
_OF_SPEAKER = re.compile(r"\bcalls? me\b|\bknows? me as\b|[叫称]我", re.IGNORECASE)
_LEADING = re.compile(r"^(?:my |the |our |user's |the user's |speaker's |用户的|我的|我家的?|我)")


def is_assistant(subject: str) -> bool:
    """Whether a subject is the assistant itself: nothing is remembered about it."""
    return fold(subject) in _ASSISTANT


def is_speaker(subject: str) -> bool:
    """Whether a subject is the one who speaks."""
    return not fold(subject) or fold(subject) in _SPEAKER


def named(subject: str) -> str:
    """Another subject, folded, without possessive: `My husband` is `husband`, 我老婆 is 老婆."""
    return _LEADING.sub("", fold(subject))


def speaks_of_another(text: str, start: int, end: int) -> bool:
    """Whether characters [start, end) speak of somebody else than the speaker: `My husband likes ...`, `She likes ...`.

    Judged from the begin of the clause that they stand in, so that a quote cannot leave its subject out.
    """
    borders = [found.end() for found in _BORDER.finditer(text, 0, start)]
    clause = text[borders[-1] if borders else 0 : end]
    return bool(_THIRD.search(clause)) and not _OF_SPEAKER.search(clause)
