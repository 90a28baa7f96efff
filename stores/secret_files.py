"""Settings from a folder of secret files, one a variable and named like it: what Docker, Kubernetes and systemd mount.

The environment wins. A command line, `docker inspect` or a crash report then shows where a secret lies, not what it is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic_settings import EnvSettingsSource

from schemas.errors import BadSettings

VARIABLE = "AFTERTURN_SECRETS_DIR"
_PREFIX = "AFTERTURN_"


class SecretFiles(EnvSettingsSource):
    """The files of AFTERTURN_SECRETS_DIR as if they were environment variables."""

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return {name.lower(): text for name, text in secret_texts().items()}


def secret_texts() -> dict[str, str]:
    """What the folder holds, by variable; nothing without a folder. Raises: BadSettings when it cannot be read."""
    folder = os.environ.get(VARIABLE)
    return _read(Path(folder)) if folder else {}


def _read(folder: Path) -> dict[str, str]:
    try:
        # systemd puts the name of the credential and a _ before the names of a folder's files.
        paths = [path for path in folder.iterdir() if _PREFIX in path.name and path.is_file()]
        told = {path.name[path.name.index(_PREFIX) :]: path.read_text("utf-8").strip() for path in paths}
    except OSError as exc:
        raise BadSettings(f"{VARIABLE}: the folder cannot be read ({exc.strerror})") from None
    except UnicodeDecodeError:
        raise BadSettings(f"{VARIABLE}: a file in it is no text") from None
    return {name: text for name, text in told.items() if text}
