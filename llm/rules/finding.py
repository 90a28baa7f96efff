"""What a rule finds in one turn: a value and where it was said."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from schemas.drafts import Polarity

USER = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One explicit statement. The quote is characters [start, end) of the turn; `rule` names who found it."""

    key: str
    value: str
    op: Polarity
    start: int
    end: int
    rule: str
    subject: str = USER
    object: str | None = None
    when: str | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a turn with the place where it starts."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + len(self.text)

    def tail(self, offset: int) -> Piece:
        """The rest from `offset` on."""
        return Piece(self.text[offset:], self.start + offset)

    def stripped(self) -> Piece:
        """The same without spaces around it."""
        left = self.text.lstrip()
        return Piece(left.rstrip(), self.start + len(self.text) - len(left))


class Said(Protocol):
    """A clause of either language, as far as a finding needs it."""

    @property
    def start(self) -> int:
        """Where the statement starts."""
        ...

    @property
    def subject(self) -> str:
        """Of whom it speaks."""
        ...

    @property
    def language(self) -> str:
        """Either `zh` or `en`."""
        ...


def part(piece: Piece, match: re.Match[str], name: str) -> Piece:
    """A named group of a match on `piece`, with its place."""
    return Piece(match[name], piece.start + match.start(name))


def stated(
    clause: Said,
    key: str,
    value: Piece,
    op: Polarity,
    *,
    start: int | None = None,
    end: int | None = None,
    subject: str | None = None,
) -> Finding:
    """A finding of `clause`, quoted from its start (or `start`) to the end of its value (or to `end`, when later)."""
    return Finding(
        key=key,
        value=value.text,
        op=op,
        start=clause.start if start is None else start,
        end=max(value.end, end or 0) if end is None or value.end <= end else end,
        subject=subject or clause.subject or USER,
        rule=f"{clause.language}.{key}",
    )
