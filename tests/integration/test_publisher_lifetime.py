"""The end of an agent's process, and its forks: what was said is delivered once, by whoever said it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from afterturn import Credential
from client_fixtures import Broker, broker, credential, environment, events_in, free_port, wait_until

__all__ = ["broker", "credential"]

HEAD = """
import os, signal, sys, threading, time
from afterturn import Publisher
pub = Publisher()
"""


def run(script: str, broker: Broker, credential: Credential, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", HEAD + script],
        env={**environment(broker, credential), **changes},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def contents(broker: Broker, credential: Credential) -> list[str]:
    return sorted(str(event["content"]) for event in events_in(broker, credential))


def test_a_script_of_one_turn_delivers_it(broker: Broker, credential: Credential) -> None:
    done = run("pub.turn('u', 's', 'user', 'the only one')", broker, credential)

    assert (done.returncode, done.stderr) == (0, "")
    assert contents(broker, credential) == ["the only one"]


def test_an_exception_in_the_agent_does_not_lose_its_turn(broker: Broker, credential: Credential) -> None:
    done = run("pub.turn('u', 's', 'user', 'last words'); raise SystemExit(3)", broker, credential)

    assert done.returncode == 3
    assert contents(broker, credential) == ["last words"]


def test_a_handler_of_sigterm_that_exits_delivers(broker: Broker, credential: Credential) -> None:
    script = """
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
pub.turn('u', 's', 'user', 'before the signal')
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(30)
"""
    assert run(script, broker, credential).returncode == 0
    assert contents(broker, credential) == ["before the signal"]


def test_a_signal_handler_may_publish_too(broker: Broker, credential: Credential) -> None:
    script = """
signal.signal(signal.SIGALRM, lambda *_: pub.turn('u', 's', 'user', 'from the handler'))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
for _ in range(3000):
    pub.turn('u', 's', 'user', 'from the main line')
signal.setitimer(signal.ITIMER_REAL, 0)
assert pub.flush(20)
"""
    done = run(script, broker, credential)

    assert (done.returncode, done.stderr) == (0, "")
    assert contents(broker, credential).count("from the main line") == 3000
    assert "from the handler" in contents(broker, credential)


def test_what_is_left_at_the_end_is_counted_and_not_quoted(broker: Broker, credential: Credential) -> None:
    nowhere = f"redis://:hunter2@127.0.0.1:{free_port()}/0"
    script = "[pub.turn('u', 's', 'user', 'Zq9') for _ in range(3)]"

    done = run(script, broker, credential, AFTERTURN_BROKER_URL=nowhere)

    assert done.returncode == 0
    assert "3 events were not delivered" in done.stderr
    assert "ConnectionError" in done.stderr
    assert "Zq9" not in done.stderr
    assert "hunter2" not in done.stderr


def test_a_frozen_broker_holds_the_end_up_for_no_longer_than_allowed(broker: Broker, credential: Credential) -> None:
    broker.freeze()

    done = run("begin = time.monotonic(); pub._exit_seconds = 1.0; pub.turn('u', 's', 'user', 'x')", broker, credential)
    broker.thaw()

    assert done.returncode == 0
    assert "1 events were not delivered" in done.stderr


def test_a_close_that_could_not_deliver_says_so_once(broker: Broker, credential: Credential) -> None:
    nowhere = f"redis://:hunter2@127.0.0.1:{free_port()}/0"
    script = """
with pub:
    for _ in range(2000):
        pub.turn('u', 's', 'user', 'Zq9')
    assert not pub.flush(20)
    found = pub.stats()
    assert found.failures and found.last_error == 'ConnectionError' and found.broker == 'down', found
assert not pub.close()
pub.turn('u', 's', 'user', 'Zq9')
pub.turn('u', 's', 'user', 'Zq9')
assert pub.stats().refused == 2
"""

    done = run(script, broker, credential, AFTERTURN_BROKER_URL=nowhere)

    ours = [line for line in done.stderr.splitlines() if line.startswith("afterturn: ")]
    assert (done.returncode, ours) == (
        0,
        [
            "afterturn: 2000 events were not delivered before the end (ConnectionError)",
            "afterturn: published after close(); such events are refused and counted",
        ],
    )
    assert not any(text in done.stderr for text in ("Zq9", "hunter2"))


@pytest.mark.parametrize("when", ["before the thread has imported anything", "after the first delivery"])
def test_a_forked_child_delivers_its_own_and_only_its_own(when: str, broker: Broker, credential: Credential) -> None:
    script = f"""
pub.turn('u', 's', 'user', 'parent before')
if {when.startswith("after")}:
    assert pub.flush(20)
