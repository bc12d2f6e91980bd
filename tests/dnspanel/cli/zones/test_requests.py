"""Tests of `dnspanel requests`."""

from dataclasses import replace
from datetime import timedelta

from django.utils import timezone

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.zones.drafts import draft
from dnspanel.zones.governance import publish_rules
from dnspanel.zones.governance.publish_rules import ApprovalTerms, Scope
from dnspanel.zones.models import Zone
from tests.dnspanel.cli.conftest import EVERYTHING, Run
from tests.dnspanel.zones.conftest import rr
from tests.people import make_person


def four_eyes(zone: Zone) -> str:
    """Require another editor's approval for changes to the zone. Return an approving editor's token."""
    alice, bob, now = make_person("alice", Role.ADMINISTRATOR), make_person("bob", Role.EDITOR), timezone.now()
    terms = ApprovalTerms(role=Role.EDITOR)
    publish_rules.add_approval_rule(scope=Scope(zone=zone), terms=terms, reason="Four eyes", author=alice, now=now)
    approving = replace(EVERYTHING, permissions=frozenset({Permission.FLEET, Permission.APPROVE}))
    return create_token(owner=bob, terms=approving, by=bob, now=now).secret


def test_a_request_is_made_looked_at_approved_and_published(run: Run, erin: User) -> None:
    run("zones", "create", "example.test")
    zone = Zone.objects.get(name="example.test.")
    others, now = four_eyes(zone), timezone.now()

    assert "No requests." in run("requests", "list").err
    refused = run("records", "add", "example.test", "www", "A", "192.0.2.1")
    assert (refused.code, "Four eyes" in refused.err) == (1, True)
    draft.replace_rrset(author=erin, zone=zone, rrset=rr("www 300 A 192.0.2.1"), now=now)
    made = run("requests", "ask", "Move", "--zone", "example.test", "--reason", "DNS-42", "--output", "json").json
    key, digest = made["key"], made["digest"]
    assert (made["state"], made["reason"]) == ("open", "DNS-42")

    listed = run("requests", "list", "--waiting", token=others).out
    assert key in listed
    page = run("requests", "show", key, token=others).out
    assert "+ www.example.test. 300 A 192.0.2.1" in page
    assert "0 of 1 approvals" in page
    assert digest in page
    assert run("requests", "publish", key).code == 1
    assert run("requests", "approve", key, "of-something-else", token=others).code == 1
    assert run("requests", "comment", key, "Why now?", token=others).code == 0
    approved = run("requests", "approve", key, digest, "--comment", "Good", token=others).out
    assert "1 of 1 approvals" in approved
    published = run("requests", "publish", key, "--output", "json").json
    assert published["state"] == "published"
    assert run("requests", "list", "--output", "json").json[0]["state"] == "published"
    assert "192.0.2.1" in run("records", "list", "example.test").out


def test_a_request_is_planned_refused_and_withdrawn(run: Run, erin: User) -> None:
    run("zones", "create", "example.test")
    zone, now = Zone.objects.get(name="example.test."), timezone.now()
    others = four_eyes(zone)
    keys, night = [], (now + timedelta(days=30)).strftime("%Y-%m-%dT02:00:00Z")
    for name in ("one", "two"):
        draft.replace_rrset(author=erin, zone=zone, rrset=rr(f"{name} 300 A 192.0.2.1"), now=now)
        keys.append(run("requests", "ask", name, "--at", night, "--output", "json").json["key"])
    assert night[:10] in run("requests", "list").out
    planned = run("requests", "plan", keys[0], "--output", "json").json
    assert planned["publish_at"] is None
    declined = run("requests", "refuse", keys[0], "Not this week", token=others)
    assert "Not this week" in declined.out
    assert run("requests", "withdraw", keys[1], "--output", "json").json["state"] == "withdrawn"
    assert run("requests", "show", "00000000-0000-0000-0000-000000000000").code == 1
    assert run("requests", "list", "--waiting", "--past-rules").code == 2
    emergency = run("requests", "publish", keys[1], "--past-rules", "Fire")
    assert emergency.code == 1
    assert run("requests", "list", "--past-rules", "--output", "json").json == []
