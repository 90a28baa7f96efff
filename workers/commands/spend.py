"""`spend`: what models have cost this tenant, over HTTP."""

from __future__ import annotations

from typing import Any, cast

import typer

from workers.commands.agent import call
from workers.speech import show, show_json, tell, tr


def register(app: typer.Typer) -> None:
    """Adds spend."""
    app.command("spend", help=tr("模型用量与费用，按日、阶段和模型。", "What models cost, by day, stage and model."))(
        spend
    )


def spend(
    *,
    days: int = typer.Option(30, help=tr("最近多少天", "today and the days before")),
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Lists usage and estimated cost; needs the right admin."""
    told = call("GET", "/v1/spend", {"days": days})
    if as_json:
        show_json(told)
        return
    for row in cast("list[dict[str, Any]]", told.get("rows", [])):
        cost = tr("无价格", "no price") if row["cost_usd"] is None else f"${row['cost_usd']:.4f}"
        counts = f"{row['calls']}x  {row['input_tokens']} + {row['output_tokens']}"
        show(f"{row['day']}  {row['stage']}  {row['model']}  {counts} {tr('词元', 'tokens')}  {cost}")
    tell(
        f"合计 {told.get('calls')} 次调用，{told.get('tokens')} 词元，约 ${float(told.get('cost_usd') or 0):.4f}",
        f"{told.get('calls')} calls, {told.get('tokens')} tokens, about ${float(told.get('cost_usd') or 0):.4f} in all",
    )
