"""How a rule of the guard is written: a code, what becomes of the sentence, a pattern with bounded gaps."""

from __future__ import annotations

import re
from dataclasses import dataclass

from schemas.decisions import FlagAction

# A gap inside a sentence, for {EN:n} and {ZH:n}. A point inside an address or a number ends no sentence.
_GAP = re.compile(r"\{(EN|ZH):(\d+)\}")
_CLASSES = {"EN": r"(?:[^.!?\n]|[.?](?=[\w/<]))", "ZH": r"(?:[^。！？!?\n]|\?(?=\w))"}

# What has a Chinese gap has Chinese words around it.
_HAN = re.compile("[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Rule:
    """A family: its code, what becomes of the sentence, and the pattern.

    `needs` is a cheap question: without an answer in a text the pattern is nowhere in it.
    """

    code: str
    action: FlagAction
    pattern: re.Pattern[str]
    needs: re.Pattern[str] | None = None


def rules(code: str, action: FlagAction, *patterns: str, needs: str | None = None) -> tuple[Rule, ...]:
    """The rules of one family. `{EN:n}` and `{ZH:n}` in a pattern stand for at most n characters of one sentence."""
    asked = None if needs is None else re.compile(_GAP.sub(_gap, needs))
    return tuple(
        Rule(code, action, re.compile(_GAP.sub(_gap, one), re.MULTILINE), asked or (_HAN if "{ZH:" in one else None))
        for one in patterns
    )


def _gap(found: re.Match[str]) -> str:
    return f"{_CLASSES[found[1]]}{{0,{found[2]}}}?"
