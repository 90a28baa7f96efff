"""Chinese text to clauses: of whom it speaks, and whether it is a question, a supposition or someone else's words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from llm.rules.finding import USER, Piece
from llm.rules.lexicon_zh import KIN

_SENTENCE = re.compile(r"[^。！？!?\n；;]+[。！？!?；;]*")
_CLAUSE = re.compile(
    r"(?:(?!(?<=[\u4e00-\u9fff])\s+[\u4e00-\u9fff]|(?<=[\u4e00-\u9fff])(?:但是|不过(?!敏)|可是"
    r"|然后|所以|因为|而且|但(?=我|还|不|很))(?=[\u4e00-\u9fff]))[^，,：:—～~()（）…])+|[ ]"
)
_KIN_WORDS = "|".join(sorted(KIN, key=len, reverse=True))
_MONTH = r"[一二三四五六七八九十\d]{1,3}月(?:份|初|底|中旬)?"
_TIME = (
    rf"(?:从?(?:(?:上|这|本)个?(?:周|星期|礼拜)[一二三四五六日天末]?|上个?月|(?:去|前)年(?:{_MONTH}|初|底|上半年|下半年)?"
    rf"|{_MONTH}|(?:19|20)\d\d年(?:{_MONTH})?)(?:开始|起|以来)?)(?![\d日号]|的?出?生|的)"
)
_KIN = re.compile(
    rf"^(?:我(?:们)?(?:的|家)?(?:那|这)?(?:个|位|只"
    rf"|条)?(?:[^，我你他她]{{1,6}}的)?(?P<kin>{_KIN_WORDS})(?:(?P<name>[\u4e00-\u9fff]{{2,3}}"
    rf"|[A-Z][a-z]+)(?=今年|现在|住在|在|是|喜欢|对|不能|不吃|讨厌|爱|叫|从|会|最))?|(?:家里|家)(?:那|的)?(?:只|条"
    rf"|个)?(?P<home>猫咪?|狗狗?|孩子|宝宝|老人))(?!们?(?:都|也)?说)"
)
_KIN_NOT = re.compile(r"^我(?:的)?(?:妈呀|天|老师傅|同学会|老家|先生活|先(?!生)|对象棋|老板凳|猫粮|狗粮|孩子气|朋友圈)")
_FIRST = re.compile(
    r"^(?:我(?!们|家|国|的)|本人|咱(?!们)|俺|我本人|我自己|我个人|人家我)(?:本人|自己|个人|呢|这边|这个人|啊|嘛|呀)?"
)
_WITH_KIN = re.compile(
    rf"^我(?:和|跟|与)(?:我的?)?(?:{_KIN_WORDS})(?:们)?(?:一起|都)?(?=(?:现在|目前|一直|都|刚)*(?:住|定居|生活|搬))"
)
_WE = re.compile(r"^(?:我们(?:一?家(?:人)?)?|我家|咱们|全家)")
_WE_LIVE = re.compile(rf"(?:现在|目前|都|一直|刚|已经|{_TIME})*(?:住|搬|从[^，]{{2,8}}搬|在[^，]*(?:定居|生活))")
_MINE = re.compile(r"^我的")
_OTHER = re.compile(
    r"^(?:你|您|他|她|它|TA|ta|大家|别人|有人|谁|这|那|客服|老师|医生|同事|朋友|老板|网友|人们"
    r"|很多人|有些人|他们|她们|公司|系统|平台|商家|店家|对方|孩子)"
)
_THEY = re.compile(r"^(?:他|她|它|TA)(?!们)")
_LEAD = re.compile(
    rf"^(?:(?:{_TIME}|你好|您好|大家好|hi|hello|hey|嗨|哈喽|在吗|不对|不是的|不好意思|抱歉|对了"
    r"|顺便(?:说一下|提一下|一提|说)?|另外|还有|而且|但是?|不过|可是|所以|因为|其实|说实话|老实说"
    r"|坦白说|说真的|讲真|首先|其次|然后|那个|嗯+|啊|哦|对|是的|好的?|没错|行|哈哈+"
    r"|补充一下|更正一下|纠正一下|说明一下|介绍一下|自我介绍一下|简单介绍一下|先说一下|跟你说"
    r"|告诉你|请(?:你|您)?(?:帮我)?(?:记住|记一下|记下|注意|备注)|麻烦(?:你|您)?(?:记住|记一下"
    r"|记下|备注)|帮我(?:记住|记一下|记下)|记住|记一下|你要?记住|请知悉|备注(?:一下)?|提醒一下"
    r"|如你所知|就像我说的|我说过|我刚才说了?|重申一下|总之|最近|目前|现在|如今|上周|上个月|去年"
    r"|昨天|前天|刚刚|刚才|早就|本来|原来|反正|一般来说|平时|个人)(?:[\s,，、:：.!]*)?)+(?=.)",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"(?:吗|么|呢|吧)?[?？]\s*$|(?:吗|么|嘛不|呢)\s*[。！!]*$|是不是|有没有|能不能|可不可以|会不会"
    r"|好不好|行不行|要不要|对不对|该不该|是否|能否|可否|怎么(?!都|也)|如何|(?<!没)(?<!没有)什么(?!都|也)|哪(?:里"
    r"|儿|个|家|些|种|款)|几(?:点|天|号|个|岁|块)|多少(?!都|也)|多久|多大|为什么|为啥|谁(?!都|也)"
    r"|[\u4e00-\u9fff]不[\u4e00-\u9fff](?:\?|？)"
)
_SUPPOSED = re.compile(
    r"如果|要是|假如|假设|万一|倘若|若是|要不是|就好了|的话|除非|想象|想像|梦见|梦到|做梦|比如说?"
    r"|例如|假装|虚构|扮演|开玩笑|逗你|骗你|才怪|反话|恨不得|巴不得|下辈子|上辈子|假使|设想|哪怕"
    r"|即使|就算|只要|一旦|无论|不管"
)
_HEDGED = re.compile(
    r"可能|也许|大概(?!\d)|或许|说不定|好像|似乎|应该|希望|打算|准备|计划|考虑|想要?(?:去|搬|换|住"
    r"|当|做|学|成为|试)|想(?:着|过)|差点|快要|快(?=\d+岁|三十|四十|五十)|马上(?:就)?|即将|将要"
    r"|将来|以后(?:想|要|会)|要(?=搬|换工作|去|辞职|离职)|会(?=搬|去|换)|觉得自己|感觉自己|以为|猜"
    r"|不确定|不知道|看起来|据说|听说|听讲|传说|貌似|本来想|原本想|曾想|纠结|犹豫|明年|下个?(?:月"
    r"|周|年|星期)|明天|后天|争取|努力成为|梦想"
)
_REPORTED = re.compile(
    rf"(?:他|她|他们|她们|同事|老板|领导|经理|医生|大夫|朋友|网友|客服|有人|别人|人家|大家|他人"
    rf"|算命的|老师|店员|销售|(?:我|我的)?(?:{_KIN_WORDS}))(?:们)?(?:们|都|也|总|老|经常|一直|刚才"
    rf"|昨天|今天|又|还|曾经|之前|跟我|对我|和我|就|非|硬|偏|天天|说什么|让我)*(?:说(?!话|服|明"
    rf"|不定)|问|告诉|觉得|认为|以为|建议|劝|听说|声称|宣称|嫌|骂|夸|怀疑|猜|讲(?!师|话|究)|表示"
    rf"|提到|推荐|叫我(?!做)|让我|希望我|要我|写道|转发)"
    r"|(?:据|听)(?:说|讲)|根据|新闻(?:上)?说|网上说|书上说|你(?:们)?(?:刚才|之前|上次|不是)?(?:说"
    r"|认为|觉得|以为)|您(?:刚才|之前|上次)?说|传言|有句话"
)
_IRONY = re.compile(
    r"呵呵|真是(?:太)?(?:喜欢|爱)(?:死|了)|可真(?:行|会|棒|好|喜欢)|(?:太|真)(?:喜欢|爱)(?:等|排队"
    r"|加班|被|听你们)|谢谢你全家|我谢谢|好一个|阴阳怪气|(?:最|真|就|可)?(?:喜欢|爱)(?:等"
    r"|被)[^，。]{0,12}(?:小时|天|半天|客服)|反讽"
    r"|(?:哇|太好了|好极了|棒极了|真好|天呐)[，,！! ]*我?(?:最|可太|太|真|超|就)(?:爱|喜欢)"
    r"[^，。]{0,6}(?:罚|加班|返工|排队|堵车|丢|出错|崩|催|迟到|亏|挨|被|等|重做|坏)"
)
_JOKING = re.compile(r"开玩笑的?|逗你(?:玩|的)|骗你的|瞎说的|闹着玩|才怪|说着玩|我瞎编的")
_REACH_ME = re.compile(
    r"(?:如果|要是|若|假如|万一)(?:你|您|你们)?(?:以后)?(?:有|需要|要|想)[^，。]{0,14}?(?:联系|找"
    r"|通知|沟通|事|问题|情况|消息|更新|进展)(?:我|到我)?(?:的话)?"
)
_WHEN = re.compile(
    rf"^(?:{_TIME}|(?:今年|去年|前年)?(?:春天|夏天|秋天|冬天|年初|年底|上半年|下半年|春节|国庆|暑假|寒假)(?:的时候|期间|之?后)?|最近|前年|昨天|前天|这几年|近来|前阵子|前段时间|不久前|(?:大学)?毕业后"
    r")(?=.)"
)
_PAST_NOW = re.compile(r"(?:(?<![春夏秋冬]天)的时候|那会儿?|那时|那年|(?<!天)期间|(?<![春夏秋冬]天的)时候|以前总)")

PAST = re.compile(
    r"^(?:[^，。]{0,6}?)(?:以前|之前|曾经|曾|过去|原先|从前|早些年|前几年|小时候|当年|上学时"
    r"|毕业前|那会儿|老早|原来(?=在|是|住|做))"
)
"""What opens a statement about the past."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One clause. `body` follows the subject, which is "user", a kin word, or "" (something else).

    `piece` is the clause with the words that lead it in.
    `dropped`: the subject was left out and taken over from before, or from nobody (first in the turn).
    """

    whole: Piece
    piece: Piece
    subject: str
    body: Piece
    start: int
    dropped: bool
    hedged: bool
    named: str | None = None
    sentence: str = ""

    @property
    def language(self) -> str:
        """The language of its words."""
        return "zh"


def clauses(text: str, start: int = 0) -> Iterator[Clause]:
    """The clauses of a masked text that may state something, in order."""
    if _JOKING.search(text):
        return
    last_kin = ""
    spoken = USER
    for sentence in _SENTENCE.finditer(text):
        reach = _REACH_ME.sub(lambda match: "，" * len(match[0]), sentence[0])
        if _IRONY.search(reach) or _SUPPOSED.search(reach):
            continue
        previous = spoken if spoken == USER else ""
        report = _REPORTED.search(reach)
        end = report.start() if report else len(reach)
        asked = _asked_from(reach)
        end = min(end, asked)
        for piece in _pieces(reach, start + sentence.start()):
            if piece.start - start - sentence.start() >= end or piece.end - start - sentence.start() > end:
                break
            clause = _clause(piece, previous, last_kin, sentence[0])
            previous = clause.subject
            if clause.subject not in {"", USER}:
                last_kin = clause.subject
            yield clause
        spoken = previous or ""
        if not previous:
            spoken = USER if not _OTHER.match(sentence[0].strip()) else ""


def _asked_from(sentence: str) -> int:
    """Where the first asking clause of a sentence starts; its length when nothing is asked."""
    for match in _CLAUSE.finditer(sentence):
        clause = match[0]
        ending = sentence[match.end() :].strip() if match.end() >= len(sentence.rstrip("。！？!?；; ")) else ""
        if _ASKED.search(clause + ending):
            return match.start()
    return len(sentence)


def _pieces(sentence: str, start: int) -> Iterator[Piece]:
    for match in _CLAUSE.finditer(sentence):
        text = match[0].rstrip("。！？!?；; ")
        for part in re.finditer(r"\S(?:.*\S)?", re.sub(r"\s+(?=[\u4e00-\u9fff])", lambda gap: " " * len(gap[0]), text)):
            yield Piece(part[0], start + match.start() + part.start())


def _clause(piece: Piece, previous: str, last_kin: str, sentence: str) -> Clause:
    lead = _LEAD.match(piece.text)
    rest = piece.tail(lead.end()).stripped() if lead and lead.end() < len(piece.text) else piece
    subject, named, body, dropped = _subject(rest, previous, last_kin)
    if timed := _WHEN.match(body.text):
        body = body.tail(timed.end()).stripped()
    return Clause(
        whole=rest, piece=piece, subject=subject, body=body, start=rest.start, dropped=dropped, named=named,
        hedged=_HEDGED.search(rest.text) is not None or _PAST_NOW.search(rest.text) is not None, sentence=sentence,
    )  # fmt: skip


def _subject(rest: Piece, previous: str, last_kin: str) -> tuple[str, str | None, Piece, bool]:
    kin = None if _KIN_NOT.match(rest.text) else _KIN.match(rest.text)
    if kin and not re.match(r"^我(?:的)?(?:妈|爸|哥|姐|弟|妹)(?:的)?$", rest.text):
        return kin["kin"] or kin["home"], kin["name"], rest.tail(kin.end()).stripped(), False
    if first := _WITH_KIN.match(rest.text) or _FIRST.match(rest.text):
        return USER, None, rest.tail(first.end()).stripped(), False
    if _MINE.match(rest.text):
        return USER, None, rest, False
    if we := _WE.match(rest.text):
        moved = _WE_LIVE.match(rest.text, we.end()) is not None
        return (USER, None, rest.tail(we.end()).stripped(), True) if moved else ("", None, rest, False)
    if _THEY.match(rest.text):
        return last_kin, None, rest.tail(1).stripped(), False
    return ("", None, rest, False) if _OTHER.match(rest.text) else (previous, None, rest, True)
