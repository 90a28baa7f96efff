"""Consolidation: which episodes say much the same, and the one summary that stands for them and names what differs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from uuid import UUID

import numpy as np

from memory.precision import zone_of
from schemas.indexing import Vector

_ID = re.compile(
    r"(?<![A-Za-z0-9])(?=[A-Za-z0-9/_-]*\d)[A-Za-z0-9]+(?:[-_/][A-Za-z0-9]+)*(?![A-Za-z0-9])(?:\s?(?:%|元|块|天|小时|日|euros?|dollars?|days?|hours?))?"
    r"|[$€£¥]\s?\d[\d,.]*"
)
_MAX_MEMBERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    """One episode that may become part of a summary."""

    id: UUID
    summary: str
    started_at: datetime
    ended_at: datetime
    outcome: str = "unknown"
    language: str = "en"
    tz: str | None = None


def clusters(
    vectors: Sequence[Vector], ids: Sequence[UUID], *, threshold: float = 0.85, min_size: int = 3
) -> list[tuple[UUID, ...]]:
    """Groups of episodes in which every two have a cosine >= threshold; each episode is in one group at most.

    Shape: unit vectors, one per id, in any order: the same episodes always give the same groups, largest first, ids in
    order inside. Complete linkage on purpose: a chain of neighbours would merge what has nothing in common.
    Raises: ValueError when the lengths differ. Cost: n * n similarities; callers pass bounded batches.
    """
    if len(vectors) != len(ids):
        msg = "one vector per id"
        raise ValueError(msg)
    if len(ids) < min_size:
        return []
    order = sorted(range(len(ids)), key=lambda at: str(ids[at]))
    matrix = np.stack([vectors[at] for at in order]).astype(np.float64)
    near = matrix @ matrix.T >= threshold - 1e-6
    free = set(range(len(order)))
    groups: list[tuple[int, ...]] = []
    while free:
        seed = max(free, key=lambda at: (int(near[at, sorted(free)].sum()), -at))
        group = _grown(seed, near, matrix, free)
        free -= set(group)
        if len(group) >= min_size:
            groups.append(tuple(sorted(group)))
    groups.sort(key=lambda group: (-len(group), group[0]))
    return [tuple(ids[order[at]] for at in group) for group in groups]


def merge(members: Sequence[MemberView]) -> list[str]:
    """The lines of the summary that stands for its members, in time order, in the language of most of them.

    First how many, from when to when, and what they share (the newest summary, its own ids and amounts left open);
    then one line per member with its date, what only it names, and its outcome. Nothing is invented: ids and amounts
    that differ are listed, never averaged. Raises: ValueError for no members.
    """
    if not members:
        msg = "a summary needs members"
        raise ValueError(msg)
    ordered = sorted(members, key=lambda one: (one.started_at, str(one.id)))[-_MAX_MEMBERS:]
    zh = sum(one.language == "zh" for one in ordered) * 2 > len(ordered)
    named = [list(dict.fromkeys(found[0].strip() for found in _ID.finditer(one.summary))) for one in ordered]
    shared = set(named[0]).intersection(*(set(names) for names in named[1:]))
    first, last = _day(ordered[0].started_at, ordered[0].tz), _day(ordered[-1].ended_at, ordered[-1].tz)
    common = _open(ordered[-1].summary, shared)
    head = (
        f"{first} 至 {last} 共 {len(ordered)} 次：{common}"
        if zh
        else f"{len(ordered)} times from {first} to {last}: {common}"
    )
    return [
        head,
        *(
            _line(one, [name for name in names if name not in shared], zh=zh)
            for one, names in zip(ordered, named, strict=True)
        ),
    ]


def _grown(seed: int, near: np.ndarray, matrix: np.ndarray, free: set[int]) -> list[int]:
    group = [seed]
    around = [at for at in free if at != seed and near[seed, at]]
    for at in sorted(around, key=lambda at: (-float(matrix[seed] @ matrix[at]), at)):
        if all(near[at, other] for other in group):
            group.append(at)
    return group


def _open(summary: str, shared: set[str]) -> str:
    return _ID.sub(lambda found: found[0] if found[0].strip() in shared else "…", summary).strip()


def _line(one: MemberView, own: Sequence[str], *, zh: bool) -> str:
    outcome = {"success": "成功" if zh else "success", "failure": "失败" if zh else "failure"}.get(one.outcome)
    parts = [", ".join(own) if not zh else "、".join(own), outcome or ""]
    tail = ("；" if zh else "; ").join(part for part in parts if part)
    day = _day(one.started_at, one.tz)
    if not tail:
        return f"- {day}"
    return f"- {day}：{tail}" if zh else f"- {day}: {tail}"


def _day(at: datetime, tz: str | None) -> str:
    zone: tzinfo = zone_of(tz)
    return f"{at.astimezone(zone):%Y-%m-%d}"
