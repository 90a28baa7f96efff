"""A scripted OpenAI-compatible endpoint: the answers that a case gives its model, one a call.

A request names neither case nor session, so its answer is found by the texts of the turns that it asks about.
Cases that share a text must not play at the same time: see `workers/eval/plan.py`.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, cast

from afterturn.masking import mask
from workers.eval.cases import Dialogue, Json, Said

#: What is answered where a case scripts nothing: nothing to remember.
EMPTY: Json = {
    "summary": "",
    "outcome": "unknown",
    "outcome_turns": [],
    "sentiment": "neutral",
    "tags": [],
    "entities": [],
    "facts": [],
    "procedure": None,
}


def as_sent(text: str) -> str:
    """A turn's text as it reaches a model: secrets masked."""
    return mask(text)[0]


@dataclass(slots=True)
class _Session:
    texts: frozenset[str]
    answers: deque[Json | str]


class Scripted:
    """The endpoint, on a free port of the loopback, a thread a request."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: list[_Session] = []
        self._server: _Server | None = None
        self.calls = 0

    def __enter__(self) -> Self:
        self._server = _Server(self.answer)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True, name="eval-model").start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    @property
    def url(self) -> str:
        """The base URL, with /v1."""
        if self._server is None:
            msg = "the scripted model does not run"
            raise RuntimeError(msg)
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def script(self, cases: Iterable[Dialogue]) -> None:
        """From now on answers for these cases and for no others."""
        sessions: list[_Session] = []
        for case in cases:
            for name, answers in (case.answers or {}).items():
                texts = {as_sent(one.text) for one in case.turns if isinstance(one, Said) and one.session == name}
                sessions.append(_Session(frozenset(texts), deque(answers)))
        with self._lock:
            self._sessions = sessions

    def answer(self, asked: Json) -> str:
        """The text of the completion: of the session that shares most texts, the first with an answer left."""
        prompt = "\n".join(str(message["content"]) for message in asked.get("messages", []))
        said = set(_turns(prompt))
        with self._lock:
            self.calls += 1
            open_ = [(len(said & one.texts), one) for one in self._sessions if one.answers]
            shared, best = max(open_, key=lambda pair: pair[0], default=(0, None))
            found = best.answers.popleft() if best is not None and shared else EMPTY
        return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


def _turns(prompt: str) -> list[str]:
    """The texts that are asked about, without the read-only context."""
    section = prompt.rpartition("\n# Turns\n")[2].partition("\n# Answer")[0]
    return [str(json.loads(line)["text"]) for line in section.splitlines() if line.startswith("{")]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer: Callable[[Json], str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A worker that stopped while it waited is no news."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """One chat completion."""
        asked = cast("Json", json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0")))))
        is_chat = self.path.endswith("/chat/completions")
        body = _completion(cast("_Server", self.server).answer(asked)) if is_chat else {"error": {"message": "no"}}
        # Escaped, so that half a surrogate pair in a scripted answer travels as its author wrote it.
        raw = json.dumps(body).encode()
        self.send_response(200 if is_chat else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: requests hold what was said."""


def _completion(content: str) -> Json:
    return {
        "id": "eval",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}},
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }
