"""The end of an agent with a spool, and its forks: each process has a spool of its own and delivers its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from afterturn import Credential, Publisher
from client_fixtures import Broker, broker, credential, environment, wait_until
from receipt_fixtures import Intake
from spool_fixtures import NOWHERE, contents, finished, folder, make, run

__all__ = ["broker", "credential", "folder", "make"]


def test_a_script_that_ends_at_once_delivers_and_leaves_an_empty_folder(
    broker: Broker, credential: Credential, folder: Path
) -> None:
    with Intake(broker, credential) as intake:
        done = finished(run("pub.turn('u', 's', 'user', 'the only one')", broker, credential, folder))

    assert (done[0], done[2]) == (0, "")
    assert intake.contents() == ["the only one"]
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_what_an_ended_script_could_not_deliver_is_counted_and_waits(
    broker: Broker, credential: Credential, folder: Path, make: Callable[..., Publisher]
) -> None:
    script = "[pub.turn('u', 's', 'user', 'Zq9') for _ in range(3)]"
    code, _, err = finished(run(script, broker, credential, folder, AFTERTURN_BROKER_URL=NOWHERE))

    assert code == 0
    assert "3 events wait in the spool" in err
    heir = make()
    wait_until(lambda: heir.stats().adopted == 3)
    assert contents(broker, credential) == ["Zq9"] * 3


FORKS = """
pub.turn('u', 's', 'user', 'parent before')
children = []
for number in range(3):
    child = os.fork()
    if child == 0:
        pub.turn('u', 's', 'user', f'child {number}')
        os.kill(os.getpid(), signal.SIGKILL)
    children.append(child)
pub.turn('u', 's', 'user', 'parent after')
[os.waitpid(child, 0) for child in children]
"""


def test_forked_children_have_spools_of_their_own(
    broker: Broker, credential: Credential, folder: Path, make: Callable[..., Publisher]
) -> None:
    with Intake(broker, credential) as intake:
        code, _, err = finished(run(FORKS, broker, credential, folder))
        assert (code, err) == (0, "")
        heir = make()
        wait_until(lambda: len(intake.events) == 5)
        wait_until(lambda: len(list(folder.rglob("*.lock"))) == 1)

    assert heir.stats().damaged == 0
    events = intake.events.values()
    producers = {str(event["content"]): event["producer"] for event in events}
    assert sorted(producers) == ["child 0", "child 1", "child 2", "parent after", "parent before"]
    assert producers["parent before"] == producers["parent after"]
    assert len(set(producers.values())) == 4


def test_a_child_that_lives_on_does_not_hold_its_dead_parents_spool(
    broker: Broker, credential: Credential, folder: Path, make: Callable[..., Publisher]
) -> None:
    """A lock belongs to the open file: without closing it, the child would keep the dead parent's for its own life."""
    script = """
pub.turn('u', 's', 'user', 'from the parent')
child = os.fork()
if child == 0:
    os.setsid(); os.close(1); os.close(2)
    time.sleep(60)
    os._exit(0)
print(child, flush=True)
time.sleep(0.2)
os.kill(os.getpid(), signal.SIGKILL)
"""
    agent = run(script, broker, credential, folder, AFTERTURN_BROKER_URL=NOWHERE)
    _, out, _ = finished(agent)
    try:
        heir = make()
        wait_until(lambda: heir.stats().adopted == 1)
    finally:
        os.kill(int(out), signal.SIGKILL)

    assert contents(broker, credential) == ["from the parent"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing_deliver_at_their_end(
    method: str, broker: Broker, credential: Credential, tmp_path: Path
) -> None:
    script = tmp_path / "agent.py"
    script.write_text(f"""
import multiprocessing
from afterturn import Publisher
pub = Publisher(durability="spool")
def work(number):
    pub.turn('u', 's', 'user', f'child {{number}}')
if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    children = [context.Process(target=work, args=(number,)) for number in range(3)]
    [child.start() for child in children]
    [child.join() for child in children]
    pub.turn('u', 's', 'user', 'parent')
""")
    with Intake(broker, credential) as intake:
        done = subprocess.run(
            [sys.executable, str(script)],
            env={**environment(broker, credential), "AFTERTURN_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

        assert (done.returncode, done.stderr) == (0, "")
        assert sorted(set(intake.contents())) == ["child 0", "child 1", "child 2", "parent"]
        assert len(intake.events) == 4


def test_threads_and_signal_handlers_share_a_spool(broker: Broker, credential: Credential, folder: Path) -> None:
    script = """
signal.signal(signal.SIGALRM, lambda *_: pub.turn('u', 's', 'user', 'from the handler'))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
def talk():
    for _ in range(1000):
        pub.turn('u', 's', 'user', 'from a thread')
threads = [threading.Thread(target=talk) for _ in range(3)]
[thread.start() for thread in threads]
for _ in range(3000):
    pub.turn('u', 's', 'user', 'from the main line')
[thread.join() for thread in threads]
signal.setitimer(signal.ITIMER_REAL, 0)
assert pub.flush(20, receipts=True)
print(pub.stats().damaged, pub.stats().refused)
"""
    with Intake(broker, credential) as intake:
        code, out, err = finished(run(script, broker, credential, folder))

    assert (code, err, out) == (0, "", "0 0\n")
    said = intake.contents()
    assert (said.count("from the main line"), said.count("from a thread")) == (3000, 3000)
    assert "from the handler" in said
    assert [event["seq"] for event in intake.events.values()] == list(range(len(said)))


def test_forks_beside_busy_threads_never_hang(broker: Broker, credential: Credential, folder: Path) -> None:
    script = """
stop = False
def talk():
    while not stop:
        pub.turn('u', 's', 'user', 'busy' * 300)
        time.sleep(0.0001)
threads = [threading.Thread(target=talk, daemon=True) for _ in range(2)]
[thread.start() for thread in threads]
for _ in range(10):
    child = os.fork()
    if child == 0:
        pub.turn('u', 's', 'user', 'child')
        os._exit(0 if pub.flush(30) else 1)
    assert os.waitpid(child, 0)[1] == 0
stop = True
[thread.join() for thread in threads]
assert pub.flush(30, receipts=True)
stats = pub.stats()
assert stats.accepted == stats.sent == stats.receipted, stats
"""
    with Intake(broker, credential) as intake:
        code, _, err = finished(run(script, broker, credential, folder))

    assert (code, err) == (0, "")
    assert intake.contents().count("child") == 10
