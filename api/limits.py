"""The bound on a request's body, held while it streams in: a header may be missing or lie."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.problems import problem


class BodyLimit:
    """Answers 413 for a body above `max_bytes`, before or while it arrives."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self.app = app
        self.max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        language = headers.get(b"accept-language", "")
        declared = headers.get(b"content-length", "")
        if declared.isdigit() and int(declared) > self.max_bytes:
            await _too_large(language, scope, receive, send)
            return
        seen = 0
        started = False

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.max_bytes:
                raise _TooLarge
            return message

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, counted, watched)
        except _TooLarge:
            if not started:
                await _too_large(language, scope, receive, send)


class _TooLarge(Exception):
    """More bytes came than allowed."""


async def _too_large(language: str, scope: Scope, receive: Receive, send: Send) -> None:
    answer = problem(language, 413, "body_too_large", headers={"Connection": "close"})
    await answer(scope, receive, send)
