"""Makes a folder of secrets for an installation: passwords, the broker's ACL file, and URLs that hold them.

Needs Python alone: `python3 deploy/make_secrets.py FOLDER [--host NAME=HOST ...]`. Every file that is there already
stays as it is, so that a second call changes nothing and a rotation is: remove what is to change, call again.
Files are named like the variables that they stand for; the folder is AFTERTURN_SECRETS_DIR.
"""

from __future__ import annotations

import argparse
import hashlib
import secrets
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOSTS = {"postgres": "postgres:5432", "broker": "valkey:6379"}
PASSWORDS = ("postgres-password", "broker-password", "probe-password", "agent-password", "grafana-password")


def main() -> None:
    """Makes what is missing and says where it lies."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--host", action="append", default=[], metavar="NAME=HOST:PORT", help="postgres or broker")
    given = parser.parse_args()
    hosts = {**HOSTS, **dict(word.split("=", 1) for word in given.host)}
    made = make(given.folder, hosts)
    print(f"{given.folder}: {', '.join(made) or 'nothing was missing'}")  # noqa: T201 - a command of its own


def make(folder: Path, hosts: dict[str, str]) -> list[str]:
    """The names of the files that it made."""
    # Containers run as another user and must read the files; nobody else gets into the folder.
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = [name for name in PASSWORDS if _write(folder / name, secrets.token_urlsafe(24))]
    password = {name: (folder / name).read_text("ascii").strip() for name in PASSWORDS}
    database = f"postgresql+psycopg://afterturn:{password['postgres-password']}@{hosts['postgres']}/afterturn"
    broker = f"redis://afterturn:{password['broker-password']}@{hosts['broker']}/0"
    agent = f"redis://agent:{password['agent-password']}@{hosts['broker']}/0"
    texts = {
        "AFTERTURN_DATABASE_URL": database,
        "AFTERTURN_BROKER_URL": broker,
        "AFTERTURN_WEAVIATE_API_KEY": secrets.token_urlsafe(24),
        "AFTERTURN_FLOWER_PASSWORD": secrets.token_urlsafe(18),
        "agent-broker-url": agent,
        "users.acl": _acl(password),
    }
    return made + [name for name, text in texts.items() if _write(folder / name, text)]


def _acl(password: dict[str, str]) -> str:
    text = (HERE / "broker" / "users.acl.template").read_text("ascii")
    for user, name in (("PROBE", "probe"), ("AFTERTURN", "broker"), ("AGENT", "agent")):
        text = text.replace(f"{user}_SHA256", hashlib.sha256(password[f"{name}-password"].encode()).hexdigest())
    return text


def _write(path: Path, text: str) -> bool:
    if path.exists():
        return False
    path.write_text(text.rstrip() + "\n", "ascii")
    path.chmod(0o644)
    return True


if __name__ == "__main__":
    main()
