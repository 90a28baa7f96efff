"""`reindex`: has everything that SQL knows written to the index again, which the running service then does."""

from __future__ import annotations

import typer

from schemas.errors import BadSettings
from stores.settings import load_settings
from workers.speech import show, show_json, tr

#: An index that this build or this embedder cannot read: it is emptied first.
FOREIGN = frozenset({"index_embedder", "index_layout"})


def register(app: typer.Typer) -> None:
    """Adds reindex."""
    app.command(
        "reindex",
        help=tr(
            "把数据库中的全部记录重新写入索引（可随时中断、重复）。",
            "Write everything that the database holds to the index again; may be interrupted and repeated.",
        ),
    )(reindex)


def reindex(*, as_json: bool = typer.Option(False, "--json", help="JSON")) -> None:
    """Owes every record to the index again, in small batches. Exits 1 when another run is on."""
    from stores import outbox  # noqa: PLC0415 - SQL: a second that other commands need not pay
    from stores.kit import open_kit  # noqa: PLC0415
    from tasks import reconcile as reconciling  # noqa: PLC0415

    settings = load_settings()
    try:
        kit = open_kit(settings)
    except BadSettings as exc:
        if exc.code not in FOREIGN:
            raise
        kit = open_kit(settings, empties_index=True)
    try:
        tenants = reconciling.reindex(kit)
        done = reconciling.reconcile(kit)
        with kit.db.read() as session:
            owed = outbox.counts(session).owed
    finally:
        kit.close()
    if as_json:
        show_json({"tenants": tenants, "owed": owed, "is_complete": done is not None})
    elif done is None:
        show(tr("已有一次核对在进行，它会接着完成。", "A comparison is under way; it goes on with this."))
    else:
        show(
            tr(
                f"{tenants} 个租户，{owed} 条记录待写入索引；服务运行时会自动写入。",
                f"{tenants} tenants, {owed} records are owed to the index; the running service writes them.",
            )
        )
