"""Which turns can hold something to remember. What is not informative costs no model call.

Closed lists of fillers in both languages. After an assistant's question every reply is informative: `Peanuts.`, `嗯`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from memory.turns import TurnView

_EN = """
ok okay k kk okey oki alright alrighty right sure fine good great cool nice perfect awesome excellent wonderful lovely
brilliant amazing fantastic super neat sweet yes yeah yep yup ya yea aye no nope nah nay thanks thx tx ty tysm cheers ta
appreciated gotcha understood noted roger welcome hi hello hey heya hiya yo bye goodbye cya later lol haha hahaha hehe
lmao rofl hmm hm mm mhm uh huh um er oh ah wow oops please continue next again test testing ping wait sorry pardon
thats maybe idk dunno whatever nevermind nvm true indeed exactly correct agreed absolutely definitely certainly done
"""
_PHRASES = """
thank you|thank you so much|thank you very much|thanks a lot|thanks so much|thanks again|many thanks
thanks for your help|thanks for the help|thanks for that|much appreciated|appreciate it|i appreciate it|got it
i see|copy that|makes sense
that makes sense|sounds good|sounds great|will do|all good|all right|no problem|no worries|you're welcome|hi there
hello there|hey there|good morning|good afternoon|good evening|good night|bye bye|see you|see ya|see you later|take care
have a nice day|have a good day|have a great day|uh huh|please continue|go on|go ahead|you there|are you there
anyone there|one moment|one sec|one second|just a moment|just a second|hold on|wait a moment|please wait|my bad
excuse me|that works|works for me|that's all|that is all|that's it|nothing else|no thanks|no thank you|not yet
i don't know|never mind|of course|for sure|that's fine|that's great|that's good|very good|so much|very much|a lot
for your help|for the help|for that|i understand|understood thanks|ok thanks|okay thanks|great thanks|perfect thanks
"""
_ZH = """
好 好的 好吧 好呀 好哒 好嘞 好滴 好啊 好好 好好好 行 行吧 行的 可以 可以的 可 嗯 嗯嗯 嗯呢 嗯好 恩 恩恩
哦 哦哦 噢 喔 啊 呃 额 诶 哎 唉 哈 哈哈 哈哈哈 嘿嘿 呵呵 嘻嘻
谢谢 谢谢你 谢谢您 谢了 谢谢啦 多谢 感谢 非常感谢 十分感谢 太感谢了 辛苦了 辛苦 麻烦了 麻烦你了 麻烦您了
不客气 不用谢 没事 没事了 没关系 没问题 收到 了解 了解了 明白 明白了 知道了 知道 懂了 清楚 清楚了
对 对的 对对 对对对 是 是的 是吗 没错 当然 确实 的确 没 没有 没有了 不 不是 不用 不用了 不了 不需要 算了
随便 都行 都可以 你好 您好 你好啊 嗨 哈喽 哈啰 在 在吗 在么 在不在 在不 有人吗 有人在吗 喂
早 早安 早上好 上午好 中午好 下午好 晚上好 晚安 再见 拜拜 拜 回见 下次见 回头见
稍等 等等 等一下 等下 稍等一下 请稍等 继续 请继续 然后呢 下一个 抱歉 不好意思 对不起
厉害 牛 棒 真棒 太好了 太棒了 不错 很好 非常好 完美 赞 哇 哇塞 真的吗 真的 这样啊 原来如此
原来是这样 测试 试试 就这样 就这些 没了 先这样 好了 行了 可以了 谢
"""
_YES = """
yes yeah yep yup ya yea aye sure right correct exactly ok okay absolutely definitely indeed true 是 是的 对 对的 对对
对对对 嗯 嗯嗯 恩 没错 好 好的 可以 行 当然 确实 是啊 对啊 嗯对
"""
_BARE_YES = frozenset(_YES.split()) | {
    "of course", "that's right", "that is right", "that's correct", "that is correct", "yes please", "yes it is",
    "yes i am", "yes i do", "i do", "i am", "sure thing", "for sure", "yes that's right", "yes correct",
}  # fmt: skip
_BARE_NO = frozenset({"no", "nope", "nah", "no i don't", "no i'm not", "not really"}) | frozenset(
    {"不", "不是", "没有", "没", "不对", "不用", "不是的", "没有的", "不需要"}
)
_KEEP = re.compile(r"[^\w\s']|_")
_SPACES = re.compile(r"\s+")
_HAN = re.compile(r"[\u3400-\u9fff]")
_PIECES = re.compile(r"[,，。.!！;；、~～\n]+")
_QUESTION_END = re.compile(r"[?？]\s*[\"'”’)）]*\s*$")
_ZH_QUESTION = re.compile(
    r"(?:吗|呢|么|是不是|对不对|对吧|是吧|哪里|哪儿|哪个|哪家|哪些|什么|怎么|几|多少|多大|谁"
    r"|请告诉我|请提供|请问)[^。！!.]{0,12}$"
)
_EN_QUESTION = re.compile(
    r"(?:^|[.!?]\s+)(?:and |so |ok(?:ay)?,? |great,? |please )?"
    r"(?:what|where|who|which|how|when|do you|are you|is your|have you|may i|could you|can you|tell me"
    r"|(?:tell|share|give|provide)\b|let me know)\b[^.!?]*[.?]?\s*$",
    re.IGNORECASE,
)


def _fillers() -> frozenset[str]:
    return (
        frozenset(_EN.split())
        | frozenset(phrase for line in _PHRASES.split("\n") for phrase in line.split("|") if phrase)
        | frozenset(_ZH.split())
    )


_FILLERS = _fillers()


def plain(text: str) -> str:
    """The text folded for list look-ups: NFKC, lower case, no punctuation or emoji, single spaces."""
    folded = unicodedata.normalize("NFKC", text).replace("\u2019", "'").lower()
    return _SPACES.sub(" ", _KEEP.sub(" ", folded)).strip()


def is_informative(turn: TurnView, before: TurnView | None = None) -> bool:
    """Whether the turn may hold something to remember; `before` is the turn right before it in the session.

    A tool's result always is. An assistant's turn is not by itself: it counts through the reply that follows it.
    """
    if turn.role == "tool":
        return True
    if turn.role == "system" or not plain(turn.content):
        return False
    if turn.role == "assistant":
        return False
    if before is not None and asks(before):
        return True
    return not is_filler(turn.content)


def any_informative(turns: Sequence[TurnView], context: Sequence[TurnView] = ()) -> bool:
    """Whether a window is worth a model call. `turns` and `context` are in time order, context first."""
    befores = [context[-1] if context else None, *turns[:-1]]
    return any(is_informative(turn, before) for turn, before in zip(turns, befores, strict=True))


def asks(turn: TurnView) -> bool:
    """Whether an assistant's turn ends in a question, or in a request to tell something."""
    if turn.role != "assistant":
        return False
    text = turn.content.strip()
    return bool(_QUESTION_END.search(text) or _ZH_QUESTION.search(text) or _EN_QUESTION.search(text[-400:]))


