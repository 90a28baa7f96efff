"""Parts of a turn that are not the speaker's own statement are blanked, character for character: places stay true.

Quoted text, code, addresses, pasted mail, and what follows a request to translate or to write in someone's voice.
"""

from __future__ import annotations

import re

_SAME_LENGTH = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "\u3000": " ", "\t": " ", "\r": " "}
    | {
        chr(code): chr(code - 0xFEE0)
        for code in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))
    }
)
_BLANKED = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (r"```.*?(?:```|\Z)", re.DOTALL),
        (r"`[^`\n]{1,200}`", 0),
        (r"https?://\S+|www\.\S+", 0),
        (r"^[ ]*>.*$", re.MULTILINE),
        (r'"[^"\n]{0,400}[ ][^"\n]{0,400}[ ][^"\n]{0,400}"', 0),
        (r"[「『《][^」』》\n]{1,200}[」』》]", 0),
        (r'"[^"\n]*[\u4e00-\u9fff，]{5,}[^"\n]*"', 0),
    )
)
_VOICES = (
    re.compile(
        r"\b(?:translate|proofread|paraphrase|rephrase|rewrite|reword|correct (?:this|the|my)|fix "
        r"(?:this|the grammar|my)|summari[sz]e (?:this|the)"
        r"|how (?:do|would|can) (?:you|i|one) say|example sentence|grammar|role-?play|pretend|act as"
        r"|you are now|in character"
        r"|(?:write(?!\s+to\s+(?:me|us)\b)|draft|compose|create|generate|make up)\s+(?:me\s+"
        r"|us\s+)?(?:an?|the|some|another"
        r"|my)?\s*(?:[a-z'-]+\s+){0,4}"
        r"(?:story|poem|song|lyrics|essay|letter|email|e-mail|script|dialogue|monologue|joke|tweet"
        r"|post|bio|review|speech|text|message|paragraph|sentence|scene|persona|character|cover "
        r"letter)s?)\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"翻译|译成|润色|改写|改错|造句|例句|语法|扮演|假装你|角色设定|台词|歌词|怎么说|(?:写|编|拟"
        r"|创作|起草)(?:一?[篇个封首段条份句些]|点)?[^，。！？\n]{0,12}"
        r"(?:故事|小说|诗|歌|作文|文章|信|邮件|剧本|对话|独白|笑话|文案|演讲稿?|简历|自我介绍|句子"
        r"|段子|人设|检讨|日记|情书)"
    ),
)
_GAP = re.compile(r" {3,}")
_PASTED = re.compile(r"^[ ]*(?:From|Sent|To|Subject|发件人|收件人|主题) ?[:：].*$", re.MULTILINE)


def masked(text: str) -> str:
    """`text` with straight quotes and plain digits, foreign parts blanked; as long as `text`."""
    same = text.translate(_SAME_LENGTH)
    for pattern in _BLANKED:
        same = pattern.sub(_blank, same)
    starts = [match.start() for voice in (*_VOICES, _PASTED) if (match := voice.search(same))]
    if starts:
        start = min(starts)
        same = same[:start] + re.sub(r"[^\n]", " ", same[start:])
    # A long gap ends a sentence; it also keeps every pattern with optional spaces in it linear.
    return _GAP.sub(lambda gap: "\n" * len(gap[0]), same)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])
