"""The form that creates and edits a grant."""

from typing import Any

import pytest

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import Membership, Role, Team, User
from dnspanel.web.access.grant_form import GrantForm, teams_known_to, zone_ids
from dnspanel.zones.models import Zone
from tests.dnspanel.web.conftest import MakeZone
from tests.people import NOW


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone()


def filled(person: User, **fields: Any) -> GrantForm:
    return GrantForm({"rights": ["read"], "where": "some", **fields}, person=person)


def test_a_grant_is_what_was_typed(zone: Zone, alice: User) -> None:
    team = Team.objects.create(name="Mail", created_at=NOW)
    form = filled(alice, zones="Example.test\n", tags="EU, shop", teams=[team.pk], names="@ *.dev", types="TXT, TYPE65")
    assert form.is_valid(), form.errors
    assert form.cleaned_data["grant"] == Grant(
        frozenset({Right.READ}),
        zones=frozenset({zone.pk}),
        tags=frozenset({"eu", "shop"}),
        teams=frozenset({team.pk}),
        names=("@", "*.dev"),
        types=frozenset({16, 65}),
    )


def test_everywhere_forgets_what_was_typed_for_some(zone: Zone, alice: User) -> None:
    form = filled(alice, where="all", zones="example.test", tags="eu")
    assert form.is_valid()
    assert form.cleaned_data["grant"] == Grant(frozenset({Right.READ}), everywhere=True)


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"zones": "nowhere.test"}, "zones"),
        ({"zones": "a..b"}, "zones"),
        ({}, "zones"),
        ({"where": "all", "rights": []}, "rights"),
        ({"where": "all", "types": "NONSENSE"}, "types"),
        ({"where": "all", "types": "ANY"}, "types"),
        ({"tags": "ümlaut"}, "tags"),
        ({"where": "all", "names": "x" * 300}, "names"),
        ({"where": "all", "teams": ["1"]}, ""),
    ],
)
def test_each_fault_stands_at_its_field(zone: Zone, alice: User, fields: dict[str, Any], at: str) -> None:
    form = filled(alice, **fields)
    if not at:  # without teams this field does not exist
        assert form.is_valid()
    else:
        assert not form.is_valid()
        assert at in form.errors


def test_people_name_only_their_own_teams(alice: User, charlie: User) -> None:
    mail, web = (Team.objects.create(name=name, created_at=NOW) for name in ("Mail", "Web"))
    Membership.objects.create(team=web, user=charlie, role=Role.READER)
    assert teams_known_to(alice) == [mail, web]
    assert teams_known_to(charlie) == [web]


def test_zones_are_found_in_one_query(make_zone: MakeZone, alice: User, django_assert_num_queries: Any) -> None:
    ids = {make_zone(name=f"z{n}.test.").pk for n in range(4)}
    with django_assert_num_queries(1):
        assert zone_ids(alice, "z0.test z1.test, Z2.test.\nz3.test z0.test") == ids
