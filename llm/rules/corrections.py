"""`Lille, not Lyon`, 不是里昂，是里尔: the key is that of the value that is put right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from llm.rules.finding import Finding

_WORD = r"\w(?:[\w'’.&-]*\w)?"
_VALUE = rf"{_WORD}(?:\s{_WORD}){{0,3}}"
_PATTERNS = (
    re.compile(
        rf"^(?:(?:sorry|no|actually|oops|wait|correction|i meant|i mean|it's|it is|that's|make that"
        rf"|should be)[\s,:]+)*(?P<new>{_VALUE}),?\s+not\s+(?P<old>{_VALUE})[.!]*$",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^(?:(?:sorry|no|actually|oops|wait|correction)[\s,:]+)*(?:it's\s+"
        rf"|that's\s+)?not\s+(?P<old>{_VALUE}?),?\s+(?:but\s+|it's\s+|it is\s+)(?P<new>{_VALUE})[.!]*$",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?:(?:不对|抱歉|不好意思|说错了|更正一下|纠正一下|错了|打错了|哦)[，,。 "
        r"]*)*(?:应该)?不是(?P<old>[\u4e00-\u9fff\w]{1,10}?)[，, ]*(?:而是|是"
        r"|应该是)(?P<new>[\u4e00-\u9fff\w]{1,10})[。！!]*$"
    ),
    re.compile(
        r"^(?:(?:不对|抱歉|不好意思|说错了|更正一下|纠正一下|错了|打错了|哦)[，,。 "
        r"]*)*(?:应该)?是(?P<new>[\u4e00-\u9fff\w]{1,10}?)[，, "
        r"]*不是(?P<old>[\u4e00-\u9fff\w]{1,10})[。！!]*$"
    ),
)
_CORRECTABLE = frozenset({"name", "city", "company", "job", "age", "allergy", "likes", "diet"})


def corrections(text: str, known: Sequence[Finding]) -> Iterator[Finding]:
    """The corrected value of something that the window said before; nothing when the old value is not known."""
    if len(text) > 120:
        return
    said = text.strip()
    offset = text.index(said) if said else 0
    for pattern in _PATTERNS:
        match = pattern.match(said)
        if match is None:
            continue
        old = match["old"].strip().casefold()
        about = next(
            (finding for finding in reversed(known) if finding.value.casefold() == old and finding.key in _CORRECTABLE),
            None,
        )
        if about is not None and match["new"].strip().casefold() != old:
            yield Finding(
                key=about.key,
                value=match["new"].strip(),
                op="+",
                start=offset + match.start("new"),
                end=offset + match.end("new"),
                subject=about.subject,
                object=about.object,
                rule="correction." + about.key,
            )
        return
