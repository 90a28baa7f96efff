"""The demo command: a whole instance, a story or a file, questions and answers."""

from __future__ import annotations

from pathlib import Path

import typer

from workers.speech import tr


def register(app: typer.Typer) -> None:
    """Adds demo."""
    app.command(
        "demo",
        help=tr(
            "在临时目录启动全部进程，演一个故事或文件，再核对答案。",
            "Start everything on a scratch folder, play a story (or a file), ask questions, check the answers.",
        ),
    )(demo)


def demo(
    *,
    file: Path | None = typer.Option(  # noqa: B008 - typer's way
        None, "--file", help="LoCoMo JSON | conversations.json (ChatGPT) | JSON Lines"
    ),
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Plays the built-in story or a file; exit code 1 when a check fails."""
    from workers.demo.run import run  # noqa: PLC0415 - SQL and the client: a second that other commands need not pay

    raise typer.Exit(run(file, as_json=as_json))
