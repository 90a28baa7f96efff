"""What a user's own words show without a model: it worked, it did not, feeling, and an explicit wish to be remembered.

Closed lists in Chinese and English. They are modest on purpose: silence is better than a wrong reading.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory.turns import TurnView
from schemas.decisions import Trend

_FAILURE = re.compile(
    r"\b(?:still (?:not|no|doesn'?t|does not|isn'?t|broken|failing|waiting|the same|having|getting|can'?t|cannot)"
    r"|(?:did|does|has|is|was)(?:n'?t| not) (?:work|help|fixed|solved|resolved|working)(?:ed|ing)?\b"
    r"|no luck|no change|same (?:problem|issue|error)|not (?:working|fixed|solved|resolved)"
    r"|(?:it|that|this) (?:failed|broke)|(?:broke|failed|crashed|happened) again|made it worse)"
    r"|还是不行|还不行|还是没|仍然不|仍然没|没有解决|没解决|没用|不管用|又坏了|又不行|又出现|又出错|失败了"
    r"|没成功|没有成功|没修好|没弄好"
    r"|还是(?:有|出现|报错|一样|打不开|用不了|连不上|收不到)|依然(?:不|没|有)|更糟|不起作用",
    re.IGNORECASE,
)
_SUCCESS = re.compile(
    r"\b(?:(?:that|it|this|everything)(?:'s| is| has| all)? (?:works|worked|working|fixed|solved|resolved"
    r"|did it|did the trick)"
    r"|works (?:now|again|fine|perfectly|great)|(?:problem|issue) (?:is )?(?:solved|fixed|resolved|gone)"
    r"|(?:fixed|solved|resolved) (?:now|it|my|the)|did the trick|all good now|all set|that (?:helped|fixed|solved)"
    r"|(?:received|got) (?:it|the refund|the parcel|the package|my refund|the replacement)"
    r"|perfect,? thank|great,? thank|thanks?,? (?:that|it) (?:works?|worked|helped))"
    r"|搞定了|解决了|好了，?谢|可以了|能用了|修好了|没问题了|正常了|成功了|收到了|已经好了|弄好了|办好了|恢复了|太好了",
    re.IGNORECASE,
)
_REMEMBER = re.compile(
    r"\b(?:please (?:remember|note|keep in mind)|(?<!\bi )(?<!you )(?<!i'll )remember (?:that|this|my|i|to|for)"
    r"|keep in mind|don'?t forget"
    r"|make a note"
    r"|note (?:that|down)|for (?:future|next time)|going forward)\b"
    r"|记住|记一下|记下|请记|别忘|不要忘|牢记|以后(?:请|都|要|记得)|下次(?:请|记得)|备注一下",
    re.IGNORECASE,
)
_NEGATIVE = (
    r"\b(?:angry|furious|annoy(?:ed|ing)|frustrat(?:ed|ing)|disappoint(?:ed|ing)|terrible|awful|horrible|unacceptable"
    r"|ridiculous|hate|worst|useless|upset|sad|sorry to|worried|complain(?:t|ing)?|fed up|broken|not happy|unhappy"
    r"|disgust(?:ed|ing)|waste of|scam|refund|late|delayed|problem|issue|error|fail(?:ed|s|ing)?|crash(?:ed|es)?)\b"
    r"|生气|愤怒|太差|失望|糟糕|烦死|烦人|讨厌|投诉|无语|气死|垃圾|不满|难过|着急|担心|离谱|坑人|骗|受不了"
    r"|什么破|坏了|退款|延迟|晚到|出错|故障"
)
_POSITIVE = (
    r"\b(?:thanks?|thank you|great|perfect|awesome|excellent|wonderful|amazing|love(?:ly)?|happy|glad|appreciate"
    r"|pleased|nice|good|fantastic|brilliant|helpful|works?|solved|fixed|excited|delighted)\b"
    r"|谢谢|感谢|多谢|太好了|完美|很好|不错|满意|喜欢|开心|高兴|棒|赞|给力|辛苦了|解决了|搞定了|可以了|放心"
)
_NEGATIVE_RE = re.compile(_NEGATIVE, re.IGNORECASE)
_POSITIVE_RE = re.compile(_POSITIVE, re.IGNORECASE)
_NEGATED = re.compile(
    r"(?:\b(?:not|n't|never|no|hardly|without)\b(?:\s+(?:very|so|that|really|at all|a|an|any))?\s*|不太?|没有?"
    r"|别|不是)$",
    re.IGNORECASE,
)
_STRONG = re.compile(
    r"\b(?:furious|angry|hate|worst|unacceptable|terrible|awful|horrible|amazing|fantastic|thrilled|delighted"
    r"|devastated"
    r"|heartbroken|love you|so happy|so sad)\b|[!！]{2,}|气死|愤怒|投诉|太差|离谱|崩溃|绝望|激动|太棒|太好了|难过|无语",
    re.IGNORECASE,
)
_TREND_STEP = 0.5


def confirms_success(text: str) -> bool:
    """Whether the words say that something works now. A text that also reports a failure does not."""
    return bool(_SUCCESS.search(text)) and not confirms_failure(text)


def confirms_failure(text: str) -> bool:
    """Whether the words say that something still, or again, does not work."""
    return bool(_FAILURE.search(text))


def asks_to_remember(text: str) -> bool:
    """Whether the speaker asks that this be remembered."""
    return bool(_REMEMBER.search(text))


def is_emotional(text: str) -> bool:
    """Whether the words carry strong feeling."""
    return bool(_STRONG.search(text))


def tone(text: str) -> int:
    """-1, 0 or 1 from a short lexicon; a negator right before a word turns it."""
    score = sum(-1 if _turned(text, hit.start()) else 1 for hit in _POSITIVE_RE.finditer(text))
    score -= sum(-1 if _turned(text, hit.start()) else 1 for hit in _NEGATIVE_RE.finditer(text))
    return (score > 0) - (score < 0)


def tone_trend(turns: Sequence[TurnView]) -> Trend:
    """How the user's tone moved between the first and the second half of what they said; flat for one turn."""
    tones = [tone(turn.content) for turn in turns if turn.role == "user"]
    if len(tones) < 2:
        return "flat"
    half = len(tones) // 2
    step = _mean(tones[-half:]) - _mean(tones[:half])
    if abs(step) < _TREND_STEP:
        return "flat"
    return "rising" if step > 0 else "falling"


def _turned(text: str, place: int) -> bool:
    return bool(_NEGATED.search(text[max(0, place - 16) : place]))


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values)
