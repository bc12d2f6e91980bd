"""The command as a process of its own, against a real server of the panel."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from dnspanel.accounts.actors.grants import EVERY_RIGHT, Grant
from dnspanel.accounts.actors.roles import Permission
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.dnspanel.fleet.conftest import active_node, waiting_node
from tests.people import make_person

__all__ = ["active_node", "waiting_node"]

ROOT = Path(__file__).resolve().parents[3]
EVERYTHING = TokenTerms(
    purpose="command line", scope=(Grant(EVERY_RIGHT, everywhere=True),), permissions=frozenset({Permission.FLEET})
)


def work_on(unfinished: Callable[[], Iterable[int]], work: Callable[[int], object]) -> Iterator[None]:
    """Meanwhile, what is queued is worked on, as a Celery worker would."""
    ended = Event()

    def work_until_the_end() -> None:
        while not ended.wait(0.05):
            for number in unfinished():
                work(number)
        connection.close()

    thread = Thread(target=work_until_the_end)
    thread.start()
    yield
    ended.set()
    thread.join()


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run of the command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


def run_command(*args: str, environment: Mapping[str, str], home: Path, input: str | None = None) -> Ran:
    """Run `dnspanel` with nothing in its environment but this."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT), **environment}
    command = [sys.executable, "-W", "error", "-m", "dnspanel.cli", *args]
    done = subprocess.run(command, env=environ, input=input, capture_output=True, text=True, timeout=60, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def erin(transactional_db: None) -> User:
    """Erin may edit all zones; the commands act for her."""
    return make_person("erin", Role.EDITOR)


@pytest.fixture
def run(live_server: Any, erin: User, tmp_path: Path) -> Run:
    """Run the command with a token that may do all that Erin may, or with another one."""
    everything = create_token(owner=erin, terms=EVERYTHING, by=erin, now=timezone.now()).secret

    def run(*args: str, token: str = everything, input: str | None = None, **environment: str) -> Ran:
        told = {"DNSPANEL_URL": live_server.url, "DNSPANEL_TOKEN": token, **environment}
        return run_command(*args, environment=told, home=tmp_path, input=input)

    return run


@pytest.fixture
def administrator(transactional_db: None) -> str:
    """The token of an administrator with every permission: it sees other tokens too."""
    root = make_person("root", Role.ADMINISTRATOR)
    terms = TokenTerms("all", scope=(Grant(EVERY_RIGHT, everywhere=True),), permissions=frozenset(Permission))
    return create_token(owner=root, terms=terms, by=root, now=timezone.now()).secret
