"""Tests of `--output json`: every command writes JSON results to standard output, and errors to standard error.

Each command runs with a panel that refuses the token, without a panel, and with a real panel. The arguments come from
the command's parameters.
"""

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Permission, Right
from dnspanel.accounts.models import Role
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.cli.commands import dnspanel
from dnspanel.cli.moments import Since
from dnspanel.transfer.exports import export_jobs
from dnspanel.transfer.imports import worker
from dnspanel.transfer.models import ExportJob, ImportJob
from dnspanel.transfer.signals import work_to_do
from dnspanel.transfer.zone_templates import runs as template_runs
from dnspanel.zones.models import ChangeRun, PolicyRun, TemplateRun
from dnspanel.zones.runs import change_runs, policy_runs, run_turns
from tests.dnspanel.cli.in_process import Ran, run_command, work_on
from tests.dnspanel.cli.test_main import commands
from tests.dnspanel.fleet.conftest import MakeNode
from tests.people import make_person

ALL = dict(commands(dnspanel))
CODES = {0, 1, 2, 3, 130}
# The value for a parameter of this name. Other parameters get a value by their type.
NAMES = {"name": "www", "type": "A", "type_": "A", "values": "192.0.2.1", "addresses": "192.0.2.53", "key": "x"}
# First words of commands whose parameter `zone` isn't a zone.
ZONE_IS_NAME = {"nodes": "ns1"}

Call = Callable[..., Ran]


@pytest.fixture
def call(tmp_path: Path) -> Call:
    """Return a function that runs the command against the panel at a URL."""

    def call(*arguments: str, url: str, token: str) -> Ran:
        return run_command(*arguments, environment={"DNSPANEL_URL": url, "DNSPANEL_TOKEN": token}, home=tmp_path)

    return call


def arguments_of(words: tuple[str, ...], command: click.Command, file: Path) -> list[str]:
    """Return a command line with invented values for the required parameters."""
    given = [*words]
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            if parameter.required:
                given += [parameter.opts[0], *[_value(words, parameter, file)] * parameter.nargs]
            elif parameter.name in {"yes", "count", "timeout"}:
                given += [parameter.opts[0], *(["1"] if parameter.name != "yes" else [])]
        elif parameter.required:
            given.append(_value(words, parameter, file))
    return [*given, "--output", "json"]


def _value(words: tuple[str, ...], parameter: click.Parameter, file: Path) -> str:
    kind = parameter.type
    if isinstance(kind, click.Choice):
        return str(kind.choices[0])
    if isinstance(kind, (click.Path, click.File)):
        return str(file)
    if isinstance(kind, Since):
        return "1h"
    if kind.name in {"integer", "integer range", "ttl"}:
        return "1"
    if words[0] in ZONE_IS_NAME and parameter.name == "name":
        return ZONE_IS_NAME[words[0]]
    return NAMES.get(parameter.name or "", "example.test")


def complaints_about(ran: Ran) -> list[str]:
    """Return the deviations of a result from the documented format."""
    found = [] if ran.code in CODES else [f"exit code {ran.code}"]
    if ran.out and not (_is_json(ran.out) or all(map(_is_json, ran.out.splitlines()))):
        found.append(f"standard output: {ran.out[:200]}")
    problems = [line for line in ran.err.splitlines() if line]
    for line in problems:
        if not _is_json(line) or not {"type", "title", "code", "detail"} <= json.loads(line).keys():
            found.append(f"standard error: {line[:200]}")
    if ran.code and not (ran.out or problems):
        found.append(f"exit code {ran.code} without a word")
    return found


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "imported.test.zone"
    path.write_text(
        "$ORIGIN imported.test.\n$TTL 300\n@ SOA ns1 hostmaster 1 10800 3600 604800 3600\n@ NS ns1\nns1 A 192.0.2.53\n"
    )
    return path


def test_every_command_without_a_panel_answers_a_problem(call: Call, file: Path) -> None:
    found = {}
    for words, command in ALL.items():
        ran = call(*arguments_of(words, command, file), url="http://127.0.0.1:1", token="dnsp_x")
        complaints = complaints_about(ran)
        if complaints or ran.out or ran.code not in {2, 3}:
            found[" ".join(words)] = complaints or [str(ran)]
    assert found == {}


def test_every_command_answers_a_wrong_option_with_a_problem(call: Call, file: Path) -> None:
    found = {}
    for words in ALL:
        ran = call(*words, "--no-such-option", "--output", "json", url="http://127.0.0.1:1", token="dnsp_x")
        problem = json.loads(ran.err)
        if (ran.code, ran.out, problem["code"]) != (2, "", "usage"):
            found[" ".join(words)] = ran
    assert found == {}


@pytest.fixture
def working(transactional_db: None, settings: Any, tmp_path: Path) -> Iterator[None]:
    """Execute jobs as soon as they are created, as workers would."""
    settings.TRANSFER_DIR = tmp_path / "transfer"

    def work(sender: type, job_id: int, **_: Any) -> None:
        if sender is ExportJob:
            export_jobs.run_export(job_id)
        elif sender is ImportJob:
            worker.read_import(job_id)
            worker.work_on_import(job_id)

    def unfinished() -> list[tuple[Callable[[int], object], int]]:
        return [
            (work_on_run, number)
            for found, work_on_run in (
                (partial(run_turns.unfinished_ids, ChangeRun), change_runs.work_on_run),
                (partial(run_turns.unfinished_ids, PolicyRun), policy_runs.work_on_run),
                (partial(run_turns.unfinished_ids, TemplateRun), template_runs.work_on_run),
            )
            for number in found()
        ]

    work_to_do.connect(work)
    yield from work_on(unfinished, lambda job: job[0](job[1]))
    work_to_do.disconnect(work)


def test_every_command_at_a_panel_answers_json(
    call: Call, file: Path, panel: str, working: None, active_node: MakeNode, capsys: pytest.CaptureFixture[str]
) -> None:
    active_node("ns1")
    ada = make_person("ada", Role.ADMINISTRATOR)
    terms = TokenTerms(
        purpose="walk", scope=(Grant(frozenset(Right), everywhere=True),), permissions=frozenset(Permission)
    )
    secret = create_token(owner=ada, terms=terms, by=ada, now=timezone.now()).secret
    assert call("zones", "create", "example.test", url=panel, token=secret).code == 0
    found, codes, refused = {}, dict[int, int](), dict[str, Any]()
    for words, command in sorted(ALL.items(), key=last_what_ends):
        arguments = arguments_of(words, command, file)
        ran = call(*arguments, url=panel, token=secret)
        if complaints := complaints_about(ran):
            found[" ".join(words)] = complaints
        codes[ran.code] = codes.get(ran.code, 0) + 1
        bad = call(*arguments, url=panel, token="dnsp_no-such-token")
        if complaints_about(bad) or bad.out or bad.code not in {1, 2}:
            refused[" ".join(words)] = bad
    assert (found, refused) == ({}, {})
    assert codes[0] > len(ALL) / 3, "many of them do what they are for"
    with capsys.disabled():
        sys.stdout.write(f"\n{len(ALL)} commands; exit codes at a panel: {codes}\n")


def last_what_ends(item: tuple[tuple[str, ...], click.Command]) -> tuple[bool, tuple[str, ...]]:
    """Return a sort key that puts commands that delete or end objects last."""
    words = item[0]
    return words[-1] in {"delete", "revoke", "retire", "undo", "unsign", "end", "lift"}, words
