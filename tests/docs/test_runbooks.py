"""Each runbook begins with its symptom, is listed in the index, and is tried by a test or by hand.

A test that runs a page's commands calls `commands_of` or `command_lines_of` with the page's name, and is in the folder
of the tested part. A page that no test can run is in TRIED_BY_HAND, with the person, time and way of the trial.
"""

import re
from pathlib import Path

import pytest

from tests.docs import documents, runbooks
from tests.docs.documents import ROOT

# Pages that no test can run, with the time and way of a person's literal trial.
TRIED_BY_HAND: dict[str, str] = {}


def stem(path: Path) -> str:
    return path.stem


def test_there_are_runbooks() -> None:
    assert runbooks.pages() != []


@pytest.mark.parametrize("page", runbooks.pages(), ids=stem)
def test_a_runbook_says_when_what_and_how_to_know(page: Path) -> None:
    text = page.read_text()
    assert re.match(r"# .+\n\n\*\*Symptom\.\*\* ", text)
    assert re.search(r"^## (What it means|What is lost.*|You then see|(\d+\. )?Check the result)$", text, re.MULTILINE)
    assert runbooks.command_lines_of(page.stem) != []


def test_the_index_lists_every_runbook() -> None:
    listed = {file for file, _ in documents.links(runbooks.INDEX) if not file.startswith("../")}
    assert listed == {page.name for page in runbooks.pages()}


def test_every_runbook_is_tried() -> None:
    """Either a test runs the page's literal commands, or a person has tried them."""
    tests = [path.read_text() for path in (ROOT / "tests").rglob("test_*.py")]
    stems = {page.stem for page in runbooks.pages()}
    users = [text for text in tests if "tests.docs.runbooks import" in text]
    by_tests = {stem for stem in stems if any(f'"{stem}"' in text for text in users)}
    assert sorted(stems - by_tests - TRIED_BY_HAND.keys()) == []
    assert sorted(TRIED_BY_HAND.keys() - stems) == []
    assert sorted(by_tests & TRIED_BY_HAND.keys()) == []
