"""`reindex`: has everything that SQL knows written to the index again, which the running service then does."""

from __future__ import annotations

from collections import Counter
from contextlib import closing

import typer

from schemas.errors import BadSettings
from stores.settings import load_settings
from workers.speech import show, show_json, tr

#: An index that this build or these settings cannot read.
FOREIGN = frozenset({"index_embedder", "index_layout"})


def register(app: typer.Typer) -> None:
    """Adds reindex."""
    app.command(
        "reindex",
        help=tr(
            "重新写入全部索引，或以 --model 不停机换用另一个向量模型；可中断、重复。",
            "Write everything that the database holds to the index again, or (--model) change to another embedding "
            "model without downtime; may be interrupted and repeated.",
        ),
    )(reindex)


def reindex(
    *,
    model: str | None = typer.Option(
        None,
        "--model",
        help=tr(
            "换用的向量模型： 接口所认的名称， 或自带的 offline。",
            "The embedding model to change to: a name that the endpoint knows, or `offline` (the built-in one).",
        ),
    ),
    dimensions: int | None = typer.Option(
        None, "--dimensions", min=8, max=8_192, help=tr("向量维数。", "Length of its vectors.")
    ),
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Owes every record to the index again, in small batches, or builds the next generation beside the live one.

    Exits 1 when another run is on.
    """
    from workers.first_run import require_schema  # noqa: PLC0415 - SQL: a second that other commands need not pay

    require_schema(load_settings())
    if model is not None:
        _reembed(model, dimensions, as_json=as_json)
        return
    if dimensions is not None:
        raise BadSettings("--dimensions: only beside --model")
    _rewrite(as_json=as_json)


def _rewrite(*, as_json: bool) -> None:
    from stores import outbox  # noqa: PLC0415 - SQL: a second that other commands need not pay
    from stores.kit import open_kit  # noqa: PLC0415
    from tasks import reconcile as reconciling  # noqa: PLC0415
    from tasks import reembed as reembedding  # noqa: PLC0415

    settings = load_settings()
    with closing(open_kit(settings, checks_index=False)) as kit:
        try:
            kit.live().index.open()
        except BadSettings as exc:
            if exc.code not in FOREIGN:
                raise
            reembedding.start_anew(kit)
        tenants = reconciling.reindex(kit)
        done = reconciling.reconcile(kit)
        with kit.db.read() as session:
            owed = outbox.count(session)
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


def _reembed(model: str, dimensions: int | None, *, as_json: bool) -> None:
    from stores.kit import open_kit  # noqa: PLC0415 - SQL: a second that other commands need not pay
    from tasks import reembed as reembedding  # noqa: PLC0415

    last: Counter[str] = Counter()

    def tell(building: reembedding.Building) -> None:
        last.clear()
        last.update(building.counts)
        if not as_json and building.tenant is None:
            found, differed = building.counts["records"], building.counts["differing"]
            show(
                tr(
                    f"第 {building.passes} 遍：{found} 条记录，{differed} 条有出入并已写入",
                    f"pass {building.passes}: {found} records, {differed} differed and were written",
                )
            )

    with closing(open_kit(load_settings(), checks_index=False)) as kit:
        begun = reembedding.begin(kit, model, dimensions=dimensions)
        done = False if begun is not None else reembedding.reembed(kit)
        while done is False:
            done = reembedding.reembed(kit, tell=tell)
        live = kit.generations.plan(seconds=0).live
    told = {"generation": live.number, "space": live.space, "is_live": done is True, **last}
    if as_json:
        show_json(told)
    elif done is None:
        show(tr("另一次重建在进行，它会接着完成。", "Another run is on; it goes on with this."))
    else:
        show(
            tr(
                f"索引现为第 {live.number} 代，向量模型 {live.space}；旧的一代由运行中的服务稍后删除。",
                f"The index is at generation {live.number}, embedder {live.space}; "
                "the running service drops the one before in a moment.",
            )
        )
    if done is None:
        raise typer.Exit(1)
