"""The page of rights in a zone: their sources, keyset paging, and only people that the reader is allowed to see."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.actors.actors import EVERY_RIGHT, RECORD_RIGHTS, Grant, Right
from dnspanel.accounts.models import GrantRow, Membership, Role, Team, Token, User
from dnspanel.accounts.people import people
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token, create_tsig_key
from dnspanel.web.zone_tabs import who_may
from dnspanel.zones.models import TsigAct, Zone
from dnspanel.zones.rights.tsig_permissions import replace_key_names
from replication.dns import rdtypes
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.people import NOW, make_person

ACCESS = "/zones/example.test/access/"


def in_zone(zone: Zone, rights: frozenset[Right], **limits: object) -> Grant:
    return Grant(rights, zones=frozenset({zone.pk}), **limits)  # type: ignore[arg-type]


def text_of(client: Client, query: str = "", **headers: str) -> str:
    return client.get(f"{ACCESS}?{query}", headers=headers).content.decode()


@pytest.fixture
def cast(make_zone: MakeZone, alice: User) -> Zone:
    """Create Mia and Noah in the zone's team, Oda with a grant for its tag, and Pia without rights in the zone."""
    zone = make_zone("www 300 A 192.0.2.1")
    team = Team.objects.create(name="Web", created_at=NOW)
    zone.team, zone.tags = team, ["shop"]
    zone.save(update_fields=["team", "tags"])
    mia, noah, oda = (make_person(name, Role.MEMBER) for name in ("mia", "noah", "oda"))
    make_person("pia", Role.MEMBER)
    for person, role in ((mia, "editor"), (noah, "reader")):
        Membership.objects.create(user=person, team=team, role=role)
    grant = Grant(RECORD_RIGHTS | {Right.READ}, tags=frozenset({"shop"}), names=("www",), types=frozenset({rdtypes.A}))
    GrantRow.objects.create(user=oda, grant=grant.to_json(), created_at=NOW)
    return zone


def test_everybody_with_a_right_is_listed_with_what_gives_it(cast: Zone, browser: Browser, alice: User) -> None:
    page = text_of(browser(alice))
    for told in (
        'read private DNSSEC keys, set approval rules and freezes <span class="quiet">Administrator role</span>',
        'everything <span class="quiet">Editor in team Web</span>',
        'see records <span class="quiet">Reader in team Web</span>',
        "names: www; types: A",
    ):
        assert told in page, told
    assert "oda" in page
    assert "pia" not in page


def test_who_does_not_manage_people_sees_themselves_and_their_team(cast: Zone, browser: Browser, alice: User) -> None:
    page = text_of(browser(User.objects.get(username="mia")))
    assert "noah" in page
    assert "oda" not in page
    assert "Only people with permission to manage accounts see the full list" in page
    for name in ("oda", "nobody"):
        answer = browser(User.objects.get(username="mia")).get(ACCESS, {"who": name})
        assert answer.status_code == 422
        assert b"have access to a person or token with this name." in answer.content


def test_a_name_and_type_are_tried(cast: Zone, browser: Browser, alice: User) -> None:
    www = text_of(browser(alice), "who=oda&name=www&type=A")
    assert '<dt>change records</dt><dd><span class="badge is-ok">' in www
    mail = text_of(browser(alice), "who=ODA&name=mail&type=A")
    assert '<dt>change records</dt><dd><span class="badge is-bad">' in mail
    assert '<dt>see records</dt><dd><span class="badge is-ok">' in mail
    own = text_of(browser(User.objects.get(username="noah")), "who=&name=www&type=A")
    assert "No role, team or grant gives this right" in own
    assert browser(alice).get(ACCESS, {"name": "www.other.test.", "type": "A"}).status_code == 422


def test_a_token_may_what_its_scope_and_its_owner_give(cast: Zone, browser: Browser, alice: User, bob: User) -> None:
    terms = TokenTerms("deploy", (in_zone(cast, RECORD_RIGHTS | {Right.READ}, names=("www",)),))
    made = create_token(owner=bob, terms=terms, by=bob, now=timezone.now())
    page = text_of(browser(alice))
    assert "deploy" in page
    assert 'edit records <span class="quiet">Token scope</span>' in page or "see records, edit records" in page
    may = text_of(browser(alice), f"who={made.token.prefix}&name=www&type=A")
    assert "Token scope; token owner bob: Editor role" in may
    assert "The token’s scope doesn’t include this right" in may
    User.objects.filter(pk=bob.pk).update(role=Role.READER)
    less = text_of(browser(alice), f"who={made.token.prefix}&name=www&type=A")
    assert "scope includes this right, but token owner bob doesn’t have it" in less
    assert 'see records <span class="quiet">Token scope</span>' in text_of(browser(alice))
    assert made.token.prefix not in text_of(browser(User.objects.get(username="mia"))), "another person's"


