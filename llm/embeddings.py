"""Vectors from any OpenAI-compatible embeddings endpoint, checked before they count."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from typing import cast

import httpx2
import numpy as np
import openai

from llm.completion import as_object, read_json
from llm.config import OPENAI_URL, EmbedConfig
from llm.transport import Body, error_for, new_client, send
from schemas.errors import BadAnswer, BadInput, ModelBusy
from schemas.indexing import Vector

# Several servers refuse more, and a larger request only makes what one failure repeats larger.
MAX_BATCH = 256


class OpenAIEmbedder:
    """Implements `llm.face.Embedder`. Safe to share between threads."""

    def __init__(self, config: EmbedConfig) -> None:
        self._config = config
        shortened = f":{config.dimensions}" if config.dimensions else ""
        self.name = f"openai:{config.model}{shortened}"
        self._client = new_client(config.base_url or OPENAI_URL, config.api_key)
        self._dimensions = config.dimensions
        self._lock = threading.Lock()

    @property
    def dimensions(self) -> int:
        """Length of every vector; asks the endpoint the first time when the configuration does not say."""
        with self._lock:
            if self._dimensions is None:
                self._dimensions = len(self._request(["dimension"], None)[0])
            return self._dimensions

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One unit-length float32 vector per text, in order.

        Raises: BadInput for an empty text; ModelBusy; BadAnswer, with code `bad_vectors` for a wrong count, a wrong
        length, or a vector that is not finite or all zero.
        """
        for index, text in enumerate(texts):
            if not text.strip():
                raise BadInput(f"texts[{index}]", "is empty")
        dimensions = self.dimensions if texts else 0
        vectors: list[Vector] = []
        for batch in self._batches(texts):
            vectors += self._request(batch, dimensions)
        return vectors

    def close(self) -> None:
        """Releases connections. Repeat: harmless."""
        self._client.close()

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        chars = 0
        for text in texts:
            sent = text[: self._config.max_chars].encode("utf-8", "replace").decode()
            if batch and (
                len(batch) >= min(self._config.batch, MAX_BATCH) or chars + len(sent) > self._config.max_request_chars
            ):
                yield batch
                batch, chars = [], 0
            batch.append(sent)
            chars += len(sent)
        if batch:
            yield batch

    def _request(self, texts: list[str], dimensions: int | None) -> list[Vector]:
        config = self._config
        create = self._client.embeddings.with_streaming_response.create
        outcome = send(
            lambda: create(
                model=config.model,
                input=texts,
                # The client's own default, base64, is refused or garbled by several servers.
                encoding_format="float",
                dimensions=config.dimensions or openai.omit,
                extra_body=dict(config.extra_body),
                timeout=httpx2.Timeout(config.timeout_seconds, connect=config.connect_timeout_seconds),
            ),
            deadline=time.monotonic() + config.timeout_seconds,
        )
        if not isinstance(outcome, Body):
            raise error_for(outcome)
        vectors = read_vectors(outcome.text, len(texts), dimensions)
        if isinstance(vectors, ModelBusy | BadAnswer):
            raise vectors
        return vectors


def read_vectors(body: str, count: int, dimensions: int | None) -> list[Vector] | ModelBusy | BadAnswer:
    """The unit vectors of a body in the order of its `index` fields, or why they cannot be used.

    `dimensions` None accepts any length, the same for all.
    """
    data = as_object(read_json(body)).get("data")
    if not isinstance(data, list):
        return ModelBusy("the embeddings endpoint answered 200 without vectors", code="bad_response")
    rows = [as_object(row) for row in cast("list[object]", data)]
    by_index = {row.get("index", place): row.get("embedding") for place, row in enumerate(rows)}
    if len(rows) != count or set(by_index) != set(range(count)):
        return BadAnswer(f"the embeddings endpoint answered {len(rows)} vectors for {count} texts", code="bad_vectors")
    try:
        matrix = np.asarray([by_index[place] for place in range(count)], dtype=np.float64)
    except (TypeError, ValueError):
        return BadAnswer("the embeddings endpoint answered vectors of different kinds", code="bad_vectors")
    if matrix.ndim != 2 or matrix.shape[1] != (dimensions or matrix.shape[1]) or matrix.shape[1] == 0:
        return BadAnswer(f"the vectors' shape is not {count} by {dimensions or 'n'}", code="bad_vectors")
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        return BadAnswer("the embeddings endpoint answered a vector that is zero or not finite", code="bad_vectors")
    return list((matrix / lengths).astype(np.float32))
