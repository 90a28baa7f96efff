"""`chaos`: the proof that anyone can repeat. Breaks a scratch installation by plan and audits what is left."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

import typer

from schemas.errors import BadInput
from workers.commands.audit import as_data, lines
from workers.speech import show, show_json, tell, tr

if TYPE_CHECKING:
    from workers.chaos.run import Report


def register(app: typer.Typer) -> None:
    """Adds chaos."""
    app.command(
        "chaos",
        help=tr(
            "在临时目录启动全部进程，按种子注入故障，再核对：不丢、不重。",
            "Start everything on a scratch folder, break it by a seeded plan, then audit: nothing lost, nothing twice.",
        ),
    )(chaos)


def chaos(
    *,
    minutes: float = typer.Option(5.0, help=tr("注入故障的时长", "how long faults are injected")),
    seed: int = typer.Option(1, help=tr("相同种子，相同计划", "the same seed gives the same plan")),
    stores: str = typer.Option("sqlite", help="sqlite | postgres"),
    broker: str = typer.Option("valkey", help="valkey | redis"),
    durability: str = typer.Option("memory", help="memory | spool"),
    rate: float = typer.Option(30.0, help=tr("每秒事件数", "events a second")),
    quick: bool = typer.Option(
        False,
        help=tr("缩短模型期限和租约（否则用出厂设置）", "short model deadline and leases instead of the shipped ones"),
    ),
    outage: bool = typer.Option(
        False,
        help=tr(
            "只让模型一直不可用，其余正常",
            "break nothing but the model: 429, 500, garbage, silence all the time",
        ),
    ),
    dry: bool = typer.Option(False, "--plan", help=tr("只打印计划", "only print the plan")),
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Runs chaos. Exits 1 on any difference."""
    from workers.chaos.run import QUICK, Order, run  # noqa: PLC0415 - SQL and the client: other commands need not pay

    _one_of("--stores", stores, ("sqlite", "postgres"))
    _one_of("--broker", broker, ("valkey", "redis"))
    _one_of("--durability", durability, ("memory", "spool"))
    order = Order(
        seconds=minutes * 60,
        seed=seed,
        stores=_stores(stores),
        broker="redis" if broker == "redis" else "valkey",
        durability="spool" if durability == "spool" else "memory",
        per_second=rate,
        only_model=outage,
    )
    if dry:
        for fault in order.plan():
            show(str(fault))
        return
    began = time.monotonic()
    report = run(order, lambda text: tell(text, text), settings=QUICK if quick else None)
    report.seconds["all"] = time.monotonic() - began
    if as_json:
        show_json(_as_data(report))
    else:
        for line in _lines(report):
            show(line)
    if not report.is_clean:
        raise typer.Exit(1)


def _one_of(name: str, given: str, allowed: tuple[str, ...]) -> None:
    if given not in allowed:
        raise BadInput(name, f"must be one of {', '.join(allowed)}")


def _stores(given: str) -> Literal["sqlite", "postgres"]:
    return "postgres" if given == "postgres" else "sqlite"


def _as_data(report: Report) -> dict[str, Any]:
    return {
        "clean": report.is_clean,
        "order": asdict(report.order),
        "faults": report.injected,
        "seconds": {name: round(value, 1) for name, value in report.seconds.items()},
        "starts": report.starts,
        "model_calls": report.model_calls,
        "model_failures": report.model_failures,
        "windows": report.windows,
        "notes": report.notes,
        "verdict": None if report.verdict is None else asdict(report.verdict),
        "audit": None if report.audit is None else as_data(report.audit),
        "wrong": report.wrong,
    }


def _lines(report: Report) -> list[str]:
    told = [tr(f"{len(report.injected)} 个故障：", f"{len(report.injected)} faults:"), *report.injected]
    told += [] if report.audit is None else lines(report.audit)
    found = report.verdict
    if found is not None:
        told.append(
            tr(
                f"发布 {found.published}（承诺 {found.promised}，重复发布 {found.again}），存储 {found.stored}，"
                f"随消息代理丢失后重发 {found.destroyed}",
                f"{found.published} events published ({found.promised} promised, {found.again} of them twice), "
                f"{found.stored} stored; the broker lost {found.destroyed} of them before they were",
            )
        )
        told += [f"✗ {one}" for one in found.wrong]
    told += [f"✗ {one}" for one in report.wrong]
    told.append(", ".join(f"{name} {seconds:.1f} s" for name, seconds in report.seconds.items()))
    told.append(
        ", ".join(f"{name} x{count}" for name, count in report.starts.items())
        + tr(
            f"；模型调用 {report.model_calls}（失败 {report.model_failures}），窗口 {report.windows}",
            f"; {report.model_calls} model calls ({report.model_failures} failed) for {report.windows} windows",
        )
    )
    told += [f"{name}: {value}" for name, value in report.notes.items() if name in ("kept", "slots")]
    told.append(tr("没有差异。", "no difference.") if report.is_clean else tr("有差异。", "there are differences."))
    return told
