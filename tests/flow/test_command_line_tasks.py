"""Ten tasks for a new user of the command-line client. The user finds each command only by `--help`.

`./dev test -s tests/flow/test_command_line_tasks.py` prints the tasks, and the help lines that led to each command.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from dnspanel.demo.stack import Stack
from tests.dnspanel.cli.in_process import Ran
from tests.flow.test_command_line import answered, run, zone_file

__all__ = ["run"]

pytestmark = pytest.mark.flow

Run = Callable[..., Ran]
# A command whose help is read, and the line in it that leads to the next command.
Clue = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Task:
    """A user's goal, the help that leads to it, and the commands."""

    goal: str
    clues: Sequence[Clue]
    commands: Sequence[str]
    says: str  # text in the output of the last command


TASKS = (
    Task(
        "Find out whether my token works",
        [("", "whoami        Show the owner and the rights of the token.")],
        ["whoami"],
        "command_line_tasks",
    ),
    Task(
        "Create a zone and be sure that it is served",
        [
            ("", "zones         Manage zones and their history."),
            ("zones", "create   Create a zone."),
            ("zones create", "--wait"),
            ("zones create", "Wait until every node answers with the change."),
        ],
        ["zones create first.test --wait"],
        "is answered by all 3 nodes.",
    ),
    Task(
        "Give www an address with a TTL of 5 minutes",
        [
            ("", "records       Manage records of zones."),
            ("records", "set     Set the records at NAME and TYPE."),
            ("records set", "TTL in seconds, or a duration such as 5m or 1h."),
        ],
        ["records set first.test www A 192.0.2.10 --ttl 5m --wait"],
        "Changed first.test (revision 2): 1 added.",
    ),
    Task(
        "See what a change would do before I make it",
        [("records set", "--dry-run"), ("records set", "Show what would be done, and write nothing.")],
        ["records set first.test www A 192.0.2.11 --dry-run"],
        "+ www.first.test. 300 A 192.0.2.11",
    ),
    Task(
        "Move my zone files here",
        [
            ("", "import        Import zone files, folders or archives."),
            ("import", "Publish the result of the dry run."),
        ],
        ["import FILES --apply --wait"],
        "creates    2",
    ),
    Task(
        "Replace an address in all zones",
        [
            ("records", "change  Change records of many zones in one publication."),
            ("records change", "Select all records that this search finds, such as type:a has:192.0.2.7."),
            ("records change", "Text that replaces the text of --find."),
        ],
        ["records change -q has:192.0.2.50 --find 192.0.2.50 --replace-with 192.0.2.60 --wait"],
        "Changed moved1.test (revision 2): 1 changed.",
    ),
    Task(
        "Sign a zone and get the DS for my registrar",
        [
            ("", "dnssec        Sign zones, and manage keys, DS and rollovers."),
            ("dnssec", "sign        Sign zones with new keys."),
            ("dnssec", "ds          Print the DS records for the parent."),
        ],
        ["dnssec sign first.test --wait", "dnssec ds first.test"],
        "first.test. IN DS ",
    ),
    Task(
        "Undo the last change of a zone",
        [
            ("zones", "history  List the revisions of a zone, newest first."),
            ("zones", "undo     Undo one revision of a zone."),
        ],
        ["zones history moved1.test", "zones undo moved1.test 2 --wait"],
        "Changed moved1.test (revision 3): 1 changed.",
    ),
    Task(
        "Delete a zone, and get it back",
        [("zones", "delete   Delete zones."), ("zones", "restore  Restore deleted zones.")],
        ["zones delete moved2.test --yes --wait", "zones restore moved2.test --wait"],
        "Restored moved2.test (revision 4)",
    ),
    Task(
        "Make a token that can only set the TXT record of a certificate",
        [
            ("", "tokens        Manage API tokens."),
            ("tokens", "create  Create a token and print its secret once."),
            ("tokens create", "Limit the token to this owner name, such as _acme-challenge or *.dyn."),
        ],
        ["tokens create certbot --zone first.test --right add --right remove --name _acme-challenge --type TXT"],
        "secret",
    ),
)


def test_ten_tasks_are_done_from_the_help_alone(
    stack: Stack, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("moved1.test", "moved2.test"):
        (tmp_path / f"{name}.zone").write_text(zone_file(name, "192.0.2.50"))
    report = []
    for number, task in enumerate(TASKS, 1):
        report.append(f"{number:2}. {task.goal}")
        for words, text in task.clues:
            help_text = " ".join(run(*words.split(), "--help").out.split())
            assert " ".join(text.split()) in help_text, (words, text)
            report.append(f"      {' '.join(['dnspanel', *words.split(), '--help'])}: {' '.join(text.split())}")
        for command in task.commands:
            ran = run(*command.replace("FILES", str(tmp_path)).split())
            assert ran.code == 0, (command, ran)
            report.append(f"    $ dnspanel {command}")
        assert task.says in ran.out, (task.goal, ran)
    assert answered(stack, "www.first.test", "192.0.2.10")
    assert answered(stack, "www.moved1.test", "192.0.2.50")
    assert answered(stack, "www.moved2.test", "192.0.2.60")
    with capsys.disabled():
        sys.stdout.write("\n".join(["", *report, ""]))
