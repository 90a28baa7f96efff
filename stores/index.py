"""The hybrid index as tasks know it. A projection of SQL that can be rebuilt at any time, never the truth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol
from uuid import UUID

from schemas.indexing import Hit, IndexQuery, IndexRow


class Index(Protocol):
    """Implemented by the embedded index (SQLite files) and by Weaviate; both pass one behaviour suite.

    Writers are sync (workers), the one reader is async (recall). Every failure is Transient or Permanent.
    """

    def open(self) -> None:
        """Creates or checks what the index needs. Repeat: harmless. Never called before a fork."""
        ...

    def upsert(self, rows: Sequence[IndexRow]) -> None:
        """Writes rows whole; a row with an id that exists is replaced. All rows are of one tenant."""
        ...

    def delete(self, tenant_id: UUID, ids: Sequence[UUID]) -> None:
        """Deletes for good. Repeat: harmless."""
        ...

    def delete_user(self, tenant_id: UUID, user_ref: UUID) -> int:
        """Deletes every row of a user; answers how many are left (0 when all is gone)."""
        ...

    def ids(
        self, tenant_id: UUID, user_ref: UUID | None = None, *, after: UUID | None = None
    ) -> Iterator[tuple[UUID, int, bool]]:
        """(id, row_version, has a vector) of every row with a higher id than `after`, in id order."""
        ...

    def held(self, tenant_id: UUID, ids: Sequence[UUID]) -> dict[UUID, tuple[int, bool]]:
        """(row_version, has a vector) of those of the rows that are there, by id."""
        ...

    def identity(self, tenant_id: UUID) -> UUID | None:
        """Which index the tenant's rows are in: made with it, and gone with it. None when there is none."""
        ...

    def incarnation(self) -> str | None:
        """Which run of its server this is: a new one may have lost vectors. None where that cannot be or be told."""
        ...

    def rebuild(self) -> None:
        """Empties everything for the embedder set now, under new identities; the caller owes every record again."""
        ...

    def place(self) -> str:
        """What finds this generation when another one has become the live one; "" for the first one's own place."""
        ...

    def take_name(self) -> None:
        """Has the name by which others look for the live generation mean this one. Repeat: harmless."""
        ...

    def drop(self) -> None:
        """Deletes this generation with all that is in it. Repeat: harmless."""
        ...

    async def search(self, query: IndexQuery, *, timeout_seconds: float) -> list[Hit]:
        """Raw hits of all legs, unsorted between legs. Raises: StoreBusy when it cannot answer in time."""
        ...

    def close(self) -> None:
        """Releases files and connections. Repeat: harmless."""
        ...
