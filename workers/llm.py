"""The worker that waits for models."""

from __future__ import annotations

from workers.life import serve
from workers.roles import LLM

app = serve(LLM)
