"""The items that need attention: each kind, the people who see it, and its link."""

from datetime import timedelta

from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.alerts.models import Alert
from dnspanel.fleet.models import Node
from dnspanel.fleet.reads.queries import node_statuses
from dnspanel.transfer.models import ImportJob
from dnspanel.web.dashboard.attention import MOST_AT_ONCE, MOST_LISTED, Group, Line, attention_groups
from dnspanel.zones.drafts import draft
from dnspanel.zones.governance import publish_rules
from dnspanel.zones.governance.publish_rules import ApprovalTerms, Scope
from dnspanel.zones.lists import queries
from dnspanel.zones.log import publish_hold
from dnspanel.zones.models import Expiry, Freeze, Publication, PublishRequest, Rollover, Zone
from dnspanel.zones.publishing.expiry import set_expiry
from dnspanel.zones.requests import publish_requests
from replication.dns import rdtypes
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.web.conftest import MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW, make_person


def groups_of(person: User) -> list[Group]:
    now = timezone.now()
    return attention_groups(person, node_statuses(now=now), queries.draft_summary(author=person), now)


def lines_of(person: User) -> list[Line]:
    return [line for group in groups_of(person) for line in group.lines]


def texts(person: User) -> list[str]:
    return [line.text for line in lines_of(person)]


def alert(number: int, *, severity: str = "warning", node: Node | None = None) -> None:
    now = timezone.now()
    Alert.objects.create(
        key=f"k{number}", kind="panel.disk", severity=severity, sentence=f"Alert {number}.", since=now, seen_at=now,
        node=node,
    )  # fmt: skip


def rollover(zone: Zone, *, is_stuck: bool) -> None:
    Rollover.objects.create(
        zone=zone, kind="zsk", step="publish", old_keys=[1], started_at=NOW, step_revision=1, step_at=NOW,
        waits_for="the parent to take the DS.", waits_since=NOW, is_stuck=is_stuck, clock=NOW, looked_at=NOW,
        epoch="00000000-0000-0000-0000-000000000001", parent_at=NOW, record_ttl=1, key_ttl=1, ttls_revision=1,
        signers_at=NOW,
    )  # fmt: skip


def test_a_quiet_panel_has_nothing_to_say(make_zone: MakeZone, alice: User) -> None:
    make_zone()
    assert lines_of(alice) == []


def test_open_alerts_are_for_who_sees_nodes_the_critical_first(bob: User) -> None:
    alert(1)
    alert(2, severity="critical")
    assert texts(bob) == ["Alert 2.", "Alert 1."]
    assert lines_of(bob)[0].tone == "bad"
    assert texts(make_person("mia", Role.MEMBER)) == []
    for number in range(3, 12):
        alert(number)
    alert(12, severity="info")
    assert texts(bob) == ["Alert 2.", "Panel disk is almost full (×10)"]
    assert lines_of(bob)[1].url == "/alerts/?open=panel.disk-warning"
    assert [(group.key, group.tone, group.count) for group in groups_of(bob)] == [("problems", "bad", 11)]
    Alert.objects.filter(severity="critical").update(read_by=[bob.pk])
    Alert.objects.filter(severity="warning").update(muted_until=timezone.now() + timedelta(hours=1))
    assert texts(bob) == []


def failed_import(author: User, title: str, days: int = 1) -> None:
    now = timezone.now()
    ImportJob.objects.create(
        title=title, author=author, created_at=now, phase_at=now, source="axfr", state="failed",
        ended_at=now - timedelta(days=days),
    )  # fmt: skip


def test_equal_lines_are_one_and_long_groups_are_cut(bob: User) -> None:
    for title in ("same", "same", *map(str, range(30))):
        failed_import(bob, title)
    [group] = groups_of(bob)
    assert group.count == 32
    assert [(line.text, line.count) for line in group.lines][:2] == [
        ("Your import same failed (×2)", 2),
        ("Your import 0 failed", 1),
    ]
    assert (len(group.first), len(group.behind)) == (MOST_AT_ONCE, MOST_LISTED - MOST_AT_ONCE)
    assert group.rest == 32 - 1 - MOST_LISTED


def test_groups_are_in_order_with_the_most_urgent_lines_first(make_zone: MakeZone, bob: User) -> None:
    zone, now = make_zone("www 300 A 192.0.2.1", "old 300 A 192.0.2.2"), timezone.now()
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("x 300 A 192.0.2.1"), now=now - timedelta(days=2))
    alert(1)
    alert(2, severity="critical")
    for name, days in (("www", 2), ("old", 1)):
        at = now + timedelta(days=days)
        set_expiry(zone=zone, key=(f"{name}.example.test.", rdtypes.A), remove_at=at, author=bob, now=now)
    rollover(zone, is_stuck=False)
    waiting, problems, soon = groups_of(bob)
    assert (waiting.key, waiting.tone, waiting.count) == ("waiting", "warn", 1)
    assert [line.text for line in problems.lines] == ["Alert 2.", "Alert 1."]
    assert (soon.key, soon.tone) == ("soon", "info")
    assert [line.text for line in soon.lines] == [
        "Key rollover for example.test.: the parent to take the DS.",
        "old.example.test. A will be removed",
        "www.example.test. A will be removed",
    ]


def test_several_moving_rollovers_are_one_line(make_zone: MakeZone, bob: User) -> None:
    for number in (1, 2):
        rollover(make_zone(name=f"z{number}.test."), is_stuck=False)
    [line] = lines_of(bob)
    assert (line.text, line.count, line.url) == ("Key rollovers in progress: 2", 2, "/dnssec/rollovers/")


