"""The embedded worker: llm, index and upkeep in one process of threads. Knows the beat table too.

A digest may hang as long as its model does, so digests take at most the slots minus the reserved ones: the index and
the beat jobs always find a thread. So do digests beside the index, which would take every slot after a rebuild.
The offline rules and the offline embedder wait for nothing: more than one of each at once would only keep the
interpreter from whoever holds SQLite's write lock, and so everybody else from writing.
"""

from __future__ import annotations

from celery.signals import worker_init

from stores.settings import load_settings
from tasks.app import DIGEST, INDEX
from tasks.base import limit
from workers import beat
from workers.life import serve
from workers.roles import EMBEDDED

app = serve(EMBEDDED)
TABLE = beat.beat_schedule  # `celery -A workers.app beat` works as well


@worker_init.connect(weak=False)
def reserve_slots(**_: object) -> None:
    """Keeps threads free of digests, and of the index."""
    settings = load_settings()
    workers = settings.workers
    limit(DIGEST, 1 if settings.llm.is_offline else workers.slots - workers.reserved_slots)
    limit(INDEX, 1 if settings.embed.is_offline else workers.index_slots)
