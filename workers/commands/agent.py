"""Commands that do what an agent does, over HTTP: publish a turn, follow it, recall, list what is remembered."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import typer

from schemas.errors import BadInput, BadSettings, Forbidden, NotFound, Permanent, StoreBusy
from stores.settings import load_settings
from workers.speech import show, show_json, tell, tr

if TYPE_CHECKING:
    import httpx

TIMEOUT_SECONDS = 30.0
STATUSES = {"stored": ("已保存", "stored"), "duplicate": ("重复，未改变", "duplicate")}
PARTS = {"database": "数据库", "index": "索引", "embedder": "向量模型", "hot_cache": "缓存"}


def register(app: typer.Typer) -> None:
    """Adds publish, event, recall and memories."""
    app.command("publish", help=tr("发布一轮对话。", "Publish one turn."))(publish)
    app.command("event", help=tr("一个事件后来怎样了。", "What became of an event."))(event)
    app.command("recall", help=tr("召回与问题有关的记忆。", "Recall what matters for a question."))(recall)
    app.command("memories", help=tr("列出某用户的记忆。", "List what is remembered of a user."))(memories)


def publish(
    text: str = typer.Argument(help=tr("说的话", "what was said")),
    *,
    user: str = typer.Option(..., "--user", "-u", help=tr("用户", "user id")),
    session: str = typer.Option(..., "--session", "-s", help=tr("会话", "session id")),
    role: str = typer.Option("user", help="user | assistant | tool | staff | system"),
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Publishes one turn; done once the service has stored it."""
    from afterturn.ids import uuid7  # noqa: PLC0415 - only this command makes ids

    now = datetime.now(UTC).isoformat()
    event = {
        **{"v": 1, "kind": "turn", "event_id": str(uuid7()), "user_id": user, "session_id": session},
        **{"at": now, "published_at": now, "role": role, "content": text, "producer": "cli", "seq": 1},
    }
    answer = call("POST", "/v1/events", [event])
    results = cast("list[dict[str, Any]]", answer.get("results", []))
    refused = [result for result in results if result.get("status") == "rejected"]
    if refused:
        raise BadInput(str(refused[0].get("field") or "event"), str(refused[0].get("reason") or refused[0].get("code")))
    if as_json:
        show_json(answer)
    else:
        for result in results:
            show(f"{tr(*STATUSES.get(str(result.get('status')), ('', '')))}  {result.get('event_id')}")
        seconds = load_settings().window.idle_seconds
        tell(
            f"会话安静 {seconds:.0f} 秒后整理；查看：./afterturn memories --user {user}",
            f"digested {seconds:.0f} s after the session's last turn; see ./afterturn memories --user {user}",
        )


