"""Commands on credentials: make one, list them, give one a new secret, end one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import typer

from schemas.errors import BadInput
from stores.settings import Settings, load_settings
from workers.processes import replace_secret
from workers.speech import show, show_json, tell, tr

if TYPE_CHECKING:
    from schemas.tables import Key

KEY_ID = typer.Argument(help=tr("凭据编号", "the key's id"))
AS_JSON = typer.Option(False, "--json", help="JSON")


def register(app: typer.Typer) -> None:
    """Adds the group `keys`."""
    group = typer.Typer(no_args_is_help=True, help=tr("管理凭据。", "Manage credentials."))
    group.command("create", help=tr("新建凭据，只显示一次。", "Make a credential; it is shown once."))(create)
    group.command("list", help=tr("列出凭据。", "List credentials."))(list_keys)
    group.command(
        "rotate",
        help=tr("更换密钥，旧密钥在宽限期内仍有效。", "Give a key a new secret; the old one is good for a grace."),
    )(rotate)
    group.command(
        "expire",
        help=tr(
            "设定凭据的到期时间；到期前封装的批次仍会接收。",
            "Set when a key ends; what was sealed before is still taken.",
        ),
    )(expire)
    group.command(
        "revoke",
        help=tr("立即作废凭据，队列中的批次也一并拒收。", "End a key at once; batches still queued are refused, too."),
    )(revoke)
    app.add_typer(group, name="keys")


def create(
    *,
    tenant: str = typer.Option("default", help=tr("租户，没有则新建。", "Tenant; made if there is none.")),
    rights: str = typer.Option("publish,recall", help="publish | recall | staff | review | erase | admin"),
    agent: str = typer.Option("", help=tr("限定的智能体。", "The agent that it is fixed to.")),
    days: float = typer.Option(
        0, "--expires-days", min=0, help=tr("有效天数，0 为不限。", "Ends after so many; 0: never.")
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Makes a credential and shows it; nothing keeps it."""
    from stores import keys  # noqa: PLC0415 - SQL: a second that other commands need not pay
    from workers.first_run import opened, tenant_named  # noqa: PLC0415

    wanted = [right.strip() for right in rights.split(",") if right.strip()]
    until = datetime.now(UTC) + timedelta(days=days) if days else None
    with opened(load_settings()) as database:
        key, credential = database.write(
            lambda session: keys.create(session, tenant_named(session, tenant), wanted, agent or None, expires_at=until)
        )
    _hand_out(key, credential, tenant, as_json=as_json)


def rotate(
    key_id: str = KEY_ID,
    *,
    hours: float = typer.Option(
        24.0, "--grace-hours", min=0, help=tr("旧密钥继续有效的小时数。", "For so long the old secret is good, too.")
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Makes a new secret and shows it. The id, the agent and the rights stay."""
    from schemas.tables import Tenant  # noqa: PLC0415 - SQL: a second that other commands need not pay
    from stores import keys  # noqa: PLC0415
    from workers.first_run import opened  # noqa: PLC0415

    _check_id(key_id)
    settings = load_settings()
    with opened(settings) as database:
        key, credential = database.write(lambda session: keys.rotate(session, key_id, grace_hours=hours))
        with database.read() as session:
            tenant = session.get_one(Tenant, key.tenant_id).name
    if _is_ours(settings, key_id):
        replace_secret(settings.key_file, credential)
    _hand_out(key, credential, tenant, as_json=as_json)
    until = "-" if key.old_until is None else key.old_until.isoformat(timespec="seconds")
    tell(f"旧密钥有效至 {until}。", f"the old secret is good until {until}.")


def list_keys(*, as_json: bool = AS_JSON) -> None:
    """Lists keys without their secrets."""
    from sqlmodel import col, select  # noqa: PLC0415 - SQL: a second that other commands need not pay

    from schemas.tables import Key, Tenant  # noqa: PLC0415
    from workers.first_run import opened  # noqa: PLC0415

    found = select(Key, Tenant.name).join(Tenant, col(Tenant.id) == col(Key.tenant_id)).order_by(col(Key.created_at))
    with opened(load_settings()) as database, database.read() as session:
        rows = [_row(key, name) for key, name in session.exec(found)]
    if as_json:
        show_json(rows)
        return
    for row in rows:
        used = (row["last_used_at"] or "")[:16] or tr("从未使用", "never used")
        words = (row["key_id"], row["tenant"], ",".join(row["rights"]), row["agent"] or "-", tr(*_STATES[row["state"]]))
        show("  ".join([*words, tr(f"最近使用 {used}", f"last used {used}")]))


def expire(
    key_id: str = KEY_ID,
    *,
    hours: float = typer.Option(..., "--in-hours", min=0, help=tr("从现在起的小时数。", "So many hours from now.")),
) -> None:
    """Sets when a key ends."""
    from stores import keys  # noqa: PLC0415 - SQL: a second that other commands need not pay
    from workers.first_run import opened  # noqa: PLC0415

    _check_id(key_id)
    until = datetime.now(UTC) + timedelta(hours=hours)
    with opened(load_settings()) as database:
        database.write(lambda session: keys.expire(session, key_id, until))
    said = until.isoformat(timespec="seconds")
    tell(f"{key_id} 将于 {said} 到期。", f"{key_id} ends at {said}.")


def revoke(key_id: str = KEY_ID) -> None:
    """Ends a key for good; batches and calls under it are refused from now on."""
    from stores import keys  # noqa: PLC0415 - SQL: a second that other commands need not pay
    from workers.first_run import opened  # noqa: PLC0415

    _check_id(key_id)
    with opened(load_settings()) as database:
        database.write(lambda session: keys.revoke(session, key_id))
    tell(f"已作废 {key_id}。", f"revoked {key_id}.")


_STATES = {
    "valid": ("有效", "valid"),
    "in_grace": ("有效，更换中", "valid, being rotated"),
    "key_expired": ("已到期", "expired"),
    "key_revoked": ("已作废", "revoked"),
}


def _row(key: Key, tenant: str) -> dict[str, Any]:
    from stores import keys  # noqa: PLC0415 - SQL: a second that other commands need not pay

    now = datetime.now(UTC)
    newest, *older = keys.secrets_of(key)
    state = newest.end(now) or ("in_grace" if older and older[0].end(now) is None else "valid")
    times = ("created_at", "expires_at", "rotated_at", "old_until", "last_used_at", "revoked_at")
    return {
        "key_id": key.id,
        "tenant": tenant,
        "agent": key.agent_id,
        "rights": key.rights,
        "state": state,
        **{name: None if (at := getattr(key, name)) is None else at.isoformat() for name in times},
    }


def _hand_out(key: Key, credential: str, tenant: str, *, as_json: bool) -> None:
    if as_json:
        show_json({"key_id": key.id, "credential": credential, "tenant": tenant, "rights": key.rights})
        return
    tell("请立即保存，之后无法再次查看：", "keep it now, it cannot be shown again:")
    show(credential)


def _is_ours(settings: Settings, key_id: str) -> bool:
    """Whether it is the key that this installation itself uses."""
    return settings.key_file.is_file() and settings.key_file.read_text("ascii").startswith(f"at_{key_id}_")


def _check_id(key_id: str) -> None:
    if key_id.startswith("at_"):
        raise BadInput("key_id", "the id alone, not the whole credential")
