"""The texts under which memories are found: turns with speaker, date and neighbours, facts, episodes, procedures.

Texts only: terms are made by `memory/terms.py`, vectors by an embedder. Nothing held back ever enters one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import NamedTuple
from uuid import UUID

import numpy as np

from memory.spans import cut
from memory.turns import TurnView
from schemas.indexing import Vector


class Part(NamedTuple):
    """Characters [start, end) of a turn's content."""

    start: int
    end: int


Cut = tuple[int, int]
Cuts = Mapping[UUID, Sequence[Cut]]

_SPOKEN = frozenset({"user", "staff", "assistant"})
_SPEAKERS = {
    "zh": {"user": "用户", "assistant": "助手", "staff": "工作人员", "tool": "工具", "system": "系统"},
    "en": {"user": "user", "assistant": "assistant", "staff": "staff", "tool": "tool", "system": "system"},
}
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPolicy:
    """How much of a text is indexed. `neighbour_chars` are taken from the side that faces the turn."""

    own_chars: int = 20_000
    neighbour_chars: int = 1_200
    embed_chars: int = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexTexts:
    """What one record is found by: `own` and `context` become two keyword fields, `embed` becomes the vector.

    `exact` are ids and names that must match whole (an order number, a procedure's name).
    """

    own: str
    context: str
    embed: str
    exact: tuple[str, ...] = ()


def cut_text(text: str, cuts: Sequence[Cut]) -> str:
    """The text without its held-back characters [start, end), as `memory.spans.cut` leaves it."""
    return cut(text, [Part(start, end) for start, end in cuts])


def is_moment(turn: TurnView) -> bool:
    """Whether a turn is indexed by itself: something that a user, a staff member or an assistant said."""
    return turn.role in _SPOKEN and bool(turn.content.strip())


def speaker(turn: TurnView) -> str:
    """The speaker's name, else the role's word in the turn's language."""
    return turn.name or _SPEAKERS["zh" if turn.language.startswith("zh") else "en"].get(turn.role, turn.role)


def day_text(at: datetime, zone: tzinfo, language: str) -> str:
    """A date as people of that language write it: 8 May 2023, 2023年5月8日."""
    day = at.astimezone(zone)
    if language.startswith("zh"):
        return f"{day.year}年{day.month}月{day.day}日"
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def said(turn: TurnView, cuts: Sequence[Cut] = ()) -> str:
    """A turn as "Name (date): text" without what is held back; empty when nothing is left."""
    text = cut_text(turn.content, cuts).strip()
    return f"{speaker(turn)} ({day_text(turn.at, turn.zone(), turn.language)}): {text}" if text else ""


def neighbourhoods(turns: Sequence[TurnView]) -> list[tuple[TurnView, TurnView | None, TurnView | None]]:
    """(turn, previous, next) of every moment of one session.

    Shape: the turns in conversation order, the result too. A staff turn is a neighbour to staff turns of its ticket
    only: it has ticket scope, and a neighbour's words lead a search to the turn.
    """
    spoken = [turn for turn in turns if is_moment(turn)]
    return [
        (turn, _nearest(turn, reversed(spoken[:i])), _nearest(turn, spoken[i + 1 :])) for i, turn in enumerate(spoken)
    ]


def moment_texts(
    turn: TurnView,
    previous: TurnView | None = None,
    following: TurnView | None = None,
    *,
    cuts: Cuts | None = None,
    policy: TextPolicy = TextPolicy(),
) -> IndexTexts | None:
    """The texts of a turn, or None when all of it is held back (then it is not indexed).

    Shape: own = "Name (date): text"; context = date, previous, this and next turn; embed = own, clipped.
    """
    held = cuts or {}
    own = said(turn, held.get(turn.event_id, ()))
    if not own:
        return None
    before = _neighbour(previous, held)[-policy.neighbour_chars :]
    after = _neighbour(following, held)[: policy.neighbour_chars]
    day = day_text(turn.at, turn.zone(), turn.language)
    this = _neighbour(turn, held)[: policy.own_chars]
    context = "\n".join(part for part in (f"({day})", before, this, after) if part)
    return IndexTexts(own=own[: policy.own_chars], context=context, embed=own[: policy.embed_chars])


