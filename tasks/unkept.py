"""What a user asked in the chat not to keep: the turn counts, and its words are gone once its window is applied."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from memory import gate
from memory.spans import echoes
from memory.unkept import NO_STORE
from schemas.decisions import HeldSpan
from stores import spans, turns
from tasks.work import Work


def unkept(work: Work) -> frozenset[UUID]:
    """The turns of this window whose user asked that they are not kept."""
    return frozenset(
        turn.event_id for turn in work.said if NO_STORE in gate.requests(turn, work.flags.get(turn.event_id, ()))
    )


def hold_repeated(work: Work) -> None:
    """Holds back what this window's answers repeat of such words: nobody can look for them later."""
    asked = unkept(work)
    words = [turn.content for turn in work.said if turn.event_id in asked]
    found = [
        HeldSpan(turn.event_id, start, end, NO_STORE)
        for turn in work.said
        if words and turn.role == "assistant"
        for start, end in echoes(turn.content, words)
    ]
    work.touched.update(spans.hold(work.session, work.tenant.id, work.claim.user_ref, found))


def without_words(work: Work, content: Mapping[str, object], event_id: UUID | None) -> Mapping[str, object]:
    """A draft's content as it may be kept. `event_id` is None for one whose turn is not known: it may be any."""
    asked = unkept(work)
    if not asked or (event_id is not None and event_id not in asked):
        return content
    return {name: value for name, value in content.items() if name in {"key", "event_id", "polarity", "turn", "type"}}


def leave_no_words(work: Work) -> bool:
    """Empties the turns that are not kept; answers whether there were any."""
    asked = unkept(work)
    turns.empty(work.session, work.tenant.id, sorted(asked))
    return bool(asked)
