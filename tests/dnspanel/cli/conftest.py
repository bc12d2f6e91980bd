"""Fixtures of the command-line tests: the command and the panel both run in the test's process."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Permission, Right
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.dnspanel.cli.in_process import Ran, panel_in_process, run_command, run_process
from tests.dnspanel.fleet.conftest import active_node, waiting_node
from tests.people import make_person

__all__ = ["active_node", "waiting_node"]

EVERYTHING = TokenTerms(
    purpose="command line", scope=(Grant(EVERY_RIGHT, everywhere=True),), permissions=frozenset({Permission.FLEET})
)

Run = Callable[..., Ran]


@pytest.fixture
def erin(transactional_db: None) -> User:
    """Create Erin, an editor of all zones. The commands act for her."""
    return make_person("erin", Role.EDITOR)


@pytest.fixture
def everything(erin: User) -> str:
    """Return a token with all of Erin's rights."""
    return create_token(owner=erin, terms=EVERYTHING, by=erin, now=timezone.now()).secret


@pytest.fixture
def panel(live_server: Any) -> Iterator[str]:
    """Yield the URL of the panel. Commands in this process reach the panel without a connection."""
    with panel_in_process(live_server.url):
        yield live_server.url


@pytest.fixture
def run(panel: str, everything: str, tmp_path: Path) -> Run:
    """Return a function that runs the command, by default with a token that has all of Erin's rights."""

    def run(*args: str, token: str = everything, input: str | None = None, **environment: str) -> Ran:
        told = {"DNSPANEL_URL": panel, "DNSPANEL_TOKEN": token, **environment}
        return run_command(*args, environment=told, home=tmp_path, input=input)

    return run


@pytest.fixture
def run_apart(live_server: Any, everything: str, tmp_path: Path) -> Run:
    """Return a function like `run` that starts a process for the command."""

    def run(*args: str, input: str | None = None) -> Ran:
        told = {"DNSPANEL_URL": live_server.url, "DNSPANEL_TOKEN": everything}
        return run_process(*args, environment=told, home=tmp_path, input=input)

    return run


@pytest.fixture
def administrator(transactional_db: None) -> str:
    """Return an administrator's token with all rights and permissions. It can also read other people's tokens."""
    root = make_person("root", Role.ADMINISTRATOR)
    terms = TokenTerms("all", scope=(Grant(frozenset(Right), everywhere=True),), permissions=frozenset(Permission))
    return create_token(owner=root, terms=terms, by=root, now=timezone.now()).secret
