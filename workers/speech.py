"""What the command line says, in the reader's language: stdout carries data, stderr everything else."""

from __future__ import annotations

import json
import sys
from contextvars import ContextVar
from typing import Literal

Language = Literal["zh", "en"]

_language: ContextVar[Language] = ContextVar("afterturn_language", default="en")


def speak(language: Language) -> None:
    """Chooses the language of all that follows."""
    _language.set(language)


def tr(zh: str, en: str) -> str:
    """The one of two texts that the reader understands."""
    return zh if _language.get() == "zh" else en


def tell(zh: str, en: str) -> None:
    """Progress and remarks, to stderr."""
    sys.stderr.write(tr(zh, en) + "\n")
    sys.stderr.flush()


def show(text: str) -> None:
    """Data for a reader, to stdout."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def show_json(data: object) -> None:
    """Data for a program, to stdout: one JSON value on a line of its own."""
    show(json.dumps(data, ensure_ascii=False, default=str))
