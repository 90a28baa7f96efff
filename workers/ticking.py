"""Beat's scheduler: it holds back what nobody takes, so that a queue whose workers are away does not grow."""

from __future__ import annotations

import logging
from typing import Any

from celery.beat import ScheduleEntry
from celery.beat import Scheduler as CeleryScheduler

from tasks.base import queued
from workers.probe import pulse

logger = logging.getLogger(__name__)

#: A job is worth one message; a few more may wait while its worker is busy. Upkeep's queue carries several jobs.
MAX_WAITING = 8


class Scheduler(CeleryScheduler):
    """Sends an entry only while fewer than MAX_WAITING messages wait in its queue."""

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """One round; says that beat goes round."""
        pulse.beats()
        return super().tick(*args, **kwargs)

    def apply_async(self, entry: ScheduleEntry, producer: Any = None, advance: bool = True, **kwargs: Any) -> Any:
        """Sends the entry's task, or moves its clock on without sending."""
        if entry.task is None or queued(entry.task) < MAX_WAITING:
            return super().apply_async(entry, producer=producer, advance=advance, **kwargs)
        logger.debug("tick held back task=%s", entry.task)
        return self.reserve(entry) if advance else None
