"""What became of an event, as the API shows it: states, times and ids, and one sentence in the reader's language."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel

from stores.fates import Fate


class WindowView(BaseModel):
    """The window that the event went into: waiting, running, answered, applied or dead."""

    id: UUID
    state: str
    attempts: int
    error_code: str | None = None
    applied_at: datetime | None = None


class EventView(BaseModel):
    """Where an event stands, and what came of it.

    `state` is stored, digested, applied, rejected, dead, dead_window, erased or purged; `reason` says why, if there is
    one. `said` is the same for people. Counts and episodes are its window's; facts are those that rest on the event.
    """

    event_id: UUID
    kind: str
    state: str
    reason: str | None = None
    is_final: bool
    said: str
    received_at: datetime
    at: datetime | None = None
    waits_until: datetime | None = None
    producer: str | None = None
    window: WindowView | None = None
    dead_letter_id: UUID | None = None
    episode_ids: tuple[UUID, ...] = ()
    fact_ids: tuple[UUID, ...] = ()
    pending_count: int = 0
    refused_count: int = 0


def event_view(found: Fate, language: str) -> EventView:
    """The fate with its sentence."""
    window = None
    if found.window_id is not None:
        window = WindowView(
            id=found.window_id,
            state=found.window_state or "gone",
            attempts=found.attempts,
            error_code=found.error_code,
            applied_at=found.applied_at,
        )
    return EventView(
        event_id=found.event_id,
        kind=found.kind,
        state=found.state,
        reason=found.reason,
        is_final=found.is_final,
        said=said(found, language),
        received_at=found.received_at,
        at=found.at,
        waits_until=found.waits_until,
        producer=found.producer,
        window=window,
        dead_letter_id=found.letter_id,
        episode_ids=found.episode_ids,
        fact_ids=found.fact_ids,
        pending_count=found.pending_count,
        refused_count=found.refused_count,
    )


def said(found: Fate, language: str) -> str:
    """One sentence on where the event stands."""
    zh, en = _sentence(found)
    return zh if language == "zh" else en


def _sentence(found: Fate) -> tuple[str, str]:
    if found.state == "stored":
        return _waiting(found)
    if found.state == "digested":
        zh = f"已整理：{len(found.episode_ids)} 段情节，{len(found.fact_ids)} 条事实出自它"
        return zh + "。", f"Digested: {len(found.episode_ids)} episode(s), {len(found.fact_ids)} fact(s) rest on it."
    reason = found.reason or "-"
    return {
        "applied": ("已生效；这类事件无需整理。", "Applied; events of this kind need no digest."),
        "rejected": (f"已拒收（{reason}）；改正后可用同一编号重发。", f"Rejected ({reason}); mend and send it again."),
        "dead": (
            f"处理失败（{reason}），已成死信：./afterturn dead show {found.letter_id or ''}",
            f"It could not be processed ({reason}) and is a dead letter: ./afterturn dead show {found.letter_id or ''}",
        ),
        "dead_window": (
            f"所在窗口多次失败（{found.error_code}），已成死信：./afterturn dead retry {found.letter_id or ''}",
            f"Its window failed too often ({found.error_code}): ./afterturn dead retry {found.letter_id or ''}",
        ),
        "erased": ("用户已被抹除，内容不再保留。", "Its user was erased; nothing of it is kept."),
        "purged": ("保留期已过，内容已清除。", "Its retention has ended; the content is gone."),
    }.get(found.state, (found.state, found.state))


def _waiting(found: Fate) -> tuple[str, str]:
    until = "" if found.waits_until is None else found.waits_until.isoformat(timespec="seconds")
    if found.letter_id is not None and found.window_id is None:
        return "已封存：需要更新的版本才能读取。", "Kept sealed: only a newer version can read it."
    if found.window_id is None:
        return f"已保存，等会话安静下来（{until}）。", f"Stored; it waits until its session falls quiet ({until})."
    if found.window_state == "running":
        return f"正在整理（最迟到 {until}）。", f"Its window is being digested (until {until} at the latest)."
    if found.error_code is not None:
        return (
            f"窗口已推迟（{found.error_code}），{until} 再试。",
            f"Its window was put off ({found.error_code}) until {until}.",
        )
    return "窗口已排队，等待整理。", "Its window is due and waits for a worker."
