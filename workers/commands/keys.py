"""Commands on credentials: make one, list them, end one."""

from __future__ import annotations

import typer

from schemas.errors import BadInput
from stores.settings import load_settings
from workers.speech import show, show_json, tell, tr


def register(app: typer.Typer) -> None:
    """Adds the group `keys`."""
    group = typer.Typer(no_args_is_help=True, help=tr("管理凭据。", "Manage credentials."))
    group.command("create", help=tr("新建凭据，只显示一次。", "Make a credential; it is shown once."))(create)
    group.command("list", help=tr("列出凭据。", "List credentials."))(list_keys)
    group.command("revoke", help=tr("作废凭据。", "End a credential for good."))(revoke)
    app.add_typer(group, name="keys")


def create(
    *,
    tenant: str = typer.Option("default", help=tr("租户，没有则新建。", "Tenant; made if there is none.")),
    rights: str = typer.Option("publish,recall", help="publish,recall,staff,review,erase,admin"),
    agent: str = typer.Option("", help=tr("限定的智能体。", "The agent that it is fixed to.")),
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Makes a credential and shows it; nothing keeps it."""
    from stores import tenancy  # noqa: PLC0415 - SQL: a second that other commands need not pay
    from workers.first_run import opened, tenant_named  # noqa: PLC0415

    wanted = [right.strip() for right in rights.split(",") if right.strip()]
    with opened(load_settings()) as database:
        key_id, credential = database.write(
            lambda session: _made(*tenancy.create_key(session, tenant_named(session, tenant), wanted, agent or None))
        )
    if as_json:
        show_json({"key_id": key_id, "credential": credential, "tenant": tenant, "rights": sorted(wanted)})
        return
    tell("请立即保存，之后无法再次查看：", "keep it now, it cannot be shown again:")
    show(credential)


def list_keys(*, as_json: bool = typer.Option(False, "--json", help="JSON")) -> None:
    """Lists keys without their secrets."""
    from sqlmodel import col, select  # noqa: PLC0415 - SQL: a second that other commands need not pay

    from schemas.tables import Key, Tenant  # noqa: PLC0415
    from workers.first_run import opened  # noqa: PLC0415

    found = select(Key, Tenant.name).join(Tenant, col(Tenant.id) == col(Key.tenant_id)).order_by(col(Key.created_at))
    with opened(load_settings()) as database, database.read() as session:
        rows = [
            {
                "key_id": key.id,
                "tenant": name,
                "agent": key.agent_id,
                "rights": key.rights,
                "created_at": key.created_at.isoformat(),
                "revoked_at": key.revoked_at.isoformat() if key.revoked_at else None,
            }
            for key, name in session.exec(found)
        ]
    if as_json:
        show_json(rows)
        return
    for row in rows:
        state = tr("已作废", "revoked") if row["revoked_at"] else tr("有效", "valid")
        show(f"{row['key_id']}  {row['tenant']}  {','.join(row['rights'] or [])}  {row['agent'] or '-'}  {state}")


def revoke(key_id: str = typer.Argument(help=tr("凭据编号", "the key's id"))) -> None:
    """Ends a key for good; batches and calls under it are refused from now on."""
    from stores import tenancy  # noqa: PLC0415 - SQL: a second that other commands need not pay
    from workers.first_run import opened  # noqa: PLC0415

    if key_id.startswith("at_"):
        raise BadInput("key_id", "the id alone, not the whole credential")
    with opened(load_settings()) as database:
        database.write(lambda session: tenancy.revoke(session, key_id))
    tell(f"已作废 {key_id}。", f"revoked {key_id}.")


def _made(key: object, credential: str) -> tuple[str, str]:
    return str(getattr(key, "id", "")), credential
