"""`digest-alone`: one suspect window in a process of its own. A worker starts it; an operator has no use for it."""

from __future__ import annotations

import signal
import sys
from uuid import UUID

import typer

from stores.settings import load_settings
from workers import logs
from workers.speech import show


def register(app: typer.Typer) -> None:
    """Adds digest-alone, hidden."""
    app.command("digest-alone", hidden=True)(digest_alone)


def digest_alone(window_id: str, epoch: int) -> None:
    """Brings the window that was claimed under this epoch to an outcome. Exits 0, also when the claim has gone.

    Says on stdout when it begins with the window and when it has ended in order: an error or a signal to stop is in
    order, and no crash of the window.
    """
    from stores import pools, suspects  # noqa: PLC0415 - SQL and stores: seconds that other commands need not pay
    from stores.kit import close_process_kit, process_kit  # noqa: PLC0415
    from tasks.alone import BEGUN, ENDED  # noqa: PLC0415
    from tasks.digest import work  # noqa: PLC0415

    logs.configure(load_settings().workers.log_level)
    pools.act_as("llm")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _stop)
    kit = process_kit()
    lease = kit.policies.windows.lease_seconds
    claim = kit.db.write(lambda session: suspects.adopt(session, UUID(window_id), epoch, lease_seconds=lease))
    if claim is not None:
        show(BEGUN)
        try:
            work(kit, claim)
        finally:
            show(ENDED)
    close_process_kit()


def _stop(number: int, _frame: object) -> None:
    sys.exit(128 + number)