def test_a_token_that_ended_is_not_listed_and_may_nothing(cast: Zone, browser: Browser, bob: User) -> None:
    terms = TokenTerms("deploy", (in_zone(cast, EVERY_RIGHT),))
    token = create_token(owner=bob, terms=terms, by=bob, now=timezone.now()).token
    Token.objects.filter(pk=token.pk).update(expires_at=timezone.now() - timedelta(days=1))
    assert "deploy" not in text_of(browser(bob))
    assert "This token expired on" in text_of(browser(bob), f"who={token.prefix}")


def test_a_key_of_the_api_of_powerdns_may_only_what_the_zone_names_it_for(
    cast: Zone, browser: Browser, bob: User
) -> None:
    terms = TokenTerms("transfer", (in_zone(cast, EVERY_RIGHT),))
    key = create_tsig_key(owner=bob, name="xfr", terms=terms, by=bob, now=timezone.now()).token
    Token.objects.filter(pk=key.pk).update(needs_permission=True)
    assert "TSIG xfr." not in text_of(browser(bob))
    assert "The zone doesn’t allow this right for the key" in text_of(browser(bob), "who=xfr")
    replace_key_names(zone=cast, act=TsigAct.TRANSFER, key_names=["xfr."])
    page = text_of(browser(bob))
    assert "TSIG xfr." in page
    assert 'see records <span class="quiet">Token scope</span>' in page


def test_long_lists_come_in_steps_with_as_many_queries(
    cast: Zone,
    browser: Browser,
    alice: User,
    django_assert_num_queries: DjangoAssertNumQueries,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(who_may, "PER_PAGE", 2)
    for number in range(3):
        terms = TokenTerms(f"task {number}", (in_zone(cast, EVERY_RIGHT),))
        create_token(owner=alice, terms=terms, by=alice, now=timezone.now())
    client = browser(alice)
    page = text_of(client)
    assert "alice" in page
    assert "oda" not in page
    rows = {"HX-Request": "true", "HX-Target": "more-people"}
    assert "after=mia" in page
    first = text_of(client, "after=mia", **rows)
    assert "noah" in first
    assert "oda" in first
    assert "<html" not in first
    assert "more-people" not in first
    newest = Token.objects.latest("pk").pk
    assert f"before={newest - 1}" in page
    older = text_of(client, f"before={newest - 1}", **{"HX-Request": "true", "HX-Target": "more-tokens"})
    assert "task 0" in older
    assert "task 1" not in older
    monkeypatch.setattr(who_may, "PER_PAGE", 50)
    with django_assert_num_queries(QUERIES):
        text_of(client)


QUERIES = 19


def test_for_a_time_that_is_past_it_says_how_sure_that_is(cast: Zone, browser: Browser, alice: User) -> None:
    User.objects.update(date_joined=NOW)
    mia, client = User.objects.get(username="mia"), browser(alice)
    ask = f"who=mia&name=www&type=A&at={timezone.localtime() - timedelta(minutes=5):%Y-%m-%dT%H:%M}"
    assert "certain</span>" in text_of(client, ask)
    people.change_role(user=mia, role=Role.EDITOR, by=alice, now=timezone.now())
    page = text_of(client, ask)
    assert "uncertain</span>" in page
    assert "changed the role of mia from" in page
    noah = text_of(browser(User.objects.get(username="noah")), ask)
    assert "uncertain</span>" in noah
    assert "changed the role" not in noah
    assert "Enter a time in the past." in text_of(client, "at=2999-01-01T00:00")
    token = create_token(owner=alice, terms=TokenTerms("task", (in_zone(cast, EVERY_RIGHT),)), by=alice, now=NOW).token
    assert "To check a time in the past, enter a person." in text_of(client, f"who={token.prefix}&at=2026-01-01T00:00")
