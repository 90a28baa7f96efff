"""The dialogue cases through the rules alone: offline answers or scripted ones, verified, gated and folded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any
from uuid import UUID

import pytest

from llm.face import WindowRequest
from llm.offline import OfflineModel
from memory.facts import current_at, fold, slot_parts
from memory.gate import decide, own_drafts, requests
from memory.guard import flags
from memory.turns import TurnView
from memory.verify import verify
from memory_fixtures import cases, ids
from schemas.decisions import Decision, EvidenceView, FactVersion, Verified
from schemas.drafts import WindowDraft

_FAR = datetime(2027, 6, 1, tzinfo=UTC)
# Masking, erasure, arrival and recall need stores; what is left of these cases is decided by rules.
_NEEDS_STORES = {"forget-then-redeliver", "secret-nowhere", "no-store"}


@dataclass
class _World:
    evidence: dict[tuple[str, ...], list[EvidenceView]] = field(
        default_factory=dict[tuple[str, ...], list[EvidenceView]]
    )
    pending: list[str] = field(default_factory=list[str])
    requests: list[str] = field(default_factory=list[str])
    ids: Iterator[int] = field(default_factory=lambda: count(1))

    def digest(self, turns: list[TurnView], draft: WindowDraft) -> None:
        found = {turn.event_id: flags(turn.content) for turn in turns}
        verified = [one for one in verify(draft, turns) if isinstance(one, Verified)]
        judged = [(one, decide(one, found[one.event_id])) for one in verified]
        for turn in turns:
            judged += [(own.verified, own.decision) for own in own_drafts(turn, found[turn.event_id], verified)]
            self.requests += requests(turn, found[turn.event_id])
        for one, decision in judged:
            self._keep(one, decision)

    def _keep(self, one: Verified, decision: Decision) -> None:
        if decision.write_status == "pending_review":
            self.pending.append(one.value)
        if decision.write_status not in {"auto", "pending_review"}:
            return
        slot = slot_parts(
            scope=one.scope,
            scope_key="u1",
            subject=one.subject,
            key=one.key,
            object_text=one.object,
            canonical=one.canonical,
        )
        self.evidence.setdefault(slot, []).append(
            EvidenceView(
                id=UUID(int=next(self.ids)),
                event_id=one.event_id,
                quote_start=one.quote_start,
                at=one.at,
                key=one.key,
                type=one.type,
                op=one.op,
                value=one.value,
                canonical=one.canonical,
                role=one.role,
                write_status=decision.write_status,
                recorded_at=one.at,
                quote=one.quote,
                valid_from=one.valid_from,
                valid_until=one.valid_until,
                precision=one.precision,
            )
        )

    def versions(self, subject: str) -> list[FactVersion]:
        new_id = ids(1)
        slots = [rows for slot, rows in self.evidence.items() if slot[0] == "user" and slot[2] == subject]
        return [one for rows in slots for one in fold(rows, current=(), now=_FAR, new_id=new_id).versions]


def _turns(case: dict[str, Any]) -> dict[str, list[TurnView]]:
    sessions: dict[str, dict[str, TurnView]] = {}
    for place, said in enumerate(case["turns"]):
        if "text" not in said or said.get("no_store"):
            continue
        at = datetime.fromisoformat(said["at"])
        offset = at.utcoffset()
        event = said.get("event", f"e{place}")
        sessions.setdefault(said["session"], {})[event] = TurnView(
            event_id=UUID(int=1000 + place),
            role=said["role"],
            content=said["text"],
            at=at.astimezone(UTC),
            tz=said.get("tz"),
            utc_offset_minutes=int(offset.total_seconds() // 60) if offset is not None else 0,
            tool=said.get("name"),
            tool_ok=said.get("ok"),
            ticket_id=said.get("ticket"),
            actor_id=said.get("actor"),
        )
    return {name: sorted(turns.values(), key=lambda turn: turn.at) for name, turns in sessions.items()}


def _answer(case: dict[str, Any], session: str, turns: list[TurnView]) -> WindowDraft:
    if "model" in case:
        return WindowDraft.model_validate(case["model"][session][-1])
    if "model_raw" in case:
        raw = case["model_raw"][session][-1]
        return WindowDraft.model_validate(json.loads(raw[raw.index("{") : raw.rindex("}") + 1]))
    return OfflineModel().digest(WindowRequest(turns=turns, prompt_version="test")).draft


def _is_in(wanted: str, versions: list[FactVersion]) -> bool:
    return any(wanted.casefold() in f"{one.value} {one.canonical}".casefold() for one in versions)


@pytest.mark.parametrize(
    "case", [case for case in cases("dialogues.jsonl") if case["id"] not in _NEEDS_STORES], ids=lambda case: case["id"]
)
def test_dialogue(case: dict[str, Any]) -> None:
    world, expect = _World(), case["expect"]
    for session, turns in _turns(case).items():
        world.digest(turns, _answer(case, session, turns))

    versions = world.versions("user")
    current = list(current_at(versions, _FAR))
    past = [one for one in versions if one not in current]
    for wanted in expect.get("current", []):
        assert _is_in(wanted, current), wanted
    for unwanted in expect.get("not_current", []):
        assert not _is_in(unwanted, current), unwanted
    for wanted in expect.get("past", []):
        assert _is_in(wanted, past), wanted
    for wanted in expect.get("pending", []):
        assert any(wanted in value for value in world.pending), wanted
    for subject, values in expect.get("other", {}).items():
        assert all(_is_in(value, world.versions(subject)) for value in values), subject
    assert len(current) == expect.get("current_count", len(current))
    assert len(current) <= expect.get("current_max", len(current))
    assert world.requests == expect.get("requests", world.requests)
