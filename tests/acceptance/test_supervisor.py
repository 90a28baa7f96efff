"""The supervisor with real processes: starts, restarts, stops, and leaves nothing whatever happens to it."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from services import wait_until
from stores.settings import Settings, load_settings
from workers import broker, logfiles, presence
from workers.logfiles import log_path
from workers.processes import Role
from workers.supervisor import NotReady, Supervisor, read_state

HERE = Path(__file__).parent

WORKS = """
import json, os, pathlib, signal, sys, time
def gone(*_): sys.exit(0)
signal.signal(signal.SIGTERM, gone)
pathlib.Path(sys.argv[1]).write_text(json.dumps({"role": "x", "pid": os.getpid()}))
while True: time.sleep(60)
"""
STUBBORN = WORKS.replace("signal.signal(signal.SIGTERM, gone)", "signal.signal(signal.SIGTERM, signal.SIG_IGN)")
TALKS = WORKS.replace("while True: time.sleep(60)", "while True: print('talks', flush=True); time.sleep(0.001)")
WITH_CHILD = (
    """
import subprocess, sys, pathlib
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(sys.argv[1] + ".child").write_text(str(child.pid))
"""
    + WORKS
)
FAILS = "import sys; print('cannot work', file=sys.stderr); sys.exit(7)"


def test_everything_is_ready_when_start_returns(home: Path) -> None:
    with supervised(home, {"one": WORKS, "two": WORKS}) as supervisor:
        supervisor.start()

        assert all(presence.is_alive(pid_of(home, name)) for name in ("one", "two"))
        assert broker.status(home) is not None
        state = read_state(home)
        assert state is not None
        assert state["pid"] == os.getpid()


def test_what_dies_is_started_again_and_counted(home: Path) -> None:
    with supervised(home, {"one": WORKS}) as supervisor:
        supervisor.start()
        first = pid_of(home, "one")
        os.kill(first, signal.SIGKILL)

        again = wait_until(lambda: looked(supervisor) and pid_of(home, "one") not in (0, first) and pid_of(home, "one"))
        wait_until(lambda: looked(supervisor) and supervisor.children[0].is_ready)

        assert presence.is_alive(again)
        assert supervisor.children[0].restarts == 1


def test_the_children_of_a_killed_process_do_not_stay(home: Path) -> None:
    with supervised(home, {"one": WITH_CHILD}) as supervisor:
        supervisor.start()
        grandchild = child_of(home, "one")
        os.kill(pid_of(home, "one"), signal.SIGKILL)

        wait_until(lambda: looked(supervisor) and not presence.is_alive(grandchild))


def test_a_broker_that_dies_comes_back(home: Path) -> None:
    with supervised(home, {"one": WORKS}) as supervisor:
        supervisor.start()
        first = broker.status(home)
        assert first is not None
        os.kill(first.pid, signal.SIGKILL)

        wait_until(lambda: looked(supervisor) and (now := broker.status(home)) and now.pid != first.pid)


def test_a_broker_that_dies_again_while_it_starts_takes_nothing_down(home: Path) -> None:
    said: list[tuple[str, str]] = []
    with supervised(home, {"one": WORKS}, on_event=lambda word, name: said.append((word, name))) as supervisor:
        supervisor.start()
        killed: set[int] = set()

        def killed_thrice() -> bool:
            supervisor.look()
            now = broker.status(home)
            if now is not None and now.pid not in killed:
                killed.add(now.pid)
                with suppress(ProcessLookupError):
                    os.kill(now.pid, signal.SIGKILL)
            return len(killed) == 3

        wait_until(killed_thrice)
        wait_until(lambda: looked(supervisor) and said.count(("ready", "broker")) == 2)

        assert presence.is_alive(pid_of(home, "one"))
        assert supervisor.children[0].restarts == 0
        assert said.count(("restart", "broker")) >= 3


def test_while_the_broker_cannot_start_the_others_are_kept_running(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="workers")
    with supervised(home, {"one": WORKS}) as supervisor:
        supervisor.start()
        first, spoilt = broker.status(home), home / "broker" / "appendonlydir" / "appendonly.aof.manifest"
        assert first is not None
        good = wait_until(spoilt.read_bytes)
        spoilt.write_text("no manifest")
        os.kill(first.pid, signal.SIGKILL)
        wait_until(lambda: looked(supervisor) and supervisor.broker_restarts >= 3)
        before = pid_of(home, "one")
        os.kill(before, signal.SIGKILL)

        wait_until(lambda: looked(supervisor) and pid_of(home, "one") not in (0, before))
        spoilt.write_bytes(good)
        wait_until(lambda: looked(supervisor) and broker.pulse(home) == "answers", seconds=40)
        wait_until(lambda: looked(supervisor) and "process ready" in [r.message for r in caplog.records])

    fallen = [r for r in caplog.records if r.message == "process ended" and vars(r).get("role") == "broker"]
    assert len(fallen) >= 3
    # A pause that grows: a disk that is full must not be asked twenty times a second.
    assert fallen[2].created - fallen[1].created > fallen[1].created - fallen[0].created


def test_a_log_stays_bounded_while_its_process_goes_on(home: Path) -> None:
    with supervised(home, {"one": TALKS}) as supervisor:
        supervisor.start()

        wait_until(lambda: logfiles.keep_bounded(home, max_bytes=2_000) or rotated(home, "one"))
        wait_until(lambda: "talks" in log_path(home, "one").read_text())

        assert supervisor.children[0].restarts == 0
        assert log_path(home, "one").stat().st_size < 2_000_000
        assert stat.S_IMODE(log_path(home, "one").with_suffix(".log.1").stat().st_mode) == 0o600


def test_a_process_that_cannot_start_is_named_with_its_log(home: Path) -> None:
    refusal = pytest.raises(NotReady, match=r"bad ended at once; see .*/logs/bad\.log")
    with supervised(home, {"good": WORKS, "bad": FAILS}) as supervisor, refusal:
        supervisor.start()

    assert "cannot work" in log_path(home, "bad").read_text()
    assert not presence.is_alive(pid_of(home, "good") or 2**22)
    assert broker.status(home) is None


def test_stop_leaves_nothing_even_of_a_process_that_does_not_listen(home: Path) -> None:
    with supervised(home, {"deaf": STUBBORN, "one": WORKS}, grace_seconds=0.5) as supervisor:
        supervisor.start()
        pids = [pid_of(home, "deaf"), pid_of(home, "one")]
        supervisor.stop()
        supervisor.stop()

        assert not any(presence.is_alive(pid) for pid in pids)
        assert broker.status(home) is None
        assert read_state(home) is None


def test_a_second_supervisor_on_the_folder_is_refused(home: Path) -> None:
    with supervised(home, {"one": WORKS}) as first, supervised(home, {"one": WORKS}) as second:
        first.start()

        with pytest.raises(NotReady, match="another supervisor runs on"):
            second.start()
        second.stop()
        assert presence.is_alive(pid_of(home, "one"))


def test_nothing_outlives_a_supervisor_that_is_killed_outright_and_the_next_one_can_start(home: Path) -> None:
    script = f"""
        import sys, time
        sys.path[:0] = {[str(HERE), str(HERE.parent), str(HERE.parents[1]), str(HERE.parents[1] / "client" / "src")]!r}
        import test_supervisor as t
        from pathlib import Path
        with t.supervised(Path({str(home)!r}), {{"one": t.WITH_CHILD, "two": t.STUBBORN}}, grace_seconds=1) as s:
            s.start()
            print("up", flush=True)
            time.sleep(600)
    """
    killed = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert killed.stdout is not None
    assert killed.stdout.readline() == "up\n"
    pids = [
        pid_of(home, "one"),
        pid_of(home, "two"),
        int(Path(f"{presence.ready_file(home, 'one')}.child").read_text()),
    ]
    os.killpg(killed.pid, signal.SIGKILL)
    killed.stdout.close()
    killed.wait()

    with supervised(home, {"one": WORKS}) as supervisor:
        supervisor.start()  # waits for the undertaker to let go of the folder

        wait_until(
            lambda: not any(presence.is_alive(pid) for pid in pids)
        )  # init reaps an orphan's child when it likes
        assert presence.is_alive(pid_of(home, "one"))


@contextmanager
def supervised(
    home: Path,
    programs: dict[str, str],
    *,
    grace_seconds: float = 5,
    on_event: Callable[[str, str], None] = lambda _word, _name: None,
) -> Generator[Supervisor]:
    """A supervisor over small programs, each of which writes its ready file and waits."""
    settings = load_settings(home=home, workers={"grace_seconds": grace_seconds})

    def make_roles(_: Settings) -> Sequence[Role]:
        return [
            Role(
                name=name,
                argv=(sys.executable, "-c", program, str(presence.ready_file(home, name))),
                is_ready=has_written(home, name),
                environment=dict(os.environ),
            )
            for name, program in programs.items()
        ]

    with Supervisor(settings=settings, make_roles=make_roles, prepare=lambda _: None, on_event=on_event) as supervisor:
        yield supervisor


def has_written(home: Path, name: str) -> Callable[[int], bool]:
    return lambda pid: pid_of(home, name) == pid


def pid_of(home: Path, name: str) -> int:
    try:
        return int(json.loads(presence.ready_file(home, name).read_text())["pid"])
    except (OSError, ValueError):
        return 0


def rotated(home: Path, name: str) -> bool:
    return log_path(home, name).with_suffix(".log.1").is_file()


def child_of(home: Path, name: str) -> int:
    return int(Path(f"{presence.ready_file(home, name)}.child").read_text())


def looked(supervisor: Supervisor) -> bool:
    supervisor.look()
    return True
