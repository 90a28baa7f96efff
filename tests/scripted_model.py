"""A scripted OpenAI-compatible server over real HTTP, for tests of the model's side and of everything behind it.

    with ScriptedModel() as server:
        server.script(good(draft(summary="...")), BEHAVIOURS["rate_limited"])   # the next answers, in order
        server.always(BEHAVIOURS["html_in_200"])                                # when nothing is scripted any more
        server.script_session("s1", texts=["I moved to Lyon."], answers=[{...}, "raw text"])
        server.script_case(case)                                                # `model` and `model_raw` of a case file
        ModelConfig(base_url=server.url, model_small="scripted")
        server.chat_calls, server.embedding_calls, server.calls[-1].body

Unscripted, it answers an empty draft. Embeddings are deterministic: texts that share characters are near.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, cast

Json = dict[str, Any]

PROMPT_TOKENS = 100
COMPLETION_TOKENS = 20


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it arrived; header names in lower case. `peer` is the TCP port that it came from."""

    path: str
    body: Json
    headers: Mapping[str, str]
    peer: int = 0

    @property
    def mode(self) -> str:
        """json_schema, json_object, or prompt when no response format was asked for."""
        return str(cast("Json", self.body.get("response_format") or {}).get("type", "prompt"))

    @property
    def prompt(self) -> str:
        """The contents of all messages."""
        return "\n".join(str(message["content"]) for message in self.body.get("messages", []))

    @property
    def turns(self) -> list[str]:
        """The texts of the turns that were asked about (without the read-only context)."""
        section = self.prompt.rpartition("\n# Turns\n")[2].partition("\n# Answer")[0]
        return [str(json.loads(line)["text"]) for line in section.splitlines() if line.startswith("{")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What goes back. `hangs` answers nothing until the server stops; `drops` closes the connection at once.

    `blank_lines` come first, one every 20 ms, as some providers send them while a request waits in their queue.
    """

    status: int = 200
    body: Json | str = ""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    delay_seconds: float = 0.0
    hangs: bool = False
    drops: bool = False
    blank_lines: int = 0


Script = Reply | Callable[[Call], Reply]


def draft(**fields: Any) -> Json:
    """An answer as `schemas/drafts.py` wants it: empty, with the given fields set."""
    empty: Json = {
        "summary": "",
        "outcome": "unknown",
        "outcome_turns": [],
        "sentiment": "neutral",
        "tags": [],
        "entities": [],
        "facts": [],
        "procedure": None,
    }
    return {**empty, **fields}


def fact(quote: str, key: str, value: str, **fields: Any) -> Json:
    """A fact of an answer: asserted by the user in t1, unless the fields say otherwise."""
    plain: Json = {
        "reason": "stated",
        "quote": quote,
        "turn": "t1",
        "subject": "user",
        "modality": "asserted",
        "polarity": "+",
        "type": "identity",
        "key": key,
        "object": None,
        "value": value,
        "when": None,
    }
    return {**plain, **fields}


def completion(content: str | None, *, finish: str = "stop", usage: Json | None = None, **message: Any) -> Reply:
    """A chat completion whose message holds `content`; `usage` {} leaves the counts out."""
    counts = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": COMPLETION_TOKENS, "total_tokens": 120}
    body: Json = {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
    }
    if usage != {}:
        body["usage"] = usage or counts
    return Reply(body=body, headers={"x-request-id": "req-scripted"})


def good(answer: Json | None = None) -> Reply:
    """A completion that holds an answer, exactly as asked for."""
    return completion(json.dumps(answer if answer is not None else draft(), ensure_ascii=False))


def error(status: int, message: str, *, code: str | None = None, **headers: str) -> Reply:
    """An error as OpenAI shapes it; `retry_after="2"` becomes the header Retry-After."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(
        status=status,
        body={"error": {"message": message, "type": "error", "param": None, "code": code}},
        headers=named,
    )


def unless_mode(mode: str, refusal: Reply) -> Script:
    """Refuses every request that is not in `mode`, and answers a good draft in it."""
    return lambda call: good() if call.mode == mode else refusal


