"""A scripted OpenAI-compatible server, in a process of its own: answers by rule, or as badly as it is told to.

    python -m workers.chaos.model PORT FOLDER

How it answers stands in FOLDER/answers ("good" when there is none), read anew at every request, so that nobody has to
ask a server that may be frozen. FOLDER/calls holds one byte a completion that was asked for: "." for an answer, "x" for
none.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import sys
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

Json = dict[str, Any]

DIMENSIONS = 64
NEVER_SECONDS = 600.0
_LIKES = re.compile(r"I like ([a-z]+ [a-z]+ \d+)\.|我喜欢([\u4e00-\u9fff]+\d+号)。")


class Server(ThreadingHTTPServer):
    """Holds the folder that says how to answer."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, port: int, folder: Path) -> None:
        self.folder = folder
        super().__init__(("127.0.0.1", port), Handler)

    def manner(self) -> str:
        """How to answer now."""
        try:
            return (self.folder / "answers").read_text("ascii").strip() or "good"
        except OSError:
            return "good"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed or gave up is what this server is for."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Chat completions and embeddings."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """One request."""
        server = cast("Server", self.server)
        asked: Json = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
        is_chat = self.path.endswith("/chat/completions")
        bad = _BAD.get(server.manner())
        if is_chat:
            with (server.folder / "calls").open("ab") as calls:
                calls.write(b"." if bad is None else b"x")
        if bad is not None and (is_chat or bad is not _truncated):
            bad(self, asked)
        else:
            self.answer(completion(answer(asked)) if is_chat else embeddings(cast("list[str]", asked["input"])))

    def answer(self, body: Json | str, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Sends a body: JSON, or a text as it is."""
        raw = (body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)).encode()
        self.send_response(status)
        sent = {"Content-Type": "application/json", "Content-Length": str(len(raw)), **(headers or {})}
        for name, value in sent.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


def completion(content: str, finish: str = "stop") -> Json:
    """A chat completion that holds a text."""
    return {
        "id": "chaos",
        "object": "chat.completion",
        "created": 0,
        "model": "chaos",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content}},
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


def embeddings(texts: list[str]) -> Json:
    """A unit vector for each text."""
    data = [{"object": "embedding", "index": n, "embedding": vector(text)} for n, text in enumerate(texts)]
    return {"object": "list", "model": "chaos", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def vector(text: str) -> list[float]:
    """A unit vector that follows from the text alone."""
    digest = hashlib.shake_256(text.encode("utf-8", "replace")).digest(DIMENSIONS)
    values = [byte - 127.5 for byte in digest]
    length = math.sqrt(sum(value * value for value in values))
    return [value / length for value in values]


def answer(asked: Json) -> str:
    """What a careful model would say of the stream's windows: what the user likes, and a summary."""
    prompt = "\n".join(str(message["content"]) for message in asked.get("messages", []))
    section = prompt.rpartition("\n# Turns\n")[2].partition("\n# Answer")[0]
    turns: list[Json] = [json.loads(line) for line in section.splitlines() if line.startswith("{")]
    facts = [
        _fact(str(turn["turn"]), found[0], found[1] or found[2])
        for turn in turns
        if turn["role"] == "user"
        for found in _LIKES.finditer(str(turn["text"]))
    ]
    said: Json = {
        "summary": str(turns[0]["text"]) if turns else "",
        "outcome": "unknown",
        "outcome_turns": [],
        "sentiment": "neutral",
        "tags": ["chaos"],
        "entities": [],
        "facts": facts,
        "procedure": None,
    }
    return json.dumps(said, ensure_ascii=False)


def _fact(label: str, quote: str, value: str) -> Json:
    return {
        "reason": "stated",
        "quote": quote,
        "turn": label,
        "subject": "user",
        "modality": "asserted",
        "polarity": "+",
        "type": "preference",
        "key": "likes",
        "object": None,
        "value": value,
        "when": None,
    }


def _busy(handler: Handler, _: Json) -> None:
    handler.answer({"error": {"message": "Slow down."}}, 429, {"Retry-After": "1"})


def _broken(handler: Handler, _: Json) -> None:
    handler.answer({"error": {"message": "The server had an error."}}, 500)


def _garbage(handler: Handler, _: Json) -> None:
    handler.answer("\x00{[garbage")


def _html(handler: Handler, _: Json) -> None:
    handler.answer("<!doctype html><html><body>Bad gateway</body></html>", 200, {"Content-Type": "text/html"})


def _refused(handler: Handler, _: Json) -> None:
    handler.answer(completion("I'm sorry, but I can't help with that."))


def _truncated(handler: Handler, asked: Json) -> None:
    whole = answer(asked)
    handler.answer(completion(whole[: len(whole) // 2], "length"))


def _never(handler: Handler, _: Json) -> None:
    time.sleep(NEVER_SECONDS)
    handler.close_connection = True


_number = itertools.count()


def _away(handler: Handler, asked: Json) -> None:
    (_busy, _broken, _garbage, _never)[next(_number) % 4](handler, asked)


_BAD: Mapping[str, Callable[[Handler, Json], None]] = {
    "429": _busy,
    "500": _broken,
    "garbage": _garbage,
    "html": _html,
    "refused": _refused,
    "truncated": _truncated,
    "never": _never,
    "away": _away,
}


if __name__ == "__main__":
    Server(int(sys.argv[1]), Path(sys.argv[2])).serve_forever()
