"""The worker that takes events in: two tasks, no remote control, a pool of few processes."""

from __future__ import annotations

from workers.life import serve
from workers.roles import INGEST

app = serve(INGEST)
