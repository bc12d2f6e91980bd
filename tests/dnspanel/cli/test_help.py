"""Tests of help texts: complete sentences, and a summary of one line for every command."""

import re

import click
import pytest

from dnspanel.cli.commands import dnspanel
from tests.dnspanel.cli.test_main import commands

WIDEST_SUMMARY = 60  # the width that `dnspanel --help` has at 80 columns
# Words at the start of a text that refer to something unknown to the reader.
FRAGMENT = re.compile(
    r"(About|All|Another|Any|As|At|Besides|By|Else|For|From|Has|How|In|Is|It|Its|No|Of|Once|One|Only|Over|So|Such|That"
    r"|Their|Them|These|They|This|Those|Though|To|Under|What|When|Where|Whether|Which|Who|Whom|Whose|Why|With)\b"
)
# Pronouns without a noun, and outdated words.
PRONOUN = re.compile(
    r"\b(it|its|itself|they|them|their|those|whoever|whom|besides|anew|once for each|so (many|long|much))\b",
    re.IGNORECASE,
)
SHORTEST = 3
LONGEST = 25

ALL = dict(commands(dnspanel))
OPTIONS = {
    f"{' '.join(words)} {option.opts[0]}": option.help or ""
    for words, command in ALL.items()
    for option in command.params
    if isinstance(option, click.Option)
}
# Texts that reviewers of the command line did not understand, and similar ones.
FRAGMENTS = (
    "Of that key.",
    "Of the TSIG key by which they are asked.",
    "Has the key's secret, in Base64, as one line.",
    "Once for each.",
    "Those that are behind only.",
    "So long an answer is waited for.",
    "Look so many times; else until Ctrl-C.",
    "Do it though so much is deleted.",
    "Delete them though they are many.",
    "Seconds.",
    "They are gone.",
    "Its tags too.",
    '"" takes it away.',
    "What a group gives.",
    "Who is refused reads this.",
    "read, add, change, remove …; once for each.",
    "--find is a pattern.",
    "How lists call it.",
    "All zones that a search finds",
)


def faults_of(text: str) -> list[str]:
    """Return the faults of a help text that isn't a complete sentence."""
    prose = re.sub(r"  \[default: .*\]$", "", text)
    checks = {
        "it does not begin with a capital letter": not re.match("[A-Z]", prose),
        "it does not end with a full stop": not prose.endswith("."),
        "it has fewer than three words": len(prose.split()) < SHORTEST,
        "it begins like a fragment": bool(FRAGMENT.match(prose)),
        "it has a pronoun without a noun": bool(PRONOUN.search(prose)),
        "it has a long sentence": any(len(each.split()) > LONGEST for each in re.split(r"\. ", prose)),
    }
    return [fault for fault, is_so in checks.items() if is_so]


@pytest.mark.parametrize("text", FRAGMENTS)
def test_texts_that_readers_did_not_understand_are_refused(text: str) -> None:
    assert faults_of(text)


def test_the_help_of_every_option_is_a_sentence() -> None:
    assert len(OPTIONS) > 600
    assert {name: (text, faults_of(text)) for name, text in OPTIONS.items() if faults_of(text)} == {}


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_a_command_has_a_summary_that_fits_in_one_line(words: tuple[str, ...]) -> None:
    command = ALL[words]
    summary = " ".join((command.help or "").split("\n\n")[0].split())
    assert summary.endswith(".")
    assert len(summary) <= WIDEST_SUMMARY
    assert len(re.findall(r"\.(?= |$)", summary)) == 1, "one sentence"
    assert not FRAGMENT.match(summary)


def test_groups_have_summaries_too() -> None:
    for group in (each for each in dnspanel.commands.values() if isinstance(each, click.Group)):
        summary = " ".join((group.help or "").split("\n\n")[0].split())
        assert summary.endswith(".")
        assert len(summary) <= WIDEST_SUMMARY
        assert re.match("(Manage|Show|Sign|List|Call)", summary), summary


@pytest.mark.parametrize(
    "words",
    [
        "zones create",
        "zones list",
        "zones delete",
        "zones change",
        "zones restore",
        "zones undo",
        "records set",
        "records add",
        "records remove",
        "records delete",
        "records list",
        "records change",
        "dnssec sign",
        "dnssec ds",
        "import",
        "export",
        "undo",
        "wait",
        "tokens create",
        "audit",
        "nodes list",
    ],
)
def test_important_commands_have_an_example(words: str) -> None:
    help_text = ALL[tuple(words.split())].help or ""
    assert f"dnspanel {words} " in f"{help_text.replace(chr(10), ' ')} "
