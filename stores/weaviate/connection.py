"""One client of the server in a process: on a loop of its own thread, and nothing it does outlasts its deadline.

The client's blocking face retries a server that is down for 63 seconds whatever its time-outs say; the asynchronous one
ends when its task is cancelled. So there is only that one, for workers as for recall, on one loop for good: it must not
change loops, and whoever asks may come with any loop or none.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDone
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import weaviate
from weaviate.classes.init import AdditionalConfig, Auth, Timeout
from weaviate.config import GrpcConfig
from weaviate.proto.v1 import search_get_pb2

from schemas.errors import ServiceError, StoreBusy
from stores.addresses import server_address
from stores.weaviate.failures import CLOSED, DOWN, LATE, translated

T = TypeVar("T")

Client = weaviate.WeaviateAsyncClient
Work = Callable[[Client], Awaitable[T]]

# What a call's own deadline bounds; the client's time-outs are only a net under it.
NET_SECONDS = 120
CONNECT_SECONDS = 5
# How much longer than its deadline a call's thread waits for the loop to say so.
GRACE_SECONDS = 0.5

# It logs the rows that a server refuses, with their texts.
logging.getLogger("weaviate-client").setLevel(logging.CRITICAL + 1)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the server is. `grpc` is host:port; without it the URL's host at port 50051."""

    url: str
    grpc: str | None = None
    api_key: str | None = None

    def client(self) -> Client:
        """A client for it, not yet connected."""
        http = urlsplit(self.url)
        is_secure = http.scheme == "https"
        grpc = urlsplit(f"//{self.grpc}" if self.grpc else f"//{http.hostname}")
        return weaviate.use_async_with_custom(
            http_host=http.hostname or "",
            http_port=http.port or (443 if is_secure else 80),
            http_secure=is_secure,
            grpc_host=grpc.hostname or http.hostname or "",
            grpc_port=grpc.port or 50_051,
            grpc_secure=is_secure,
            auth_credentials=None if self.api_key is None else Auth.api_key(self.api_key),
            additional_config=AdditionalConfig(
                timeout=Timeout(init=CONNECT_SECONDS, query=NET_SECONDS, insert=NET_SECONDS),
                grpc_config=GrpcConfig(
                    channel_options=[("grpc.keepalive_time_ms", 60_000), ("grpc.keepalive_timeout_ms", 5_000)]
                ),
            ),
            # They would ask the package index for news, and ping twice.
            skip_init_checks=True,
        )


async def search_once(client: Client, request: search_get_pb2.SearchRequest) -> search_get_pb2.SearchReply:
    """What the server answers a request in its own messages, over the client's channel with its headers."""
    # The client's own queries end here, too; it has no other door for a request that is made.
    return await client._connection.grpc_search(request)  # pyright: ignore[reportPrivateUsage]


class Connection:
    """The process's client, connected at the first call; a forked child makes its own. Safe between threads."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._held: _Held | None = None
        self._inherited: list[_Held] = []

    def run(self, work: Work[T], *, seconds: float, doing: str) -> T:
        """What `work` answers, for a thread that waits. Raises: StoreBusy after `seconds`, and what a failure means."""
        future = self._start(work, seconds, doing)
        try:
            return future.result(seconds + GRACE_SECONDS)
        except NotDone:
            future.cancel()
            raise StoreBusy(f"weaviate {doing}: no answer within {seconds:g} s", code=LATE) from None

    async def ask(self, work: Work[T], *, seconds: float, doing: str) -> T:
        """What `work` answers, for a coroutine of any loop; cancelling it cancels the work."""
        return await asyncio.wrap_future(self._start(work, seconds, doing))

    def close(self) -> None:
        """Lets the client and its thread end. Repeat: harmless."""
        with self._lock:
            held, self._held = self._held, None
        if held is not None and held.pid == os.getpid():
            held.close()

    def _start(self, work: Work[T], seconds: float, doing: str) -> Future[T]:
        with self._lock:
            if self._held is not None and self._held.pid != os.getpid():
                # The parent's. Kept, so that nothing closes it from here.
                self._inherited.append(self._held)
                self._held = None
            if self._held is None:
                self._held = _Held(self._endpoint)
            return self._held.start(self._held.bounded(work, seconds, doing))


class _Held:
    """A client, its loop and its thread."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.pid = os.getpid()
        self._endpoint = endpoint
        self._client: Client | None = None
        self._is_ending = False
        self._connecting = asyncio.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="weaviate", daemon=True)
        self._thread.start()

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    async def bounded(self, work: Work[T], seconds: float, doing: str) -> T:
        try:
            with translated(doing):
                async with asyncio.timeout(seconds):
                    return await work(await self._connected())
        except StoreBusy as exc:
            if exc.code != DOWN:
                raise
            raise StoreBusy(f"Weaviate at {server_address(self._endpoint.url)} does not answer", code=DOWN) from None
        except asyncio.CancelledError:
            if self._is_ending:
                raise StoreBusy(f"weaviate {doing}: closed meanwhile", code=CLOSED) from None
            raise

    async def _connected(self) -> Client:
        if self._client is not None:
            return self._client
        async with self._connecting:
            if self._client is None:
                client = self._endpoint.client()
                try:
                    await client.connect()
                except BaseException:
                    await client.close()
                    raise
                self._client = client
        return self._client

    def close(self) -> None:
        with suppress(NotDone, ServiceError):
            self.start(self._end()).result(CONNECT_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CONNECT_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()

    async def _end(self) -> None:
        """Ends what still runs, each with an answer for whoever waits, and then the client."""
        self._is_ending = True
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._client is not None:
            with translated("closing"):
                await self._client.close()
