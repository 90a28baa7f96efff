"""How the user felt and whether the request was settled: small own word lists, zh and en."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory.turns import TurnView
from schemas.drafts import Outcome, ProcedureDraft, Sentiment

_GOOD = re.compile(
    r"\b(?:great|good|nice|love|loved|lovely|perfect|awesome|excellent|amazing|wonderful|fantastic"
    r"|brilliant|happy|glad|pleased|thanks|thank you|appreciate|helpful|works|worked|solved|fixed"
    r"|resolved|sorted|excited|delighted|impressed|relieved|enjoyed?|best|better)\b"
    r"|谢谢|感谢|太好了|太棒了|真棒|很棒|不错|满意|喜欢|开心|高兴|完美|厉害|给力|搞定|解决了|好用"
    r"|贴心|放心|点赞|惊喜|舒服|漂亮|爱了",
    re.IGNORECASE,
)
_BAD = re.compile(
    r"\b(?:bad|terrible|awful|horrible|hate|worst|worse|annoy(?:ed|ing)|angry|upset|frustrat(?:ed"
    r"|ing)|disappoint(?:ed|ing)|sad|broken|broke|broken|useless|fail(?:s|ed|ing)?|crash(?:es|ed"
    r"|ing)?|wrong|slow|unacceptable|ridiculous|rude|scam|damaged|defective|noisy|worried"
    r"|confus(?:ed|ing)|problem|issue|error|bug|complain|complaint|refund|late|delayed|missing"
    r"|stuck|sick of|fed up|waste|poor|disgusting|unhappy|pain)\b"
    r"|讨厌|生气|失望|难过|糟糕|太差|很差|差劲|垃圾|烦|气死|无语|坑|骗|投诉|坏了|坏的|不满|难用"
    r"|崩溃|郁闷|着急|担心|慢死|太慢|离谱|恶心|受不了|故障|报错|失败|出错|杂音|破损|漏发|少发|晚到"
    r"|迟到|没法用|用不了",
    re.IGNORECASE,
)
_TURNED = re.compile(
    r"(?:\b(?:not|no|never|isn't|wasn't|don't|doesn't|didn't|can't|won't|hardly|nothing)\b"
    r"|n't)(?:\s+\w+){0,2}\s*$|(?:不|没|没有|不是|并不|不太|不怎么|毫无|别|不再)(?:是|太|怎么|那么"
    r"|有)?$",
    re.IGNORECASE,
)
_AGAIN = re.compile(
    r"\b(?:still|again|yet again|once more|keeps?|keep on|third time|second time)\b|又(?:坏|断|卡"
    r"|出|来|不|没|是|一次)|还(?:是|没|不)|再一次|第[二三四五]次|老是|总是",
    re.IGNORECASE,
)
_SETTLED = re.compile(
    r"\b(?:it|that|this|everything|all)(?:'s| is| has been|'s all)? (?:now |just |finally |all "
    r")?(?:work(?:s|ed|ing)|fixed|solved|resolved|sorted|done|good now|set|perfect)\b(?! (?:on"
    r"|for) it)|\b(?:works|worked|working) (?:now|great|fine|perfectly|again|like a charm|well)\b"
    r"|\bthat (?:did it|worked|helped|fixed it|solved it|solves it|does it|works)\b|\b(?:problem"
    r"|issue) (?:is |has been )?(?:solved|fixed|resolved|gone)\b|\bgot it working\b|\ball (?:good"
    r"|set|sorted)\b|\bi(?:'ve| have)? (?:received|got) (?:it|the (?:refund|parcel|package"
    r"|replacement|order|new one))\b|\bfixed it\b|\bperfect,? (?:thanks|thank you)\b"
    r"|搞定了?|可以了|解决了|好了(?!吗|没)|成功了|没问题了|修好了|能用了|正常了|恢复了|弄好了"
    r"|收到(?:货|退款|新的)了?|没(?:有)?(?:杂音|问题)了|行了|通了|办好了",
    re.IGNORECASE,
)
_UNSETTLED = re.compile(
    r"\bstill (?:not|no|doesn'?t|does not|isn'?t|can'?t|broken|crash\w*|fail\w*|the same|getting"
    r"|have(?:n't)?|hasn'?t|won'?t|see(?:ing)?|wrong|waiting|noisy)|\b(?:does|did|do|is|are|has"
    r"|have|was|can|would|wo)(?:n'?t| not)\s+(?:\w+\s+)?(?:work(?:ing)?|help(?:ing)?|solve"
    r"|fix(?:ed)?|arrived|resolved|start|connect|load)\b|\bnot (?:working|fixed|solved|resolved"
    r"|helpful)\b|\b(?:it|this|that|same (?:problem|issue|error|thing)) (?:happened |is |broke "
    r"|crashed |failed )?again\b|\bno luck\b|\bgive up\b|\bforget it\b|\bcan(?:'?t|not) (?:log ?in"
    r"|connect|open|use it)|\bfailed\b|\bcancel everything\b"
    r"|还是(?:不行|不能|没|连不上|打不开|有|一样|坏|报错|失败|不对|登不|用不了|会)|不行(?!了吧)"
    r"|没(?:有)?用|没(?:有)?解决|不管用|不起作用|又(?:坏|断|卡|报错|失败|不行|出错|掉线)|失败了?"
    r"|算了(?:吧)?|还没(?:到|收到|解决|好|处理|退)|打不开|连不上|用不了|登不上",
    re.IGNORECASE,
)
_RECENT_USER_TURNS = 2


def sentiment_of(turns: Sequence[TurnView]) -> Sentiment:
    """The user's mood, the last user turns counted double."""
    said = [turn.content for turn in turns if turn.role == "user"]
    total = 0.0
    for number, text in enumerate(said):
        total += _score(text) * (2 if number >= len(said) - _RECENT_USER_TURNS else 1)
    return "positive" if total >= 1 else "negative" if total <= -1 else "neutral"


