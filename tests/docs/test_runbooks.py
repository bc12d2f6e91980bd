"""Every runbook has the same four parts, is in the index, and is tried: by a test that runs its commands, or by hand.

A test that runs the commands of a page calls `commands_of` or `command_lines_of` with the name of the page, and is in
the folder of what it tests. A page that no test can run is in TRIED_BY_HAND, with who tried it, when and how.
"""

import re
from pathlib import Path

import pytest

from tests.docs import documents, runbooks
from tests.docs.documents import ROOT

# Pages that no test can run: when and how somebody carried them out word for word.
TRIED_BY_HAND: dict[str, str] = {}


def stem(path: Path) -> str:
    return path.stem


def test_there_are_runbooks() -> None:
    assert runbooks.pages() != []


@pytest.mark.parametrize("page", runbooks.pages(), ids=stem)
def test_a_runbook_has_its_four_parts(page: Path) -> None:
    headings = re.findall(r"^## (.+)$", documents.prose(page), re.MULTILINE)
    assert tuple(heading for heading in headings if heading in runbooks.PARTS) == runbooks.PARTS
    assert runbooks.command_lines_of(page.stem) != []


def test_the_index_lists_every_runbook() -> None:
    listed = {file for file, _ in documents.links(runbooks.INDEX) if not file.startswith("../")}
    assert listed == {page.name for page in runbooks.pages()}


def test_every_runbook_is_tried() -> None:
    """A test runs the very commands of the page, or somebody did."""
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    by_tests = set(re.findall(r"command(?:s|_lines)_of\(\s*\"([\w-]+)\"", tests))
    stems = {page.stem for page in runbooks.pages()}
    assert sorted(stems - by_tests - TRIED_BY_HAND.keys()) == []
    assert sorted((by_tests | TRIED_BY_HAND.keys()) - stems) == []
    assert sorted(by_tests & TRIED_BY_HAND.keys()) == []
