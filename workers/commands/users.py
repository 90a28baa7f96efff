"""`users`: which ids are the same person. Needs SQL only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from workers.commands.review import AS_JSON, TENANT, desk, me
from workers.speech import show, show_json, tell, tr

if TYPE_CHECKING:
    from schemas.dossiers import AliasSet

KNOWN = typer.Argument(help=tr("已知用户的编号", "the known user's id"))
ALIAS = typer.Argument(help=tr("同一个人的另一编号", "another id of the same person"))


def register(app: typer.Typer) -> None:
    """Adds the group `users`."""
    group = typer.Typer(no_args_is_help=True, help=tr("哪些编号是同一个人。", "Which ids are the same person."))
    group.command("join", help=tr("把一个编号归到用户名下。", "Join an id to a user."))(join)
    group.command("part", help=tr("分开，如同从未归并。", "Part them, as if they had never been joined."))(part)
    group.command("show", help=tr("列出同一个人的全部编号。", "List all ids of one person."))(show_set)
    app.add_typer(group, name="users")


def join(known: str = KNOWN, alias: str = ALIAS, *, tenant: TENANT = "default", as_json: AS_JSON = False) -> None:
    """Joins; facts are folded anew over what was said as either."""
    from tasks import join as verb  # noqa: PLC0415 - SQL and Celery: a second that other commands need not pay

    with desk(tenant) as (kit, tenant_id):
        found = verb.join(kit, tenant_id, known, alias, me(""))
    _tell(found, as_json=as_json)


def part(known: str = KNOWN, alias: str = ALIAS, *, tenant: TENANT = "default", as_json: AS_JSON = False) -> None:
    """Parts; each has what was said as itself."""
    from tasks import join as verb  # noqa: PLC0415 - SQL and Celery: a second that other commands need not pay

    with desk(tenant) as (kit, tenant_id):
        found = verb.part(kit, tenant_id, known, alias, me(""))
    _tell(found, as_json=as_json)


def show_set(user: str = KNOWN, *, tenant: TENANT = "default", as_json: AS_JSON = False) -> None:
    """Lists everyone that a user is."""
    from tasks import join as verb  # noqa: PLC0415 - SQL and Celery: a second that other commands need not pay

    with desk(tenant) as (kit, tenant_id):
        found = verb.show(kit, tenant_id, user)
    _tell(found, as_json=as_json)


def _tell(found: AliasSet, *, as_json: bool) -> None:
    if as_json:
        show_json(found.model_dump(mode="json"))
        return
    for one in found.members:
        at = "" if one.joined_at is None else f"{one.joined_at:%Y-%m-%d %H:%M}"
        show("  ".join(word for word in (one.user_id, "->" if one.joined_to else "", one.joined_to or "", at) if word))
    if len(found.members) == 1:
        tell("没有其他编号。", "no other ids.")
