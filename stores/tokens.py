"""Which token counter this machine has: a model's own vocabulary when it lies in the cache, else the estimate.

tiktoken downloads a vocabulary at first use. A recall must never wait for that, so only a file that is already there,
and whole, is ever opened.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import tiktoken
from tiktoken.model import encoding_name_for_model

from memory.tokens import Counter, estimate_tokens

# Where tiktoken keeps a vocabulary (by the SHA-1 of its address) and what it must hash to (SHA-256).
_VOCABULARIES = {
    "o200k_base": (
        "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """A counter and its honest name: "tiktoken:<encoding>" or "estimate"."""

    name: str
    count: Counter


ESTIMATE = TokenCounter("estimate", estimate_tokens)


def token_counter(model: str | None, *, cache: Path | None = None) -> TokenCounter:
    """The best counter for a model that is on this machine. Takes up to a second: call it at the start, in a thread.

    Raises: nothing for an unknown model or a missing, foreign or broken vocabulary: that is the estimate.
    """
    try:
        encoding = encoding_name_for_model(model or "")
    except KeyError:
        return ESTIMATE
    if not _is_cached(encoding, cache or _cache_folder()):
        return ESTIMATE
    vocabulary = tiktoken.get_encoding(encoding)
    return TokenCounter(f"tiktoken:{encoding}", lambda text: len(vocabulary.encode_ordinary(text)))


def _is_cached(encoding: str, folder: Path) -> bool:
    if encoding not in _VOCABULARIES:
        return False
    address, expected = _VOCABULARIES[encoding]
    path = folder / hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == expected


def _cache_folder() -> Path:
    # tiktoken's own variables, in its own order: the check must look where it will look.
    named = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    return Path(named) if named else Path(tempfile.gettempdir()) / "data-gym-cache"
