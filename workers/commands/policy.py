"""`policy`: the write gate's policy of a tenant: show it, check a file, set one. Needs SQL only."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Annotated

import typer

from schemas.errors import BadInput
from schemas.reasons import reason_text
from workers.commands.reading import read_text
from workers.commands.review import AS_JSON, TENANT, desk
from workers.speech import show, show_json, tell, tr

if TYPE_CHECKING:
    from memory.policy_file import Reading

_BYTES_PER_CHAR = 4

FILE = Annotated[str, typer.Argument(help=tr("YAML 文件，或 -", "a YAML file, or -"))]


def register(app: typer.Typer) -> None:
    """Adds the group `policy`."""
    group = typer.Typer(no_args_is_help=True, help=tr("管理写入闸门的策略。", "Manage the write gate's policy."))
    group.command("show", help=tr("显示租户当前的策略文件。", "Show the file that a tenant is under."))(show_policy)
    group.command("check", help=tr("检查策略文件，指出路径与行号。", "Check a file; name path and line."))(check)
    group.command("set", help=tr("把文件设为租户的策略。", "Give a tenant this file."))(set_policy)
    group.command("table", help=tr("列出每条规则决定什么。", "Print what each rule decides."))(table)
    app.add_typer(group, name="policy")


def show_policy(
    *,
    tenant: TENANT = "default",
    history: bool = typer.Option(False, "--history", help=tr("所有版本", "all versions")),
    as_json: AS_JSON = False,
) -> None:
    """Prints the file, or with --history its versions, the newest first."""
    from schemas.envelopes import disclose  # noqa: PLC0415 - SQL: a second that other commands need not pay
    from stores import tenant_policies  # noqa: PLC0415

    with desk(tenant) as (kit, tenant_id), kit.db.read() as session:
        rows = tenant_policies.history(session, tenant_id, limit=1000 if history else 1)
        shipped = kit.policies.gate.version
    if history:
        told = [{"version": one.version, "set_at": one.set_at, "actor": one.actor} for one in rows]
        if as_json:
            show_json(told)
        else:
            for one in rows:
                show(f"{one.set_at:%Y-%m-%d %H:%M}  {one.version}  {one.actor}")
        return
    content = rows[0].content if rows else None
    text = tenant_policies.SHIPPED.read_text("utf-8") if content is None else disclose(content)
    version = shipped if content is None else rows[0].version
    if as_json:
        show_json({"version": version, "is_shipped": content is None, "content": text})
        return
    tell(f"版本 {version}", f"version {version}")
    show(text.rstrip("\n"))


def check(file: FILE, *, as_json: AS_JSON = False) -> None:
    """Checks a file. Exits 1 when something is wrong with it."""
    found = _read(file)[1]
    if as_json:
        show_json(
            {
                "version": None if found.policy is None else found.policy.version,
                "faults": [{"path": one.path, "line": one.line, "reason": _words(one.reason)} for one in found.faults],
            }
        )
    else:
        _say(file, found)
    if found.faults:
        raise typer.Exit(1)


def table(
    file: Annotated[str, typer.Argument(help=tr("YAML 文件，默认是随附的", "a YAML file; the shipped one"))] = "",
) -> None:
    """Prints what each key, flag, quota and rule of a policy file leads to, as Markdown."""
    from memory.decision_table import markdown  # noqa: PLC0415 - builds every sample: other commands need not
    from stores.tenant_policies import SHIPPED  # noqa: PLC0415 - SQL: a second that other commands need not pay

    file = file or str(SHIPPED)
    found = _read(file)[1]
    if found.policy is None:
        _say(file, found)
        raise typer.Exit(1)
    show(markdown(found.policy, tr("zh", "en")).rstrip("\n"))


def set_policy(
    file: Annotated[str, typer.Argument(help=tr("YAML 文件，或 -", "a YAML file, or -"))] = "",
    *,
    tenant: TENANT = "default",
    shipped: bool = typer.Option(False, "--shipped", help=tr("恢复默认策略", "the shipped rules again")),
    as_json: AS_JSON = False,
) -> None:
    """Sets a tenant's policy: it judges what is digested from now on. Exits 1, and changes nothing, for a bad file."""
    from stores import clock, tenant_policies  # noqa: PLC0415 - SQL: a second that other commands need not pay

    if bool(file) == shipped:
        raise BadInput("file", tr("给出文件，或用 --shipped", "give a file, or --shipped"))
    text, found = (None, None) if shipped else _read(file)
    if found is not None and found.policy is None:
        _say(file, found)
        raise typer.Exit(1)
    with desk(tenant) as (kit, tenant_id):
        version = kit.policies.gate.version if found is None or found.policy is None else found.policy.version
        kit.db.write(
            lambda session: tenant_policies.put(
                session,
                tenant_id,
                text,
                version=version,
                policy_id=kit.new_id(),
                actor=f"cli:{getpass.getuser()}",
                now=clock.world_now(session, kit.clock()),
            )
        )
    if as_json:
        show_json({"tenant": tenant, "version": version})
    else:
        show(tr(f"{tenant} 的策略现为 {version}", f"{tenant} is now under {version}"))


def _read(file: str) -> tuple[str, Reading]:
    from memory.policy_file import MAX_CHARS, read  # noqa: PLC0415 - YAML: only these commands need it

    text = read_text(file, max_bytes=MAX_CHARS * _BYTES_PER_CHAR)
    return text, read(text)


def _say(file: str, found: Reading) -> None:
    if found.policy is not None:
        show(tr(f"{file}：有效，版本 {found.policy.version}", f"{file}: valid, version {found.policy.version}"))
    for one in found.faults:
        show(f"{file}:{one.line}: {one.path + ': ' if one.path else ''}{_words(one.reason)}")


def _words(reason: str) -> str:
    return reason_text(reason, tr("zh", "en"))
