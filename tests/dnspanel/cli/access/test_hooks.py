"""Tests of `dnspanel hooks`."""

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.grants import Grant, Right
from dnspanel.accounts.models import Role
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.webhooks.answering import Answering
from tests.dnspanel.webhooks.conftest import answering as answering
from tests.dnspanel.webhooks.conftest import at_home as at_home
from tests.people import make_person


@pytest.fixture
def token(transactional_db: None) -> str:
    """Return an administrator's token with all rights over every zone."""
    alice = make_person("alice", Role.ADMINISTRATOR)
    terms = TokenTerms("governing", (Grant(frozenset(Right), everywhere=True),))
    return create_token(owner=alice, terms=terms, by=alice, now=timezone.now()).secret


def test_a_hook_is_added_tested_changed_rotated_and_lifted(run: Run, token: str, answering: Answering) -> None:
    assert "No publish hooks yet." in run("hooks", "list", token=token).err
    added = ("hooks", "add", answering.url, "--tag", "shop", "--reason", "Names", "--output", "json")
    first = run(*added, token=token)
    assert first.code == 0, first.err
    made = first.json
    number, answering.secret = str(made["id"]), made["secret"]
    answering.refuse("An example.")
    tested = run("hooks", "test", number, token=token)
    assert (tested.code, "An example." in tested.out) == (0, True)
    answering.answer(500)
    assert run("hooks", "test", number, token=token).code == 1
    listed = run("hooks", "show", number, token=token).out
    assert "the response has status 500." in listed
    assert "An example." in listed
    changed = run("hooks", "change", number, "--everywhere", "--name", "Rules", "--when-silent", "pass", token=token)
    assert (changed.code, "every zone" in changed.out) == (0, True)
    row = run("hooks", "list", "--output", "json", token=token).json[0]
    assert (row["name"], row["tag"], row["when_silent"], row["url"]) == ("Rules", "", "pass", answering.url)
    assert "Rules" in run("hooks", "list", token=token).out
    answering.secret = run("hooks", "rotate", number, "--output", "json", token=token).json["secret"]
    answering.allow()
    assert run("hooks", "test", number, token=token).code == 0
    assert run("hooks", "change", number, token=token).code == 2, "nothing is said to change"
    assert run("hooks", "test", number).code == 1, "Erin may not govern"
    assert run("hooks", "lift", number, token=token).code == 0
    assert run("hooks", "lift", number, token=token).code == 1