def fact_texts(
    *,
    subject: str,
    labels: Sequence[str],
    value: str,
    canonical: str | None = None,
    quotes: Sequence[str] = (),
    day: str | None = None,
    object_: str | None = None,
    policy: TextPolicy = TextPolicy(),
) -> IndexTexts:
    """The texts of a fact: its key's names in both languages, subject, value; the quotes it rests on as context.

    Shape: `labels` are the key's names and aliases (a question in one language finds a fact in the other), `quotes`
    newest first and without what is held back, `day` as `day_text` writes it.
    """
    names = " ".join(dict.fromkeys(labels))
    of = f" {object_}" if object_ else ""
    date = f" ({day})" if day else ""
    said_value = value if canonical is None or canonical == value else f"{value} {canonical}"
    own = f"{subject}{date}: {names}{of}: {said_value}"
    context = "\n".join((own, *dict.fromkeys(quotes)))
    embed = f"{subject}{date}: {quotes[0] if quotes else names + of + ': ' + value}"
    return IndexTexts(
        own=own[: policy.own_chars], context=context[: policy.own_chars], embed=embed[: policy.embed_chars]
    )


def episode_texts(
    *,
    summary: str,
    day: str,
    tags: Sequence[str] = (),
    entities: Sequence[str] = (),
    outcome: str | None = None,
    procedure: str | None = None,
    policy: TextPolicy = TextPolicy(),
) -> IndexTexts:
    """The texts of an episode: its dated summary; the same with tags, entities, outcome and procedure as context."""
    own = f"({day}) {summary}"
    extras = [*tags, *entities, *(word for word in (outcome, procedure) if word and word != "unknown")]
    context = "\n".join((own, " ".join(dict.fromkeys(extras))))
    return IndexTexts(
        own=own[: policy.own_chars],
        context=context[: policy.own_chars],
        embed=own[: policy.embed_chars],
        exact=tuple(dict.fromkeys(entities)),
    )


def procedure_texts(*, name: str, trigger: str, steps: Sequence[str], policy: TextPolicy = TextPolicy()) -> IndexTexts:
    """The texts of a procedure version: name and trigger; the same with its steps as context."""
    spoken_name = name.replace("_", " ").replace("-", " ")
    own = f"{spoken_name}: {trigger}"
    context = "\n".join((own, *steps))
    return IndexTexts(
        own=own[: policy.own_chars],
        context=context[: policy.own_chars],
        embed=own[: policy.embed_chars],
        exact=(name,),
    )


def pooled(v: Vector, prev: Vector | None, next: Vector | None, weight: float = 0.3) -> Vector:
    """A turn's vector leaning towards its neighbours': unit(v + weight * (prev + next)).

    Shape: unit vectors of one length; a missing neighbour counts as zero. Small models find more at no extra embedding.
    """
    mixed = v.astype(np.float32, copy=True)
    for other in (prev, next):
        if other is not None:
            mixed += np.float32(weight) * other
    norm = float(np.linalg.norm(mixed))
    return mixed if norm == 0.0 else (mixed / np.float32(norm)).astype(np.float32, copy=False)


def _neighbour(turn: TurnView | None, cuts: Cuts) -> str:
    if turn is None:
        return ""
    text = cut_text(turn.content, cuts.get(turn.event_id, ())).strip()
    return f"{speaker(turn)}: {text}" if text else ""


def _nearest(turn: TurnView, others: Iterable[TurnView]) -> TurnView | None:
    for other in others:
        if other.role != "staff" or (turn.role == "staff" and turn.ticket_id == other.ticket_id):
            return other
    return None