_ANSWER = draft(summary="scripted")
_TEXT = json.dumps(_ANSWER)

# The behaviours of servers that were met in practice, by name.
BEHAVIOURS: Mapping[str, Script] = {
    "good": good(_ANSWER),
    "extra_key": good({**_ANSWER, "confidence": 0.9}),
    "reasoning_and_content": completion(_TEXT, reasoning_content="First I think."),
    "fenced": completion(f"Sure, here it is:\n```json\n{_TEXT}\n```\nAnything else?"),
    "think": completion(f"<think>The user {{said}} something.</think>\n{_TEXT}"),
    "empty": completion(""),
    "reasoning_only": completion(None, reasoning_content=_TEXT),
    "length": completion(_TEXT[:60], finish="length"),
    "cut": completion(_TEXT[:60]),
    "refusal_field": completion(None, refusal="I can't help with that."),
    "refusal_text": completion("I'm sorry, but I can't help with that."),
    "content_filter": completion("", finish="content_filter"),
    "wrong_keys": completion('{"answer": "42", "mood": "fine"}'),
    "no_choices": Reply(body={"id": "x", "object": "chat.completion", "choices": []}),
    "error_in_200": Reply(body={"error": {"message": "upstream is overloaded", "code": 502}}),
    "html_in_200": Reply(body="<!doctype html><html><body>Bad gateway</body></html>", content_type="text/html"),
    "schema_400": unless_mode("json_object", error(400, "This response_format type is unavailable now")),
    "schema_422": unless_mode("json_object", error(422, "response_format.type: input should be 'text'")),
    "schema_500": unless_mode("json_object", error(500, "[{'type': 'literal_error', 'loc': ('response_format',)}]")),
    "rate_limited": error(429, "Slow down.", code="rate_limit_exceeded", retry_after="7"),
    "server_error": error(500, "The server had an error."),
    "timeout": Reply(hangs=True),
}


@dataclass(slots=True)
class _Session:
    texts: frozenset[str]
    answers: deque[Json | str]


class ScriptedModel:
    """The server: a thread per request on a free port of the loopback. Everything may be scripted while it runs."""

    def __init__(self, *, embedding_dimensions: int = 64) -> None:
        self.embedding_dimensions = embedding_dimensions
        self._chat: deque[Script] = deque()
        self._embeddings: deque[Script] = deque()
        self._always: Script = good()
        self._sessions: dict[str, _Session] = {}
        self._calls: list[Call] = []
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> str:
        """Listens on a free port and answers its URL."""
        self._server = _Server(self.reply, self._stopping)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self.url

    def stop(self) -> None:
        """Ends every waiting answer and frees the port. Repeat: harmless."""
        self._stopping.set()
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self._server = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The base URL, with /v1."""
        if self._server is None:
            msg = "the scripted model is not running"
            raise RuntimeError(msg)
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def calls(self) -> list[Call]:
        """Every request so far, in order of arrival."""
        with self._changed:
            return list(self._calls)

    @property
    def chat_calls(self) -> int:
        """How many completions were asked for."""
        return sum(call.path.endswith("/chat/completions") for call in self.calls)

    @property
    def embedding_calls(self) -> int:
        """How many requests for embeddings came."""
        return sum(call.path.endswith("/embeddings") for call in self.calls)

    def wait_for_calls(self, count: int, *, timeout_seconds: float = 30.0) -> None:
        """Returns when `count` requests have arrived. Raises: TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._calls) >= count, timeout_seconds):
                msg = f"{len(self._calls)} of {count} calls came in {timeout_seconds} s"
                raise TimeoutError(msg)

    def script(self, *replies: Script) -> None:
        """The next completions, in order; they come before those of sessions."""
        with self._changed:
            self._chat.extend(replies)

    def always(self, reply: Script) -> None:
        """The completion for every request that nothing else is scripted for."""
        with self._changed:
            self._always = reply

    def script_embeddings(self, *replies: Script) -> None:
        """The next answers of the embeddings endpoint; after them it embeds by itself."""
        with self._changed:
            self._embeddings.extend(replies)

    def script_session(self, session: str, *, texts: Iterable[str], answers: Iterable[Json | str]) -> None:
        """The answers for windows of one session, one per call: drafts, or raw texts as a model would write them.

        A window belongs to the session that shares most of its texts, the first scripted one among equals.
        """
        with self._changed:
            self._sessions[session] = _Session(frozenset(texts), deque(answers))

    def script_case(self, case: Json) -> None:
        """All sessions of a case file's dialogue, from its `model` and `model_raw`."""
        answers: dict[str, list[Json | str]] = {**case.get("model", {}), **case.get("model_raw", {})}
        for session, given in answers.items():
            texts = [str(turn["text"]) for turn in case["turns"] if turn.get("session") == session and "text" in turn]
            self.script_session(session, texts=texts, answers=given)

    def reply(self, call: Call) -> Reply:
        """Notes a request and decides its answer. The server's threads call this."""
        with self._changed:
            self._calls.append(call)
            self._changed.notify_all()
            chosen = self._embedding(call) if call.path.endswith("/embeddings") else self._completion(call)
        reply = chosen(call) if callable(chosen) else chosen
        if reply.hangs or reply.delay_seconds:
            self._stopping.wait(None if reply.hangs else reply.delay_seconds)
        return replace(reply, drops=True) if reply.hangs else reply

    def _completion(self, call: Call) -> Script:
        if not call.path.endswith("/chat/completions"):
            return error(404, f"no such path: {call.path}")
        if self._chat:
            return self._chat.popleft()
        said = set(call.turns)
        shared = [(len(said & session.texts), session) for session in self._sessions.values() if session.answers]
        best = max(shared, key=lambda pair: pair[0], default=None)
        if best is None or best[0] == 0:
            return self._always
        answer = best[1].answers.popleft()
        return completion(answer) if isinstance(answer, str) else good(answer)

    def _embedding(self, call: Call) -> Script:
        if self._embeddings:
            return self._embeddings.popleft()
        dimensions = int(call.body.get("dimensions") or self.embedding_dimensions)
        return embeddings([vector(text, dimensions) for text in cast("list[str]", call.body["input"])])


