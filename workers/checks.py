"""What `doctor` looks at. A check never raises for what it looks at: it says what it found."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import replace
from http.client import HTTPConnection, HTTPException
from math import isinf
from pathlib import Path
from typing import cast

from schemas.errors import BadSettings, ServiceError, StoreBusy
from stores.settings import Settings, load_settings
from workers import broker, delivery_checks, presence
from workers.faults import said, unknown_settings
from workers.findings import UP, Check, fail, ok, warn
from workers.processes import WORKERS, ask
from workers.speech import tr

MIN_FREE_BYTES = 1_000_000_000
READY_SECONDS = 5.0
_MENDS = {
    "index_down": "AFTERTURN_WEAVIATE_URL",
    "index_deadline": "AFTERTURN_WEAVIATE_URL",
    "index_server": "AFTERTURN_WEAVIATE_URL",
    "index_forbidden": "AFTERTURN_WEAVIATE_API_KEY",
    "index_embedder": "./afterturn reindex",
    "index_layout": "./afterturn reindex",
}


def run_checks() -> list[Check]:
    """Every check, in the order in which one depends on another."""
    try:
        settings = load_settings()
    except BadSettings as exc:
        name = str(exc).partition(":")[0].partition("[")[0]
        mend = tr(f"改正 {name}，见 deploy/.env.example", f"correct {name}, see deploy/.env.example")
        return [fail("settings", said(exc), mend)]
    looks: list[Callable[[Settings], Check]] = [_variables, _home]
    if settings.home.is_dir():
        looks += [_key, _broker, *_stores(settings), *_processes(settings), _api, _flower]
    found = [_looked(look, settings) for look in looks]
    return [*found, *_delivery(settings)] if _has_database(settings) else found


def _stores(settings: Settings) -> list[Callable[[Settings], Check]]:
    """The checks that open stores, for those that are there: opening an embedded one makes it."""
    if not _has_database(settings):
        return [_no_database]
    has_index = settings.index != "embedded" or (settings.home / "index").is_dir()
    replica = [] if settings.database_replica_url is None else [_replica]
    return [_migrations, *replica, *([_index, _embedder] if has_index else [_no_index])]


def _has_database(settings: Settings) -> bool:
    return not settings.is_sqlite or Path(settings.database_url.removeprefix("sqlite:///")).is_file()


def _no_database(_: Settings) -> Check:
    return fail("migrations", tr("还没有数据库", "there is no database yet"), UP)


def _no_index(_: Settings) -> Check:
    return fail("index", tr("索引目录不存在", "its folder is not there"), UP)


def _looked(look: Callable[[Settings], Check], settings: Settings) -> Check:
    try:
        return look(settings)
    except ServiceError as exc:
        found = tr(f"{said(exc)}（{exc.code}）", f"{said(exc)} ({exc.code})")
        name = look.__name__.removeprefix("_")
        return fail(name, found, _MENDS.get(exc.code) or _starter(name, settings))
    except OSError as exc:
        return fail(look.__name__.removeprefix("_"), exc.strerror or type(exc).__name__, UP)
    except ImportError as exc:
        return fail(look.__name__.removeprefix("_"), str(exc), "rm -r .venv")


def _starter(name: str, settings: Settings) -> str:
    """What brings a store back: our own is started, another's address is looked at."""
    if name in {"migrations", "delivery"} and not settings.is_sqlite:
        return "AFTERTURN_DATABASE_URL"
    return UP if name != "broker" or settings.has_embedded_broker else "AFTERTURN_BROKER_URL"


def _delivery(settings: Settings) -> list[Check]:
    try:
        return delivery_checks.look(settings)
    except ServiceError as exc:
        mend = _starter("delivery", settings) if isinstance(exc, StoreBusy) else "./afterturn migrate"
        return [fail("delivery", said(exc), mend)]
    except OSError as exc:
        return [fail("delivery", exc.strerror or type(exc).__name__, "./afterturn migrate")]


def _variables(_: Settings) -> Check:
    if unknown := unknown_settings():
        return warn("settings", unknown, "deploy/.env.example")
    return ok("settings", tr("有效", "valid"))


def _home(settings: Settings) -> Check:
    if not settings.home.is_dir():
        return fail("home", tr(f"{settings.home} 不存在", f"{settings.home} does not exist"), UP)
    if settings.home.stat().st_uid != os.geteuid():
        return fail("home", tr("属于其他用户", "belongs to another user"), f"chown -R $(id -u) {settings.home}")
    free = shutil.disk_usage(settings.home).free
    found = f"{settings.home}, {free / 1e9:.1f} GB " + tr("可用", "free")
    return ok("home", found) if free > MIN_FREE_BYTES else warn("home", found, tr("清理磁盘", "free some space"))


