"""What a run says: a line a failing case, a table, or one JSON value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from workers.eval import statements
from workers.eval.cases import Case, Dialogue, Poison, Statement
from workers.eval.run import Results
from workers.eval.statements import Fact
from workers.speech import tr


def show(results: Results, console: Console) -> None:
    """Prints the failing cases, then the tables."""
    for line in _failures(results):
        console.print(line, soft_wrap=True)
    console.print(_table(results))
    if results.reads:
        console.print(_scores(results))
    console.print(
        tr(
            f"提供方 {results.provider}，{results.repeat} 轮，种子 {results.seed}，用时 {results.seconds} 秒",
            f"provider {results.provider}, {results.repeat} round(s), seed {results.seed}, {results.seconds} s",
        )
    )


def as_json(results: Results) -> dict[str, Any]:
    """The whole result as plain values."""
    return {
        "failed": results.has_failed,
        "provider": results.provider,
        "repeat": results.repeat,
        "seed": results.seed,
        "seconds": results.seconds,
        "files": [_file(results, name, cases) for name, cases in results.files],
        "statements": {
            language: {
                "statements": score.statements,
                "precision": round(score.precision, 4),
                "recall": round(score.recall, 4),
                "right": score.right,
                "wrong": score.wrong,
                "missed": score.missed,
                "is_enough": score.is_enough,
            }
            for language, score in statements.scores(results.reads).items()
        },
        "failures": [
            *(
                {
                    "place": one.case.place,
                    "id": one.case.id,
                    "round": one.number,
                    "why": one.case.why,
                    "wrong": one.wrong,
                }
                for one in results.dialogues
                if one.wrong
            ),
            *(
                {
                    "place": one.case.place,
                    "id": one.case.id,
                    "why": one.case.why,
                    "wrong": [f"decision {one.case.decision}: {one.decision} {list(one.reasons)}"],
                }
                for one in results.decided
                if not one.is_right
            ),
        ],
        "statement_errors": [
            {
                "place": one.statement.place,
                "id": one.statement.id,
                "wrong": one.wrong,
                "missed": one.missed,
                "fault": one.fault,
            }
            for one in results.reads
            if one.wrong or one.missed or one.fault
        ],
        "not_possible": [
            {"place": case.place, "id": case.id, "actions": list(case.missing_actions)} for case in results.blocked
        ],
    }


def _file(results: Results, name: str, cases: Sequence[Case]) -> dict[str, Any]:
    counts = [_outcome(results, case) for case in cases]
    return {
        "file": name,
        "kind": "+".join(dict.fromkeys(_kind(case) for case in cases)),
        "cases": len(cases),
        "passed": counts.count("passed"),
        "failed": counts.count("failed"),
        "not_possible": counts.count("not_possible"),
    }


def _outcome(results: Results, case: Case) -> str:
    """How a case ended over all rounds; a statement passes when all of its facts are right and no other is found."""
    match case:
        case Dialogue():
            if case.missing_actions:
                return "not_possible"
            is_wrong = any(one.wrong for one in results.dialogues if one.case is case)
        case Statement():
            is_wrong = any(one.wrong or one.missed for one in results.reads if one.statement is case)
        case Poison():
            is_wrong = any(not one.is_right for one in results.decided if one.case is case)
    return "failed" if is_wrong else "passed"


def _kind(case: Case) -> str:
    return {Dialogue: "dialogues", Statement: "statements", Poison: "poisoning"}[type(case)]


def _failures(results: Results) -> Iterator[str]:
    for one in results.dialogues:
        if one.wrong:
            turn = tr(f"，第 {one.number} 轮", f", round {one.number}") if results.repeat > 1 else ""
            yield _line("red", "✗", one.case.place, f"{one.case.id}{turn}", "; ".join(one.wrong))
    for one in results.decided:
        if not one.is_right:
            reasons = f" ({', '.join(one.reasons)})" if one.reasons else ""
            said = f"{one.case.origin}: decision {one.case.decision}: {one.decision}{reasons}"
            yield _line("red", "✗", one.case.place, one.case.id, said)
    for one in results.reads:
        parts = [f"wrong {_fact(fact)}" for fact in one.wrong] + [f"missed {_fact(fact)}" for fact in one.missed]
        if one.fault:
            parts.append(f"the provider failed: {one.fault}")
        if parts:
            style = "red" if one.wrong or one.fault else "yellow"
            yield _line(
                style, "✗" if one.wrong or one.fault else "·", one.statement.place, one.statement.id, "; ".join(parts)
            )
    for case in results.blocked:
        actions = ", ".join(case.missing_actions)
        yield _line("dim", "-", case.place, case.id, tr(f"尚不支持：{actions}", f"not possible yet: {actions}"))


def _line(style: str, mark: str, place: str, name: str, words: str) -> str:
    return f"[{style}]{mark}[/{style}] {escape(place)} [bold]{escape(name)}[/bold]: {escape(words)}"


def _fact(fact: Fact) -> str:
    return f"({', '.join(fact)})"


def _table(results: Results) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    titles = (
        ("文件", "file"),
        ("种类", "kind"),
        ("用例", "cases"),
        ("通过", "passed"),
        ("失败", "failed"),
        ("尚不支持", "not possible yet"),
    )
    for place, title in enumerate(titles):
        table.add_column(tr(*title), justify="left" if place < 2 else "right")
    for name, cases in results.files:
        table.add_row(*(str(value) for value in _file(results, name, cases).values()))
    return table


def _scores(results: Results) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    for place, title in enumerate(
        (
            ("语言", "language"),
            ("语句", "statements"),
            ("准确率", "precision"),
            ("召回率", "recall"),
            ("错误", "wrong"),
            ("遗漏", "missed"),
        )
    ):
        table.add_column(tr(*title), justify="left" if not place else "right")
    for language, score in statements.scores(results.reads).items():
        table.add_row(
            language,
            str(score.statements),
            f"{score.precision:.3f}",
            f"{score.recall:.3f}",
            str(score.wrong),
            str(score.missed),
            style="" if score.is_enough else "red",
        )
    return table
