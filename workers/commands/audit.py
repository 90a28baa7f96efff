"""`audit`: whether everything that arrived is accounted for, once, and the index says what SQL says."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from stores.settings import load_settings
from workers.speech import show, show_json, tr

if TYPE_CHECKING:
    from stores.audit import Account, Audit

STATES = ("digested", "applied", "dead_window", "erased", "purged")


def register(app: typer.Typer) -> None:
    """Adds audit."""
    app.command(
        "audit",
        help=tr(
            "核对：事件只入账一次，窗口只应用一次，索引与数据库一致。",
            "Check that every event is accounted for once, every window applied once, the index equal to SQL.",
        ),
    )(audit)


def audit(
    *,
    running: bool = typer.Option(
        False,
        "--running",
        help=tr("服务正在工作：待写索引不算差异。", "Work goes on: what the index is owed is no fault."),
    ),
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Audits the database and the index. Exits 1 on any difference."""
    from stores.audit import audit as audited  # noqa: PLC0415 - SQL: a second that other commands need not pay
    from stores.kit import open_kit  # noqa: PLC0415
    from workers.first_run import require_schema  # noqa: PLC0415

    settings = load_settings()
    require_schema(settings)
    kit = open_kit(settings)
    try:
        found = audited(kit.db, kit.index, procedures=kit.policies.procedures, running=running)
    finally:
        kit.close()
    if as_json:
        show_json(as_data(found))
    else:
        for line in lines(found):
            show(line)
    if not found.is_clean:
        raise typer.Exit(1)


def as_data(found: Audit) -> dict[str, Any]:
    """The audit as one JSON value."""
    return {
        "clean": found.is_clean,
        "tenants": [
            {
                "tenant_id": account.tenant_id,
                "name": account.name,
                "received": account.received,
                **account.receptions._asdict(),
                "kept": account.kept,
                "waiting": account.waiting,
                **{state: account.states.get(state, 0) for state in STATES},
            }
            for account in found.accounts
        ],
        "differences": [asdict(one) for one in found.differences],
        "dead_letters": [asdict(one) for one in found.letters],
        "dead_letter_count": found.letter_count,
        "owed": found.owed,
        "rules": sorted(found.checked),
    }


def lines(found: Audit) -> list[str]:
    """The audit for a reader."""
    told = [line for account in found.accounts for line in _account(account)]
    told += [
        f"  {tr('死信', 'dead letter')} {one.kind} {one.key} {one.error_code} ({one.attempts}x)"
        for one in found.letters
    ]
    if found.letter_count > len(found.letters):
        told.append(tr(f"  …… 共 {found.letter_count} 封死信", f"  ... {found.letter_count} dead letters in all"))
    if found.owed:
        told.append(tr(f"  待写索引 {found.owed}", f"  {found.owed} index writes owed"))
    for one in found.differences:
        where = "" if one.tenant_id is None else f" {tr('租户', 'tenant')} {one.tenant_id}"
        told.append(f"✗ {one.check}{where}: {one.count}" + (f" ({one.found})" if one.found else ""))
        told += [f"    {broken}" for broken in one.ids]
    rules = len(found.checked) + 3
    told.append(
        tr(f"{rules} 条规则，没有差异。", f"{rules} rules, no difference.")
        if found.is_clean
        else tr(f"{len(found.differences)} 处差异。", f"{len(found.differences)} rules are broken.")
    )
    return told


def _account(account: Account) -> list[str]:
    told = account.receptions
    ends = " + ".join(f"{account.states.get(state, 0)} {state}" for state in STATES)
    return [
        f"{account.name} ({account.tenant_id})",
        f"  {account.received} {tr('接收', 'receptions')} = {told.stored} stored + {told.duplicate} duplicate"
        f" + {told.rejected} rejected + {told.dead} dead",
        f"  {account.kept} stored = {account.waiting} waiting + {ends}",
    ]
