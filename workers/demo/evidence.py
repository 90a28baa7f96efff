"""How well a file's own questions are answered: evidence recall over the moments that recall ranks."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console

from afterturn.recall import recall
from afterturn.wire import Pack, PackItem
from memory.evaluation import recall_at, reciprocal_rank
from workers.demo.differences import Asked
from workers.demo.transcripts import Question
from workers.speech import tr

DEPTHS = (5, 10, 20)
#: Enough for the deepest measure: the moments of a pack stand in rank order, and the budget cuts the end off.
BUDGET_TOKENS = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Means over the questions (macro), in [0, 1]; milliseconds are medians as the asking side sees them."""

    questions: int
    recall: dict[int, float]
    mrr: float
    recall_by_category: dict[int, float] = field(default_factory=dict[int, float])
    median_ms: float = 0.0
    asked: tuple[Asked, ...] = field(default=(), repr=False)

    def show(self, console: Console) -> None:
        """Prints the table."""
        shown = ", ".join(f"recall@{depth} {value:.3f}" for depth, value in self.recall.items())
        console.print(
            tr(
                f"\n{self.questions} 个问题，证据{shown}，MRR {self.mrr:.3f}，召回中位数 {self.median_ms:.0f} 毫秒",
                f"\n{self.questions} questions: evidence {shown}, MRR {self.mrr:.3f}, median {self.median_ms:.0f} ms",
            )
        )
        for category, value in sorted(self.recall_by_category.items()):
            console.print(
                tr(f"  类别 {category}：recall@10 {value:.3f}", f"  category {category}: recall@10 {value:.3f}")
            )


def score(questions: Sequence[Question], labels: Mapping[str, str], *, user: str, url: str, key: str) -> Score:
    """Asks every question over HTTP; `labels` maps event ids to the file's labels. Raises: NotReachable, Refused.

    The thread is not named: its end would come along as the raw tail, and what stands there is no ranked moment.
    """
    ranked: list[list[str]] = []
    packs: list[Pack] = []
    times: list[float] = []
    for question in questions:
        began = time.perf_counter()
        pack = recall(
            question.text,
            user=user,
            kinds=["moment"],
            budget_tokens=BUDGET_TOKENS,
            deadline_ms=5_000,
            url=url,
            key=key,
        )
        times.append((time.perf_counter() - began) * 1000)
        packs.append(pack)
        turns = [turn_id for item in _ranked(pack) for turn_id in item.turn_ids]
        ranked.append([labels[turn_id] for turn_id in dict.fromkeys(turns) if turn_id in labels])
    gold = [question.gold for question in questions]
    categories = sorted({question.category for question in questions})
    return Score(
        questions=len(questions),
        recall={
            depth: _mean(recall_at(found, wanted, depth) for found, wanted in zip(ranked, gold, strict=True))
            for depth in DEPTHS
        },
        mrr=_mean(reciprocal_rank(found, wanted) for found, wanted in zip(ranked, gold, strict=True)),
        recall_by_category={
            category: _mean(
                recall_at(found, question.gold, 10)
                for found, question in zip(ranked, questions, strict=True)
                if question.category == category
            )
            for category in categories
        },
        median_ms=sorted(times)[len(times) // 2],
        asked=tuple(
            Asked(text=question.text, is_right=recall_at(found, question.gold, 10), items=_ranked(pack))
            for question, found, pack in zip(questions, ranked, packs, strict=True)
        ),
    )


def _ranked(pack: Pack) -> list[PackItem]:
    return [item for item in pack.items if item.section == "moments"]


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return round(sum(found) / len(found), 4) if found else 0.0
