"""A Weaviate node on loopback for tests: from AFTERTURN_TEST_WEAVIATE_URL, or a `weaviate` binary found on PATH.

Starting one takes seconds and 100 MB, so that all processes of a test run share one: whoever comes first starts a
keeper (`python weaviate_node.py FOLDER`), everybody holds a shared lock, and the keeper ends the node when it gets that
lock for itself, which it does however its users ended.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from services import free_port, freeze, scratch, wait_until

KEY = "test-key"
WHY_SKIPPED = "no Weaviate: set AFTERTURN_TEST_WEAVIATE_URL or put a `weaviate` binary on PATH"
START_SECONDS = 90.0
#: Of the six ports, which nobody else may take between the look and the start.
ATTEMPTS = 3


class Address(NamedTuple):
    """Where a node answers."""

    url: str
    grpc: str
    key: str | None


class Node:
    """A node of our own, which may be stopped, killed and started again at the same place."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        # On one machine it takes the port after each of the last two for granted.
        self.ports = [free_port(), free_port(), *_neighbours(), *_neighbours()]
        self.address = Address(f"http://127.0.0.1:{self.ports[0]}", f"127.0.0.1:{self.ports[1]}", KEY)
        self.process: subprocess.Popen[bytes] | None = None
        self._environment = environment

    def start(self) -> None:
        """Starts it and waits until it answers."""
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(
            ["weaviate", "--scheme", "http", "--host", "127.0.0.1", "--port", str(self.ports[0])],
            env=self._settings(),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        log.close()
        wait_until(self._is_ready, seconds=START_SECONDS, what="Weaviate")

    def freeze(self) -> None:
        """Stops it; `thaw` lets it go on."""
        assert self.process is not None
        freeze(self.process.pid)

    def thaw(self) -> None:
        """Lets it go on."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Ends it as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(timeout=20)

    def _is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "log").read_text("utf-8")[-2_000:]
        try:
            with urlopen(f"{self.address.url}/v1/.well-known/ready", timeout=1) as answer:
                return answer.status == 200
        except (URLError, OSError):
            return False

    def _settings(self) -> dict[str, str]:
        _, grpc, gossip, cluster, raft, rpc = map(str, self.ports)
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "GOMEMLIMIT": "512MiB",
            "PERSISTENCE_DATA_PATH": str(self.folder / "data"),
            "CLUSTER_HOSTNAME": "w0",
            "CLUSTER_IN_LOCALHOST": "true",
            "CLUSTER_BIND_ADDR": "127.0.0.1",
            "CLUSTER_ADVERTISE_ADDR": "127.0.0.1",
            "CLUSTER_GOSSIP_BIND_PORT": gossip,
            "CLUSTER_DATA_BIND_PORT": cluster,
            "RAFT_PORT": raft,
            "RAFT_INTERNAL_RPC_PORT": rpc,
            "RAFT_JOIN": f"w0:{raft}",
            "RAFT_BOOTSTRAP_EXPECT": "1",
            # One node elects itself: its timeouts are for nobody.
            "RAFT_TIMEOUTS_MULTIPLIER": "1",
            "GRPC_PORT": grpc,
            "AUTHENTICATION_APIKEY_ENABLED": "true",
            "AUTHENTICATION_APIKEY_ALLOWED_KEYS": KEY,
            "AUTHENTICATION_APIKEY_USERS": "test",
            "AUTHORIZATION_RBAC_ENABLED": "true",
            "AUTHORIZATION_RBAC_ROOT_USERS": "test",
            "DEFAULT_VECTORIZER_MODULE": "none",
            "API_BASED_MODULES_DISABLED": "true",
            "AUTOSCHEMA_ENABLED": "false",
            "DISABLE_TELEMETRY": "true",
            "GO_PROFILING_DISABLE": "true",
            "LOG_LEVEL": "error",
            "DISK_USE_READONLY_PERCENTAGE": "99",
            "QUERY_MAXIMUM_RESULTS": "10000",
            **self._environment,
        }


def _neighbours() -> tuple[int, int]:
    """Two free ports side by side."""
    first, second = free_port(), free_port()
    while second != first + 1:
        first, second = second, free_port()
    return first, second


@contextmanager
def own_node(**environment: str) -> Generator[Node]:
    """A node that nobody shares, for tests that do it harm."""
    with scratch() as folder:
        node = Node(folder, **environment)
        try:
            node.start()
            yield node
        finally:
            node.kill()


def can_start() -> bool:
    """Whether there is a binary."""
    return shutil.which("weaviate") is not None


def given() -> Address | None:
    """The server that the operator named for the tests."""
    url = os.environ.get("AFTERTURN_TEST_WEAVIATE_URL")
    if not url:
        return None
    return Address(
        url, os.environ.get("AFTERTURN_TEST_WEAVIATE_GRPC", ""), os.environ.get("AFTERTURN_TEST_WEAVIATE_KEY")
    )


@contextmanager
def shared(run: str) -> Generator[Address]:
    """The one node of a test run, started by whoever comes first."""
    folder = Path(tempfile.gettempdir()) / f"at-weaviate-{run}"
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / "users").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        with (folder / "starting").open("a") as starting:
            fcntl.flock(starting, fcntl.LOCK_EX)
            if not (folder / "address").exists():
                _start_keeper(folder)
        yield Address(*json.loads((folder / "address").read_text("utf-8")))


def drop(address: Address, alias: str) -> None:
    """Deletes an alias and its collections."""
    for name in _asked(address, "GET", "schema")["classes"]:
        if name["class"].startswith(f"{alias}_"):
            _asked(address, "DELETE", f"schema/{name['class']}")
    with suppress(HTTPError):
        _asked(address, "DELETE", f"aliases/{alias}")


def _asked(address: Address, method: str, path: str) -> Any:
    request = Request(f"{address.url}/v1/{path}", method=method)
    if address.key is not None:
        request.add_header("Authorization", f"Bearer {address.key}")
    with urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or "null")


def _start_keeper(folder: Path) -> None:
    root = Path(__file__).resolve().parent.parent
    paths = [str(root), str(root / "client" / "src"), str(root / "tests")]
    keeper = subprocess.Popen(
        [sys.executable, __file__, str(folder)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )

    def is_up() -> bool:
        assert keeper.poll() is None, "Weaviate did not start"
        return (folder / "address").exists()

    wait_until(is_up, seconds=START_SECONDS * ATTEMPTS, what="Weaviate")
    # It outlives this process by design.
    keeper.returncode = 0


def _keep(folder: Path) -> None:
    """Runs the node until nobody uses it."""
    node = _started(folder)
    try:
        told: Any = list(node.address)
        (folder / "address.new").write_text(json.dumps(told), "utf-8")
        (folder / "address.new").rename(folder / "address")
        with (folder / "users").open("a") as users:
            fcntl.flock(users, fcntl.LOCK_EX)
    finally:
        node.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _started(folder: Path) -> Node:
    for attempt in range(1, ATTEMPTS + 1):
        place = folder / f"node{attempt}"
        place.mkdir()
        node = Node(place)
        try:
            node.start()
        except AssertionError:
            node.kill()
            if attempt == ATTEMPTS:
                raise
        else:
            return node
    raise AssertionError


if __name__ == "__main__":
    _keep(Path(sys.argv[1]))
