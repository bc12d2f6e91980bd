"""Tests of `./dev` stacks: ports, error messages, and commands with stores of their own."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dnspanel.demo import __main__ as main
from dnspanel.demo import unprivileged
from dnspanel.demo.stack import StackError


@pytest.fixture(autouse=True)
def demo_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(main, "DEMO_DIRECTORY", tmp_path)
    monkeypatch.delenv("PANEL_PORT", raising=False)
    return tmp_path


def test_the_first_start_wants_port_8000() -> None:
    assert main.requested_ports()["web"] == 8000


def test_a_later_start_keeps_the_port_it_had(demo_directory: Path) -> None:
    (demo_directory / "stack.json").write_text('{"ports": {"web": 8123}}')
    assert "web" not in main.requested_ports()


def test_panel_port_decides(demo_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (demo_directory / "stack.json").write_text('{"ports": {"web": 8123}}')
    monkeypatch.setenv("PANEL_PORT", "9000")
    assert main.requested_ports()["web"] == 9000


@pytest.mark.parametrize("text", ["", "0", "65536", "eighty", "-1"])
def test_a_panel_port_that_is_no_port_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PANEL_PORT", text)
    with pytest.raises(StackError, match=f"PANEL_PORT must be a port number from 1 to 65535, not '{text}'"):
        main.requested_ports()


def test_a_complaint_is_one_sentence_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["exec", "true"]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("There is no stack in ")
    assert captured.err.count("\n") == 1


def test_the_link_is_printed_before_the_name_servers_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression test: the link was printed last, after half a minute."""
    steps: list[str] = []
    stack = SimpleNamespace(
        start_pages=lambda: steps.append("pages"),
        start_others=lambda: steps.append("others"),
        stop=lambda: steps.append("stop"),
        supervisor=SimpleNamespace(is_running=False),
    )
    monkeypatch.setattr(main, "Stack", lambda *args, **named: stack)
    monkeypatch.setattr(main, "say", steps.append)
    monkeypatch.setattr(main, "welcome", lambda stack: "link")
    monkeypatch.setattr(main, "addresses", lambda stack: "addresses")
    assert main.run() == 1
    assert steps == [
        "pages",
        "link",
        "others",
        "addresses",
        "The process supervisor has ended, so the stack stops.",
        "stop",
    ]


def test_a_command_beside_its_stores_gets_them_and_gives_its_status(directory: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "dnspanel.demo",
        "stores",
        str(directory),
        sys.executable,
        "-m",
        "tests.alone.ask_stores",
    ]
    done = subprocess.run(command, cwd=unprivileged.CHECKOUT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (7, "")
