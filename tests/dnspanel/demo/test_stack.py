"""Tests of a stack: it doesn't share its ports and directory, and it stops its processes."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from dnspanel.demo import ports, unprivileged
from dnspanel.demo.stack import LONGEST_SOCKET_DIRECTORY, Stack, StackError, StackShape
from tests.stack import Answer, ask_all, wait_until_in_sync


def test_the_second_start_has_the_ports_of_the_first(directory: Path) -> None:
    stack = Stack(directory, StackShape(stores_only=True, durable=False))
    with stack:
        first = dict(stack.ports)
    with Stack(directory, StackShape(stores_only=True, durable=False)) as again:
        assert again.ports == first


def test_a_taken_web_port_is_one_clear_sentence(directory: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.bind((ports.LOOPBACK, 0))
        sock.listen()
        taken = sock.getsockname()[1]
        stack = Stack(directory, StackShape(stores_only=True), requested_ports={"web": taken})
        with pytest.raises(ports.PortTaken, match=rf"Port {taken} \(the web page\) is in use.*set PANEL_PORT"):
            stack.start()


def test_a_taken_port_of_a_store_is_changed(directory: Path) -> None:
    stack = Stack(directory, StackShape(stores_only=True, durable=False))
    with stack:
        first = stack.ports["redis"]
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((ports.LOOPBACK, first))
        sock.listen()
        with stack:
            assert stack.ports["redis"] != first


def test_a_directory_holds_one_running_stack(directory: Path) -> None:
    with (
        Stack(directory, StackShape(stores_only=True, durable=False)),
        pytest.raises(StackError, match="runs already"),
    ):
        Stack(directory, StackShape(stores_only=True)).start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act for two users")
def test_a_directory_of_another_user_is_one_clear_sentence(directory: Path) -> None:
    with Stack(directory, StackShape(stores_only=True, durable=False)):
        pass
    user = unprivileged.account()
    assert user is not None
    nobody = [word.replace(f"id={user.pw_uid}", "id=65534") for word in unprivileged.prefix()]
    command = [*nobody, sys.executable, "-m", "tests.alone.hold_stores", str(directory)]
    done = subprocess.run(command, cwd=unprivileged.CHECKOUT, capture_output=True, text=True)
    assert f"{directory} belongs to the user dnspanel; go on as that user or as root" in done.stderr


def test_a_stack_that_was_never_started_has_no_environment(directory: Path) -> None:
    with pytest.raises(StackError, match=r"no stack in .* yet"):
        _ = Stack(directory).env


def test_no_secret_stands_in_the_environment(directory: Path) -> None:
    with Stack(directory, StackShape(stores_only=True, durable=False)) as stack:
        added = {name: value for name, value in stack.env.items() if os.environ.get(name) != value}
        for path in (directory / "secrets").iterdir():
            assert path.stat().st_mode & 0o777 == 0o600
            assert path.read_text() not in json.dumps(added)


def test_sockets_have_a_path_that_fits(directory: Path) -> None:
    assert Stack(directory).run_directory == directory / "run"
    deep = Stack(directory / ("d" * LONGEST_SOCKET_DIRECTORY))
    assert len(str(deep.run_directory)) <= LONGEST_SOCKET_DIRECTORY
    assert deep.run_directory == Stack(deep.directory).run_directory


def test_a_command_that_fails_says_what_it_said(directory: Path) -> None:
    with (
        Stack(directory, StackShape(stores_only=True, durable=False)) as stack,
        pytest.raises(StackError, match=r"ended with status 3:\nout of luck"),
    ):
        stack.run(["sh", "-c", "echo out of luck >&2; exit 3"])


def test_a_stack_whose_starter_was_killed_leaves_nothing_and_starts_again(directory: Path) -> None:
    started = subprocess.Popen(
        [sys.executable, "-m", "tests.alone.hold_stores", str(directory)],
        cwd=unprivileged.CHECKOUT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with started:
        assert started.stdout is not None
        pids = [int(word) for word in started.stdout.readline().split()]
        started.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    with Stack(directory, StackShape(stores_only=True, durable=False)) as stack:
        assert stack.supervisor.pid("postgres") not in pids


@pytest.mark.flow
def test_every_process_runs_and_every_node_answers_the_sample_zones(stack: Stack) -> None:
    wait_until_in_sync(stack)
    assert set(stack.supervisor.states().values()) == {"RUNNING"}
    for answer in ask_all(stack, "www.test101.org"):
        assert answer == Answer("NOERROR", ("1.1.1.1", "42.42.42.42"))
    for answer in ask_all(stack, "no-such-host.example.com"):
        assert answer.rcode == "NXDOMAIN"


@pytest.mark.flow
def test_the_access_log_has_the_id_that_the_answer_has(stack: Stack) -> None:
    with urllib.request.urlopen(f"{stack.url}/sign-in/?next=/a-secret/", timeout=30) as answer:
        request_id = answer.headers["X-Request-ID"]
    log = stack.supervisor.logs / "proxy.log"
    deadline = time.monotonic() + 30
    while not (lines := [line for line in log.read_text().splitlines() if request_id in line]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    entry = json.loads(lines[0])
    assert (entry["path"], entry["status"], entry["panel_status"]) == ("/sign-in/", 200, "200")
    assert "a-secret" not in log.read_text()
