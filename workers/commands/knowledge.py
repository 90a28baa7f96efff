"""`knowledge`: an organisation's triples, imported by a person, in versions. Agents only read them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import typer

from schemas.errors import BadInput, NotFound
from stores.settings import load_settings
from workers.commands.reading import read_text
from workers.speech import show, show_json, tell, tr

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlmodel import Session

    from schemas.tables import Tenant

R = TypeVar("R")

MAX_FILE_BYTES = 64 * 1024 * 1024
_YAML = frozenset({".yaml", ".yml"})


def register(app: typer.Typer) -> None:
    """Adds the group `knowledge`."""
    group = typer.Typer(
        no_args_is_help=True,
        help=tr("管理组织的知识三元组。", "Manage the organisation's knowledge triples."),
    )
    group.command("import", help=tr("导入一个版本。", "Import one version of a document."))(import_file)
    group.command("list", help=tr("列出各版本。", "List the versions."))(list_versions)
    group.command("withdraw", help=tr("撤回一个版本。", "Withdraw a version."))(withdraw)
    app.add_typer(group, name="knowledge")


def import_file(
    file: str = typer.Argument(help=tr("JSON Lines 或 YAML 文件", "a JSON Lines or YAML file")),
    *,
    source: str = typer.Option("", help=tr("文档名称", "the document's name, where the file has none")),
    version: str = typer.Option("", help=tr("版本", "its version, where the file has none")),
    valid_from: str = typer.Option("", "--valid-from", help=tr("生效时间", "since when it is in force")),
    tenant: str = typer.Option("default", help=tr("租户", "tenant")),
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Keeps one version of a document; the same file again changes nothing."""
    from afterturn.ids import uuid7  # noqa: PLC0415 - only this command makes ids
    from memory.knowledge import document  # noqa: PLC0415
    from stores import knowledge  # noqa: PLC0415 - SQL: a second that other commands need not pay

    head, rows = read_file(file)
    options = {"source": source, "version": version, "valid_from": valid_from}
    head |= {name: given for name, given in options.items() if given}
    now = datetime.now(UTC)
    given = document(head, rows, now=now)

    def add(session: Session, owner: Tenant) -> knowledge.Imported:
        return knowledge.add(session, owner.id, given, hash_key=owner.hash_key, by="cli", now=now, new_id=uuid7)

    done = _in_tenant(tenant, add)
    if as_json:
        show_json(
            {
                "source": given.name,
                "version": given.version,
                "triples": done.triple_count,
                "imported": done.is_new,
            }
        )
        return
    if done.is_new:
        zh, en = f"已导入 {done.triple_count} 条三元组", f"imported {done.triple_count} triples"
    else:
        zh, en = "已有该版本，未改变", "that version is there already; nothing changed"
    show(f"{given.name} {given.version}: {tr(zh, en)}")


def list_versions(
    *,
    tenant: str = typer.Option("default", help=tr("租户", "tenant")),
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Lists every version of every document."""
    from stores import knowledge  # noqa: PLC0415 - SQL: a second that other commands need not pay

    rows = [
        {
            "source": row.name,
            "version": row.version,
            "valid_from": row.valid_from.isoformat(),
            "triples": row.triple_count,
            "withdrawn_at": None if row.withdrawn_at is None else row.withdrawn_at.isoformat(),
        }
        for row in _in_tenant(tenant, lambda session, owner: knowledge.versions(session, owner.id))
    ]
    if as_json:
        show_json(rows)
        return
    for row in rows:
        state = tr("已撤回", "withdrawn") if row["withdrawn_at"] else ""
        show(f"{row['source']}  {row['version']}  {row['valid_from']}  {row['triples']}  {state}".rstrip())
    if not rows:
        tell("还没有导入知识", "no knowledge was imported yet")


def withdraw(
    source: str = typer.Argument(help=tr("文档名称", "the document's name")),
    version: str = typer.Argument(help=tr("版本", "its version")),
    *,
    tenant: str = typer.Option("default", help=tr("租户", "tenant")),
) -> None:
    """Takes a version out of force for all times; what was believed before can still be asked."""
    from stores import knowledge  # noqa: PLC0415 - SQL: a second that other commands need not pay

    now = datetime.now(UTC)
    _in_tenant(tenant, lambda session, owner: knowledge.withdraw(session, owner.id, source, version, now=now))
    tell(f"已撤回 {source} {version}", f"withdrew {source} {version}")


def read_file(file: str) -> tuple[dict[str, object], list[object]]:
    """A file's head and triples, numbers and names as they are written. Raises: BadInput; never the file's words."""
    words = read_text(file, max_bytes=MAX_FILE_BYTES)
    return _yaml(file, words) if Path(file).suffix.lower() in _YAML else _json_lines(file, words)


def _yaml(file: str, words: str) -> tuple[dict[str, object], list[object]]:
    from memory.yaml_tree import BadYaml, compose, plain  # noqa: PLC0415 - only this command reads YAML

    try:
        found = plain(compose(words))
    except BadYaml as exc:
        raise BadInput(f"{file}:{exc.line}", exc.reason) from None
    if not isinstance(found, dict):
        raise BadInput(file, "must have source, version and triples")
    head = dict(cast("dict[str, object]", found))
    rows = head.pop("triples", None)
    if not isinstance(rows, list):
        raise BadInput("triples", "must be a list")
    return head, cast("list[object]", rows)


def _json_lines(file: str, words: str) -> tuple[dict[str, object], list[object]]:
    rows: list[object] = []
    # Not splitlines: a string of JSON may hold U+2028 as it is.
    for number, line in enumerate(words.split("\n"), 1):
        if line.strip():
            try:
                rows.append(_JSON.decode(line.strip()))
            except json.JSONDecodeError:
                raise BadInput(f"{file}:{number}", "must be JSON") from None
            except RecursionError:
                raise BadInput(f"{file}:{number}", "is nested too deeply") from None
            except ValueError:
                raise BadInput(f"{file}:{number}", "must be JSON with each name once, and no NaN") from None
    first = rows[0] if rows else None
    if isinstance(first, dict) and "subject" not in first:
        return dict(cast("dict[str, object]", first)), rows[1:]
    return {}, rows


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        msg = "a name is given twice"
        raise ValueError(msg)
    return found


def _no_number(word: str) -> object:
    raise ValueError(word)


_JSON = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_number, object_pairs_hook=_once)


def _in_tenant(name: str, work: Callable[[Session, Tenant], R]) -> R:
    from stores import tenancy  # noqa: PLC0415 - SQL: a second that other commands need not pay
    from workers.first_run import opened  # noqa: PLC0415

    def run(session: Session) -> R:
        owner = tenancy.find_tenant(session, name)
        if owner is None:
            raise NotFound("tenant", name)
        return work(session, owner)

    with opened(load_settings()) as database:
        return database.write(run)
