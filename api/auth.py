"""Who asks: a bearer key, its tenant and its rights. Every path but the probes needs one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from afterturn.credentials import parse_credential
from afterturn.errors import BadCredential
from api.phrases import KeyFault
from api.problems import Unauthorized
from api.state import aside, kit_of
from schemas.errors import Forbidden
from stores import keys
from stores.kit import Kit
from stores.tenancy import KeyInfo, key_of_bearer

#: A note of use is not worth waiting for a lock any longer.
_PATIENCE_SECONDS = 1.0

_bearer = HTTPBearer(
    scheme_name="key",
    bearerFormat="at_<key id>_<secret>",
    description="The agent's key (AFTERTURN_KEY). It fixes the tenant; its rights decide what it may do.",
    auto_error=False,
)


def key_with(right: str) -> Callable[..., Awaitable[KeyInfo]]:
    """A dependency: the caller's key, if it has the right.

    Raises: Unauthorized without a valid key, Forbidden without the right, StoreBusy when it cannot be looked up.
    """

    async def key(
        request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
    ) -> KeyInfo:
        if credentials is None:
            is_missing = not request.headers.get("authorization")
            raise Unauthorized("unauthorized", fault="missing" if is_missing else "malformed")
        kit = await kit_of(request.app)
        found = await asyncio.to_thread(_look_up, kit, credentials.credentials)
        if keys.is_use_new(found.last_used_at, kit.clock()):
            aside(request.app, found.key_id, partial(_note_use, kit, found.key_id))
        found.require(right)
        return found

    return key


def _look_up(kit: Kit, token: str) -> KeyInfo:
    try:
        with kit.db.read() as session:
            return key_of_bearer(session, f"Bearer {token}")
    except Forbidden as exc:
        if exc.code != "bad_key":
            raise Unauthorized(exc.code) from exc
        raise Unauthorized("unauthorized", fault=_fault_of(token)) from exc


def _fault_of(token: str) -> KeyFault:
    try:
        parse_credential(token)
    except BadCredential:
        return "malformed"
    return "unknown"


def _note_use(kit: Kit, key_id: str) -> None:
    now = kit.clock()
    kit.db.write(lambda session: keys.note_use(session, key_id, now), give_up_seconds=_PATIENCE_SECONDS)
