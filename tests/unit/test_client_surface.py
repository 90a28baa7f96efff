"""What the library shows, and what importing it costs."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import afterturn
from afterturn import Publisher, wire

HEAVY = ("pydantic", "pydantic_core", "kombu", "redis", "cryptography", "zstandard", "httpx", "asyncio", "celery")
PROBE = f"""
import sys, resource
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
import afterturn
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print([name for name in {HEAVY!r} if name in sys.modules], grown)
"""


def test_the_public_names_are_these() -> None:
    assert sorted(afterturn.__all__) == [
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
    for name in afterturn.__all__:
        assert getattr(afterturn, name) is not None
    assert afterturn.Pack is wire.Pack
    assert callable(afterturn.recall)
    assert callable(afterturn.why)


def test_the_publisher_has_these_words() -> None:
    words = {name for name, _ in inspect.getmembers(Publisher, inspect.isfunction) if not name.startswith("_")}

    assert words == {
        *("turn", "remember", "state", "outcome", "approval", "end", "ticket_closed", "feedback", "accessed"),
        *("flush", "close", "stats"),
        *("hold", "resume", "restart", "finish"),
    }


def test_importing_loads_the_standard_library_alone_and_little_memory() -> None:
    """The bound is 15 MB; ru_maxrss is in KiB on Linux and in bytes on macOS."""
    unit = 1 if sys.platform == "darwin" else 1024

    probe = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    names, _, grown = probe.stdout.strip().rpartition(" ")

    assert names == "[]"
    assert int(grown) * unit < 15 * 1024 * 1024


def test_the_version_is_the_newest_of_the_changelog() -> None:
    client = Path(__file__).parents[2] / "client"

    headings = re.findall(r"^## \[(.+?)\]", (client / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)

    assert headings[0] == afterturn.__version__
    assert f'version = "{afterturn.__version__}"' in (client / "pyproject.toml").read_text(encoding="utf-8")


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(afterturn, "Nonsense")


def test_after_warming_up_a_question_loads_nothing_more() -> None:
    script = """
import sys
from afterturn import NotReachable, generate_credential, recall, warm
warm("http://127.0.0.1:9")
before = set(sys.modules)
try:
    recall("q", user="u", url="http://127.0.0.1:9", key=generate_credential().text())
except NotReachable:
    new = set(sys.modules) - before
    print(sorted(name for name in new if name.split(".")[0] in ("httpx", "pydantic", "afterturn")))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
