"""What one API process holds: its kit, opened at first need, and recall's guards."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from fastapi import FastAPI

from schemas.errors import ServiceError
from stores.kit import Kit, close_process_kit, process_kit
from stores.tokens import token_counter
from tasks.recall import Guards

T = TypeVar("T")

WRITERS = 16
ASIDE_SECONDS = 60.0
MAX_BEGUN = 10_000

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Held:
    """`kit` is given by a test or an embedding process, which then closes it; else it is this process's own."""

    kit: Kit | None = None
    guards: Guards | None = None
    writers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(WRITERS, "api-write"))
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    begun: dict[str, float] = field(default_factory=dict[str, float])


async def kit_of(app: FastAPI) -> Kit:
    """The process's kit. Raises: BadSettings, StoreBusy."""
    held: Held = app.state.held
    if held.kit is not None:
        return held.kit
    return await asyncio.to_thread(process_kit)


async def in_writer(app: FastAPI, work: Callable[[], T]) -> T:
    """What `work` answers, from a thread for writes: those that wait for a lock must not hold up reads and probes."""
    held: Held = app.state.held
    return await asyncio.get_running_loop().run_in_executor(held.writers, work)


def aside(app: FastAPI, name: str, work: Callable[[], object]) -> None:
    """Does `work` on a writer's thread, at most once a minute for each name; nobody waits. Failures are logged."""
    held: Held = app.state.held
    now = time.monotonic()
    if held.begun.get(name, -ASIDE_SECONDS) + ASIDE_SECONDS > now:
        return
    if len(held.begun) >= MAX_BEGUN:
        held.begun.clear()
    held.begun[name] = now

    def tried() -> None:
        try:
            work()
        except ServiceError as exc:
            logger.info("aside postponed code=%s", exc.code)

    held.writers.submit(tried)


async def guards_of(app: FastAPI) -> Guards:
    """The process's guards, made once."""
    held: Held = app.state.held
    if held.guards is None:
        kit = await kit_of(app)
        async with held.lock:
            if held.guards is None:
                model = kit.settings.llm.model_large
                counter = await asyncio.to_thread(token_counter, model)
                held.guards = Guards(counter=counter)
    return held.guards


async def warm(app: FastAPI) -> None:
    """Loads what the first recall would wait for: the kit, the counter's vocabulary, the embedder's weights.

    A failure is not the end: the store may come up later, and probes say that it is away.
    """
    try:
        kit = await kit_of(app)
        await guards_of(app)
        await asyncio.to_thread(kit.embedder.embed, ["."])
        # What is loaded by now stays: without this the collector goes through it all, a twentieth of a recall's CPU.
        gc.freeze()
    except ServiceError as exc:
        logger.warning("warm-up postponed code=%s", exc.code)


async def close(app: FastAPI) -> None:
    """Releases what this process opened."""
    held: Held = app.state.held
    held.writers.shutdown(wait=False, cancel_futures=True)
    if held.guards is not None:
        held.guards.close()
    if held.kit is None:
        await asyncio.to_thread(close_process_kit)
