"""Tests of progress, colors and interruptions, with and without a terminal."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import pytest

from dnspanel.cli.output import Column, _add_colour, show_table
from dnspanel.cli.progress import progress
from dnspanel.cli.session import colour_of
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.cli.in_process import ROOT
from tests.dnspanel.fleet.conftest import MakeNode

WIPED = "\r\x1b[K"
LINE = f"{WIPED}Waiting for publication 1: 0 of 1 nodes"

OnTerminal = Callable[..., tuple[int, str, str]]


@pytest.fixture
def on_terminal(run: Run, live_server: Any, tmp_path: Path) -> OnTerminal:
    """Return a function that runs the command with standard error, or also standard output, on a terminal. It can
    interrupt the command when a text appears.
    """
    secret = run("tokens", "create", "terminal", "--everywhere", "--permission", "fleet", "--output", "json").json[
        "secret"
    ]

    def on_terminal(*arguments: str, both: bool = False, interrupt_at: str = "", **more: str) -> tuple[int, str, str]:
        environ = _environ(live_server.url, secret, tmp_path) | more
        leader, follower = pty.openpty()
        command = [sys.executable, "-m", "dnspanel.cli", *arguments]
        out = follower if both else subprocess.PIPE
        process = subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=follower)
        os.close(follower)
        seen = b""
        try:
            while piece := os.read(leader, 4096):
                seen += piece
                if interrupt_at and interrupt_at.encode() in seen:
                    process.send_signal(signal.SIGINT)
                    interrupt_at = ""
        except OSError:  # Linux reports the end of the process like this
            pass
        os.close(leader)
        printed, _ = process.communicate(timeout=30)
        return process.returncode, (printed or b"").decode(), seen.decode()

    return on_terminal


def _environ(url: str, token: str, home: Path) -> Mapping[str, str]:
    ours = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    return {**ours, "DNSPANEL_URL": url, "DNSPANEL_TOKEN": token}


@pytest.fixture
def late(run: Run, active_node: MakeNode) -> None:
    """Make a publication that no node confirms."""
    active_node("ns1")
    assert run("zones", "create", "example.test").code == 0


@pytest.mark.usefixtures("late")
def test_a_wait_shows_how_far_it_is_on_a_terminal_and_wipes_it(on_terminal: OnTerminal) -> None:
    code, out, seen = on_terminal("wait", "1", "--timeout", "1")
    assert code == 3
    assert LINE in seen
    assert seen.split(LINE)[-1].startswith(WIPED)
    assert "0 of 1 nodes" in out
    assert on_terminal("wait", "1", "--timeout", "1", "--output", "json")[2].count(WIPED) == 0


@pytest.mark.usefixtures("late")
def test_in_a_pipe_there_is_no_progress_and_the_result_is_printed_though_the_time_is_over(run: Run) -> None:
    ran = run("records", "set", "example.test", "www", "A", "192.0.2.1", "--wait", "--timeout", "1")
    assert ran.code == 3
    assert "Changed example.test (revision 2): 1 added." in ran.out
    assert "Publication 2 is answered by 0 of 1 nodes." in ran.out
    assert ran.err.startswith("Error: Publication 2 is on 0 of 1 nodes.")
    assert "\x1b" not in ran.out + ran.err
    as_json = run(
        "records", "set", "example.test", "b", "A", "192.0.2.1", "--wait", "--timeout", "1", "--output", "json"
    )
    problem = json.loads(as_json.err)
    assert as_json.code == 3
    assert (as_json.json["publication"]["sequence"], as_json.json["publication"]["everywhere"]) == (3, False)
    assert (problem["code"], problem["sequence"]) == ("not-reached", 3)
    waited = run("wait", "3", "--timeout", "1", "--output", "json")
    assert (waited.code, waited.json["sequence"], json.loads(waited.err)["code"]) == (3, 3, "not-reached")


@pytest.mark.usefixtures("late")
def test_an_interrupted_wait_says_how_to_go_on(on_terminal: OnTerminal) -> None:
    code, out, seen = on_terminal("wait", "1", "--timeout", "60", interrupt_at=LINE)
    assert (code, out) == (130, "")
    assert "Stopped. Publication 1 is saved. To wait for it again: dnspanel wait 1" in seen


@pytest.mark.usefixtures("late")
def test_colours_are_for_terminals(on_terminal: OnTerminal, run: Run) -> None:
    red = "\x1b[31moffline\x1b[0m"
    assert red in on_terminal("nodes", "list", both=True)[2]
    assert "\x1b" not in on_terminal("nodes", "list", both=True, NO_COLOR="1")[2]
    assert "\x1b" not in on_terminal("nodes", "list", "--color", "never", both=True)[2]
    assert "\x1b" not in on_terminal("nodes", "list", "--output", "json", both=True)[2]
    assert "\x1b" not in run("nodes", "list").out
    assert red in run("nodes", "list", "--color", "always").out
    assert red in run("nodes", "list", FORCE_COLOR="1").out
    assert red in run("--color", "always", "nodes", "list", NO_COLOR="1").out


@pytest.mark.parametrize(
    ("environ", "colour"),
    [
        ({}, None),
        ({"NO_COLOR": ""}, None),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1"}, True),
    ],
)
def test_the_environment_decides_about_colours(environ: Mapping[str, str], colour: bool | None) -> None:
    assert colour_of(environ) is colour


def test_without_a_terminal_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("Working") as line:
        line.show(1, 2, "zones")
    assert capsys.readouterr() == ("", "")


def test_a_question_that_is_answered_with_no_is_130(run: Run) -> None:
    run("zones", "create", "example.test")
    declined = run("zones", "delete", "example.test", input="n\n")
    assert (declined.code, declined.out) == (130, "")
    assert declined.err.endswith("Stopped. Nothing was changed.\n")
    unanswered = run("zones", "delete", "example.test")
    assert unanswered.code == 2
    assert unanswered.err.endswith("Error: Add --yes: standard input has no answer. Nothing was changed.\n")
    as_json = run("zones", "delete", "example.test", "--output", "json")
    assert (as_json.code, json.loads(as_json.err)["code"]) == (2, "usage")
    assert "Add --yes" in as_json.err


def test_columns_stay_aligned_without_colours(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"state": "offline", "name": "a"}, {"state": "ok", "name": "b"}]
    show_table(rows, (Column("STATE", "state", state=True), Column("NAME", "name")), none="")
    assert capsys.readouterr().out.splitlines() == ["STATE    NAME", "offline  a", "ok       b"]


def test_states_of_the_api_have_their_colours() -> None:
    assert _add_colour("waiting-for-approval", "waiting-for-approval") == click.style(
        "waiting-for-approval", fg="yellow"
    )
    assert _add_colour("ok", "ok") == "ok"
