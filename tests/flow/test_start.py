"""A start loads the panel in one process, and serves pages before all other processes run."""

import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnspanel.demo import unprivileged
from dnspanel.demo.stack import FIRST, Stack, StackError, StackShape
from dnspanel.demo.supervision import STORES
from tests.ports import OF_STACKS
from tests.stack import prepared_stack
from tests.workers import FOLDER

pytestmark = pytest.mark.flow


class CountedStack(Stack):
    """A stack in which each process that loads Django records its command."""

    @property
    def loads(self) -> Path:
        return self.directory / "loads"

    @property
    def env(self) -> dict[str, str]:
        return super().env | {
            "DJANGO_SETTINGS_MODULE": "tests.alone.counted_settings",
            "LOADED_BY": str(self.loads),
        }


@pytest.fixture
def started() -> Iterator[CountedStack]:
    """Start a copy of a prepared stack, up to its pages."""
    directory = FOLDER / "started"
    shutil.rmtree(directory, ignore_errors=True)
    files = prepared_stack()
    unprivileged.make_directory(directory)
    subprocess.run(["cp", "-a", *map(str, files.iterdir()), str(directory)], check=True)
    stack = CountedStack(directory, StackShape(durable=False, forks=True), free_ports=OF_STACKS)
    stack.start_pages()
    yield stack
    stack.stop()


def test_a_start_loads_the_panel_once_before_its_pages_can_be_opened(started: CountedStack) -> None:
    """Previously six processes loaded the panel, for 2.4 CPU seconds each, and the link came after all of them."""
    assert "/welcome/" in started.manage("demo_welcome")
    with urllib.request.urlopen(f"{started.url}/sign-in/", timeout=30) as answer:
        assert answer.status == 200
    running = {name for name, state in started.supervisor.states().items() if state == "RUNNING"}
    assert running == {*STORES, *FIRST}
    with pytest.raises(StackError, match="Unknown command: 'no-such'"):
        started.manage("no-such")
    assert len(started.loads.read_text().splitlines()) == 1, started.loads.read_text()
