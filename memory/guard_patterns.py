"""How a rule of the guard is written: a code, what becomes of the sentence, a pattern with bounded gaps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from schemas.decisions import FlagAction

# A gap inside a sentence, for {EN:n} and {ZH:n}. A point inside an address or a number ends no sentence.
_GAP = re.compile(r"\{(EN|ZH):(\d+)\}")
_CLASSES = {"EN": r"(?:[^.!?\n]|[.?](?=[\w/<]))", "ZH": r"(?:[^。！？!?\n]|\?(?=\w))"}

# What has a Chinese gap has Chinese words around it.
_HAN = re.compile("[\u4e00-\u9fff]")


@dataclass(frozen=True)
class Rule:
    """A family: its code, what becomes of the sentence, and the pattern.

    `needs` is a cheap question: without an answer in a text the pattern is nowhere in it. Both are compiled when they
    are first asked: hundreds of them take a good part of a process's start, and most processes judge no text.
    """

    code: str
    action: FlagAction
    expression: str
    question: str | None = None

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What it looks for."""
        return re.compile(_GAP.sub(_gap, self.expression), re.MULTILINE)

    @cached_property
    def needs(self) -> re.Pattern[str] | None:
        """What is asked first, if anything."""
        if self.question is not None:
            return re.compile(_GAP.sub(_gap, self.question))
        return _HAN if "{ZH:" in self.expression else None


def rules(code: str, action: FlagAction, *patterns: str, needs: str | None = None) -> tuple[Rule, ...]:
    """The rules of one family. `{EN:n}` and `{ZH:n}` in a pattern stand for at most n characters of one sentence."""
    return tuple(Rule(code, action, one, needs) for one in patterns)


def _gap(found: re.Match[str]) -> str:
    return f"{_CLASSES[found[1]]}{{0,{found[2]}}}?"
