"""Commands that run processes: all of them at once, or one role in the foreground."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

import typer

from schemas.errors import BadSettings, Permanent
from stores.settings import Settings, load_settings
from workers import logs, processes, serving
from workers.faults import tell_unknown_settings
from workers.logfiles import log_path
from workers.speech import show, show_json, tell, tr
from workers.supervisor import Supervisor, read_state

NAMES = {
    "broker": ("消息代理", "broker"),
    "ingest": ("接收进程", "ingest worker"),
    "app": ("整理进程", "main worker"),
    "beat": ("定时器", "beat"),
    "api": ("接口", "API"),
    "flower": ("监控", "Flower"),
}


def register(app: typer.Typer) -> None:
    """Adds up, worker, beat, api, flower and migrate."""
    app.command("up", help=tr("启动全部进程，Ctrl-C 停止。", "Start everything; Ctrl-C stops it."))(up)
    app.command("worker", help=tr("运行一个工作进程。", "Run one worker."))(worker)
    app.command("beat", help=tr("运行定时器。", "Run beat."))(beat)
    app.command("api", help=tr("运行 HTTP 接口。", "Run the HTTP API."))(api)
    app.command("flower", help=tr("运行任务监控。", "Run the task monitor."))(flower)
    app.command("migrate", help=tr("升级数据库结构。", "Bring the database to the current schema."))(migrate)


def up(*, as_json: bool = typer.Option(False, "--json", help="JSON")) -> None:
    """Starts broker, workers, beat, API and Flower, and keeps them running."""
    settings = load_settings()
    tell_unknown_settings()
    _refuse_second(settings)
    processes.refuse_taken(settings)
    serving.count(settings, "up")
    from workers.first_run import prepare  # noqa: PLC0415 - SQL: a second that other commands need not pay

    logs.configure(settings.workers.log_level, path=log_path(settings.home, "up"))
    tell(f"正在启动，数据目录 {settings.home} …", f"starting, data folder {settings.home} ...")
    with Supervisor(
        settings=settings, make_roles=processes.roles, prepare=prepare, on_event=_say, on_fall=_count_fall
    ) as supervisor:
        _stop_on_signals(supervisor)
        seconds = supervisor.start()
        if supervisor.is_stopping:
            return
        where = _where(supervisor.settings)
        if as_json:
            show_json({"ready_seconds": round(seconds, 2), "pid": os.getpid(), **where})
        else:
            show(_panel(where, seconds))
        supervisor.watch()
        tell("正在停止 …", "stopping ...")
    tell("已全部停止。", "everything has stopped.")


def worker(role: str = typer.Argument(help=" | ".join(processes.WORKERS))) -> None:
    """Runs one worker in the foreground."""
    raise typer.Exit(serving.serve_worker(_settings(), role))


def beat() -> None:
    """Runs beat in the foreground."""
    serving.serve_beat(_settings())


def flower() -> None:
    """Runs Flower in the foreground, behind its password."""
    serving.serve_flower(_settings())


def api() -> None:
    """Runs the HTTP API in the foreground."""
    serving.serve_api(_settings())


def migrate(*, as_json: bool = typer.Option(False, "--json", help="JSON")) -> None:
    """Brings the database to the schema of this version."""
    from stores import sql  # noqa: PLC0415 - SQL: a second that other commands need not pay

    settings = load_settings()
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    before, after = sql.upgrade(settings)
    if as_json:
        show_json({"revision": after, "from": before, "to": after})
    elif before == after:
        show(tr(f"数据库已是 {after}，无需升级。", f"the database is at {after} already."))
    else:
        was = before or tr("空库", "empty")
        show(tr(f"数据库已从 {was} 升级到 {after}。", f"the database went from {was} to {after}."))


def _settings() -> Settings:
    """Those of one role by itself. `up` has warned before its own begin, and hands on what is known alone."""
    settings = load_settings()
    tell_unknown_settings()
    return settings


def _refuse_second(settings: Settings) -> None:
    # Asked before the ports: they are taken because it runs, and another port would be no help.
    state = read_state(settings.home)
    if state is not None:
        where, pid = state.get("url"), state.get("pid")
        said = tr(f"{settings.home} 已在运行：{where}（进程 {pid}）", f"{settings.home} is up: {where} (pid {pid})")
        raise Permanent(said, code="already_up")


def _stop_on_signals(supervisor: Supervisor) -> None:
    def on_signal(_number: int, _frame: FrameType | None) -> None:
        supervisor.is_stopping = True

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)


def _count_fall(name: str) -> None:
    from stores import metrics  # noqa: PLC0415 - declared only after it was said where this process counts

    metrics.RESTARTS.labels(name).inc()


def _say(word: str, name: str) -> None:
    zh, en = NAMES.get(name, (name, name))
    if word == "ready":
        tell(f"  {zh} 就绪", f"  {en} ready")
    else:
        tell(f"  {zh} 已退出，正在重启", f"  {en} ended, starting it again")


def _where(settings: Settings) -> dict[str, str]:
    has_flower = settings.flower.port and settings.flower.password is None
    where = {
        "url": settings.url,
        "flower_url": f"http://{settings.flower.host}:{settings.flower.port}" if settings.flower.port else "",
        "flower_user": settings.flower.user if settings.flower.port else "",
        "flower_password_file": str(settings.home / "flower-password") if has_flower else "",
        "key_file": str(settings.key_file),
        "home": str(settings.home),
        "logs": str(settings.home / "logs"),
        # With a password of its own a broker's address is nobody's business.
        "broker_url": settings.broker_url if settings.has_embedded_broker else "",
    }
    return {name: value for name, value in where.items() if value}


def _panel(where: dict[str, str], seconds: float) -> str:
    titles = {
        "url": ("接口", "API"),
        "flower_url": ("任务监控", "Flower"),
        "flower_user": ("  用户", "  user"),
        "flower_password_file": ("  密码文件", "  password file"),
        "key_file": ("密钥文件", "key file"),
        "home": ("数据目录", "data folder"),
        "logs": ("日志", "logs"),
        "broker_url": ("消息代理", "broker"),
    }
    rows = [f"  {tr(*titles[name])}: {value}" for name, value in where.items()]
    head = tr(f"Afterturn 已就绪（{seconds:.1f} 秒）", f"Afterturn is up ({seconds:.1f} s)")
    return "\n".join([head, *rows, tr("按 Ctrl-C 全部停止。", "Ctrl-C stops everything.")])


if sys.platform == "win32":
    raise BadSettings("the service runs on Linux and macOS")
