"""What the guard said of texts that no window has judged yet: asked once a text, remembered for the next recall."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

from memory.guard import flags
from memory.moments import Part

MAX_TEXTS = 20_000


class Verdicts:
    """The guard with a memory: places only, under a hash; no text is kept. Safe between threads."""

    def __init__(self, max_texts: int = MAX_TEXTS) -> None:
        self._limit = max_texts
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, tuple[Part, ...]] = OrderedDict()

    def __call__(self, text: str) -> Sequence[Part]:
        """The parts [start, end) of a text that must not be shown."""
        name = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            known = self._known.get(name)
            if known is not None:
                self._known.move_to_end(name)
                return known
        # About 10 us a character: outside of the lock, so that a long text holds up nobody else.
        found = tuple(Part(flag.start, flag.end) for flag in flags(text))
        with self._lock:
            self._known[name] = found
            while len(self._known) > self._limit:
                self._known.popitem(last=False)
        return found
