"""The part of `doctor` that asks SQL: does work go on, what waits, what is dead, what is left of budgets.

Its imports are inside: SQL and Celery cost a second that a doctor who finds no database need not pay.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from stores.settings import Settings
from workers.findings import UP, Check, fail, ok, warn
from workers.speech import tr

if TYPE_CHECKING:
    from sqlmodel import Session

#: A job that has missed this many of its turns does not run.
MISSED_TURNS = 10
#: Late is what waits this long beyond its own term.
LATE_SECONDS = 600.0


def look(settings: Settings) -> list[Check]:
    """Every check on delivery. Raises: StoreBusy, BadSettings when the schema is not this version's."""
    from workers.first_run import opened  # noqa: PLC0415

    with opened(settings) as database, database.read() as session:
        now = database.now(session)
        return [
            _visibility(settings),
            _jobs(settings, session, now),
            _waiting(settings, session, now),
            _dead(session),
            _suspects(session),
            _model(settings, session),
            _budget(settings, session),
        ]


def _visibility(settings: Settings) -> Check:
    from stores.policies import policies_of  # noqa: PLC0415
    from workers.roles import EMBEDDED, LLM  # noqa: PLC0415

    lease = policies_of(settings).windows.lease_seconds
    visibility = min(role.visibility_seconds(settings) for role in (LLM, EMBEDDED))
    said = tr(f"租约 {lease:.0f} 秒，可见期 {visibility:.0f} 秒", f"lease {lease:.0f} s, visibility {visibility:.0f} s")
    if visibility <= lease:
        return warn("visibility", said, "AFTERTURN_LLM_TIMEOUT_SECONDS=60")
    return ok("visibility", said)


def _jobs(settings: Settings, session: Session, now: datetime) -> Check:
    from stores import jobs  # noqa: PLC0415
    from workers.beat import beat_schedule  # noqa: PLC0415

    late: list[str] = []
    for name, entry in beat_schedule(settings).items():
        row = jobs.current(session, name)
        ran_at = None if row is None else row.last_success_at
        if ran_at is None or (now - ran_at).total_seconds() > MISSED_TURNS * max(float(entry["schedule"]), 3.0):
            ago = tr("从未", "never") if ran_at is None else f"{(now - ran_at).total_seconds():.0f} s"
            late.append(f"{name.rpartition('.')[2]} ({ago})")
    if late:
        found = tr("久未运行：", "has not run for long: ") + ", ".join(late)
        return warn("jobs", found, f"{UP} · ./afterturn beat · ./afterturn worker app")
    return ok("jobs", tr("按时运行", "run on time"))


def _waiting(settings: Settings, session: Session, now: datetime) -> Check:
    from stores import waits  # noqa: PLC0415

    terms = {"window": settings.window.max_wait_seconds, "digest": 0.0, "index": 0.0}
    names = {
        "window": ("待切分", "to be cut"),
        "digest": ("待整理", "to be digested"),
        "index": ("待入索引", "to be indexed"),
    }
    ages = {stage: (now - at).total_seconds() for stage, at in waits.oldest(session).items() if at is not None}
    said = ", ".join(f"{tr(*names[stage])} {age:.0f} s" for stage, age in ages.items())
    if any(age > terms[stage] + LATE_SECONDS for stage, age in ages.items()):
        mend = "./afterturn worker ingest" if "window" in ages else "./afterturn worker app"
        return warn("waiting", tr("最久的等了：", "the oldest has waited: ") + said, mend)
    return ok("waiting", said or tr("没有积压", "nothing"))


def _dead(session: Session) -> Check:
    from stores import dead  # noqa: PLC0415

    counts = dead.count_waiting(session)
    if counts:
        said = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
        return warn("dead letters", said, "./afterturn dead list")
    return ok("dead letters", tr("没有", "none"))


def _suspects(session: Session) -> Check:
    from stores import suspects  # noqa: PLC0415

    count = suspects.waiting(session)
    if count:
        found = tr(f"{count} 个窗口丢失过进程，等待单独运行", f"{count} windows lost a worker and wait to run alone")
        return warn("suspects", found, "./afterturn worker app")
    return ok("suspects", tr("没有", "none"))


def _model(settings: Settings, session: Session) -> Check:
    from stores import circuit  # noqa: PLC0415

    if settings.llm.is_offline:
        return ok("model", tr("离线规则", "offline rules"))
    state, wait, code = circuit.look(session), circuit.wait_seconds(session), circuit.last_error(session)
    if state.is_closed:
        return ok("model", tr("可用", "is asked") + (f" ({code} x{state.failures})" if code else ""))
    found = tr(
        f"暂停调用：连续失败 {state.failures} 次（{code}），{wait:.0f} 秒后再试",
        f"left alone after {state.failures} failures in a row ({code}), tried again in {wait:.0f} s",
    )
    mends = {"unauthorized": "AFTERTURN_LLM_API_KEY", "not_found": "AFTERTURN_LLM_MODEL_SMALL"}
    return fail(
        "model", found, mends.get(code or "", f"curl -i {settings.llm.base_url or 'https://api.openai.com/v1'}/models")
    )


def _budget(settings: Settings, session: Session) -> Check:
    from stores import budget, waits  # noqa: PLC0415

    limit = settings.llm.daily_tokens
    if not limit:
        return ok("budget", tr("不设上限", "no bound"))
    most = max(budget.spent_today(session).values(), default=0)
    waiting = waits.over_budget(session)
    said = tr(f"今日用量最高的租户 {most} / {limit}", f"the tenant that spent most today: {most} of {limit}")
    if waiting:
        found = said + tr(f"，{waiting} 个窗口等到明天", f"; {waiting} windows wait until tomorrow")
        return warn("budget", found, f"AFTERTURN_LLM_DAILY_TOKENS={2 * limit}")
    return ok("budget", said)