def _key(settings: Settings) -> Check:
    if settings.credential() is None and not settings.has_embedded_broker:
        return ok("key", tr("此处没有，智能体自带（keys create）", "none here: agents bring theirs (keys create)"))
    if settings.credential() is None:
        return fail("key", tr("没有凭据", "there is none"), UP)
    if settings.key_file.is_file() and stat.S_IMODE(settings.key_file.stat().st_mode) & 0o077:
        return fail("key", tr("他人可读", "others can read it"), f"chmod 600 {settings.key_file}")
    return ok("key", tr("存在，仅本人可读", "there, and only its owner reads it"))


def _broker(settings: Settings) -> Check:
    facts = broker.examine(settings.broker_url)
    has_aof = tr("开", "on") if facts.is_append_only else tr("关", "off")
    found = f"{facts.version}, maxmemory-policy {facts.policy}, AOF {has_aof}"
    if facts.evicts:
        return fail("broker", found, "redis-cli CONFIG SET maxmemory-policy noeviction")
    if not facts.is_append_only:
        return warn("broker", found, "redis-cli CONFIG SET appendonly yes")
    if facts.max_bytes and facts.used_bytes > 0.8 * facts.max_bytes:
        return warn("broker", found + tr("，内存将满", ", memory nearly full"), "redis-cli CONFIG SET maxmemory ...")
    return ok("broker", found)


def _migrations(settings: Settings) -> Check:
    from stores import sql  # noqa: PLC0415 - SQL: a second that other commands need not pay

    current, head = sql.current_revision(settings), sql.head_revision()
    if current != head:
        zh = f"数据库版本 {current or '无'}，本程序需要 {head}"
        en = f"the database is at {current or 'nothing'}, this version needs {head}"
        return fail("migrations", tr(zh, en), "./afterturn migrate")
    return ok("migrations", f"{current}")


def _replica(settings: Settings) -> Check:
    from stores.replica import behind_seconds, replica_of  # noqa: PLC0415 - SQL, as above

    replica = replica_of(settings)
    if replica is None:
        return ok("replica", tr("未设置", "none is set"))
    name, most = "AFTERTURN_DATABASE_REPLICA_URL", settings.postgres.replica_lag_seconds
    try:
        behind = behind_seconds(replica)
    except StoreBusy:
        return warn("replica", tr("没有应答，召回改读主库", "does not answer: recall reads the primary"), name)
    finally:
        replica.dispose()
    if behind > most:
        told = tr(f"落后 {behind:.0f} 秒，召回改读主库", f"{behind:.0f} s behind: recall reads the primary")
        if isinf(behind):
            told = tr("从主库听不到消息，召回改读主库", "hears nothing of its primary: recall reads the primary")
        return warn("replica", told, "AFTERTURN_POSTGRES_REPLICA_LAG_SECONDS")
    return ok("replica", tr(f"落后 {behind:.1f} 秒", f"{behind:.1f} s behind"))


def _processes(settings: Settings) -> list[Callable[[Settings], Check]]:
    """The checks of workers and beat as this data folder knows them: together, apart, or not at all."""
    known = {name for name in WORKERS if presence.start_record(settings.home, name).is_file()}
    if not known and not settings.has_embedded_broker:
        return [_elsewhere]
    if known & {"llm", "index", "upkeep"} and not _lives(settings, "app"):
        return [_ingest, *(_apart(role) for role in ("llm", "index", "upkeep")), _beat]
    return [_ingest, _app, _beat]


def _apart(role: str) -> Callable[[Settings], Check]:
    def look(settings: Settings) -> Check:
        found = _consumer(settings, role, (role,))
        # The index itself is looked at under its own name.
        return replace(found, name="index worker") if role == "index" else found

    look.__name__ = f"_{role}"
    return look


def _lives(settings: Settings, role: str) -> bool:
    ready = presence.read(presence.ready_file(settings.home, role))
    return ready is not None and ready.is_alive


def _elsewhere(_: Settings) -> Check:
    # In containers every process has a data folder of its own, and its own probe; jobs and waits are told by SQL.
    return ok(
        "workers", tr("在别处运行；是否在工作见 jobs 与 waiting", "run elsewhere; jobs and waiting say whether they do")
    )


def _ingest(settings: Settings) -> Check:
    return _consumer(settings, "ingest", ("ingest", "pulse"))


def _app(settings: Settings) -> Check:
    return _consumer(settings, "app", ("llm", "index", "upkeep"))


