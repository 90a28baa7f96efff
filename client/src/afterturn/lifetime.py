"""The life of the process around a Publisher: its end, and its forks. One registration for all publishers.

A script that says one thing and ends must still deliver it; a forked child must neither send its parent's events a
second time nor wait for a lock that no thread of its own holds.
"""

from __future__ import annotations

import atexit
import importlib
import os
import sys
import weakref
from typing import Protocol

from afterturn import ids
from afterturn.forks import fork_gate


class Living(Protocol):
    """What has a life here: a Publisher."""

    def hold(self) -> None:
        """Before a fork, in the parent: stands still."""

    def resume(self) -> None:
        """After a fork, in the parent."""

    def restart(self) -> None:
        """After a fork, in the child: starts empty."""

    def finish(self) -> None:
        """The process ends: delivers what it can within its bound."""


_living: set[Living] = set()
"""Strong references: a publisher that nobody holds any more may still have events to deliver."""
_held: list[Living] = []
"""Those that stand still for a fork: another thread may begin one meanwhile."""


def begin(living: Living) -> None:
    """From now on, forks and the end of the process are handled for this publisher."""
    # The sender's imports load concurrent.futures.thread, which cannot be imported once the main thread has ended:
    # measured, a script of one turn then delivered nothing, 20 of 20 times.
    importlib.import_module("concurrent.futures.thread")
    _living.add(living)
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        # A child of a fork server makes its publisher while it imports the main module; what it registers then is
        # cleared before its work begins. This runs after the clearing.
        util.register_after_fork(living, finish_with_child)


def end(living: Living) -> None:
    """This publisher is closed."""
    _living.discard(living)


def finish_with_child(living: Living) -> None:
    """In a child of multiprocessing: has `finish` run at its end, since such children skip atexit."""
    process = sys.modules.get("multiprocessing.process")
    util = sys.modules.get("multiprocessing.util")
    if process is not None and util is not None and process.parent_process() is not None:
        reference = weakref.ref(living)
        util.Finalize(None, _finish_one, args=(reference,), exitpriority=100)


def _finish_one(reference: weakref.ref[Living]) -> None:
    living = reference()
    if living is not None:
        living.finish()


def _finish_all() -> None:
    for living in list(_living):
        living.finish()


def _before_fork() -> None:
    global _held  # noqa: PLW0603 - there is one fork at a time
    fork_gate.hold()
    holding = list(_living)
    for living in holding:
        living.hold()
    _held = holding


def _after_in_parent() -> None:
    global _held
    held, _held = _held, []
    for living in held:
        living.resume()
    fork_gate.resume()


def _after_in_child() -> None:
    global _held  # noqa: PLW0603
    # First: handlers run in the order of their imports, and a producer named from inherited randomness would be its
    # sister's too, when both are forked within a millisecond.
    ids.restart()
    _held = []
    for living in list(_living):
        living.restart()
    fork_gate.restart()


atexit.register(_finish_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
