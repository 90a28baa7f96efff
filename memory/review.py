"""Review: what a person may say of a statement that waits, and what that makes of it.

A verdict is evidence about evidence: it acts at the place of what it judges, so a slot is folded again as if the gate
had said so in the first place. What was approved is what was shown, byte by byte.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from memory.gate import SPECIAL

ReviewVerdict = Literal["approve", "edit", "reject", "confirm", "refuse", "undo", "redo"]
Status = Literal["pending_review", "approved", "rejected", "auto"]

SHOWN = (
    *("id", "scope", "scope_key", "subject", "key", "type", "object", "op", "value", "canonical", "quote"),
    *("quote_start", "event_id", "at", "valid_from", "valid_until", "precision", "tz", "role", "source", "agent_id"),
)
"""What a content hash binds: all that a fold reads, and what a reviewer sees of it."""


def shown_parts(fields: Mapping[str, object]) -> tuple[str, ...]:
    """The texts whose keyed hash stands for what was shown. Nothing and an empty text differ."""
    return tuple("\0" if fields[name] is None else str(fields[name]) for name in SHOWN)


def needs_user(reason_codes: Collection[str], verdicts: Collection[str]) -> bool:
    """Whether only the user's own word can let this statement count: a special category that nobody confirmed."""
    return any(code.startswith(SPECIAL) for code in reason_codes) and "confirm" not in verdicts


def needs_review(reason_codes: Collection[str]) -> bool:
    """Whether a reviewer must look, whatever the user said."""
    return any(not code.startswith(SPECIAL) for code in reason_codes)


def status_after(verdict: ReviewVerdict, before: Status, reason_codes: Collection[str]) -> Status:
    """The write status that a verdict leaves behind.

    A user's confirmation lets a statement count only when no other reason holds it. `redo` needs the status that the
    undo found, and is given it as `before`.
    """
    match verdict:
        case "approve":
            return "approved"
        case "edit" | "reject" | "refuse" | "undo":
            return "rejected"
        case "confirm":
            return "pending_review" if needs_review(reason_codes) else "auto"
        case "redo":
            return before
