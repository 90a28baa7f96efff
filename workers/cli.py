"""The command line. Each module of `workers/commands` brings its own commands; this one holds what they share.

Exit codes: 0 done; 1 done, and the answer is no (a failed check); 2 a wrong argument or setting, or a refusal;
3 something did not answer: try again later.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import typer

from schemas.errors import BadSettings, ServiceError, Transient
from stores.settings import load_settings, locale_language
from workers.faults import said
from workers.speech import Language, speak, tell, tr
from workers.usage import run_in_chinese


def main(argv: Sequence[str] | None = None) -> None:
    """Runs one command and ends the process with its exit code."""
    os.umask(0o077)  # all that is made holds memories, or opens them
    try:
        language, words = _take_language(list(sys.argv[1:] if argv is None else argv))
        speak(language)
        if language == "zh":
            sys.exit(run_in_chinese(build(), words))
        build()(args=words, prog_name="afterturn")
    except ServiceError as exc:
        tell(f"错误（{exc.code}）：{said(exc)}", f"error ({exc.code}): {said(exc)}")
        sys.exit(3 if isinstance(exc, Transient) else 2)


def build() -> typer.Typer:
    """The command line, in the language that was chosen before."""
    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        help=tr(
            "Afterturn：对话之后的记忆。任何位置可加 --lang zh|en。",
            "Afterturn: memory work that happens after the turn. --lang zh|en goes anywhere.",
        ),
    )
    for module in _commands():
        module.register(app)
    return app


def _commands() -> Iterable[Any]:
    # Options write their help when their module is imported, so that the language must have been chosen before.
    from workers.commands import (  # noqa: PLC0415
        agent,
        alone,
        audit,
        chaos,
        dead,
        demo,
        doctor,
        evaluate,
        explain,
        keys,
        knowledge,
        policy,
        reindex,
        requests,
        review,
        run,
        spend,
        undo,
        users,
        why,
    )

    yield from (run, demo, evaluate, agent, why, explain, knowledge, review, undo, policy)
    yield from (requests, users, keys, spend, dead, doctor, audit, reindex, chaos, alone)


def _take_language(words: list[str]) -> tuple[Language, list[str]]:
    # Help is written before options are parsed, so this one is taken out first.
    end = words.index("--") if "--" in words else len(words)
    for place, word in enumerate(words[:end]):
        name, has_value, value = word.partition("=")
        if name == "--lang":
            given = value if has_value else "".join(words[place + 1 : place + 2])
            return _known(given), words[:place] + words[place + (1 if has_value else 2) :]
    return _configured() or locale_language(), words


def _known(given: str) -> Language:
    if given == "zh":
        return "zh"
    if given == "en":
        return "en"
    raise BadSettings("--lang: zh or en")


def _configured() -> Language | None:
    try:
        return load_settings().lang
    except BadSettings:
        return None  # the command itself will say so
