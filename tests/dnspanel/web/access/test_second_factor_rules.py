"""Roles and teams that require a second factor: the setting, and the redirect of users who have none."""

import re
from datetime import timedelta

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dnspanel.accounts.models import Membership, Role, Team, User
from dnspanel.accounts.sign_in.second_factor_rules import rules, set_rules
from tests.dnspanel.web.conftest import HTMX, Browser
from tests.people import NOW, PASSWORD
from tests.second_factors import App, set_up

PAGE = "/people/second-factor/"
OWN = "/account/signing-in/"


def a_minute_later(client: Client) -> None:
    session = client.session
    session["second-factor-rules-at"] -= 61
    session.save()


def test_rules_are_made_changed_and_ended_on_their_page(browser: Browser, alice: User, bob: User) -> None:
    team = Team.objects.create(name="Web", created_at=NOW)
    client = browser(alice)
    assert "No second factor is required" in client.get(PAGE).content.decode()
    assert client.post(PAGE, {"roles": ["editor"], "teams": [team.pk], "grace": "14"})["Location"] == PAGE
    page = client.get(PAGE).content.decode()
    assert re.findall(r'name="roles" value="(\w+)"[^>]* checked', page) == ["editor"]
    assert "bob" in page
    for grace in ("-1", "91", "x", ""):
        assert client.post(PAGE, {"roles": ["editor"], "grace": grace}).status_code == 422
    assert client.post(PAGE, {"roles": ["emperor"], "grace": "1"}).status_code == 422
    assert len(rules()) == 2
    client.post(PAGE, {"grace": "14"})
    assert rules() == []


def test_within_the_grace_everything_opens_with_a_word(browser: Browser, bob: User) -> None:
    set_rules(roles=[Role.EDITOR], teams=[], grace=14, by=None, now=timezone.now())
    client = browser()
    page = client.post("/sign-in/", {"login": "bob", "password": PASSWORD}, follow=True).content.decode()
    assert "Set up a second factor by" in page
    assert client.get("/zones/").status_code == 200
    assert "You must set up a second factor by" in client.get(OWN).content.decode()


def test_after_it_one_sets_it_up_first_and_then_goes_on(browser: Browser, bob: User) -> None:
    set_rules(roles=[Role.EDITOR], teams=[], grace=1, by=None, now=timezone.now() - timedelta(days=2))
    User.objects.update(date_joined=NOW - timedelta(days=365))
    client = browser()
    assert client.post("/sign-in/", {"login": "bob", "password": PASSWORD})["Location"] == "/"
    for path in ("/", "/zones/", "/tokens/", "/frame/draft/"):
        assert client.get(path)["Location"] == OWN
        assert client.get(path, headers=HTMX).status_code == 403
    page = client.get(OWN).content.decode()
    assert "Set up a second factor first" in page
    assert "Set up a second factor by" not in page
    assert 'href="/zones/"' not in page
    assert 'id="draft-pill"' not in page
    text = client.get(f"{OWN}app/").content.decode()
    app = App(text.split('id="secret"')[1].split(">")[1].split("<")[0].replace(" ", ""))
    once = client.post(f"{OWN}app/", {"code": app.code(timezone.now())})["Location"]
    assert client.get(once).status_code == 200
    assert client.get("/zones/").status_code == 200
    assert "Set up a second factor first" not in client.get(OWN).content.decode()


def test_a_rule_reaches_sessions_that_there_are_within_a_minute(browser: Browser, bob: User) -> None:
    client, other = browser(bob), browser(bob)
    team = Team.objects.create(name="Web", created_at=NOW)
    Membership.objects.create(team=team, user=bob, role="reader")
    set_rules(roles=[], teams=[team], grace=0, by=None, now=NOW)
    for each in (client, other):
        a_minute_later(each)
    # Requests of an open page's script count, too.
    assert client.get("/frame/draft/", headers=HTMX).status_code == 403
    set_up(bob, timezone.now())
    assert client.get("/zones/").status_code == 200
    assert other.get("/zones/").status_code == 200


def test_the_end_of_a_rule_opens_everything_at_once(browser: Browser, bob: User) -> None:
    client = browser(bob)
    set_rules(roles=[Role.EDITOR], teams=[], grace=0, by=None, now=NOW)
    a_minute_later(client)
    assert client.get("/zones/").status_code == 302
    set_rules(roles=[], teams=[], grace=0, by=None, now=NOW)
    assert client.get("/zones/").status_code == 200


def test_rules_cost_a_page_no_query(browser: Browser, bob: User) -> None:
    client = browser(bob)
    set_rules(roles=[Role.READER], teams=[], grace=0, by=None, now=NOW)
    with CaptureQueriesContext(connection) as found:
        assert client.get("/zones/").status_code == 200
    assert len(found) > 1
    assert not [each for each in found if "secondfactorrule" in each["sql"] or "mfa_" in each["sql"]]
    a_minute_later(client)
    with CaptureQueriesContext(connection) as later:
        client.get("/zones/")
    assert len([each for each in later if "secondfactorrule" in each["sql"] or "mfa_" in each["sql"]]) == 1
