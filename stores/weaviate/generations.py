"""Generations: the collections of one installation, of which its alias names the live one; and tenants in them.

Objects may be written through an alias, tenants may not, and vectors of two embedders must never meet. So everything
here works on the collection itself, found through the alias and checked first.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

from weaviate.classes.config import ConsistencyLevel
from weaviate.classes.tenants import Tenant
from weaviate.collections.collection.async_ import CollectionAsync

from schemas.errors import BadSettings, Permanent, StoreBusy
from stores.weaviate import shape
from stores.weaviate.connection import Client
from stores.weaviate.failures import GONE, NO_TENANT, translated

logger = logging.getLogger(__name__)

Collection = CollectionAsync[dict[str, Any], None]


async def live(client: Client, alias: str, space: str, place: str = "") -> str:
    """The collection at a place, or the one that the alias names where that is "".

    Raises: StoreBusy when there is none, BadSettings for another embedder's vectors.
    """
    name = place or await target(client, alias)
    if name is None:
        raise StoreBusy(f"weaviate: no alias {alias}", code=GONE)
    with translated("listing collections"):
        found = (await client.collections.list_all(simple=True)).get(name)
    if found is None:
        raise StoreBusy(f"weaviate: no collection {name}", code=GONE)
    layout, held = shape.described(found.description)
    if layout != shape.LAYOUT:
        msg = f"index {alias}: layout {layout}, this build needs {shape.LAYOUT}; rebuild the index"
        raise BadSettings(msg, code="index_layout")
    if held != space:
        msg = (
            f"index {alias} holds vectors of {held}, the embedder set now makes {space}; "
            "set the old embedder again or rebuild the index"
        )
        raise BadSettings(msg, code="index_embedder")
    return name


async def target(client: Client, alias: str) -> str | None:
    """What the alias names, which may be gone: a collection's end leaves its aliases."""
    with translated("looking up the alias"):
        found = await client.alias.get(alias_name=alias)
    return None if found is None else found.collection


async def settle(client: Client, alias: str, space: str, *, replicas: int, place: str = "") -> str:
    """The collection, made where there was none: at its place, or with its alias where that is "".

    Several may do so at once: one of them wins.
    """
    try:
        return await live(client, alias, space, place)
    except StoreBusy as exc:
        if exc.code != GONE:
            raise
    if place:
        with suppress(Permanent):
            await make(client, place, space, replicas=replicas)
        return await live(client, alias, space, place)
    name = await make(client, shape.physical_name(alias, space), space, replicas=replicas)
    if await target(client, alias) is None:
        with suppress(Permanent), translated("making the alias"):
            await client.alias.create(alias_name=alias, target_collection=name)
    else:
        await switch(client, alias, name)
    if await target(client, alias) != name:
        await drop(client, name)
    return await live(client, alias, space)


async def make(client: Client, name: str, space: str, *, replicas: int) -> str:
    """A new, empty collection that no alias names yet."""
    with translated("making a collection"):
        await client.collections.create(**shape.collection(name, space, replicas=replicas))
    logger.info("weaviate collection made name=%s", name)
    return name


async def drop(client: Client, name: str) -> None:
    """Deletes a collection with all that is in it. Repeat: harmless."""
    with translated("dropping a collection"):
        await client.collections.delete(name)
    logger.info("weaviate collection dropped name=%s", name)


async def switch(client: Client, alias: str, name: str) -> None:
    """Has the alias name this collection, at once for everybody."""
    with translated("switching the alias"):
        if not await client.alias.update(alias_name=alias, new_target_collection=name):
            await client.alias.create(alias_name=alias, target_collection=name)


async def incarnation(client: Client) -> str | None:
    """Which runs of which nodes are up: a node counts elections, and knows where its last start found the log."""
    try:
        with translated("looking at the cluster"):
            found = await client.cluster.statistics()
    except BadSettings:
        return None
    runs = (f"{node.name}:{node.raft.term}:{node.initial_last_applied_index}" for node in found.statistics)
    return " ".join(sorted(runs))


async def names(client: Client, alias: str) -> list[str]:
    """Every generation, live or not."""
    with translated("listing collections"):
        found = await client.collections.list_all(simple=True)
    return sorted(name for name in found if name.startswith(f"{alias}_"))


def tenant(client: Client, name: str, tenant_id: UUID, level: ConsistencyLevel) -> Collection:
    """A handle on one organisation's part of a collection."""
    return client.collections.use(name).with_tenant(shape.tenant_name(tenant_id)).with_consistency_level(level)


async def identity_in(part: Collection) -> UUID | None:
    """What the mark of a tenant's part says; None when it has none."""
    with translated("reading the identity"):
        # It answers None where there is none, whatever its types say.
        found: Any = await part.query.fetch_object_by_id(shape.MARK_ID, return_properties=["user_ref"])
    return None if found is None else UUID(str(found.properties["user_ref"]))


async def settle_tenant(client: Client, name: str, tenant_id: UUID) -> UUID:
    """The identity of a tenant's part of a collection, made with its mark where it was not there."""
    part = tenant(client, name, tenant_id, ConsistencyLevel.QUORUM)
    try:
        found = await identity_in(part)
    except StoreBusy as exc:
        if exc.code != NO_TENANT:
            raise
        with translated("making a tenant"):
            await client.collections.use(name).tenants.create([Tenant(name=shape.tenant_name(tenant_id))])
        found = None
    if found is None:
        try:
            with translated("marking a tenant"):
                # An insert: of two at once the server refuses one, where a batch would replace the other's mark.
                await part.data.insert(shape.mark(uuid4()), uuid=shape.MARK_ID)
        except Permanent:
            logger.info("weaviate tenant marked by another tenant_id=%s", tenant_id)
        found = await identity_in(part)
    if found is None:
        raise StoreBusy(f"weaviate: tenant {tenant_id} is gone again", code=NO_TENANT)
    return found