def is_filler(text: str) -> bool:
    """Whether a text is only greetings, thanks, assent or noise: nothing in it can be remembered."""
    bare = plain(text)
    if any(char.isdigit() for char in bare):
        return False
    if not bare or bare in _FILLERS:
        return True
    pieces = [plain(piece) for piece in _PIECES.split(text)]
    if all(not piece or piece in _FILLERS or _all_fillers(piece) for piece in pieces):
        return True
    han = len(_HAN.findall(bare))
    return han < 2 and len(bare) < 2


def is_bare_yes(text: str) -> bool:
    """Whether a reply says yes and nothing else."""
    return _is_bare(text, _BARE_YES)


def is_bare_no(text: str) -> bool:
    """Whether a reply says no and nothing else."""
    return _is_bare(text, _BARE_NO)


def _is_bare(text: str, words: frozenset[str]) -> bool:
    thanks = {"thanks", "thank you", "please", "谢谢", "谢谢你", "谢谢您", "的"}
    pieces = [piece for part in _PIECES.split(text) if (piece := plain(part)) and piece not in thanks]
    return bool(pieces) and all(piece in words for piece in pieces)


def _all_fillers(piece: str) -> bool:
    words = piece.split()
    return len(words) <= 4 and all(word in _FILLERS for word in words)
