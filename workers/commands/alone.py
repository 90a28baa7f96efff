"""`digest-alone`: one suspect window in a process of its own. A worker starts it; an operator has no use for it."""

from __future__ import annotations

from uuid import UUID

import typer

from stores.settings import load_settings
from workers import logs


def register(app: typer.Typer) -> None:
    """Adds digest-alone, hidden."""
    app.command("digest-alone", hidden=True)(digest_alone)


def digest_alone(window_id: str, epoch: int) -> None:
    """Brings the window that was claimed under this epoch to an outcome. Exits 0, also when the claim has gone."""
    from stores import suspects  # noqa: PLC0415 - SQL and stores: seconds that other commands need not pay
    from stores.kit import close_process_kit, process_kit  # noqa: PLC0415
    from tasks.digest import work  # noqa: PLC0415

    logs.configure(load_settings().workers.log_level)
    kit = process_kit()
    with kit.db.read() as session:
        claim = suspects.adopt(session, UUID(window_id), epoch)
    if claim is not None:
        work(kit, claim)
    close_process_kit()
