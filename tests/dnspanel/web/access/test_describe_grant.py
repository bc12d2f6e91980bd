"""Descriptions of grants in plain language."""

import pytest

from dnspanel.accounts.actors.actors import EVERY_RIGHT, RECORD_RIGHTS, Grant, Right
from dnspanel.accounts.models import Role, Team, User
from dnspanel.web.access.describe_grant import GrantDescription, describer_for, limits_of, shorten_list, what_of
from tests.dnspanel.web.conftest import MakeZone
from tests.people import NOW, make_person

READ = frozenset({Right.READ})


@pytest.mark.parametrize(
    ("rights", "words"),
    [
        (EVERY_RIGHT, "everything"),
        (READ, "see records"),
        (RECORD_RIGHTS, "edit records"),
        (RECORD_RIGHTS | READ, "edit records"),
        ({Right.READ, Right.CHANGE}, "see records, change records"),
        (RECORD_RIGHTS | {Right.SETTINGS}, "edit records, change tags and team"),
        ((), "nothing"),
    ],
)
def test_rights_are_said_as_short_as_they_can_be(rights: frozenset[Right], words: str) -> None:
    assert what_of(rights) == words


def test_limits_name_patterns_and_types() -> None:
    assert (
        limits_of(Grant(READ, names=("www", "*.dev"), types=frozenset({16, 1}))) == "names: www, *.dev; types: A, TXT"
    )
    assert limits_of(Grant(READ)) == ""
    assert shorten_list(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_zones_are_named_as_far_as_the_reader_sees_them(make_zone: MakeZone, alice: User) -> None:
    team = Team.objects.create(name="Mail", created_at=NOW)
    grant = Grant(READ, zones=frozenset({make_zone().pk}), tags=frozenset({"eu"}), teams=frozenset({team.pk}))
    everything = "example.test., zones tagged eu and zones in team Mail"
    assert describer_for(alice, [grant]).of(grant) == GrantDescription("see records", everything, "")
    hidden = describer_for(make_person("mia", Role.MEMBER), [grant]).of(grant)
    assert hidden.where.startswith("1 zone that you can’t see, ")
    team.delete()
    assert describer_for(alice, [grant]).of(grant).where.endswith("zones in team (deleted)")
    assert describer_for(alice, []).of(Grant(READ, everywhere=True)).where == "all zones"
    assert describer_for(alice, []).of(Grant(READ)).where == "no zones"
