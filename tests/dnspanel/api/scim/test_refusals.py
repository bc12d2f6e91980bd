"""Tests of SCIM refusals in the audit log: each is logged, and a flood becomes a few lines. Also `scim.refusals`."""

from typing import Any

import pytest

from dnspanel.accounts.models import AuditEntry, Role, User
from dnspanel.accounts.people.people import change_role
from dnspanel.accounts.scim import directories
from dnspanel.accounts.scim.refusals import NOBODY, is_listed
from dnspanel.api import throttle
from tests.dnspanel.api.scim.conftest import AtDirectory, MakeDirectory
from tests.people import NOW

DISABLE = {"op": "replace", "path": "active", "value": False}


def refusals() -> list[tuple[str, int, int]]:
    entries = AuditEntry.objects.filter(action="scim.refused").order_by("pk")
    return [(each.target, each.details["status"], each.details["count"]) for each in entries]


def test_the_first_of_its_like_and_each_tenfold_is_written_down() -> None:
    assert [count for count in range(1, 2_000) if is_listed(count)] == [1, 10, 100, 1000]


def test_a_token_that_opens_nothing_is_written_down_and_a_flood_of_it_is_counted(
    directory: MakeDirectory, alice: User
) -> None:
    okta = directory()
    assert okta.row is not None
    directories.renew_secret(directory=okta.row, by=alice, now=NOW)
    for _ in range(25):
        assert okta.scim("GET", "Users").status_code == 401
    assert refusals() == [(NOBODY, 401, 1), (NOBODY, 401, 10)]
    entry = AuditEntry.objects.filter(action="scim.refused").latest("pk")
    assert (entry.user, entry.address, entry.details["request"]) == (None, "192.0.2.10", "GET /scim/v2/Users")
    assert okta.secret not in str(entry.details)


def test_what_a_directory_may_not_do_is_written_down_with_who_tried(directory: MakeDirectory, alice: User) -> None:
    okta = directory()
    ada = okta.made("ada")
    change_role(user=User.objects.get(username="ada"), role=Role.ADMINISTRATOR, by=alice, now=NOW)
    assert okta.patch_of(f"Users/{ada['id']}", DISABLE).status_code == 403
    assert okta.scim("POST", "Users", {"userName": "ada", "emails": [{"value": "x@people.test"}]}).status_code == 409
    assert okta.scim("PATCH", f"Users/{ada['id']}", {"no": "\0operations"}).status_code == 400
    assert refusals() == [("scim-okta", 403, 1), ("scim-okta", 409, 1), ("scim-okta", 400, 1)]
    entry = AuditEntry.objects.get(action="scim.refused", target="scim-okta", details__status=403)
    assert entry.user == (okta.row and okta.row.account)
    assert entry.token is not None
    assert "ada" in entry.details["told"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda okta: okta.scim("GET", "Users/999999"),
        lambda okta: okta.scim("GET", "Users", filter='title eq "x"'),
        lambda okta: okta.scim("POST", "Users/.search", {"filter": 'title eq "x"'}),
        lambda okta: okta.scim("GET", "Users"),
    ],
    ids=["nobody", "a filter", "a filter in a body", "all"],
)
def test_what_a_directory_only_looks_for_is_not(ask: Any, directory: MakeDirectory) -> None:
    ask(directory())
    assert refusals() == []


def test_without_redis_each_process_counts(directory: MakeDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    counters = throttle.Counters("redis://127.0.0.1:1/0")
    monkeypatch.setattr("dnspanel.api.scim.view.counters", lambda: counters)
    stranger = AtDirectory("dnsp_nothing")
    for _ in range(12):
        assert stranger.scim("GET", "Groups").status_code == 401
    assert refusals() == [(NOBODY, 401, 1), (NOBODY, 401, 10)]