def _consumer(settings: Settings, role: str, queues: tuple[str, ...]) -> Check:
    from tasks.app import ROUTES  # noqa: PLC0415 - Celery: half a second that other commands need not pay

    ready = presence.read(presence.ready_file(settings.home, role))
    if ready is None or not ready.is_alive:
        return fail(role, tr("没有运行", "is not running"), f"{UP} · ./afterturn worker {role}")
    wanted = {name for name, queue in ROUTES.items() if queue in queues}
    if set(ready.tasks) != wanted:
        found = ", ".join(sorted(wanted.symmetric_difference(ready.tasks)))
        return fail(role, tr("缺少或多出任务：", "tasks missing or too many: ") + found, tr("更新检出", "git status"))
    return ok(role, f"pid {ready.pid}: {', '.join(ready.tasks)}")


def _beat(settings: Settings) -> Check:
    ready = presence.read(presence.ready_file(settings.home, "beat"))
    if ready is None or not ready.is_alive:
        return fail("beat", tr("没有运行", "is not running"), f"{UP} · ./afterturn beat")
    return ok("beat", f"pid {ready.pid}")


def _api(settings: Settings) -> Check:
    # Longer than its own checks take: one of a broker that is frozen takes two seconds.
    told = ask(settings.api_host, settings.api_port, "/readyz", timeout_seconds=READY_SECONDS)
    if told is None:
        found = tr(f"{settings.url} 没有应答", f"{settings.url} does not answer")
        return fail("api", found, f"{UP} · ./afterturn api")
    status, body = told
    lacks = ", ".join(name for name, state in _states(body).items() if state != "ok")
    if status == 200 and not lacks:
        return ok("api", settings.url)
    if status == 200:
        found = tr(f"{settings.url} 可用，但缺少：{lacks}", f"{settings.url} answers, without {lacks}")
        return warn("api", found, tr("见上面的检查", "see the checks above"))
    found = tr(f"{settings.url} 未就绪：{lacks or status}", f"{settings.url} is not ready: {lacks or status}")
    return fail("api", found, tr("见上面的检查", "see the checks above"))


def _states(body: bytes) -> dict[str, str]:
    try:
        return cast("dict[str, str]", json.loads(body)["checks"])
    except (ValueError, KeyError, TypeError):
        return {}


def _flower(settings: Settings) -> Check:
    if not settings.flower.port:
        return ok("flower", tr("已关闭", "turned off"))
    connection = HTTPConnection(settings.flower.host, settings.flower.port, timeout=2)
    try:
        connection.request("GET", "/")
        status = connection.getresponse().status
    except (OSError, HTTPException):
        return warn("flower", tr("没有运行", "is not running"), f"{UP} · ./afterturn flower")
    finally:
        connection.close()
    if status != 401:
        return fail("flower", tr("没有密码保护", "answers without a password"), "./afterturn flower")
    return ok("flower", tr("需要密码", "asks for its password"))


def _index(settings: Settings) -> Check:
    from stores import index_states, sql  # noqa: PLC0415 - every store: only this check needs them all
    from stores.kit import open_kit  # noqa: PLC0415

    kit = open_kit(settings)
    try:
        kit.index.open()
        if sql.current_revision(settings) != sql.head_revision():
            return ok("index", tr("可打开", "opens"))
        with kit.db.read() as session:
            lost = index_states.lost(session, kit.live(), limit=1000)
    finally:
        kit.close()
    if not lost:
        return ok("index", tr("可打开", "opens"))
    if all(one.is_rebuilding for one in lost):
        return warn("index", tr(f"正在重建：{len(lost)} 个租户", f"being rebuilt for {len(lost)} tenants"), f"{UP}")
    return fail("index", tr(f"丢失：{len(lost)} 个租户", f"lost, of {len(lost)} tenants"), "./afterturn reindex")


def _embedder(settings: Settings) -> Check:
    from stores.kit import open_kit  # noqa: PLC0415 - every store: only this check needs them all

    kit = open_kit(settings)
    try:
        live = kit.live()
        vector = live.embedder.embed(["afterturn"])[0]
        wanted, plan = kit.generations.default, kit.generations.plan()
    finally:
        kit.close()
    found = f"{live.space}, {len(vector)}"
    if plan.next is not None:
        return warn(
            "embedder", tr(f"{found}；正在换用 {plan.next.space}", f"{found}; {plan.next.space} is to follow"), UP
        )
    if wanted.name != live.space:
        told = tr(f"{found}；设置要求 {wanted.name}", f"{found}; the settings ask for {wanted.name}")
        return warn("embedder", told, f"./afterturn reindex --model {wanted.model or 'offline'}")
    return ok("embedder", found)
