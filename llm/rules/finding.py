"""What a rule finds in one turn: a value and where it was said."""

from __future__ import annotations

from dataclasses import dataclass

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
