"""The demo command: a whole instance, a story or a file, questions and answers."""

from __future__ import annotations

from pathlib import Path

import typer

from schemas.errors import BadSettings
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
    stores: str = typer.Option(
        "embedded",
        "--stores",
        help=tr(
            "embedded | production（再用 PostgreSQL 与 Weaviate 演一遍，列出差异）",
            "embedded, or production: once more on PostgreSQL and Weaviate, with a table of the differences "
            "(those of the settings, else started here from their programs).",
        ),
    ),
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Plays the built-in story or a file; exit code 1 when a check fails or two pairs of stores answer otherwise."""
    from workers.demo.run import run  # noqa: PLC0415 - SQL and the client: a second that other commands need not pay

    if stores not in ("embedded", "production"):
        raise BadSettings("--stores: embedded or production")
    raise typer.Exit(run(file, as_json=as_json, stores="production" if stores == "production" else "embedded"))
