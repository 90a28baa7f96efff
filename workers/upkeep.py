"""The worker of the beat jobs."""

from __future__ import annotations

from workers.life import serve
from workers.roles import UPKEEP

app = serve(UPKEEP)
