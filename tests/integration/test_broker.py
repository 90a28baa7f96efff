"""The embedded broker with the real server: shared, durable, found again, refused where it must be."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from kombu import Connection

from schemas.errors import BadSettings, StoreBusy
from services import free_port, freeze, wait_until
from stores.settings import embedded_broker_url, load_settings
from workers import broker

START = "import sys; from pathlib import Path; from workers import broker; print(broker.start(Path(sys.argv[1])).pid)"


@pytest.fixture(autouse=True)
def ended(home: Path) -> Generator[None]:
    yield
    broker.stop(home)


def test_a_second_launcher_shares_the_running_server(home: Path) -> None:
    with ended_later(broker.start(home)) as first:
        second = broker.start(home)

        assert second.pid == first.pid
        assert second.process is None


def test_launchers_in_many_processes_at_once_start_one_server(home: Path) -> None:
    launchers = [
        subprocess.Popen([sys.executable, "-c", START, home], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]

    pids = {launcher.communicate(timeout=60)[0].strip() for launcher in launchers}

    running = broker.status(home)
    assert running is not None
    assert pids == {str(running.pid)}


def test_what_was_written_to_disk_survives_a_kill(home: Path) -> None:
    with ended_later(broker.start(home)) as first:
        with client(home) as redis:
            redis.rpush("queue", "one", "two")
        wait_until(lambda: b"two" in b"".join(p.read_bytes() for p in (home / "broker").glob("appendonlydir/*.aof")))
        os.kill(first.pid, signal.SIGKILL)
        wait_until(lambda: broker.status(home) is None)

        with ended_later(broker.start(home)) as again, client(home) as redis:
            assert again.pid != first.pid
            assert redis.lrange("queue", 0, -1) == [b"one", b"two"]


def test_a_server_that_outlived_its_launcher_is_used_again(home: Path) -> None:
    launcher = subprocess.Popen([sys.executable, "-c", START + "\nimport signal; signal.pause()", home])
    wait_until(lambda: answers(home))
    orphan = broker.status(home)
    assert orphan is not None
    launcher.kill()
    launcher.wait()

    assert broker.start(home).pid == orphan.pid


def test_nobody_else_can_read_the_folder_or_the_socket(home: Path) -> None:
    with ended_later(broker.start(home)) as running:
        assert stat.S_IMODE((home / "broker").stat().st_mode) == 0o700
        assert stat.S_IMODE(running.socket.stat().st_mode) == 0o600


def test_it_keeps_a_log_of_writes_and_never_evicts(broker_url: str) -> None:
    facts = broker.refuse_evicting(broker_url)

    assert (facts.policy, facts.is_append_only, facts.fsync) == ("noeviction", True, "everysec")


def test_it_listens_on_tcp_only_when_asked(home: Path) -> None:
    port = free_port()
    with ended_later(broker.start(home, port=port)):
        assert broker.examine(f"redis://127.0.0.1:{port}/0").policy == "noeviction"


def test_a_path_too_long_for_a_socket_gets_a_short_one_that_every_process_finds(home: Path) -> None:
    deep = home / ("d" * 60) / ("e" * 60)
    with ended_later(broker.start(deep)) as running:
        url = load_settings(home=deep).broker_url

        assert len(str(running.socket)) < 100
        assert str(running.socket) in url
        assert broker.examine(url).is_append_only
        broker.stop(deep)
    running.socket.parent.rmdir()

    with ended_later(broker.start(deep)) as again:  # the folder was swept meanwhile
        assert again.socket == running.socket
        broker.stop(deep)
    again.socket.parent.rmdir()


def test_kombu_and_redis_find_it_under_an_odd_path(home: Path) -> None:
    odd = home / "my data %41"
    with ended_later(broker.start(odd)):
        settings = load_settings(home=odd)

        assert broker.examine(settings.broker_url).is_append_only
        with Connection(settings.broker_url) as connection:
            connection.ensure_connection(max_retries=1)
        broker.stop(odd)


def test_the_folder_of_another_user_is_refused(home: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    (home / "broker").mkdir()
    os.chown(home / "broker", 65534, 65534)

    with pytest.raises(BadSettings, match=r"AFTERTURN_HOME: .* belongs to user 65534"):
        broker.start(home)


def test_a_frozen_server_is_named_and_never_doubled(home: Path) -> None:
    with ended_later(broker.start(home)) as running:
        freeze(running.pid)
        try:
            with pytest.raises(StoreBusy, match="does not answer in time"):
                broker.start(home, timeout_seconds=0.5)
            assert broker.status(home) is not None
        finally:
            os.kill(running.pid, signal.SIGCONT)


def test_stop_ends_even_a_frozen_server_and_is_harmless_twice(home: Path) -> None:
    with ended_later(broker.start(home)) as running:
        freeze(running.pid)

        assert broker.stop(home, timeout_seconds=0.5) is True
        assert broker.stop(home) is False


def test_a_binary_that_cannot_start_says_where_its_log_is(home: Path) -> None:
    with pytest.raises(StoreBusy, match=r"the broker ended with 1; see .*valkey\.log"):
        broker.start(home, binary=Path(shutil.which("false") or "/bin/false"))


def test_a_given_broker_that_may_drop_queues_is_refused(home: Path) -> None:
    with ended_later(broker.start(home)), client(home) as redis:
        redis.config_set("maxmemory-policy", "allkeys-lru")

        with pytest.raises(BadSettings, match=r"policy is allkeys-lru.*CONFIG SET maxmemory-policy noeviction"):
            broker.refuse_evicting(embedded_broker_url(home))


def test_a_broker_that_is_not_there_is_busy_not_broken() -> None:
    with pytest.raises(StoreBusy, match=r"the broker at \S+ does not answer"):
        broker.examine(f"redis://127.0.0.1:{free_port()}/0")


def test_a_broker_that_refuses_the_password_says_so(home: Path) -> None:
    with ended_later(broker.start(home)), client(home) as redis:
        redis.config_set("requirepass", "hush")

        with pytest.raises(StoreBusy, match="does not let this user in"):
            broker.examine(embedded_broker_url(home))
        redis.auth("hush")
        redis.config_set("requirepass", "")


def test_the_servers_on_path_serve_as_well(home: Path) -> None:
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found is None:
        pytest.skip("no redis-server or valkey-server on PATH")

    with ended_later(broker.start(home, binary=Path(found))):
        assert broker.refuse_evicting(embedded_broker_url(home)).is_append_only


@contextmanager
def ended_later(running: broker.Running) -> Generator[broker.Running]:
    """The server is stopped and reaped when the test is done with it."""
    try:
        yield running
    finally:
        if running.process is not None:
            with suppress(ProcessLookupError):
                running.process.terminate()
            running.process.wait(timeout=10)


@contextmanager
def client(home: Path) -> Generator[Any]:
    redis: Any = broker.connect(embedded_broker_url(home))
    try:
        yield redis
    finally:
        redis.close()


def answers(home: Path) -> bool:
    try:
        broker.examine(embedded_broker_url(home))
    except StoreBusy:
        return False
    return True
