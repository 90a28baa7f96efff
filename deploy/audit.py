"""Checks the locked packages against published advisories; says so when there was nothing to check against.

Exit 0: nothing known, or no advisory data within reach (said aloud). Exit 1: a package with a known hole, named.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

TIMEOUT_SECONDS = 240


def main(lock: str) -> int:
    """Runs pip-audit on one lock file."""
    # Without --strict it exits 0 for packages that it could not look up.
    asked = ["-m", "pip_audit", "--strict", "--disable-pip", "--require-hashes", "--progress-spinner=off"]
    try:
        ran = subprocess.run(  # noqa: S603
            [sys.executable, *asked, "--format=json", "--requirement", lock],
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_SECONDS,
        )
        answer: dict[str, Any] = json.loads(ran.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError) as exc:
        reason = "no answer in time" if isinstance(exc, subprocess.TimeoutExpired) else "no advisory data"
        sys.stderr.write(f"pip-audit could NOT check {lock}: {reason} within reach\n")
        return 0
    holes = [(found["name"], found["version"], hole) for found in answer["dependencies"] for hole in found["vulns"]]
    for name, version, hole in holes:
        fixed = ", ".join(hole["fix_versions"]) or "no version yet"
        sys.stderr.write(f"{name} {version}: {hole['id']}, fixed in {fixed}\n")
    sys.stdout.write(f"pip-audit checked {len(answer['dependencies'])} packages: {len(holes)} known holes\n")
    return 1 if holes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
