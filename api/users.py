"""/v1/users/{id}/aliases: which ids are the same person. Joins and parts them; recall and memories follow."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict

from afterturn.fields import Id
from api.auth import key_with
from api.problems import CONFLICTS, RESPONSES
from api.state import in_writer, kit_of
from schemas.dossiers import AliasSet
from stores.tenancy import KeyInfo
from tasks import join
from tasks.review import Who

router = APIRouter(prefix="/v1/users", tags=["users"])

# Ids are the agent's words, and may hold a slash.
ALIASES = "/{user_id:path}/aliases"


class Alias(BaseModel):
    """Another id of the same person: an anonymous one, most often."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    alias: Id


@router.get(ALIASES, responses=RESPONSES, summary="Everyone that a user is")
async def aliases(request: Request, user_id: str, key: Annotated[KeyInfo, Depends(key_with("recall"))]) -> AliasSet:
    """All ids of one person, each with the one it was joined to. 404 for a user that was never heard of."""
    return await asyncio.to_thread(join.show, await kit_of(request.app), key.tenant_id, user_id)


@router.post(ALIASES, responses=CONFLICTS, summary="Join an id to a user")
async def add_alias(
    request: Request, user_id: str, body: Alias, key: Annotated[KeyInfo, Depends(key_with("publish"))]
) -> AliasSet:
    """From now on both are one person: what was said as either counts for both, in the order in which it was said.

    It need not have been heard of. Repeat: harmless. 409 when the id belongs to somebody else.
    """
    kit, who = await kit_of(request.app), Who(actor=f"key:{key.key_id}")
    return await in_writer(request.app, lambda: join.join(kit, key.tenant_id, user_id, body.alias, who))


@router.delete(ALIASES + "/{alias:path}", responses=CONFLICTS, summary="Part an id from a user")
async def remove_alias(
    request: Request, user_id: str, alias: str, key: Annotated[KeyInfo, Depends(key_with("publish"))]
) -> AliasSet:
    """Both are as if they had never been joined, with what was said as each since. 404 when they are not one person."""
    kit, who = await kit_of(request.app), Who(actor=f"key:{key.key_id}")
    return await in_writer(request.app, lambda: join.part(kit, key.tenant_id, user_id, alias, who))
