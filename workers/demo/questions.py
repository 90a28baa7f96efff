"""Asks the running instance and judges the packs: what must stand there, what must not, and which turns prove it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from afterturn.recall import recall
from afterturn.wire import Pack, PackItem
from workers.demo.story import Asked


@dataclass(frozen=True, slots=True)
class Judged:
    """A question, its pack, and everything that is wrong with it ([] when all is right)."""

    asked: Asked
    pack: Pack
    wrong: tuple[str, ...]
    proof: PackItem | None


def judge(asked: Asked, pack: Pack, labels: Mapping[str, str]) -> Judged:
    """Holds a pack against what the story says; `labels` maps event ids to the story's labels."""
    shown = pack.prompt.casefold()
    wrong = [f"lacks {text!r}" for text in asked.contains if text.casefold() not in shown]
    wrong += [f"shows {text!r}" for text in asked.lacks if text.casefold() in shown]
    proof = next((item for item in pack.items if _proves(item, asked, labels)), None)
    if asked.proof and proof is None:
        wrong.append(f"no item with all of {', '.join(asked.contains)} cites {' or '.join(asked.proof)}")
    return Judged(asked, pack, tuple(wrong), proof)


def ask(asked: Asked, *, url: str, key: str, now: datetime, labels: Mapping[str, str]) -> Judged:
    """Recalls over HTTP, as an agent does, and judges. Raises: NotReachable, Refused."""
    as_of = None if asked.as_of_days is None else now - timedelta(days=asked.as_of_days)
    pack = recall(asked.text, user=asked.user, as_of=as_of, deadline_ms=2_000, url=url, key=key)
    return judge(asked, pack, labels)


def _proves(item: PackItem, asked: Asked, labels: Mapping[str, str]) -> bool:
    words = item.text.casefold()
    cited = {labels.get(reference.event_id) for reference in item.evidence}
    return all(text.casefold() in words for text in asked.contains) and not cited.isdisjoint(asked.proof)
