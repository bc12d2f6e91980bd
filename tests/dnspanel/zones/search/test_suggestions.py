"""Suggestions that complete the last word of a search."""

import pytest

from dnspanel.accounts.models import Membership, Role, Team, User
from dnspanel.zones.models import Zone
from dnspanel.zones.search.suggestions import suggestions
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("shop t", ["shop tag:", "shop team:", "shop ttl:", "shop type:"]),
        ("-D", ["-dnssec:"]),
        ("type:CN", ["type:cname"]),
        ("www -type:mx", ["www -type:mx"]),
        ("dnssec:", ["dnssec:rolling", "dnssec:signed", "dnssec:unsigned"]),
        ("sync:l", ["sync:late"]),
        ("primary:", ["primary:elsewhere", "primary:here"]),
        ("changed:t", ["changed:today"]),
        ("owner:", ["owner:none"]),
        ("foo:", []),
        ("value:x", []),
        ("x" * 299 + " t", []),
    ],
)
def test_filters_and_what_they_take(bob: User, text: str, expected: list[str]) -> None:
    assert suggestions(person=bob, text=text) == expected


def test_tags_and_teams_are_those_that_the_person_may_know(make_zone: MakeZone, bob: User) -> None:
    own, other = (Team.objects.create(name=name, created_at=NOW) for name in ("Web ops", "Accounting"))
    seen, hidden = make_zone(name="a.test."), make_zone(name="b.test.")
    Zone.objects.filter(pk=seen.pk).update(tags=["shop", "summer"], team=own)
    Zone.objects.filter(pk=hidden.pk).update(tags=["secret"], team=other)
    mia = make_person("mia", Role.MEMBER)
    Membership.objects.create(user=mia, team=own, role=Role.READER)
    assert suggestions(person=mia, text="tag:s") == ["tag:shop", "tag:summer"]
    assert suggestions(person=mia, text="team:") == ['team:"Web ops"', "team:none"]
    assert suggestions(person=mia, text='team:"web') == ['team:"Web ops"']
    assert suggestions(person=bob, text="tag:s") == ["tag:secret", "tag:shop", "tag:summer"]
    assert suggestions(person=bob, text="team:a") == ["team:Accounting"]
