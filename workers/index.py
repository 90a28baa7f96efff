"""The worker that writes the index."""

from __future__ import annotations

from workers.life import serve
from workers.roles import INDEX

app = serve(INDEX)