children = []
for number in range(3):
    child = os.fork()
    if child == 0:
        pub.turn('u', 's', 'user', f'child {{number}}')
        ok = pub.flush(20)
        os._exit(0 if ok else 1)
    children.append(child)
pub.turn('u', 's', 'user', 'parent after')
assert pub.flush(20)
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
"""
    done = run(script, broker, credential)

    assert (done.returncode, done.stderr) == (0, "")
    events = events_in(broker, credential)
    assert contents(broker, credential) == ["child 0", "child 1", "child 2", "parent after", "parent before"]
    producers = {str(event["content"]): event["producer"] for event in events}
    assert producers["parent before"] == producers["parent after"]
    assert len(set(producers.values())) == 4
    assert len({event["event_id"] for event in events}) == 5


def test_sisters_forked_within_a_millisecond_are_different_producers(broker: Broker, credential: Credential) -> None:
    """Found as one run in six: what follows the time in a producer's id was inherited, and the same in every child."""
    script = """
for number in range(5):
    child = os.fork()
    if child == 0:
        pub.turn('u', 's', 'user', f'child {number}')
        os._exit(0 if pub.flush(20) else 1)
    assert os.waitpid(child, 0)[1] == 0
pub.turn('u', 's', 'user', 'parent')
assert pub.flush(20)
"""
    done = run(script, broker, credential)

    assert (done.returncode, done.stderr) == (0, "")
    random_parts = {str(event["producer"])[15:] for event in events_in(broker, credential)}
    assert len(random_parts) == 6


def test_the_thread_imports_nothing_that_a_fork_would_not_wait_for(broker: Broker, credential: Credential) -> None:
    """Found as one hang in twelve: a child inherited the lock of a module that the thread was just importing."""
    script = """
import afterturn.answers, afterturn.link, afterturn.outgoing
afterturn.link.Link("redis://127.0.0.1:1")
before = set(sys.modules)
pub.turn('u', 's', 'user', '密码是abc123', tz='Asia/Shanghai')
assert pub.flush(20)
print(sorted(set(sys.modules) - before))
"""
    assert run(script, broker, credential).stdout == "[]\n"


def test_no_fork_happens_while_the_thread_is_inside_a_library_with_locks_of_its_own(
    broker: Broker, credential: Credential
) -> None:
    """Found as one hang in fifty: a child inherited OpenSSL's lock for a cipher that the thread was just fetching."""
    script = """
import afterturn.batches, afterturn.credentials, afterturn.sealing, types
inside, seen, caught = [], set(), []
def slow(name, function):
    def call(*args, **kwargs):
        inside.append(name); seen.add(name)
        try:
            time.sleep(0.01)  # Lets the interpreter go, as the library does.
            return function(*args, **kwargs)
        finally:
            inside.remove(name)
    return call
afterturn.credentials.hmac = types.SimpleNamespace(digest=slow('hmac', afterturn.credentials.hmac.digest))
afterturn.batches.to_json = slow('json', afterturn.batches.to_json)
aesgcm = afterturn.sealing.AESGCM
afterturn.sealing.AESGCM = lambda key: types.SimpleNamespace(encrypt=slow('cipher', aesgcm(key).encrypt))
os.register_at_fork(after_in_child=lambda: caught.extend(inside))
for number in range(40):
    pub.turn('u', 's', 'user', 'parent')
    child = os.fork()
    if child == 0:
        os._exit(1 if caught else 0)
    assert os.waitpid(child, 0)[1] == 0, number
assert pub.flush(20)
assert seen == {'hmac', 'json', 'cipher'}, seen
"""
    done = run(script, broker, credential)

    assert (done.returncode, done.stderr) == (0, "")


def test_a_fork_waits_for_a_thread_inside_the_gate_and_not_for_ever(broker: Broker, credential: Credential) -> None:
    script = """
from afterturn import forks
forks.WAIT_SECONDS = 0.1
entered, leave = threading.Event(), threading.Event()
def stay():
    with forks.fork_gate:
        entered.set()
        leave.wait(20)
inside = threading.Thread(target=stay)
inside.start()
assert entered.wait(20)
child = os.fork()
if child == 0:
    pub.turn('u', 's', 'user', 'child')
    os._exit(0 if pub.flush(20) else 1)
leave.set()
assert os.waitpid(child, 0)[1] == 0
inside.join()
pub.turn('u', 's', 'user', 'parent')
assert pub.flush(20)
"""
    done = run(script, broker, credential)

    assert (done.returncode, done.stderr) == (0, "")
    assert contents(broker, credential) == ["child", "parent"]


