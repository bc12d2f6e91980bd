"""Tests of arguments that all commands share: standard input and completion.

Tests `cli.passphrase` too.
"""

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from dnspanel.cli.arguments import COMPLETION_SECONDS, TYPES, Completed
from dnspanel.cli.passphrase import FILE
from dnspanel.web.editor.rows.type_filter import TYPE_NAMES
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.cli.in_process import Ran, run_command, run_process
from tests.dnspanel.cli.test_main import ALL

# Names of parameters of this kind in the commands.
ZONES, KINDS = {"zone", "zones"}, {"type", "type_", "types"}


def completed(words: str, home: Path, *, by: Callable[..., Ran] = run_command, **environment: str) -> list[str]:
    """Return bash's completions for the last of these words."""
    environ = {"_DNSPANEL_COMPLETE": "bash_complete", "COMP_WORDS": f"dnspanel {words}", **environment}
    done = by(environment={**environ, "COMP_CWORD": str(len(words.split(" ")))}, home=home)
    assert (done.code, done.err) == (0, "")
    return [line.partition(",")[2] for line in done.out.splitlines() if line]


def test_zones_types_and_profiles_are_completed_in_every_command() -> None:
    for words, command in ALL.items():
        for parameter in command.params:
            is_one = parameter.name in ZONES | KINDS | {"profile"}
            assert not is_one or parameter.type is not click.STRING, (words, parameter.name)
            if parameter.name == "profile":
                assert isinstance(parameter.type, Completed), words


def test_a_list_of_texts_can_come_from_standard_input_in_every_command() -> None:
    lists = {
        (*words, parameter.name): parameter
        for words, command in ALL.items()
        for parameter in command.params
        if isinstance(parameter, click.Argument) and parameter.nargs == -1
    }
    assert ("records", "set", "values") in lists
    for where, parameter in lists.items():
        is_of_files = isinstance(parameter.type, click.Path | click.File)
        assert is_of_files or parameter.callback is not None, where


def test_every_file_can_be_standard_input() -> None:
    for words, command in ALL.items():
        for parameter in command.params:
            if isinstance(parameter.type, click.Path) and parameter.type.file_okay:
                assert parameter.type.allow_dash, (words, parameter.name)
    assert FILE.allow_dash


def test_values_and_zones_come_from_standard_input(run: Run, run_apart: Run) -> None:
    run("zones", "create", "example.test")
    run_apart(
        "records", "set", "example.test", "www", "A", "192.0.2.1", "-", "--ttl", "60", input="192.0.2.2\n\n192.0.2.3\n"
    )
    (rrset,) = run("records", "list", "example.test", "--name", "www", "--output", "json").json
    assert rrset["rdata"] == ["192.0.2.1", "192.0.2.2", "192.0.2.3"]
    empty = run("records", "set", "example.test", "www", "TXT", "-", "--ttl", "60", input="\n")
    assert (empty.code, "Standard input is empty." in empty.err) == (2, True)
    run("zones", "create", "other.test")
    assert run("zones", "delete", "-", "--yes", input="example.test\nother.test\n").code == 0
    assert run("zones", "list", "--output", "json").json == []


def test_the_shell_offers_zones_of_the_panel(run: Run, live_server: object, tmp_path: Path) -> None:
    for name in ("shop.test", "shoes.test", "other.shop.test"):
        run("zones", "create", name)
    token = run("tokens", "create", "shell", "--everywhere", "--output", "json").json["secret"]
    told = {"DNSPANEL_URL": live_server.url, "DNSPANEL_TOKEN": token}  # type: ignore[attr-defined]
    assert completed("zones show sho", tmp_path, **told) == ["shoes.test.", "shop.test."]
    assert completed("zones delete shop", tmp_path, **told) == ["shop.test."]
    assert completed("records list none", tmp_path, **told) == []
    assert len(completed("zones show ", tmp_path, **told)) == 3


def test_the_shell_offers_types_and_profiles(tmp_path: Path) -> None:
    assert set(TYPES) == set(TYPE_NAMES)
    assert completed("records set example.test www mx", tmp_path) == ["MX"]
    file = tmp_path / ".config/dnspanel/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[profiles.lab]\n[profiles.live]\n[profiles.other]\n")
    assert completed("--profile l", tmp_path) == ["lab", "live"]
    file.write_text("[profiles")
    assert completed("--profile l", tmp_path) == []


@pytest.fixture
def silent() -> Iterator[str]:
    """Yield the URL of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_a_panel_that_does_not_answer_delays_the_shell_for_two_seconds_at_most(silent: str, tmp_path: Path) -> None:
    began = time.monotonic()
    told = {"DNSPANEL_URL": silent, "DNSPANEL_TOKEN": "dnsp_x"}
    assert completed("zones show sho", tmp_path, by=run_process, **told) == []
    assert completed("zones show sho", tmp_path, by=run_process) == []  # no configuration
    assert time.monotonic() - began < COMPLETION_SECONDS + 8  # Python starts twice on a busy machine
