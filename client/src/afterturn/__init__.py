"""The agent's library: publish what was said, recall what matters.

    pub = Publisher()
    pub.turn("u1", "s1", "user", "I moved to Lyon yesterday.")
    pack = recall("Where does the user live?", user="u1")

Importing this loads the standard library alone; pydantic, redis and httpx come with the first use, most of it in the
Publisher's own thread.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from afterturn.credentials import Credential, generate_credential, parse_credential
from afterturn.errors import AfterturnError, BadCredential, BadEvent, BadSetting, NotReachable, Refused
from afterturn.publisher import Publisher
from afterturn.recall import arecall, recall, warm
from afterturn.stats import Stats
from afterturn.why import awhy, why

if TYPE_CHECKING:
    from afterturn.whys import WhyAnswer, WhyEdge, WhyPath
    from afterturn.wire import EvidenceRef, Lag, Pack, PackItem, ToConfirm

__version__ = "0.1.0"
__all__ = [
    "AfterturnError",
    "BadCredential",
    "BadEvent",
    "BadSetting",
    "Credential",
    "EvidenceRef",
    "Lag",
    "NotReachable",
    "Pack",
    "PackItem",
    "Publisher",
    "Refused",
    "Stats",
    "ToConfirm",
    "WhyAnswer",
    "WhyEdge",
    "WhyPath",
    "arecall",
    "awhy",
    "generate_credential",
    "parse_credential",
    "recall",
    "warm",
    "why",
]
_LATE = {
    **dict.fromkeys(("EvidenceRef", "Lag", "Pack", "PackItem", "ToConfirm"), "wire"),
    **dict.fromkeys(("WhyAnswer", "WhyEdge", "WhyPath"), "whys"),
}


def __getattr__(name: str) -> object:
    """Names whose modules need pydantic, which an agent should not wait for at start-up."""
    if name not in _LATE:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"afterturn.{_LATE[name]}"), name)
