"""Asking what two things have to do with each other: chains of facts, tickets and knowledge, with their evidence."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, TypedDict, Unpack

from afterturn import asking
from afterturn.errors import BadEvent

if TYPE_CHECKING:
    from afterturn.whys import WhyAnswer

DEADLINE_MS = 2_000
MAX_DEADLINE_MS = 60_000


class WhyOptions(TypedDict, total=False):
    """What narrows the question. Times are aware; see `whys.WhyRequest`. `start` is the user unless it is named."""

    start: str
    session: str | None
    ticket: str | None
    agent: str | None
    as_of: datetime | None
    known_at: datetime | None
    max_edges: int
    deadline_ms: int


def why(
    to: str, *, user: str, url: str | None = None, key: str | None = None, **options: Unpack[WhyOptions]
) -> WhyAnswer:
    """The chains of at most max_edges (5) edges that join the user, or `start`, to `to`, within deadline_ms (2000).

    url: default `AFTERTURN_URL`, else the local service. key: default `AFTERTURN_KEY`.
    Raises: BadEvent (a wrong argument, by name), BadSetting (url), BadCredential (key), NotReachable, Refused.
    """
    question = _question(to, user, url, key, options)
    answer = asking.ask(question)
    return asking.read(_shape(), *answer)


async def awhy(
    to: str, *, user: str, url: str | None = None, key: str | None = None, **options: Unpack[WhyOptions]
) -> WhyAnswer:
    """As `why`, for asyncio and trio; connections are pooled per event loop, with those of `arecall`."""
    question = _question(to, user, url, key, options)
    answer = await asking.ask_async(question)
    return asking.read(_shape(), *answer)


def _question(to: str, user: str, url: str | None, key: str | None, options: WhyOptions) -> asking.Question:
    from afterturn.whys import parse_why_request  # noqa: PLC0415 - pydantic: 130 ms

    fields = asking.named(options, _FIELDS)
    deadline_ms = fields.pop("deadline_ms", DEADLINE_MS)
    if not isinstance(deadline_ms, int) or isinstance(deadline_ms, bool) or not 1 <= deadline_ms <= MAX_DEADLINE_MS:
        raise BadEvent("deadline_ms", f"must be between 1 and {MAX_DEADLINE_MS}")
    if "start" in fields:
        fields["from"] = fields.pop("start")
    try:
        request = parse_why_request({"to": to, "user_id": user, **fields})
    except BadEvent as fault:
        raise asking.as_called(fault) from None
    given = request.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    params = {name: str(value) for name, value in given.items()}
    return asking.question("GET", "/v1/why", url=url, key=key, deadline_ms=deadline_ms, params=params)


def _shape() -> type[WhyAnswer]:
    from afterturn.whys import WhyAnswer  # noqa: PLC0415 - loaded already

    return WhyAnswer


_FIELDS = frozenset({"start", "session_id", "ticket_id", "agent_id", "as_of", "known_at", "max_edges", "deadline_ms"})
