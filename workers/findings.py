"""What a check of `doctor` answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warn", "fail"]

UP = "./afterturn up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at. `mend` is a command or a step; empty when nothing is wrong."""

    name: str
    state: State
    found: str
    mend: str = ""


def ok(name: str, found: str) -> Check:
    """Nothing is wrong."""
    return Check(name=name, state="ok", found=found)


def warn(name: str, found: str, mend: str) -> Check:
    """It works, and somebody should look."""
    return Check(name=name, state="warn", found=found, mend=mend)


def fail(name: str, found: str, mend: str) -> Check:
    """It does not work."""
    return Check(name=name, state="fail", found=found, mend=mend)
