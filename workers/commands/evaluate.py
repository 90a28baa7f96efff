"""The eval command: files of cases, through a scratch instance of the real product."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import typer

from workers.speech import show_json, tr


class Provider(StrEnum):
    """Who answers where a case brings no answers of its own."""

    OFFLINE = "offline"
    OPENAI = "openai"


def register(app: typer.Typer) -> None:
    """Adds eval."""
    app.command(
        "eval",
        help=tr(
            "在临时实例上运行用例文件，报告不符之处；有不符即以 1 退出。",
            "Run files of cases (dialogues, statements, poisoning) on a scratch instance; exit code 1 when any fails.",
        ),
    )(evaluate)


def evaluate(
    *,
    files: list[Path] = typer.Argument(help=tr("JSON Lines 文件", "JSON Lines")),  # noqa: B008 - typer's way
    as_json: bool = typer.Option(False, "--json", help="JSON"),
    provider: Provider = typer.Option(  # noqa: B008 - typer's way
        Provider.OFFLINE, "--provider", help="offline | openai (AFTERTURN_LLM_*)"
    ),
    repeat: int = typer.Option(
        1, "--repeat", min=1, max=100, help=tr("轮数，后几轮打乱到达次序", "later rounds shuffle the arrival of turns")
    ),
    seed: int = typer.Option(1, "--seed", help=tr("打乱次序的种子", "of the shuffles")),
) -> None:
    """Exit code 1 when any case fails, 2 for a broken file."""
    from rich.console import Console  # noqa: PLC0415 - seconds that other commands need not pay

    from workers.eval import report  # noqa: PLC0415
    from workers.eval.run import evaluate as run  # noqa: PLC0415

    results = run(files, provider=provider.value, repeat=repeat, seed=seed)
    report.show(results, Console(stderr=as_json, highlight=False))
    if as_json:
        show_json(report.as_json(results))
    raise typer.Exit(1 if results.has_failed else 0)