def test_an_author_is_told_of_a_reverted_publication(make_zone: MakeZone, bob: User) -> None:
    mia = make_person("mia", Role.MEMBER)
    make_zone()
    failed = {"failed_at": timezone.now(), "failed_reason": "the canary did not answer."}
    Publication.objects.update(author=mia, **failed)
    [line] = lines_of(mia)
    assert line.text == "Your publication was reverted: the canary did not answer."
    Publication.objects.update(author=bob)
    assert (texts(mia), texts(bob)) == ([], [line.text])


def test_ones_own_requests_and_freezes_are_told(make_zone: MakeZone, bob: User) -> None:
    zone, now, adam = make_zone(), timezone.now(), make_person("adam", Role.ADMINISTRATOR)
    terms = ApprovalTerms(role=Role.EDITOR)
    publish_rules.add_approval_rule(scope=Scope(zone=zone), terms=terms, reason="Four eyes", author=adam, now=now)
    for name in ("scheduled", "declined"):
        draft.replace_rrset(author=bob, zone=zone, rrset=rr("x 300 A 192.0.2.1"), now=now)
        at = now + timedelta(days=1) if name == "scheduled" else None
        publish_requests.ask(author=bob, name=name, terms=publish_requests.Terms(publish_at=at), now=now)
    request = PublishRequest.objects.get(name="declined")
    erin = make_person("erin", Role.EDITOR)
    publish_requests.decline(request=request, by=erin, now=now, text="Not today")
    for reason, hours in (("now", -1), ("later", 1)):
        times = {"starts_at": now + timedelta(hours=hours), "ends_at": now + timedelta(hours=9)}
        Freeze.objects.create(reason=reason, placed_at=now, **times)
    groups = {group.key: [line.text for line in group.lines] for group in groups_of(bob)}
    assert groups == {
        "waiting": ["Your request “declined” was declined"],
        "problems": ["Publishing is frozen: now"],
        "soon": ["Publishing will be frozen: later", "“scheduled” will be published"],
    }


def test_a_node_that_is_not_well_is_told_unless_an_alert_does(bob: User, active_node: MakeNode) -> None:
    node = active_node("ns1")
    [line] = lines_of(bob)
    assert line.text.startswith("ns1: ")
    assert line.url == "/fleet/nodes/ns1/" or line.url.endswith("/ns1/")
    alert(1, node=node)
    assert texts(bob) == ["Alert 1."]


def test_held_publishing_is_told_to_everybody(bob: User) -> None:
    publish_hold.hold(reason="nodes know more.", now=NOW)
    assert texts(bob) == texts(make_person("mia", Role.MEMBER)) == ["Publishing is on hold: nodes know more."]


def test_a_draft_is_told_once_it_is_a_day_old(make_zone: MakeZone, alice: User, bob: User) -> None:
    zone = make_zone()
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("www 300 A 192.0.2.1"), now=timezone.now())
    assert texts(bob) == []
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("x 300 A 192.0.2.1"), now=timezone.now() - timedelta(hours=25))
    assert texts(bob) == ["Your draft has unpublished changes: 2 changes in 1 zone"]
    assert texts(alice) == []


def test_ones_own_imports_that_failed_lately_are_told(alice: User, bob: User) -> None:
    now = timezone.now()
    for author, days in ((bob, 1), (bob, 30), (alice, 1)):
        failed_import(author, f"of {author} {days}", days)
    assert texts(bob) == ["Your import of bob 1 failed"]
    ImportJob.objects.create(
        title="again", author=bob, created_at=now, phase_at=now, source="axfr", retry_of=ImportJob.objects.first()
    )
    assert texts(bob) == []


def test_tokens_that_end_soon_are_told(alice: User, bob: User) -> None:
    now = timezone.now()
    grant = Grant(frozenset({Right.READ}), everywhere=True)
    for purpose, days in (("soon", 3), ("later", 60)):
        terms = TokenTerms(purpose, (grant,), expires_at=now + timedelta(days=days))
        create_token(owner=bob, terms=terms, by=bob, now=now)
    [line] = lines_of(bob)
    assert line.text == "Your token soon expires"
    assert line.ends is not None
    assert texts(alice) == ["bob’s token soon expires"]


def test_rollovers_that_stand_still_are_told(make_zone: MakeZone, alice: User, bob: User) -> None:
    zone = make_zone()
    rollover(zone, is_stuck=True)
    [line] = lines_of(bob)
    assert line.text == "A key rollover for example.test. is stuck: the parent to take the DS."
    assert line.url == "/zones/example.test./dnssec/"
    assert texts(make_person("mia", Role.MEMBER)) == []


def test_records_that_go_by_themselves_within_a_week_are_told_to_who_sees_the_zone(
    make_zone: MakeZone, bob: User
) -> None:
    zone = make_zone("www 300 A 192.0.2.1", "old 300 A 192.0.2.2")
    now = timezone.now()
    for name, days in (("www", 2), ("old", 8)):
        at = now + timedelta(days=days)
        set_expiry(zone=zone, key=(f"{name}.example.test.", rdtypes.A), remove_at=at, author=bob, now=now)
    [line] = lines_of(bob)
    assert (line.text, line.tone, line.ends) == ("www.example.test. A will be removed", "info", now + timedelta(days=2))
    assert line.url.startswith("/zones/example.test./?at=www#rr-")
    assert texts(make_person("mia", Role.MEMBER)) == []
    Expiry.objects.filter(name="www.example.test.").update(refusal="It stays.", tried_at=now)
    [line] = lines_of(bob)
    assert (line.text, line.tone) == ("www.example.test. A expired but wasn’t removed: It stays.", "bad")
