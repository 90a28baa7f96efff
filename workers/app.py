"""The embedded worker: llm, index and upkeep in one process of threads. Knows the beat table too.

A digest may hang as long as its model does, so digests take at most the slots minus the reserved ones: the index and
the beat jobs always find a thread. So do digests beside the index, which would take every slot after a rebuild.
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
    workers = load_settings().workers
    limit(DIGEST, workers.slots - workers.reserved_slots)
    limit(INDEX, workers.index_slots)
