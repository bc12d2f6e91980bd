"""The operator's runbooks, and the commands in them that tests run.

Each page begins with its title and the symptom. Commands are in fenced blocks, one per line, and a backslash continues
a line. A page's test takes its commands from here and runs them.
"""

import re
import shlex
from pathlib import Path

from tests.docs.documents import ROOT, section

FOLDER = ROOT / "docs" / "operate" / "runbooks"
INDEX = FOLDER / "README.md"

BLOCK = re.compile(r"^[ ]*```(?:sh)?\n(.*?)^[ ]*```$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """Return the files of all runbooks, without the index."""
    return sorted(path for path in FOLDER.glob("*.md") if path != INDEX)


def command_lines_of(stem: str, step: str = "") -> list[str]:
    """Return the commands in `docs/operate/runbooks/STEM.md`, or in one of its steps, as a reader copies them."""
    page = FOLDER / f"{stem}.md"
    written = section(page, step) if step else page.read_text()
    text = "".join(BLOCK.findall(written)).replace("\\\n", " ")
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def commands_of(stem: str, **replaced: str) -> list[list[str]]:
    """Return the commands of a runbook, each as a list of arguments.

    `replaced` has values for placeholders in capitals: `SEQUENCE="12"`.
    """
    commands = [shlex.split(line) for line in command_lines_of(stem)]
    return [[_filled(word, replaced) for word in command] for command in commands]


def _filled(word: str, replaced: dict[str, str]) -> str:
    return re.sub(r"[A-Z_]{3,}", lambda found: replaced.get(found[0], found[0]), word)
