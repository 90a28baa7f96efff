"""`stores.index.Index` on a Weaviate server: one tenant an organisation, one collection a generation.

What the three legs of a question see is no snapshot: a row that is being written may be in one of them already.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeVar
from uuid import UUID

from weaviate.classes.config import ConsistencyLevel
from weaviate.classes.query import Filter

from schemas.errors import BadInput, Permanent, StoreBusy
from schemas.indexing import Hit, IndexQuery, IndexRow
from stores.weaviate import asking, generations, listing, shape, writes
from stores.weaviate.connection import Client, Connection, Endpoint, search_once
from stores.weaviate.failures import GONE, NO_TENANT, failure_in, translated
from stores.weaviate.generations import Collection

T = TypeVar("T")

# Rows of one request: a write takes about 2 ms a row, and has to fit its deadline on a busy machine.
WRITE_ROWS = 128
PAGE_ROWS = 500
# Tenants whose handles are kept.
HANDLES = 256
# How long what is known of a tenant's identity is believed, so that a recall need not ask.
BELIEVED_SECONDS = 5.0
# A start or a probe waits no longer.
OPEN_SECONDS = 10.0


class WeaviateIndex:
    """The index of one installation, found by its alias. `space` is the embedder's name: others' vectors are refused.

    `place` is the collection of a generation that is found without the alias. `may_make`: whether a collection that is
    not there may be made; of a generation that is dropped none may come back. `call_seconds` bounds every call but a
    search, which brings its own deadline. `connection` is one shared with other generations, closed by whoever made it.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        space: str,
        alias: str = "Afterturn",
        place: str = "",
        may_make: Callable[[], bool] = lambda: True,
        replicas: int = 1,
        call_seconds: float = 15.0,
        connection: Connection | None = None,
    ) -> None:
        self._connection = connection or Connection(endpoint)
        self._is_own = connection is None
        self._space = space
        self._alias = alias
        self._place = place
        self._may_make = may_make
        self._replicas = replicas
        self._seconds = call_seconds
        self._forget()

    def open(self) -> None:
        """Makes the collection and its alias, or checks them. Raises: BadSettings when they are another embedder's."""
        self._connection.run(self._settled_anew, seconds=min(OPEN_SECONDS, self._seconds), doing="opening")

    def upsert(self, rows: Sequence[IndexRow]) -> None:
        """Writes rows whole. Repeat: harmless.

        Raises: BadInput for rows of two tenants or a vector that does not fit (nothing is written); StoreBusy.
        """
        if not rows:
            return
        tenant_id = rows[0].tenant_id
        if any(row.tenant_id != tenant_id for row in rows):
            raise BadInput("rows", "are of more than one tenant")
        latest = list({row.id: row for row in rows}.values())
        dimensions = writes.check_vectors(latest, self._dimensions.get(tenant_id))
        if dimensions is not None and tenant_id not in self._dimensions:
            # The first vector fixes them.
            self._read(tenant_id, lambda part: self._learn(part, tenant_id), None)
            self._dimensions.setdefault(tenant_id, dimensions)
            writes.check_vectors(latest, self._dimensions[tenant_id])
        for start in range(0, len(latest), WRITE_ROWS):
            chunk = latest[start : start + WRITE_ROWS]
            self._run("writing", lambda client, chunk=chunk: self._upsert(client, tenant_id, chunk))

    def delete(self, tenant_id: UUID, ids: Sequence[UUID]) -> None:
        """Deletes for good, in every generation. Repeat: harmless. Raises: StoreBusy when something is left."""
        for start in range(0, len(ids), PAGE_ROWS):
            where = Filter.by_id().contains_any(list(ids[start : start + PAGE_ROWS]))
            if self._run("deleting", lambda client, where=where: self._delete(client, tenant_id, where)):
                raise StoreBusy(f"weaviate: rows of tenant {tenant_id} outlive their deletion", code="index_undeleted")

    def delete_user(self, tenant_id: UUID, user_ref: UUID) -> int:
        """Deletes every row of a user in every generation; answers how many are left (0 when all is gone)."""
        where = Filter.by_property("user_ref").equal(user_ref.hex)
        return self._run("deleting a user", lambda client: self._delete(client, tenant_id, where))

    def identity(self, tenant_id: UUID) -> UUID | None:
        """Which part of which collection the tenant's rows are in; None when there is none. May be seconds old."""
        known = self._believed(tenant_id)
        if known is not None:
            return known[1]
        return self._read(tenant_id, lambda part: self._fresh(part, tenant_id), None)

    def ids(
        self, tenant_id: UUID, user_ref: UUID | None = None, *, after: UUID | None = None
    ) -> Iterator[tuple[UUID, int, bool]]:
        """(id, row_version, whether the vector index lists it) of every row, in id order.

        Of a user with more rows than one answer holds, all of the tenant's are read.
        """
        if user_ref is not None:
            mine = self._read(tenant_id, lambda part: listing.of_user(part, user_ref), None)
            if mine is not None:
                yield from (row for row in mine if after is None or row[0] > after)
                return
        place = after
        while page := self._read(tenant_id, lambda part, place=place: listing.page(part, place, PAGE_ROWS), []):
            place = page[-1].id
            kept = [row for row in page if row.id != shape.MARK_ID and user_ref in (None, row.user_ref)]
            yield from self._read(tenant_id, lambda part, kept=kept: listing.listed(part, kept), [])

    def held(self, tenant_id: UUID, ids: Sequence[UUID]) -> dict[UUID, tuple[int, bool]]:
        """(row_version, whether the vector index lists it) of those of the rows that are there, by id."""
        found: dict[UUID, tuple[int, bool]] = {}
        for start in range(0, len(ids), PAGE_ROWS):
            some = ids[start : start + PAGE_ROWS]
            rows = self._read(tenant_id, lambda part, some=some: listing.held(part, some), [])
            found.update((one, (version, has_vector)) for one, version, has_vector in rows)
        return found

    def incarnation(self) -> str | None:
        """Which runs of which nodes answer now, as far as they say; None for a key that may not ask."""
        return self._run("looking at the cluster", generations.incarnation)

    def rebuild(self) -> None:
        """Begins a new, empty generation for the embedder set now and drops all others."""
        self._run("rebuilding", self._rebuild)

    def place(self) -> str:
        """The name of the collection itself."""
        return self._place or self._run("looking up the collection", self._named)

    def take_name(self) -> None:
        """Has the alias name this collection."""
        self._run("switching the alias", self._take_name)

    def drop(self) -> None:
        """Deletes the collection with all that is in it. Repeat: harmless."""
        self._run("dropping a collection", self._drop)

    def drop_all(self) -> None:
        """Deletes every generation and the alias: the installation is no more. Repeat: harmless."""
        self._run("dropping every generation", self._drop_all)

    async def search(self, query: IndexQuery, *, timeout_seconds: float) -> list[Hit]:
        """Raw hits of all legs, unsorted between legs; every leg lists its best `limit` of the rows it may see.

        Raises: StoreBusy when it cannot answer in time; BadInput for a vector that does not fit.
        """
        return await self._connection.ask(
            lambda client: self._search(client, query), seconds=timeout_seconds, doing="searching"
        )

    def close(self) -> None:
        """Releases the client and its thread, unless they are shared. Repeat: harmless."""
        if self._is_own:
            self._connection.close()
        self._forget()

    def _run(self, doing: str, work: Callable[[Client], Awaitable[T]]) -> T:
        return self._connection.run(work, seconds=self._seconds, doing=doing)

    def _forget(self) -> None:
        self._name: str | None = None
        self._handles_of: Client | None = None
        self._handles: dict[tuple[str, UUID, ConsistencyLevel], Collection] = {}
        self._tenants: set[UUID] = set()
        self._dimensions: dict[UUID, int] = {}
        self._identities: dict[UUID, tuple[float, UUID | None]] = {}

    def _read(self, tenant_id: UUID, read: Callable[[Collection], Awaitable[T]], nothing: T) -> T:
        """What a tenant's part of the live collection answers; `nothing` where there is no such part."""

        async def ask(client: Client) -> T:
            return await self._of_part(client, tenant_id, read, nothing, level=ConsistencyLevel.QUORUM)

        return self._run("reading", ask)

    async def _of_part(
        self,
        client: Client,
        tenant_id: UUID,
        read: Callable[[Collection], Awaitable[T]],
        nothing: T,
        *,
        level: ConsistencyLevel,
    ) -> T:
        """`_read` on the loop. The live collection may have become another one since the last look at the alias."""
        for is_again in (False, True):
            try:
                name = await self._live(client)
                with translated("reading"):
                    return await read(self._part(client, name, tenant_id, level))
            except StoreBusy as exc:
                if exc.code not in (GONE, NO_TENANT):
                    raise
                self._identities.pop(tenant_id, None)
                if exc.code == NO_TENANT or is_again:
                    return nothing
                self._forget()
        raise AssertionError

    def _part(self, client: Client, name: str, tenant_id: UUID, level: ConsistencyLevel) -> Collection:
        """A tenant's handle, kept: making one costs as much as a tenth of a search."""
        if self._handles_of is not client:
            self._handles_of, self._handles = client, {}
        key = (name, tenant_id, level)
        found = self._handles.pop(key, None) or generations.tenant(client, name, tenant_id, level)
        self._handles[key] = found
        if len(self._handles) > HANDLES:
            del self._handles[next(iter(self._handles))]
        return found

    async def _settled(self, client: Client) -> str:
        return self._name or await self._settled_anew(client)

    async def _settled_anew(self, client: Client) -> str:
        if not await asyncio.to_thread(self._may_make):
            # What is there may be used to its end; nothing is made in its place.
            name = await generations.live(client, self._alias, self._space, self._place)
        else:
            name = await generations.settle(
                client, self._alias, self._space, replicas=self._replicas, place=self._place
            )
        if name != self._name:
            self._forget()
            self._name = name
        return name

    async def _live(self, client: Client) -> str:
        if self._name is None:
            self._name = await generations.live(client, self._alias, self._space, self._place)
        return self._name

    async def _upsert(self, client: Client, tenant_id: UUID, rows: Sequence[IndexRow]) -> None:
        try:
            await self._insert(client, tenant_id, rows)
        except StoreBusy as exc:
            if exc.code not in (NO_TENANT, GONE):
                raise
            self._forget()
            await self._insert(client, tenant_id, rows)

    async def _insert(self, client: Client, tenant_id: UUID, rows: Sequence[IndexRow]) -> None:
        name = await self._settled(client)
        if tenant_id not in self._tenants:
            self._note(tenant_id, await generations.settle_tenant(client, name, tenant_id))
            self._tenants.add(tenant_id)
        part = generations.tenant(client, name, tenant_id, ConsistencyLevel.QUORUM)
        with translated("writing"):
            answer = await part.data.insert_many([shape.data_object(row) for row in rows])
        for error in answer.errors.values():
            raise failure_in(error.message, "writing") or Permanent("weaviate: a row is refused", code="index_refused")

    async def _delete(self, client: Client, tenant_id: UUID, where: Any) -> int:
        left = 0
        for name in await generations.names(client, self._alias):
            part = generations.tenant(client, name, tenant_id, ConsistencyLevel.ALL)
            try:
                left += await writes.delete_all(part, where)
            except StoreBusy as exc:
                if exc.code not in (GONE, NO_TENANT):
                    raise
        return left

    async def _named(self, client: Client) -> str:
        # Not checked: one that this build can not read has a name, too.
        return await generations.target(client, self._alias) or await self._settled_anew(client)

    async def _take_name(self, client: Client) -> None:
        name = await self._live(client)
        if await generations.target(client, self._alias) != name:
            await generations.switch(client, self._alias, name)

    async def _drop(self, client: Client) -> None:
        # By the alias only what is ours: another generation may have taken it.
        name = self._place or await generations.live(client, self._alias, self._space)
        await generations.drop(client, name)
        self._forget()

    async def _drop_all(self, client: Client) -> None:
        for name in await generations.names(client, self._alias):
            await generations.drop(client, name)
        with translated("deleting the alias"):
            await client.alias.delete(alias_name=self._alias)
        self._forget()

    async def _rebuild(self, client: Client) -> None:
        name = self._place or shape.physical_name(self._alias, self._space)
        if self._place:
            await generations.drop(client, name)
        await generations.make(client, name, self._space, replicas=self._replicas)
        await generations.switch(client, self._alias, name)
        for other in await generations.names(client, self._alias):
            if other != name:
                await generations.drop(client, other)
        self._forget()

    async def _search(self, client: Client, query: IndexQuery) -> list[Hit]:
        async def ask(part: Collection) -> list[Hit]:
            tenant_id = query.tenant_id
            asked = asking.requests(part.name, query)
            # At once, and what is known already is not asked: every request costs a third of a search.
            work: list[Awaitable[Any]] = [search_once(client, one) for one in asked.values()]
            if self._believed(tenant_id) is None:
                work.append(self._fresh(part, tenant_id))
            if tenant_id not in self._dimensions:
                work.append(self._learn(part, tenant_id))
            answers = await _together(work)
            held = self._dimensions.get(tenant_id)
            # The server compares vectors of other lengths without a word.
            if query.vector is not None and held not in (None, query.vector.size):
                raise BadInput("vector", f"has {query.vector.size} dimensions, this index holds {held}")
            return asking.hits(dict(zip(asked, answers, strict=False)))

        return await self._of_part(client, query.tenant_id, ask, [], level=ConsistencyLevel.ONE)

    def _believed(self, tenant_id: UUID) -> tuple[float, UUID | None] | None:
        """When the identity was looked at, and what it was; None when that is too long ago."""
        known = self._identities.get(tenant_id)
        return known if known is not None and time.monotonic() - known[0] < BELIEVED_SECONDS else None

    async def _fresh(self, part: Collection, tenant_id: UUID) -> UUID | None:
        """The identity, looked at anew: beside a search, for the recall to have it."""
        return self._note(tenant_id, await generations.identity_in(part))

    async def _learn(self, part: Collection, tenant_id: UUID) -> None:
        held = await listing.dimensions(part)
        if held is not None:
            self._dimensions[tenant_id] = held

    def _note(self, tenant_id: UUID, identity: UUID | None) -> UUID | None:
        self._identities[tenant_id] = (time.monotonic(), identity)
        return identity


async def _together(work: Sequence[Awaitable[Any]]) -> list[Any]:
    """All answers; the first failure once nothing runs any more."""
    answers = await asyncio.gather(*work, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return answers
