"""Tests of `dnspanel directories`."""

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.grants import Grant, Right
from dnspanel.accounts.actors.roles import Permission
from dnspanel.accounts.models import Role, Team
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.dnspanel.cli.conftest import Run
from tests.people import make_person


@pytest.fixture
def token(transactional_db: None) -> str:
    """Return an administrator's token with all rights and permissions."""
    alice = make_person("alice", Role.ADMINISTRATOR)
    scope = (Grant(frozenset(Right), everywhere=True),)
    terms = TokenTerms("everything", scope, permissions=frozenset(Permission))
    return create_token(owner=alice, terms=terms, by=alice, now=timezone.now()).secret


def test_a_directory_is_added_changed_rotated_and_ended(run: Run, token: str) -> None:
    assert "No directories." in run("directories", "list", token=token).err
    added = ("directories", "add", "Okta", "--rule", "dns admins", "administrator", "--output", "json")
    first = run(*added, token=token)
    assert first.code == 0, first.err
    assert first.json["rules"][0]["group"] == "dns admins"
    number = str(first.json["id"])
    changed = run("directories", "change", number, "--team-role", "reader", "--takes-over", token=token)
    assert changed.code == 0, changed.err
    row = run("directories", "list", "--output", "json", token=token).json[0]
    assert (row["team_role"], row["takes_over"], len(row["rules"])) == ("reader", True, 1)
    assert "teams of readers" in run("directories", "list", token=token).out
    run("directories", "change", number, "--no-rules", "--team-role", "none", "--name", "Entra", token=token)
    row = run("directories", "list", "--output", "json", token=token).json[0]
    assert (row["name"], row["team_role"], row["rules"]) == ("Entra", "", [])
    team = str(Team.objects.create(name="web", created_at=timezone.now()).pk)
    run("directories", "change", number, "--team", team, token=token)
    assert run("directories", "list", "--output", "json", token=token).json[0]["teams"] == [int(team)]
    assert run("directories", "change", number, "--team", "999999", token=token).code == 1
    run("directories", "change", number, "--team", "0", token=token)
    assert run("directories", "list", "--output", "json", token=token).json[0]["teams"] == []
    rotated = run("directories", "rotate", number, "--output", "json", token=token).json
    assert rotated["secret"] not in {None, first.json["secret"]}
    assert run("directories", "change", number, token=token).code == 2, "nothing is said to change"
    unknown = run("directories", "change", number, "--team-rule", "web", "editor", "999999", token=token)
    assert (unknown.code, "rules" in unknown.err) == (1, True)
    assert run("directories", "list").code == 1, "Erin does not manage people"
    assert run("directories", "end", number, token=token).code == 0
    assert run("directories", "end", number, token=token).code == 1
