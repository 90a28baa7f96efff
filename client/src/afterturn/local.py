"""What an installation on this machine leaves in its data folder: the key and the broker's socket.

So a first run needs no step: after `./afterturn up`, an agent of the same user needs no argument and no variable.
"""

from __future__ import annotations

import os

SOCKET_PATH_BYTES = 103
"""The longest path that a socket address holds on every system (macOS: 104 with the closing zero)."""


def home() -> str:
    """The data folder: `AFTERTURN_HOME`, else ~/.local/share/afterturn."""
    return os.path.abspath(os.path.expanduser(os.environ.get("AFTERTURN_HOME") or "~/.local/share/afterturn"))  # noqa: PTH100, PTH111 - pathlib is not imported for this


def key_text() -> str:
    """The credential of the installation here; "" where there is none that this user may read."""
    return _content(f"{home()}/key")


def broker_url() -> str:
    """The broker of the installation here; "" where there is none. It need not be running."""
    folder = f"{home()}/broker"
    path = f"{folder}/valkey.sock"
    if len(os.fsencode(path)) > SOCKET_PATH_BYTES:
        path = _content(f"{folder}/socket-path")  # the launcher recorded a shorter one
    if not path or not os.path.isdir(folder):  # noqa: PTH112
        return ""
    from urllib.parse import quote  # noqa: PLC0415 - not at import

    return f"redis+socket://{quote(path)}?virtual_host=0"


def _content(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            return file.read().strip()
    except OSError:
        return ""
