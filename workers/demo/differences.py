"""What one demo answers on two pairs of stores, question by question, and why a rank is another one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from afterturn.wire import PackItem
from workers.speech import tr

#: Two scores this near are one: eight bits a dimension are kept of a vector.
LIKE = 0.005
_CAUSES = {
    "none": ("相同", "same"),
    "keywords": ("词的稀有度按整个组织计算", "rarity of words counted over the whole organisation"),
    "vectors": ("向量的压缩方式不同", "vectors are compressed another way"),
    "found": ("只有一方的索引列出", "listed by one of the indexes alone"),
    "scaled": ("候选集合不同，得分按各自的最高分换算", "scores are scaled by the candidates at hand"),
    "ties": ("得分几乎相等", "scores all but equal"),
}
_PARTS = {"vector": "vectors", "own": "keywords", "context": "keywords"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question's answer on one pair of stores. `is_right`: as the story demands, or its share of the gold."""

    text: str
    is_right: float
    items: Sequence[PackItem]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One question on both pairs."""

    text: str
    right: tuple[float, float]
    shared: int
    counts: tuple[int, int]
    cause: str

    @property
    def is_another_answer(self) -> bool:
        """One pair answers what the other does not."""
        return self.right[0] != self.right[1]


def compare(ours: Sequence[Asked], theirs: Sequence[Asked], labels: tuple[Mapping[str, str], ...]) -> list[Difference]:
    """Question by question; `labels` name the turns of each side, which have other ids there."""
    return [_compare(one, other, labels) for one, other in zip(ours, theirs, strict=True)]


def _compare(one: Asked, other: Asked, labels: tuple[Mapping[str, str], ...]) -> Difference:
    here = {_name(item, labels[0]): item for item in one.items}
    there = {_name(item, labels[1]): item for item in other.items}
    return Difference(
        text=one.text,
        right=(one.is_right, other.is_right),
        shared=len(here.keys() & there.keys()),
        counts=(len(here), len(there)),
        cause=_cause(here, there),
    )


def _name(item: PackItem, labels: Mapping[str, str]) -> tuple[str, ...]:
    """What an item is, whatever its ids."""
    return (item.section, item.text, *sorted(labels.get(one, one) for one in item.turn_ids))


def _cause(here: Mapping[tuple[str, ...], PackItem], there: Mapping[tuple[str, ...], PackItem]) -> str:
    if list(here) == list(there):
        return "none"
    if here.keys() != there.keys():
        return "found"
    largest = {"keywords": 0.0, "vectors": 0.0, "scaled": 0.0}
    for name in here.keys() & there.keys():
        for part in here[name].score_parts.keys() | there[name].score_parts.keys():
            by = abs(here[name].score_parts.get(part, 0.0) - there[name].score_parts.get(part, 0.0))
            cause = _PARTS.get(part, "scaled")
            largest[cause] = max(largest[cause], by)
    cause = max(largest, key=lambda one: largest[one])
    return cause if largest[cause] > LIKE else "ties"


def show(found: Sequence[Difference], console: Console, *, limit: int = 40) -> None:
    """The table: answers, shared items and the cause; the longest only where something differs."""
    table = Table(title=tr("两对存储的差异", "Differences between the two pairs of stores"))
    for title in (
        tr("问题", "question"),
        "SQLite + embedded",
        "PostgreSQL + Weaviate",
        tr("相同条目", "items shared"),
        tr("原因", "cause"),
    ):
        table.add_column(title)
    notable = [one for one in found if one.cause != "none" or one.is_another_answer] if len(found) > limit else found
    for one in notable[:limit]:
        shared = f"{one.shared} / {one.counts[0]} · {one.counts[1]}"
        table.add_row(one.text[:60], f"{one.right[0]:.2f}", f"{one.right[1]:.2f}", shared, tr(*_CAUSES[one.cause]))
    console.print(table)
    causes = Counter(one.cause for one in found)
    told = ", ".join(f"{tr(*_CAUSES[cause])}: {count}" for cause, count in causes.most_common())
    another = sum(one.is_another_answer for one in found)
    console.print(
        tr(
            f"{len(found)} 个问题，{another} 个答案不同。{told}",
            f"{len(found)} questions, {another} answered otherwise. {told}",
        )
    )


def as_json(found: Sequence[Difference]) -> list[dict[str, object]]:
    """The same for a program."""
    return [
        {"text": one.text, "right": one.right, "shared": one.shared, "items": one.counts, "cause": one.cause}
        for one in found
    ]