def _score(text: str) -> float:
    score = 0.0
    sample = text[:2_000]
    for pattern, sign in ((_GOOD, 1.0), (_BAD, -1.0)):
        for match in pattern.finditer(sample):
            turned = _TURNED.search(sample[max(0, match.start() - 16) : match.start()])
            score += sign * (-0.4 if turned else 1.0)
    return score - (0.7 if _AGAIN.search(sample) and score <= 0 else 0.0)


def outcome_of(turns: Sequence[TurnView], labels: Sequence[str]) -> tuple[Outcome, list[str]]:
    """Whether the request was settled, with the turns that show it. Politeness alone proves nothing."""
    users = [number for number, turn in enumerate(turns) if turn.role == "user"]
    tools = [number for number, turn in enumerate(turns) if turn.role == "tool" and turn.tool_ok is not None]
    for number in reversed(users[-_RECENT_USER_TURNS:]):
        text = turns[number].content
        verdict = _said_outcome(text)
        if verdict is not None and not (tools and tools[-1] > number):
            return verdict, [labels[number]]
    if tools:
        return ("success" if turns[tools[-1]].tool_ok else "failure"), [labels[tools[-1]]]
    return "unknown", []


def _said_outcome(text: str) -> Outcome | None:
    if re.search(r"[?？]\s*$", text.strip()) and not _UNSETTLED.search(text):
        return None
    # "Not fixed yet" holds both kinds of cue: the complaint counts.
    if _UNSETTLED.search(text):
        return "failure"
    return "success" if _SETTLED.search(text) else None


def procedure_of(turns: Sequence[TurnView], labels: Sequence[str]) -> ProcedureDraft | None:
    """The verdict on a procedure that the turns name: tool results first, then the user's own words after it."""
    named = [number for number, turn in enumerate(turns) if turn.procedure_name]
    if not named:
        return None
    name = turns[named[-1]].procedure_name or ""
    mine = [number for number in named if turns[number].procedure_name == name]
    tools = [
        number
        for number, turn in enumerate(turns)
        if turn.role == "tool"
        and turn.tool_ok is not None
        and number >= mine[0]
        and turn.procedure_name in {name, None}
    ]
    if tools:
        last = tools[-1]
        return ProcedureDraft(name=name, verdict="success" if turns[last].tool_ok else "failure", turns=[labels[last]])
    for number in range(len(turns) - 1, mine[0], -1):
        if turns[number].role == "user" and (verdict := _said_outcome(turns[number].content)) is not None:
            return ProcedureDraft(name=name, verdict=verdict, turns=[labels[number]])
    return ProcedureDraft(name=name, verdict="unknown", turns=[])
