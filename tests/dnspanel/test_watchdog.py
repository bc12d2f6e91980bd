"""Tests of the watchdog: it kills a hanging process and its children, and leaves healthy processes alone."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dnspanel import watchdog

SLEEP = "import time; time.sleep(1000)"


@pytest.fixture
def program() -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def start(script: str) -> subprocess.Popen[str]:
        started.append(subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.wait()
        assert each.stdout is not None
        each.stdout.close()


def watch(process: subprocess.Popen[str], path: Path, *, name: str = "push") -> threading.Thread:
    """Watch the process in a thread. Kill the process after two seconds without a heartbeat."""
    descriptor = os.pidfd_open(process.pid)
    thread = threading.Thread(
        target=watchdog.watch, args=(name, process.pid, descriptor, path), kwargs={"kill_after": 2.0}, daemon=True
    )
    thread.start()
    return thread


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "not within 30 s"
        time.sleep(0.05)


@pytest.mark.parametrize("name", ["push", "proxy"])  # one with heartbeats, and one without
def test_a_process_that_is_stopped_is_killed(
    program: Callable[[str], subprocess.Popen[str]], tmp_path: Path, name: str
) -> None:
    process = program(SLEEP)
    watching = watch(process, tmp_path / "sign", name=name)
    process.send_signal(signal.SIGSTOP)
    assert process.wait(30) == -signal.SIGKILL
    watching.join(10)
    assert not (tmp_path / "sign").exists()


def test_a_process_whose_life_signs_end_is_killed_and_one_that_never_gave_any_may_still_be_starting(
    program: Callable[[str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    starting, silent = program(SLEEP), program(SLEEP)
    watch(starting, tmp_path / "starting")
    watch(silent, tmp_path / "silent")
    (tmp_path / "silent").touch()
    assert silent.wait(30) == -signal.SIGKILL
    assert starting.poll() is None


def test_a_process_that_gives_life_signs_is_left_alone_whatever_its_clock_says(
    program: Callable[[str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    sign = tmp_path / "sign"
    process = program(SLEEP)
    watch(process, sign)
    sign.touch()
    for day in range(1, 17):  # four seconds, twice the limit
        os.utime(sign, (day * 86_400, day * 86_400))
        time.sleep(0.25)
    assert process.poll() is None


def test_children_go_with_the_process_that_hangs(
    program: Callable[[str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    start = f"print(subprocess.Popen([sys.executable, '-c', {SLEEP!r}]).pid, flush=True)"
    process = program(f"import subprocess, sys; {start}; {SLEEP}")
    assert process.stdout is not None
    child = int(process.stdout.readline())
    watch(process, tmp_path / "sign")
    process.send_signal(signal.SIGSTOP)
    process.wait(30)
    eventually(lambda: is_gone(child))


def test_the_supervisor_knows_the_process_itself_and_its_watcher_is_no_child_of_it(tmp_path: Path) -> None:
    python = [sys.executable, "-m"]
    command = [*python, "dnspanel.watchdog", "push", "--", *python, "tests.alone.write_life_sign"]
    environment = {**os.environ, "PANEL_RUN": str(tmp_path)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().split() == [str(process.pid)]
        sign = tmp_path / f"push-{process.pid}.alive"
        assert sign.exists()
        assert sign.stat().st_mode & 0o077 == 0
        check = [sys.executable, "-m", "dnspanel.watchdog", "--check"]
        assert subprocess.run([*check, "push"], env=environment).returncode == 0
        assert subprocess.run([*check, "beat"], env=environment).returncode == 1
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    eventually(lambda: not sign.exists())  # the watcher has ended


def test_without_a_directory_of_its_own_the_command_runs_without_a_watcher(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    command = [sys.executable, "-m", "dnspanel.watchdog", "push", "--", "echo", "runs"]
    environment = {**os.environ, "PANEL_RUN": str(tmp_path / "file")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "runs\n")
    assert "push runs without a watcher" in done.stderr


def test_a_life_sign_is_not_written_through_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    monkeypatch.setenv("PANEL_LIFE_SIGN_FILE", str(tmp_path / "link"))
    watchdog.write_life_sign()
    assert not (tmp_path / "target").exists()


def test_what_cannot_be_understood_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert watchdog.main(["push"]) == 2
    assert "usage" in capsys.readouterr().err
