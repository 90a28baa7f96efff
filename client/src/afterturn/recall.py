"""Asking before the next turn: one HTTP request with a deadline, over pooled connections.

httpx and the wire's models load with the first question, whose deadline counts from after that, or with `warm()`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, cast

from afterturn import asking
from afterturn.errors import BadEvent

if TYPE_CHECKING:
    from afterturn.wire import Pack


class RecallOptions(TypedDict, total=False):
    """What narrows a question. Times are aware; see `wire.RecallRequest`."""

    session: str | None
    thread: str | None
    ticket: str | None
    agent: str | None
    scopes: Iterable[Literal["thread", "ticket", "user", "organization"]]
    kinds: Iterable[Literal["fact", "episode", "procedure", "knowledge", "moment"]]
    tags: Iterable[str]
    between: tuple[datetime, datetime] | None
    outcome: Literal["success", "failure", "unknown"] | None
    as_of: datetime | None
    known_at: datetime | None
    now: datetime | None
    budget_tokens: int
    deadline_ms: int


def recall(
    query: str, *, user: str, url: str | None = None, key: str | None = None, **options: Unpack[RecallOptions]
) -> Pack:
    """The memories that matter for `query`, as a pack of at most budget_tokens (800), within deadline_ms (300).

    url: default `AFTERTURN_URL`, else the local service. key: default `AFTERTURN_KEY`.
    Raises: BadEvent (a wrong argument, by name), NotReachable, Refused.
    """
    question = _question(query, user, url, key, options)
    answer = asking.ask(question)
    return asking.read(_pack(), *answer)


async def arecall(
    query: str, *, user: str, url: str | None = None, key: str | None = None, **options: Unpack[RecallOptions]
) -> Pack:
    """As `recall`, for asyncio and trio; connections are pooled per event loop."""
    question = _question(query, user, url, key, options)
    answer = await asking.ask_async(question)
    return asking.read(_pack(), *answer)


def warm(url: str | None = None) -> None:
    """Loads now what the first `recall` of this process would load: about 0.35 s. Asks nothing. Repeat: costs nothing.

    url: as for `recall`. Raises: BadSetting.
    """
    from afterturn.wire import parse_recall_request  # noqa: PLC0415

    parse_recall_request({"query": "?", "user_id": "?"})
    asking.pool.client(asking.base_url(url))


def _question(query: str, user: str, url: str | None, key: str | None, options: RecallOptions) -> asking.Question:
    from afterturn.wire import parse_recall_request  # noqa: PLC0415 - pydantic: 130 ms

    fields = asking.named(options, _FIELDS)
    for name in ("scopes", "kinds", "tags"):
        if name in fields:
            fields[name] = _listed(name, fields[name])
    try:
        request = parse_recall_request({"query": query, "user_id": user, **fields})
    except BadEvent as fault:
        raise asking.as_called(fault) from None
    body = request.model_dump_json(exclude_none=True, exclude_defaults=True).encode()
    return asking.question("POST", "/v1/recall", url=url, key=key, deadline_ms=request.deadline_ms, body=body)


def _listed(name: str, values: object) -> tuple[object, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise BadEvent(name, "must be a list")
    return tuple(cast("Iterable[object]", values))


def _pack() -> type[Pack]:
    from afterturn.wire import Pack  # noqa: PLC0415 - loaded already

    return Pack


_FIELDS = frozenset(
    {
        "session_id",
        "thread_id",
        "ticket_id",
        "agent_id",
        "scopes",
        "kinds",
        "tags",
        "between",
        "outcome",
        "as_of",
        "known_at",
        "now",
        "budget_tokens",
        "deadline_ms",
    }
)
