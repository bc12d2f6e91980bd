"""Pages of approval rules and freezes."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import GrantRow, Team, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.zones.models import ApprovalRule, Freeze, Zone
from replication.dns import rdtypes
from tests.dnspanel.web.conftest import HTMX, YES, Browser, MakeZone
from tests.people import NOW, make_person

RULES, FREEZES = reverse("settings-approvals"), reverse("settings-freezes")
RULE = {"reason": "Four eyes", "needed": "1", "min_changes": "1"}
ALL = {"where": "all", "where_number": "1"}


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.1")


def test_a_rule_is_placed_listed_and_lifted(alice: User, browser: Browser, zone: Zone) -> None:
    client = browser(alice)
    team = Team.objects.create(name="NOC", created_at=NOW)
    terms = TokenTerms(purpose="CI", scope=(Grant(frozenset({Right.READ}), everywhere=True),))
    token = create_token(owner=alice, terms=terms, by=alice, now=NOW).token
    assert "No approval rules yet" in client.get(RULES).content.decode()
    posted = {
        **RULE,
        "zone": "example.test",
        "approver_team": "noc",
        "types": "NS, MX",
        "tokens": token.prefix,
        "ticket": "OPS-#",
        "ticket_link": "https://tracker.test/{ticket}",
    }
    page = client.post(RULES, posted, follow=True).content.decode()
    sentence = "Changes to NS, MX in example.test. need 1 approval from members of NOC."
    for part in (sentence, "OPS-#", "exempt tokens: CI", "Four eyes"):
        assert part in page
    rule = ApprovalRule.objects.get()
    assert (rule.zone, rule.approver_team, rule.types, list(rule.tokens.all())) == (
        zone,
        team,
        [rdtypes.NS, rdtypes.MX],
        [token],
    )
    lift = reverse("settings-approval-lift", args=[rule.pk])
    question = client.post(lift).content.decode()
    for text in (
        "Changes to these zones can be published without another person’s approval.",
        "Changes to these zones can be published without a ticket.",
        "example.test.: Four eyes",
        'name="confirmed" value="yes"',
    ):
        assert text in question
    assert ApprovalRule.objects.exists(), "the rule holds until the person has confirmed"
    assert "Approval rule deleted." in client.post(lift, YES, follow=True).content.decode()
    again = client.post(lift, follow=True).content.decode()
    assert "Rule not found" in again
    assert not ApprovalRule.objects.exists()


@pytest.mark.parametrize(
    ("posted", "told"),
    [
        ({"zone": "no.test"}, "Zone not found"),
        ({"team": "nobody"}, "Team nobody not found"),
        ({"types": "NOTYPE"}, "NOTYPE"),
        ({"tokens": "dnsp_x"}, "Token dnsp_x not found"),
        ({**ALL, "ticket": "(a+)+"}, "Use #"),
        ({"zone": "example.test", "tag": "shop"}, "Choose only one"),
        ({**ALL, "needed": "0"}, "Require an approval"),
        ({}, "Choose one of these options."),
        ({"where": "some"}, "choose the option for all"),
        ({**ALL, "where_number": ""}, "There is now 1 zone. To confirm, enter 1."),
        ({**ALL, "changes": "some"}, "choose the option for all"),
    ],
    ids=[
        *("zone", "team", "type", "token", "ticket", "two scopes", "nothing asked"),
        *("no scope", "an empty scope", "all without their number", "no types"),
    ],
)
def test_a_rule_that_cannot_be_is_told_at_its_field(
    posted: dict[str, str], told: str, alice: User, browser: Browser, zone: Zone
) -> None:
    page = browser(alice).post(RULES, {**RULE, **posted})
    assert page.status_code == 422
    assert told in page.content.decode()


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ({"tag": "mail", "types": "mx", "changes": "some", "needed": "2", "approver_team": "ops"}, "Changes to MX in"),
        ({"tag": "mail", "needed": "2", "approver_team": "ops"}, "Changes in"),
        ({"needed": "2"}, ""),
        ({"where": "some", "needed": "2"}, ""),
        ({"zone": "no.test", "needed": "2"}, ""),
    ],
)
def test_an_unfinished_rule_is_shown_as_a_sentence(
    typed: dict[str, str], sentence: str, alice: User, browser: Browser, zone: Zone
) -> None:
    Team.objects.create(name="Ops", created_at=NOW)
    displayed = browser(alice).get(RULES, typed, headers=HTMX).content.decode()
    expected = f"{sentence} zones tagged mail need 2 approvals from members of Ops." if sentence else ""
    assert expected in displayed
    assert ("approval" in displayed) == bool(sentence)
    assert "<form" not in displayed


def test_an_unfinished_rule_for_all_zones_or_a_ticket_is_shown(alice: User, browser: Browser, zone: Zone) -> None:
    typed = {"where": "all", "needed": "0", "ticket": "OPS-#"}
    displayed = browser(alice).get(RULES, typed, headers=HTMX).content.decode()
    assert "Changes in every zone need a ticket such as OPS-#." in displayed


def test_the_dialog_is_open_for_a_new_rule_a_copy_and_an_error(alice: User, browser: Browser, zone: Zone) -> None:
    client = browser(alice)
    assert "data-modal" not in client.get(RULES).content.decode()
    assert "open data-modal" in client.get(RULES, {"new": "1"}).content.decode()
    assert "open data-modal" in client.post(RULES, RULE).content.decode()


def test_a_freeze_is_placed_listed_and_lifted(alice: User, browser: Browser, zone: Zone) -> None:
    client = browser(alice)
    assert "No freezes yet" in client.get(FREEZES).content.decode()
    now = timezone.localtime(timezone.now())
    times = {
        "starts_at": f"{now - timedelta(hours=1):%Y-%m-%dT%H:%M}",
        "ends_at": f"{now + timedelta(hours=1):%Y-%m-%dT%H:%M}",
    }
    weekly = {"reason": "A move", "repeat": "weekly", **times}
    assert client.post(FREEZES, weekly).status_code == 422, "an empty scope does not freeze everything"
    page = client.post(FREEZES, {**weekly, **ALL}, follow=True).content.decode()
    assert "every zone" in page
    assert "Every week, UTC" in page
    assert "frozen" in page
    preview = client.get(FREEZES, weekly, headers=HTMX).content.decode()
    assert preview.count("<li>") == 3
    displayed = client.get(FREEZES, {**weekly, "tag": "shop"}, headers=HTMX).content.decode()
    assert "Changes in zones tagged shop can’t be published during the freeze." in displayed
    assert "<form" not in preview
    wrong = client.post(FREEZES, {"reason": "A move", "repeat": "rule", "repeats": "FREQ=SECONDLY", **times, **ALL})
    assert wrong.status_code == 422
    freeze = Freeze.objects.get()
    copy = client.get(FREEZES, {"copy": freeze.pk}).content.decode()
    assert times["starts_at"] in copy
    assert "open data-modal" in copy
    assert '<option value="weekly" selected>' in copy
    lift = reverse("settings-freeze-lift", args=[freeze.pk])
    assert "can be published at the times when this freeze would apply" in client.post(lift).content.decode()
    client.post(lift, YES)
    assert "Rule not found" in client.post(lift, YES, follow=True).content.decode()


def test_who_governs_one_zone_sees_and_places_rules_about_that_alone(alice: User, browser: Browser, zone: Zone) -> None:
    mia = make_person("mia", "member")
    grant = Grant(frozenset({Right.READ, Right.GOVERN}), zones=frozenset({zone.pk}))
    GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    browser(alice).post(RULES, {**RULE, **ALL, "reason": "Of all"})
    assert ApprovalRule.objects.exists()
    client = browser(mia)
    assert client.post(RULES, {**RULE, **ALL, "reason": "Of mine"}).status_code == 403
    page = client.post(RULES, {**RULE, "zone": "example.test", "reason": "Of mine"}, follow=True).content.decode()
    assert "Of mine" in page
    assert "Of all" not in page
