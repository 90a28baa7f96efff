"""Builders of the values that memory rules take: turns, drafts, statements, evidence. Ids count up from one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

from memory.facts import fold
from memory.registry import spec_of
from memory.turns import TurnView
from schemas.decisions import EvidenceView, FactVersion, Fold, Op, Verified
from schemas.drafts import FactDraft, Modality, Polarity, WindowDraft

START = datetime(2026, 1, 1, 9, tzinfo=UTC)
CASES = Path(__file__).parent / "cases"


def day(number: float) -> datetime:
    """`number` days after the first of January 2026, 09:00 UTC."""
    return START + timedelta(days=number)


def ids(start: int = 1) -> Callable[[], UUID]:
    """A source of ids that counts up."""
    numbers = count(start)
    return lambda: UUID(int=next(numbers))


def turn(
    content: str,
    role: str = "user",
    *,
    number: int = 1,
    at: datetime = START,
    tz: str | None = None,
    offset_minutes: int = 0,
    tool_ok: bool | None = None,
    ticket_id: str | None = None,
    procedure: tuple[str, int] | None = None,
    source: str | None = None,
    agent_id: str | None = None,
) -> TurnView:
    """A turn whose event id is `number`."""
    return TurnView(
        event_id=UUID(int=number),
        role=role,
        content=content,
        at=at,
        tz=tz,
        utc_offset_minutes=offset_minutes,
        tool="lookup" if role == "tool" else None,
        tool_ok=tool_ok,
        ticket_id=ticket_id,
        procedure_name=procedure[0] if procedure else None,
        procedure_version=procedure[1] if procedure else None,
        source=source,
        agent_id=agent_id,
    )


def talk(*said: tuple[str, str]) -> list[TurnView]:
    """Turns of (role, text), five seconds apart, event ids 1, 2, ..."""
    return [
        turn(text, role, number=place + 1, at=START + timedelta(seconds=5 * place))
        for place, (role, text) in enumerate(said)
    ]


def fact(
    key: str,
    value: str,
    quote: str,
    *,
    label: str = "t1",
    polarity: Polarity = "+",
    subject: str = "user",
    modality: Modality = "asserted",
    when: str | None = None,
    object_text: str | None = None,
) -> FactDraft:
    """A draft as a model would give it."""
    spec = spec_of(key)
    return FactDraft(
        reason="stated",
        quote=quote,
        turn=label,
        subject=subject,
        modality=modality,
        polarity=polarity,
        type=spec.type if spec is not None else "requirement",
        key=key,
        object=object_text,
        value=value,
        when=when,
    )


def window(*facts: FactDraft, **fields: Any) -> WindowDraft:
    """A model's answer."""
    base: dict[str, Any] = {"summary": "s", "outcome": "unknown", "sentiment": "neutral", "facts": list(facts)}
    base.update(fields)
    return WindowDraft(**base)


def evidence(
    number: int,
    at_day: float,
    op: Op,
    value: str,
    *,
    key: str = "city",
    role: str = "user",
    status: str = "auto",
    since: float | None = None,
    until: float | None = None,
    precision: str = "day",
    session: int | None = None,
    flags: tuple[str, ...] = (),
    quote: str | None = None,
    quote_start: int = 0,
) -> EvidenceView:
    """Evidence `number`, said `at_day` days after the start; `since` and `until` are days as well."""
    spec = spec_of(key)
    canonical = spec.validate(value, "en") if spec is not None and value else ""
    dated = since is not None or until is not None
    return EvidenceView(
        id=UUID(int=number),
        event_id=UUID(int=10_000 + number),
        quote_start=quote_start,
        at=day(at_day),
        key=key,
        type=spec.type if spec is not None else "requirement",
        op=op,
        value=value,
        canonical=canonical or "",
        role=role,
        write_status=status,
        recorded_at=START,
        quote=value if quote is None else quote,
        valid_from=day(since) if since is not None else None,
        valid_until=day(until) if until is not None else None,
        precision=precision if dated else "unknown",
        session_ref=UUID(int=20_000 + (number if session is None else session)),
        guard_flags=flags,
    )


def folded(rows: Sequence[EvidenceView], current: Sequence[FactVersion] = (), *, first_id: int = 500) -> Fold:
    """The fold of `rows`, all of them told as new."""
    return fold(rows, current=current, now=day(900), new_id=ids(first_id), added=[one.id for one in rows])


def verified(
    value: str, quote: str, content: str, *, key: str = "likes", role: str = "user", number: int = 1, **fields: Any
) -> Verified:
    """A verified statement that stands in `content`."""
    spec = spec_of(key)
    start = content.index(quote)
    base: dict[str, Any] = {
        "ordinal": 0,
        "subject": "user",
        "key": key,
        "type": spec.type if spec is not None else "requirement",
        "object": None,
        "op": "+",
        "value": value,
        "canonical": value.casefold(),
        "quote": quote,
        "event_id": UUID(int=number),
        "quote_start": start,
        "quote_end": start + len(quote),
        "at": START,
        "role": role,
        "scope": "user",
    }
    base.update(fields)
    return Verified(**base)


def cases(name: str) -> list[dict[str, Any]]:
    """The cases of a file under tests/cases, one JSON object a line."""
    return [json.loads(line) for line in (CASES / name).read_text().splitlines() if line.strip()]
