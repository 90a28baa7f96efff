"""A turn as rules see it: a value, already opened, in the order of a conversation."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone, tzinfo
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """Something said, with what a rule may need to judge it. `at` is aware UTC."""

    event_id: UUID
    role: str
    content: str
    at: datetime
    name: str | None = None
    tz: str | None = None
    utc_offset_minutes: int = 0
    tool: str | None = None
    tool_ok: bool | None = None
    procedure_name: str | None = None
    procedure_version: int | None = None
    actor_id: str | None = None
    agent_id: str | None = None
    thread_id: str | None = None
    ticket_id: str | None = None
    reply_to: UUID | None = None
    source: str | None = None
    language: str = "und"
    token_count: int = 0
    flags: tuple[str, ...] = field(default=())

    def zone(self) -> tzinfo:
        """The zone in which this turn's relative dates resolve: the user's, else the offset that `at` came with."""
        if self.tz is not None:
            try:
                return ZoneInfo(self.tz)
            except (ZoneInfoNotFoundError, ValueError):
                pass
        return timezone(timedelta(minutes=self.utc_offset_minutes))

    def zone_name(self) -> str | None:
        """The zone to keep beside a date: an IANA name, else an offset such as +08:00; None for UTC."""
        if self.tz is not None or not self.utc_offset_minutes:
            return self.tz
        hours, minutes = divmod(abs(self.utc_offset_minutes), 60)
        return f"{'-' if self.utc_offset_minutes < 0 else '+'}{hours:02d}:{minutes:02d}"
