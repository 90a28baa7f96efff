"""A process that writes to an index until it is killed: `index_writer.py KIND PLACE TENANT USER BATCHES`.

Every batch is five rows with vectors and one delete; a line on standard output says that it was acknowledged.
"""

from __future__ import annotations

import sys
from uuid import UUID

from index_fixtures import Shelf, open_index, unit


def main(kind: str, place: str, tenant: str, user: str, batches: str) -> None:
    """Writes so many batches."""
    shelf = Shelf(open_index(kind, place), UUID(tenant))
    shelf.user = UUID(user)
    for batch in range(int(batches)):
        rows = [shelf.row(f"耳机 headset number {batch} {place}", vector=unit(batch + 1, row)) for row in range(5)]
        shelf.index.upsert(rows)
        shelf.index.delete(shelf.tenant_id, [rows[0].id])
        sys.stdout.write(f"{rows[1].id}\n")
        sys.stdout.flush()
    shelf.index.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