def test_a_signal_that_forks_while_its_thread_publishes_waits_for_nobody(
    broker: Broker, credential: Credential
) -> None:
    """Handler and sender each had the lock that the other waited for, until the fork gave up after seconds."""
    script = """
from afterturn import forks
forks.WAIT_SECONDS = 60
inside, leave = threading.Event(), threading.Event()
take = pub._buffer.take
def taking(*limits):
    inside.set()
    leave.wait(30)
    return take(*limits)
pub._buffer.take = taking
def fork(*_):
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
signal.signal(signal.SIGUSR1, fork)
pub.turn('u', 's', 'user', 'said')
assert inside.wait(30)  # The sender is about to take what was said, and needs the lock for it.
started = time.monotonic()
with pub._buffer.lock:
    threading.Timer(1, leave.set).start()
    os.kill(os.getpid(), signal.SIGUSR1)
assert time.monotonic() - started < 30
assert pub.flush(20)
"""
    done = run(script, broker, credential)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc to see open files in")
def test_a_child_forked_while_a_publisher_is_made_keeps_no_lock_of_its_spool(
    broker: Broker, credential: Credential, tmp_path: Path
) -> None:
    script = """
from afterturn import spool
opened, forked, kept = threading.Event(), [], []
real = spool.lock_new
def slow(path):
    descriptor = real(path)
    opened.set()
    time.sleep(0.2)  # The constructor is held up after it has its lock.
    return descriptor
spool.lock_new = slow
def fork():
    opened.wait(20)
    child = os.fork()
    if child == 0:
        held = []
        for one in os.listdir('/proc/self/fd'):
            try:
                held.append(os.readlink(f'/proc/self/fd/{one}'))
            except OSError:
                pass  # The listing's own.
        os._exit(any(name.endswith('.lock') for name in held))
    forked.append(os.waitpid(child, 0)[1])
forking = threading.Thread(target=fork)
forking.start()
Publisher(durability='spool', spool=os.environ['SPOOL']).close()
forking.join()
assert forked == [0], forked
"""
    done = run(script, broker, credential, SPOOL=str(tmp_path))

    assert (done.returncode, done.stderr) == (0, "")


def test_forks_beside_busy_threads_never_hang(broker: Broker, credential: Credential) -> None:
    script = """
stop = False
def talk():
    while not stop:
        pub.turn('u', 's', 'user', 'busy')
        time.sleep(0.0001)
threads = [threading.Thread(target=talk, daemon=True) for _ in range(2)]
[thread.start() for thread in threads]
for _ in range(10):
    child = os.fork()
    if child == 0:
        pub.turn('u', 's', 'user', 'child')
        os._exit(0 if pub.flush(20) else 1)
    assert os.waitpid(child, 0)[1] == 0
stop = True
[thread.join() for thread in threads]
assert pub.flush(20)
stats = pub.stats()
assert stats.accepted == stats.sent, stats
"""
    done = run(script, broker, credential)

    assert (done.returncode, done.stderr) == (0, "")
    assert contents(broker, credential).count("child") == 10


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing_deliver_at_their_end(
    method: str, broker: Broker, credential: Credential, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """They skip atexit: without a Finalize of their own nothing of theirs arrived."""
    script = tmp_path_factory.mktemp("mp") / "agent.py"
    script.write_text(f"""
import multiprocessing
from afterturn import Publisher
pub = Publisher()
def work(number):
    pub.turn('u', 's', 'user', f'child {{number}}')
if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    children = [context.Process(target=work, args=(number,)) for number in range(3)]
    [child.start() for child in children]
    [child.join() for child in children]
    pub.turn('u', 's', 'user', 'parent')
""")

    done = subprocess.run(
        [sys.executable, str(script)],
        env=environment(broker, credential),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert contents(broker, credential) == ["child 0", "child 1", "child 2", "parent"]


def test_a_process_that_only_made_a_publisher_ends_at_once(broker: Broker, credential: Credential) -> None:
    done = run("begin = time.process_time()", broker, credential)

    assert (done.returncode, done.stderr) == (0, "")
    assert broker.messages() == []


def test_sigkill_loses_what_memory_holds_and_nothing_that_was_sent(broker: Broker, credential: Credential) -> None:
    """The promise of durability "memory", shown: what the broker had before the kill stays."""
    agent = subprocess.Popen(
        [
            *(sys.executable, "-c"),
            HEAD + "pub.turn('u', 's', 'user', 'delivered'); pub.flush(20); print('sent', flush=True); time.sleep(60)",
        ],
        env=environment(broker, credential),
        stdout=subprocess.PIPE,
    )
    try:
        assert agent.stdout is not None
        assert agent.stdout.readline() == b"sent\n"
    finally:
        agent.send_signal(signal.SIGKILL)
        agent.wait()
        if agent.stdout is not None:
            agent.stdout.close()

    wait_until(lambda: contents(broker, credential) == ["delivered"])