def embeddings(vectors: Sequence[Sequence[float]], *, backwards: bool = False) -> Reply:
    """An embeddings answer; `backwards` lists its rows in the wrong order, with the right `index`."""
    data: list[Json] = [
        {"object": "embedding", "index": index, "embedding": list(row)} for index, row in enumerate(vectors)
    ]
    body: Json = {"object": "list", "model": "scripted", "data": data[::-1] if backwards else data}
    return Reply(body={**body, "usage": {"prompt_tokens": len(data), "total_tokens": len(data)}})


def vector(text: str, dimensions: int) -> list[float]:
    """A unit vector by hashed character pairs: texts that share characters are near."""
    values = [0.0] * dimensions
    padded = f" {text.lower()} "
    for pair in (padded[place : place + 2] for place in range(len(padded) - 1)):
        digest = hashlib.blake2b(pair.encode("utf-8", "replace"), digest_size=8).digest()
        values[int.from_bytes(digest[:4]) % dimensions] += 1.0 if digest[4] & 1 else -1.0
    length = math.sqrt(sum(value * value for value in values))
    return [value / length for value in values] if length else [1.0, *([0.0] * (dimensions - 1))]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer: Callable[[Call], Reply], stopping: threading.Event) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.stopping = stopping

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has hung up is part of the tests; everything else is shown as usual."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = cast("_Server", self.server).answer(
            Call(self.path, json.loads(raw), headers, int(self.client_address[1]))
        )
        if reply.drops:
            self.close_connection = True
            return
        body = reply.body if isinstance(reply.body, str) else json.dumps(reply.body, ensure_ascii=False)
        payload = body.encode("utf-8", "surrogatepass")
        self.send_response(reply.status)
        for name, value in {"Content-Type": reply.content_type, **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(payload) + reply.blank_lines))
        self.end_headers()
        for _ in range(reply.blank_lines):
            self.wfile.write(b"\n")
            self.wfile.flush()
            cast("_Server", self.server).stopping.wait(0.02)
        self.wfile.write(payload)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""
