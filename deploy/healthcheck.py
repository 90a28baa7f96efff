"""Whether the process of this container does its work: exit 0 or 1. One of the ports of the image answers, its role's.

Python's own library alone: it runs every few seconds, and imports nothing of the service.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing
from http.client import HTTPConnection, HTTPException

SECONDS = 4.0
ROLES = (
    ("AFTERTURN_WORKERS_PROBE_PORT", "9808", "/healthz"),
    ("AFTERTURN_API_PORT", "8710", "/healthz"),
    ("AFTERTURN_FLOWER_PORT", "8711", "/healthcheck"),
)


def main() -> int:
    """0 when whoever listens says that all is well."""
    for variable, default, path in ROLES:
        port = int(os.environ.get(variable) or default)
        told = None if port == 0 else status(port, path)
        if told is not None:
            print(f"{path}: {told}")  # noqa: T201 - docker inspect shows it
            return 0 if told == 200 else 1
    print("nobody listens")  # noqa: T201
    return 1


def status(port: int, path: str) -> int | None:
    """The answer's status, 0 for none in time; None when nobody listens."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=SECONDS)) as connection:
        try:
            connection.connect()
        except OSError:
            return None
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except (OSError, HTTPException):
            return 0


if __name__ == "__main__":
    sys.exit(main())
