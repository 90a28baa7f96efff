"""The beat table, and the application of a beat process: names alone, none of the tasks' own imports.

Two beats do no harm: a sweep takes no lease and repeats nothing, and every other job has one.
"""

from __future__ import annotations

from typing import Any

from stores.settings import Settings, load_settings
from tasks.app import ROUTES, app, beat_seconds


def beat_configuration(settings: Settings) -> dict[str, Any]:
    """What beat needs on top of the shared configuration."""
    return {
        "beat_schedule": beat_schedule(settings),
        # All entries are short intervals: nothing is worth a file that remembers the last run.
        "beat_scheduler": "workers.ticking:Scheduler",
        "beat_max_loop_interval": 5,
    }


def beat_schedule(settings: Settings) -> dict[str, dict[str, Any]]:
    """What beat sends, and how often. An entry that waited longer than its interval is worth nothing: it expires."""
    return {
        name: {"task": name, "schedule": seconds, "options": {"queue": ROUTES[name], "expires": max(seconds, 1.0)}}
        for name, seconds in beat_seconds(settings).items()
    }


app.add_defaults(lambda: beat_configuration(load_settings()))