def event(
    event_id: str = typer.Argument(help=tr("事件编号", "the event's id")),
    *,
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Says where an event stands and what came of it."""
    told = call("GET", f"/v1/events/{event_id}", {})
    if as_json:
        show_json(told)
        return
    window = cast("dict[str, Any]", told.get("window") or {})
    rows = {
        ("状态", "state"): " · ".join(str(told[name]) for name in ("state", "reason") if told.get(name)),
        ("类别", "kind"): told.get("kind"),
        ("说于", "said at"): told.get("at"),
        ("收于", "received"): told.get("received_at"),
        ("窗口", "window"): " ".join(str(window[name]) for name in ("id", "state", "error_code") if window.get(name)),
        ("应用于", "applied"): window.get("applied_at"),
        ("情节", "episodes"): ", ".join(told.get("episode_ids", [])),
        ("事实", "facts"): ", ".join(told.get("fact_ids", [])),
        ("死信", "dead letter"): told.get("dead_letter_id"),
    }
    show(str(told.get("said")))
    for title, value in rows.items():
        if value:
            show(f"  {tr(*title)}: {value}")


def recall(
    query: str = typer.Argument(help=tr("问题", "the question")),
    *,
    user: str = typer.Option(..., "--user", "-u", help=tr("用户", "user id")),
    session: str = typer.Option("", "--session", "-s", help=tr("会话", "session id")),
    budget: int = typer.Option(0, "--budget", help=tr("词元预算", "tokens that the pack may take")),
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Asks for the pack of a question and prints its prompt block."""
    settings = load_settings().recall
    pack = call(
        "POST",
        "/v1/recall",
        {
            "query": query,
            "user_id": user,
            **({"session_id": session} if session else {}),
            "budget_tokens": budget or settings.budget_tokens,
            "deadline_ms": settings.deadline_ms,
        },
    )
    if as_json:
        show_json(pack)
        return
    show(str(pack.get("prompt") or tr("（没有相关记忆）", "(nothing that matters)")))
    _tell_missing([str(part) for part in pack.get("missing", ())])
    lag = cast("dict[str, Any]", pack.get("lag") or {})
    if pack.get("prompt") or lag.get("undigested_turns"):
        _tell_waiting(int(lag.get("undigested_turns", 0)), int(lag.get("unindexed", 0)))
    else:
        _tell_why_nothing(call("GET", "/v1/memories", {"user_id": user, "limit": 1}))


def memories(
    *,
    user: str = typer.Option(..., "--user", "-u", help=tr("用户", "user id")),
    kind: str = typer.Option("fact", help="fact | episode | procedure"),
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Lists what is remembered of a user."""
    answer = call("GET", "/v1/memories", {"user_id": user, "kind": kind})
    if as_json:
        show_json(answer)
        return
    items = cast("list[dict[str, Any]]", answer.get("items", []))
    for item in items:
        show(f"{item.get('kind')}  {item.get('text')}  {item.get('id')}")
    if answer.get("next_cursor"):
        tell(f"只列出最新 {len(items)} 条", f"the newest {len(items)} only")
    if items:
        _tell_waiting(int(answer.get("undigested_turns", 0)), 0)
    else:
        _tell_why_nothing(answer)


def _tell_missing(parts: list[str]) -> None:
    if parts:
        zh = "、".join(PARTS.get(part, part) for part in parts)
        tell(f"未能及时查询：{zh}；结果可能不全", f"could not be asked in time: {', '.join(parts)}; more may be known")


def _tell_waiting(turns: int, records: int) -> None:
    if turns:
        seconds = load_settings().window.idle_seconds
        tell(
            f"还有 {turns} 轮对话等待整理（会话安静 {seconds:.0f} 秒后）",
            f"{turns} turn(s) wait to be digested, {seconds:.0f} s after the last one of their session",
        )
    if records:
        tell(f"还有 {records} 条记忆等待进入索引", f"{records} memories wait for the index")


def _tell_why_nothing(page: dict[str, Any]) -> None:
    if page.get("is_known") is False:
        tell("没有收到过该用户的任何事件", "nothing of this user has ever come")
    elif page.get("undigested_turns"):
        _tell_waiting(int(page["undigested_turns"]), 0)
    else:
        tell("没有要显示的记忆，也没有等待整理的对话", "there is nothing to show, and nothing waits to be digested")


def call(method: str, path: str, content: Any) -> dict[str, Any]:
    """The service's answer to one request. Raises: what the command line ends with."""
    import httpx  # noqa: PLC0415 - only these commands speak HTTP

    settings = load_settings()
    credential = settings.credential()
    if credential is None:
        raise BadSettings("AFTERTURN_KEY: no key. Mend: ./afterturn up makes one, or ./afterturn keys create")
    headers = {"Authorization": f"Bearer {credential.get_secret_value()}", "Accept-Language": tr("zh", "en")}
    url = settings.url + path
    try:
        if method == "GET":
            answer = httpx.get(url, params=content, headers=headers, timeout=TIMEOUT_SECONDS)
        else:
            # Escaped: what a terminal passes on may be no UTF-8, and the service says which field it was.
            body = json.dumps(content).encode("ascii")
            headers["Content-Type"] = "application/json"
            answer = httpx.post(url, content=body, headers=headers, timeout=TIMEOUT_SECONDS)
    except UnicodeEncodeError:
        raise BadInput("arguments", tr("不是有效的 UTF-8", "are not valid UTF-8")) from None
    except httpx.HTTPError as exc:
        raise StoreBusy(f"{settings.url} does not answer ({type(exc).__name__}). Mend: ./afterturn up") from None
    if answer.is_success:
        return cast("dict[str, Any]", answer.json())
    raise _refusal(answer)


def _refusal(answer: httpx.Response) -> Exception:
    try:
        problem = cast("dict[str, Any]", answer.json())
    except json.JSONDecodeError:
        problem = {}
    said = str(problem.get("detail") or problem.get("title") or answer.reason_phrase)
    code = str(problem.get("code") or f"http_{answer.status_code}")
    if answer.status_code in {429, 503, 504}:
        return StoreBusy(said, code=code)
    if answer.status_code in {401, 403}:
        return Forbidden(said, code=code)
    if answer.status_code == 404:
        return NotFound(told=said, code=code)
    if not problem.get("field"):
        return Permanent(said, code=code)
    field = str(problem["field"])
    return BadInput(field, said.removeprefix(f"{field}: "), code=code)
