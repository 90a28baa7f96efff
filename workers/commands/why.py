"""`why`: what two things have to do with each other, over HTTP."""

from __future__ import annotations

from typing import Any, cast

import typer

from workers.commands.agent import call
from workers.speech import show, show_json, tell, tr


def register(app: typer.Typer) -> None:
    """Adds why."""
    app.command(
        "why", help=tr("两者有何关系，附证据链。", "What two things have to do with each other, with evidence.")
    )(why)


def why(
    end: str = typer.Argument(help=tr("终点", "the other end"), metavar="TO"),
    *,
    user: str = typer.Option(..., "--user", "-u", help=tr("用户", "user id")),
    start: str = typer.Option("user", "--from", help=tr("起点，默认是用户本人", "one end; the user by default")),
    ticket: str = typer.Option("", "--ticket", help=tr("工单", "ticket id")),
    as_of: str = typer.Option("", "--as-of", help=tr("当时（RFC 3339 时间）", "as of an RFC 3339 time")),
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Prints the chains between two things, an edge a line. Exits 1 when there is none."""
    asked = {"user_id": user, "from": start, "to": end, "ticket_id": ticket, "as_of": as_of}
    told = call("GET", "/v1/why", {name: given for name, given in asked.items() if given})
    paths = cast("list[dict[str, Any]]", told.get("paths", []))
    if as_json:
        show_json(told)
    for number, path in enumerate([] if as_json else paths, 1):
        show(f"{number}. {' → '.join(str(node) for node in path['nodes'])}")
        for edge in cast("list[dict[str, Any]]", path["edges"]):
            show(f"   {edge['text']}\n      {edge['evidence']['text']}")
    if not paths:
        _tell_none(told)
        raise typer.Exit(1)


def _tell_none(told: dict[str, Any]) -> None:
    for name in ("from", "to"):
        found = cast("dict[str, Any]", told.get(name) or {})
        if found.get("reason") == "ambiguous":
            named = ", ".join(str(one) for one in found.get("candidates", ()))
            tell(f"“{found['said']}”可能指：{named}", f"“{found['said']}” may mean: {named}")
        elif found.get("reason"):
            tell(f"没有关于“{found['said']}”的记忆", f"nothing is known of “{found['said']}”")
    tell("没有找到联系", "no chain joins the two")
