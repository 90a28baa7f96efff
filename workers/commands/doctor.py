"""`doctor`: looks at everything an installation needs and names the command that mends what is wrong."""

from __future__ import annotations

import typer

from workers.speech import show, show_json, tr

MARKS = {"ok": ("正常", "ok"), "warn": ("注意", "warn"), "fail": ("失败", "fail")}


def register(app: typer.Typer) -> None:
    """Adds doctor."""
    app.command("doctor", help=tr("检查安装，并给出修复命令。", "Check the installation; name what mends it."))(doctor)


def doctor(*, as_json: bool = typer.Option(False, "--json", help="JSON")) -> None:
    """Checks the installation. Exits 1 when a check failed."""
    from workers.checks import run_checks  # noqa: PLC0415 - Redis: a tenth of a second that others need not pay

    checks = run_checks()
    if as_json:
        show_json([{"name": c.name, "state": c.state, "found": c.found, "mend": c.mend} for c in checks])
    else:
        for check in checks:
            show(f"[{tr(*MARKS[check.state])}] {check.name}: {check.found}")
            if check.mend:
                show(f"       {tr('修复', 'mend')}: {check.mend}")
    if any(check.state == "fail" for check in checks):
        raise typer.Exit(1)
