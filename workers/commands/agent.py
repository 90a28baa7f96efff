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
    answer = _call("POST", "/v1/events", [event])
    results = cast("list[dict[str, Any]]", answer.get("results", []))
    refused = [result for result in results if result.get("status") == "rejected"]
    if refused:
        raise BadInput(str(refused[0].get("field") or "event"), str(refused[0].get("reason") or refused[0].get("code")))
    if as_json:
        show_json(answer)
    else:
        for result in results:
            show(f"{result.get('status')}  {result.get('event_id')}")


def event(
    event_id: str = typer.Argument(help=tr("事件编号", "the event's id")),
    *,
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Says where an event stands and what came of it."""
    told = _call("GET", f"/v1/events/{event_id}", {})
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
    pack = _call(
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
    if pack.get("missing"):
        tell(f"未能查询：{pack['missing']}", f"could not be asked in time: {pack['missing']}")


def memories(
    *,
    user: str = typer.Option(..., "--user", "-u", help=tr("用户", "user id")),
    kind: str = typer.Option("fact", help="fact | episode | procedure"),
    as_json: bool = typer.Option(False, "--json", help="JSON"),
) -> None:
    """Lists what is remembered of a user."""
    answer = _call("GET", "/v1/memories", {"user_id": user, "kind": kind})
    if as_json:
        show_json(answer)
        return
    for item in cast("list[dict[str, Any]]", answer.get("items", [])):
        show(f"{item.get('kind')}  {item.get('text')}  {item.get('id')}")


def _call(method: str, path: str, content: Any) -> dict[str, Any]:
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
            answer = httpx.post(url, json=content, headers=headers, timeout=TIMEOUT_SECONDS)
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
        return NotFound(said, code=code)
    return BadInput(str(problem["field"]), said, code=code) if problem.get("field") else Permanent(said, code=code)
