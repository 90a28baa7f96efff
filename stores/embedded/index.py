"""The embedded hybrid index: `stores.index.Index` in SQLite files, for one machine and any number of processes."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np

from schemas.errors import BadInput, StoreBusy
from schemas.indexing import Hit, IndexQuery, IndexRow
from stores.embedded import packing, writing
from stores.embedded.files import Files, make_folder
from stores.embedded.parts import PartCache
from stores.embedded.searching import search

# Rows of one transaction: about 20 ms, so that other writers and recall's neighbours wait no longer than that.
CHUNK_ROWS = 128
PAGE_ROWS = 1_000
SEARCH_THREADS = 4


class EmbeddedIndex:
    """Keywords, vectors and filters of one installation under `folder`, one file a tenant.

    `space` is the embedder's name: files of another one are refused. The first vector fixes a file's dimensions.
    `place` is a folder inside, for a generation beside the first one. `may_make`: whether a file that is not there may
    be made; of a generation that is dropped none may come back.
    """

    def __init__(
        self, folder: Path, *, space: str, place: str = "", may_make: Callable[[], bool] = lambda: True
    ) -> None:
        self._place = place
        self._files = Files(folder / place, space=space, may_make=may_make)
        self._cache = PartCache()
        self._pool: ThreadPoolExecutor | None = None
        self._pid = os.getpid()

    def open(self) -> None:
        """Checks every file. Repeat: harmless. Raises: BadSettings when one is of another embedder or layout."""
        make_folder(self._files.folder)
        for tenant_id in self._files.tenants():
            self._files.read(tenant_id, lambda _: None, empty=None)

    def upsert(self, rows: Sequence[IndexRow]) -> None:
        """Writes rows whole, each with its keywords and vector in one transaction. Repeat: harmless.

        Raises: BadInput for rows of two tenants or a vector that does not fit (nothing is written); StoreBusy.
        """
        if not rows:
            return
        tenant_id = rows[0].tenant_id
        if any(row.tenant_id != tenant_id for row in rows):
            raise BadInput("rows", "are of more than one tenant")
        # All are checked before the first chunk is written; the file's own length is checked inside of that.
        vectors = [row.vector for row in rows if row.vector is not None]
        packing.pack(range(len(vectors)), vectors, vectors[0].size if vectors else 1)
        for start in range(0, len(rows), CHUNK_ROWS):
            chunk = rows[start : start + CHUNK_ROWS]
            self._files.write(tenant_id, lambda c, chunk=chunk: writing.put(c, chunk))

    def delete(self, tenant_id: UUID, ids: Sequence[UUID]) -> None:
        """Deletes for good. Repeat: harmless."""
        if not self._files.path(tenant_id).is_file():
            return
        for start in range(0, len(ids), CHUNK_ROWS):
            chunk = ids[start : start + CHUNK_ROWS]
            self._files.write(tenant_id, lambda c, chunk=chunk: writing.remove(c, chunk))

    def delete_user(self, tenant_id: UUID, user_ref: UUID) -> int:
        """Deletes every row of a user in every scope; answers how many are left (0 when all is gone)."""
        while found := self._files.read(
            tenant_id, lambda c: writing.ids_of_user(c, user_ref, limit=CHUNK_ROWS), empty=[]
        ):
            self.delete(tenant_id, found)
        return self._files.read(tenant_id, lambda c: writing.count_of_user(c, user_ref), empty=0)

    def identity(self, tenant_id: UUID) -> UUID | None:
        """Which file the tenant's rows are in; None when there is none."""
        return self._files.epoch(tenant_id)

    def ids(
        self, tenant_id: UUID, user_ref: UUID | None = None, *, after: UUID | None = None
    ) -> Iterator[tuple[UUID, int, bool]]:
        """(id, row_version, has a vector) of every row, in id order. Each page is a snapshot of its own."""
        place = b"" if after is None else after.bytes
        while True:
            page = self._files.read(tenant_id, lambda c, a=place: writing.page(c, a, user_ref, PAGE_ROWS), empty=[])
            for raw, row_version, has_vector in page:
                yield UUID(bytes=raw), row_version, bool(has_vector)
            if len(page) < PAGE_ROWS:
                return
            place = page[-1][0]

    def held(self, tenant_id: UUID, ids: Sequence[UUID]) -> dict[UUID, tuple[int, bool]]:
        """(row_version, has a vector) of those of the rows that are there, by id."""
        found: dict[UUID, tuple[int, bool]] = {}
        for start in range(0, len(ids), PAGE_ROWS):
            some = ids[start : start + PAGE_ROWS]
            rows = self._files.read(tenant_id, lambda c, some=some: writing.held(c, some), empty=[])
            found.update((UUID(bytes=raw), (version, bool(has_vector))) for raw, version, has_vector in rows)
        return found

    def incarnation(self) -> None:
        """None: there is no server, and a killed writer leaves its files whole."""
        return

    async def search(self, query: IndexQuery, *, timeout_seconds: float) -> list[Hit]:
        """Raw hits of all legs, unsorted between legs; every leg lists its best `limit` of the rows it may see.

        Raises: StoreBusy when it cannot answer in time; BadInput for a vector that does not fit.
        """
        deadline = time.monotonic() + timeout_seconds
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._threads(), self._search, query, deadline)
        try:
            return await asyncio.wait_for(work, timeout_seconds)
        except TimeoutError as exc:
            raise _late(timeout_seconds) from exc

    def compact(self, tenant_id: UUID) -> None:
        """Leaves nothing of deleted rows in the file or its journal: merges the keyword lists, empties the WAL.

        Holds the file's write lock for about a second per 50 000 rows; for erasure and quiet hours.
        """
        if self._files.path(tenant_id).is_file():
            self._files.write(tenant_id, writing.merge)
            self._files.checkpoint(tenant_id)

    def rebuild(self) -> None:
        """Empties every file for the embedder set now; every record is owed to the index again by the caller."""
        for tenant_id in self._files.tenants():
            self._files.empty(tenant_id, writing.clear)
        self._cache.clear()

    def place(self) -> str:
        """The folder's name inside the index's own; "" for the first generation."""
        return self._place

    def take_name(self) -> None:
        """Nothing: SQL alone says which one is live."""

    def drop(self) -> None:
        """Deletes every file, and the folder when nothing else is in it. Repeat: harmless."""
        self._files.drop()
        self._cache.clear()

    def forget_cached(self) -> None:
        """Empties this process's memory of parts; the next search reads the file."""
        self._cache.clear()

    def close(self) -> None:
        """Releases threads and files. Repeat: harmless."""
        pool, self._pool = self._pool, None
        if pool is not None and self._pid == os.getpid():
            pool.shutdown(wait=True, cancel_futures=True)
        self._files.close()
        self._cache.clear()

    def _search(self, query: IndexQuery, deadline: float) -> list[Hit]:
        started = time.monotonic()

        def check() -> None:
            if time.monotonic() > deadline:
                raise _late(deadline - started)

        check()
        return self._files.read(
            query.tenant_id,
            lambda c: search(c, _unit(query), self._cache, check),
            empty=[],
        )

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None or self._pid != os.getpid():
            self._pool = ThreadPoolExecutor(SEARCH_THREADS, thread_name_prefix="embedded-index")
            self._pid = os.getpid()
        return self._pool


def _unit(query: IndexQuery) -> IndexQuery:
    """The question with its vector at length 1; a vector without direction asks nothing."""
    if query.vector is None:
        return query
    length = float(np.linalg.norm(query.vector))
    unit = (query.vector / length).astype(np.float32) if 0.0 < length < float("inf") else None
    return replace(query, vector=unit)


def _late(timeout_seconds: float) -> StoreBusy:
    return StoreBusy(f"index: no answer within {timeout_seconds * 1000:.0f} ms", code="index_deadline")
