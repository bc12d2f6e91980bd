"""Tests of `dnspanel` as a program: help, completion, exit codes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dnspanel import __version__
from dnspanel.cli.commands import dnspanel
from tests.dnspanel.cli.in_process import ROOT, run_command, run_process

NOWHERE = {"DNSPANEL_URL": "http://127.0.0.1:1", "DNSPANEL_TOKEN": "dnsp_secret"}


def commands(group: click.Group, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command with its words on the command line."""
    for name, command in sorted(group.commands.items()):
        if isinstance(command, click.Group):
            yield from commands(command, *names, name)
        else:
            yield (*names, name), command


ALL = dict(commands(dnspanel))


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_every_command_explains_itself_without_a_configuration(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(dnspanel, [*words, "--help"], env={"DNSPANEL_URL": "", "DNSPANEL_TOKEN": ""})
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: dnspanel {' '.join(words)} ")
    assert ALL[words].get_short_help_str()
    assert "--output" in result.output
    assert all(option.help for option in ALL[words].params if isinstance(option, click.Option))


# Commands that a platform team looked for and didn't find (issue 41, A11).
FAMILIES = {
    "publications": {"list", "show", "undo", "watch"},
    "drafts": {"list", "show", "set", "delete", "publish", "discard"},
    "tokens": {"list", "create", "rotate", "revoke"},
}


def test_each_new_resource_has_its_commands() -> None:
    for family, acts in FAMILIES.items():
        assert {words[1] for words in ALL if words[0] == family} == acts, family
    assert {("api",), ("search",), ("audit",), ("zones", "diff"), ("zones", "revert")} <= ALL.keys()


@pytest.mark.parametrize("words", [words for words in ALL if words[0] in {*FAMILIES, "api", "search"}], ids=" ".join)
def test_the_help_of_a_new_command_is_made_of_sentences(words: tuple[str, ...]) -> None:
    text = (ALL[words].help or "").partition("\n\n")[0]
    assert text[0].isupper()
    assert text.endswith((".", "?"))


def test_without_a_configuration_the_exit_code_is_2_and_says_what_is_missing(tmp_path: Path) -> None:
    done = run_command("zones", "list", environment={}, home=tmp_path)
    assert (done.code, done.out, "Set DNSPANEL_URL" in done.err) == (2, "", True)


def test_a_panel_that_is_not_there_is_exit_code_3_and_the_token_is_not_shown(tmp_path: Path) -> None:
    done = run_process("zones", "list", environment=NOWHERE, home=tmp_path)
    assert (done.code, done.out) == (3, "")
    assert done.err == "Error: Cannot connect to http://127.0.0.1:1: Connection refused.\n"


def test_options_stand_before_or_after_the_command(tmp_path: Path) -> None:
    for words in (["--url", "http://127.0.0.1:1/dns", "whoami"], ["whoami", "--url", "http://127.0.0.1:1/dns"]):
        assert "http://127.0.0.1:1/dns" in run_command(*words, environment=NOWHERE, home=tmp_path).err


def test_a_token_in_the_clear_is_warned_of(tmp_path: Path) -> None:
    told = {**NOWHERE, "DNSPANEL_URL": "http://panel.invalid"}
    assert run_command("whoami", environment=told, home=tmp_path).err.startswith("Warning: the token can be read")


def test_shells_complete_commands(tmp_path: Path) -> None:
    told = {"_DNSPANEL_COMPLETE": "bash_complete", "COMP_WORDS": "dnspanel zo", "COMP_CWORD": "1"}
    assert run_process(environment=told, home=tmp_path).out == "plain,zones\n"
    script = run_command(environment={"_DNSPANEL_COMPLETE": "zsh_source"}, home=tmp_path)
    assert "#compdef dnspanel" in script.out


def test_who_reads_no_further_is_not_told_of_an_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-W", "error", "-m", "dnspanel.cli", "--help"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, cwd=ROOT, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


def test_it_loads_nothing_of_the_panel() -> None:
    code = "import sys, dnspanel.cli.__main__; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    ours = {name for name in loaded if name.startswith("dnspanel.") and not name.startswith("dnspanel.cli")}
    assert ours <= {"dnspanel.celery"}  # the package itself loads this one
    assert not {"django.db", "rest_framework", "psycopg"} & set(loaded)


def test_it_says_which_version_it_is(tmp_path: Path) -> None:
    assert run_process("--version", environment={}, home=tmp_path).out == f"dnspanel {__version__}\n"
