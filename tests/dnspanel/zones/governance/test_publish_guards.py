"""Approval rules and freezes apply in one place to all interfaces. Also tests `governance.publish_rules`."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Actor, Grant, Right, SystemRight, actor_of_token
from dnspanel.accounts.models import AuditEntry, GrantRow, Team, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.primaries.set_up_primaries import Terms, create_transferred_zone
from dnspanel.transfer.job_rights import rights_of
from dnspanel.transfer.models import ImportJob
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import (
    ApprovalNeeded,
    Frozen,
    Locked,
    NameRefused,
    NamesRefused,
    RightMissing,
    RuleRefused,
    RuleUnknown,
)
from dnspanel.zones.governance import publish_rules
from dnspanel.zones.governance.publish_rules import ApprovalTerms, FreezeTimes, Scope
from dnspanel.zones.models import ApprovalRule, Channel, Freeze, PublishRequest, RequestState, Zone
from dnspanel.zones.publishing import clone, edit, ready_zones, restore_zones, revision, zone_patches
from dnspanel.zones.publishing.bulk import ZoneChange, change_zones, delete_zones, undo_zone_changes
from dnspanel.zones.publishing.expiry import expiry_of, remove_due, set_expiry
from dnspanel.zones.settings.settings_of_zone import change_settings
from dnspanel.zones.signing import sign
from dnspanel.zones.store import store_rrsets
from replication.dns import rdtypes
from replication.dns.rrset import Change, Key
from tests.dnspanel.zones import ruled
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)

WWW: Key = ("www.example.test.", rdtypes.A)
MX: Key = ("example.test.", rdtypes.MX)
HOUR = timedelta(hours=1)


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 60 A 192.0.2.1", "@ 60 MX 10 mail.example.test.", "mail 60 A 192.0.2.2")


@pytest.fixture
def adam(db: None) -> User:
    return make_person("adam", "administrator")


@pytest.fixture
def erin(db: None) -> User:
    return make_person("erin", "editor")


@pytest.fixture
def token(alice: User) -> Actor:
    terms = TokenTerms(purpose="CI", scope=(Grant(EVERY_RIGHT, everywhere=True),))
    token = create_token(owner=alice, terms=terms, by=alice, now=NOW).token
    actor = actor_of_token(token)
    assert actor is not None
    return actor


def rule(adam: User, scope: Scope | None = None, **terms: Any) -> ApprovalRule:
    given = ApprovalTerms(**terms)
    return publish_rules.add_approval_rule(
        scope=scope or Scope(), terms=given, reason="Four eyes", author=adam, now=NOW
    )


def freeze(adam: User, scope: Scope | None = None, **times: Any) -> Freeze:
    given = FreezeTimes(**{"starts_at": NOW - HOUR, "ends_at": NOW + HOUR, **times})
    return publish_rules.add_freeze(scope=scope or Scope(), times=given, reason="Year's end", author=adam, now=NOW)


def publish(
    zone: Zone, author: User | Actor | None, key: Key = WWW, value: str = "192.0.2.9", reason: str = ""
) -> None:
    line = f"{key[0]} 60 MX {value}" if key == MX else f"{key[0]} 60 A {value}"
    patch = zone_patches.patch_of_steps(zone, [(key, zone_patches.replace_with(rr(line)))])
    zone_patches.publish_patches(patches=[patch], acting=Acting(author, Channel.API, NOW, reason))


def repair(zone: Zone, value: str) -> None:
    """Change the zone as the panel itself, under a system right."""
    patch = zone_patches.patch_of_steps(zone, [(WWW, zone_patches.replace_with(rr(f"{WWW[0]} 60 A {value}")))])
    zone_patches.publish_patches(patches=[patch], acting=Acting(None, Channel.SYSTEM, NOW), under=SystemRight.REPAIR)


def number(zone: Zone) -> int:
    return Zone.objects.get(pk=zone.pk).revision


def test_a_zone_that_no_rule_is_about_is_asked_nothing(
    zone: Zone, make_zone: MakeZone, alice: User, adam: User
) -> None:
    draft.replace_rrset(author=alice, zone=zone, rrset=rr("www.example.test. 60 A 192.0.2.39"), now=NOW)
    publish(zone, alice, value="192.0.2.40")
    with CaptureQueriesContext(connection) as before:
        publish(zone, alice, value="192.0.2.41")
        draft.replace_rrset(author=alice, zone=zone, rrset=rr("www.example.test. 60 A 192.0.2.42"), now=NOW)
    other = make_zone(name="other.test.")
    rule(adam, Scope(zone=other))
    rule(adam, Scope(tag="shop"))
    freeze(adam, Scope(zone=other))
    freeze(adam, starts_at=NOW + HOUR, ends_at=NOW + 2 * HOUR)  # for all zones, but not now
    with CaptureQueriesContext(connection) as after:
        publish(zone, alice, value="192.0.2.43")
        draft.replace_rrset(author=alice, zone=zone, rrset=rr("www.example.test. 60 A 192.0.2.44"), now=NOW)
    assert len(after) == len(before)


def test_a_rule_about_a_zone_that_does_not_concern_a_change_costs_no_query(
    zone: Zone, make_zone: MakeZone, alice: User, adam: User
) -> None:
    publish(zone, alice, value="192.0.2.40")
    with CaptureQueriesContext(connection) as before:
        publish(zone, alice, value="192.0.2.41")
    rule(adam, Scope(zone=zone), types=[rdtypes.MX])
    rule(adam, types=[rdtypes.NS])  # for all zones
    rule(adam, Scope(zone=zone), min_changes=2)
    with CaptureQueriesContext(connection) as after:
        publish(zone, alice, value="192.0.2.42")
    assert len(after) == len(before)
    with pytest.raises(ApprovalNeeded):
        publish(zone, alice, key=MX, value="10 mx.example.test.")


SCOPES: dict[str, Callable[[Zone, Team], Scope]] = {
    "the zone": lambda zone, team: Scope(zone=zone),
    "its tag": lambda zone, team: Scope(tag="shop"),
    "its team": lambda zone, team: Scope(team=team),
    "every zone": lambda zone, team: Scope(),
}


@pytest.mark.parametrize("about", SCOPES)
def test_a_rule_and_a_freeze_are_about_a_zone_a_tag_a_team_or_all(
    about: str, zone: Zone, make_zone: MakeZone, alice: User, adam: User
) -> None:
    team = Team.objects.create(name="NOC", created_at=NOW)
    Zone.objects.filter(pk=zone.pk).update(tags=["shop"], team=team)
    other = make_zone(name="other.test.")
    placed = rule(adam, SCOPES[about](zone, team))
    with pytest.raises(ApprovalNeeded, match="approval from 1 person"):
        publish(zone, alice)
    other_key = ("www.other.test.", rdtypes.A)
    if about != "every zone":
        publish(other, alice, other_key)
    publish_rules.lift_approval_rule(rule_id=placed.pk, author=adam, now=NOW)
    publish(zone, alice)
    frozen = freeze(adam, SCOPES[about](zone, team))
    with pytest.raises(Frozen, match="Year's end"):
        publish(zone, alice, value="192.0.2.10")
    publish_rules.lift_freeze(freeze_id=frozen.pk, author=adam, now=NOW)
    publish(zone, alice, value="192.0.2.10")
    assert [e.action for e in AuditEntry.objects.filter(action__contains=".lift").order_by("pk")] == [
        "rule.lift",
        "freeze.lift",
    ]


def test_a_rule_may_be_about_some_types_or_large_changes(zone: Zone, alice: User, adam: User) -> None:
    rule(adam, types=[rdtypes.MX])
    publish(zone, alice)
    with pytest.raises(ApprovalNeeded):
        publish(zone, alice, MX, "20 mail.example.test.")
    ApprovalRule.objects.all().delete()
    rule(adam, min_changes=2)
    publish(zone, alice, value="192.0.2.11")
    steps = [(WWW, zone_patches.remove_rrset), (MX, zone_patches.remove_rrset)]
    with pytest.raises(ApprovalNeeded):
        zone_patches.publish_patches(
            patches=[zone_patches.patch_of_steps(zone, steps)], acting=Acting(alice, Channel.API, NOW)
        )


def test_every_way_to_publish_is_asked(zone: Zone, alice: User, adam: User, token: Actor) -> None:
    publish(zone, alice)
    before = zone.__class__.objects.get(pk=zone.pk)
    made = revision.Publication.objects.order_by("-sequence").first()
    assert made is not None
    rule(adam, Scope(zone=zone))
    draft.replace_rrset(author=alice, zone=zone, rrset=rr("www.example.test. 60 A 192.0.2.50"), now=NOW)
    with pytest.raises(ApprovalNeeded):
        revision.publish(acting=Acting(alice, Channel.WEB, NOW), consent=revision.Consent(accept_warnings=True))
    with pytest.raises(ApprovalNeeded):
        publish(zone, token, value="192.0.2.52")
    with pytest.raises(ApprovalNeeded):
        edit.delete_zone(zone=zone, acting=Acting(alice, Channel.WEB, NOW))
    changes = {WWW: rr("www.example.test. 60 A 192.0.2.51")}
    given = [ZoneChange(zone.pk, before.revision, changes)]
    assert change_zones(changes=given, acting=Acting(alice, Channel.IMPORT, NOW)) == (None, [zone.pk])
    deleted = delete_zones(zones=[(zone.pk, before.revision)], acting=Acting(alice, Channel.WEB, NOW))
    assert deleted == (None, [zone.pk])
    undone = undo_zone_changes(sequence=made.sequence, acting=Acting(alice, Channel.WEB, NOW))
    assert undone == (None, [(zone.name, *WWW)])
    assert number(zone) == before.revision
    with pytest.raises(ApprovalNeeded):
        publish(zone, None, value="192.0.2.53")  # the panel itself has no way past a rule
    repair(zone, "192.0.2.53")
    assert number(zone) == before.revision + 1


def test_keys_and_signatures_go_on_under_rules_and_freezes(zone: Zone, adam: User) -> None:
    rule(adam)
    freeze(adam)
    sign.sign(zones=[zone], acting=Acting(adam, Channel.WEB, NOW))
    assert number(zone) > zone.revision


def test_a_token_that_the_rule_names_publishes_without(zone: Zone, alice: User, adam: User, token: Actor) -> None:
    assert token.token is not None
    rule(adam, tokens=[token.token])
    publish(zone, token)
    with pytest.raises(ApprovalNeeded):
        publish(zone, alice, value="192.0.2.10")


def test_a_ticket_in_the_reason_is_enough_where_nobody_has_to_approve(zone: Zone, alice: User, adam: User) -> None:
    rule(adam, needed=0, ticket="OPS-#")
    with pytest.raises(ApprovalNeeded, match="OPS-#"):
        publish(zone, alice, reason="because")
    publish(zone, alice, reason="Moves the web (OPS-7)")


def test_who_governs_a_zone_goes_past_its_rules_with_a_reason(zone: Zone, erin: User, adam: User) -> None:
    rule(adam)
    freeze(adam)
    for person in (erin, adam):
        draft.replace_rrset(author=person, zone=zone, rrset=rr("www.example.test. 60 A 192.0.2.66"), now=NOW)
    how: dict[str, Any] = {"channel": Channel.WEB, "now": NOW}
    past = revision.Consent(accept_warnings=True, past_rules=True)
    with pytest.raises(RightMissing, match="bypass the approval rules"):
        revision.publish(acting=Acting(author=erin, **how), consent=replace(past, reason="fire"))
    with pytest.raises(ApprovalNeeded, match="Enter a reason"):
        revision.publish(acting=Acting(author=adam, **how), consent=past)
    publication = revision.publish(acting=Acting(author=adam, **how), consent=replace(past, reason="The web is down"))
    kept = PublishRequest.objects.get()
    assert (kept.state, kept.publication_id, kept.reason) == (
        RequestState.PAST_RULES,
        publication.sequence,
        "The web is down",
    )
    entry = AuditEntry.objects.get(action="publication.past-rules")
    assert len(entry.details["rules"]) == 2


def test_nobody_takes_a_zone_out_of_a_rule_by_its_tags_or_team(zone: Zone, erin: User, adam: User) -> None:
    Zone.objects.filter(pk=zone.pk).update(tags=["shop"])
    zone.refresh_from_db()
    rule(adam, Scope(tag="shop"))
    with pytest.raises(RightMissing):
        change_settings(zone=zone, tags=[], team=None, author=erin, now=NOW)
    change_settings(zone=zone, tags=["shop", "more"], team=None, author=erin, now=NOW)
    change_settings(zone=zone, tags=[], team=None, author=adam, now=NOW)


def test_who_governs_some_zones_places_and_lifts_rules_about_those_alone(
    zone: Zone, make_zone: MakeZone, adam: User, erin: User
) -> None:
    grant = Grant(frozenset({Right.READ, Right.GOVERN}), zones=frozenset({zone.pk}))
    mia = make_person("mia", "member")
    GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    other = make_zone(name="other.test.")
    placed = rule(mia, Scope(zone=zone))
    for refused in (Scope(), Scope(zone=other), Scope(tag="shop")):
        with pytest.raises(RightMissing):
            rule(mia, refused)
    with pytest.raises(RightMissing):
        rule(erin, Scope(zone=zone))  # an editor of all zones
    everywhere = rule(adam)
    with pytest.raises(RuleUnknown):
        publish_rules.lift_approval_rule(rule_id=everywhere.pk, author=mia, now=NOW)
    assert publish_rules.approval_rules(mia) == [placed]
    publish_rules.lift_approval_rule(rule_id=placed.pk, author=mia, now=NOW)


@pytest.mark.parametrize(
    ("field", "terms"),
    [
        ("needed", {"needed": 4}),
        ("needed", {"needed": 0}),
        ("min_changes", {"min_changes": 0}),
        ("role", {"role": "king"}),
        ("ticket", {"ticket": "(a+)+"}),
        ("ticket_link", {"ticket": "A#", "ticket_link": "javascript:{ticket}"}),
        ("ticket_link", {"ticket": "A#", "ticket_link": "https://t.test/"}),
        ("ticket_link", {"ticket_link": "https://t.test/{ticket}"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_rule_that_cannot_be_is_refused_at_its_field(field: str, terms: dict[str, Any], adam: User) -> None:
    with pytest.raises(RuleRefused) as refused:
        rule(adam, **terms)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("field", "times"),
    [
        ("ends_at", {"ends_at": NOW - 2 * HOUR}),
        ("ends_at", {"starts_at": NOW - 3 * HOUR, "ends_at": NOW - HOUR}),
        ("ends_at", {"ends_at": NOW + timedelta(days=61)}),
        ("repeats", {"repeats": "FREQ=SECONDLY"}),
        ("time_zone", {"time_zone": "../../etc/passwd"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_freeze_that_cannot_be_is_refused_at_its_field(field: str, times: dict[str, Any], adam: User) -> None:
    with pytest.raises(RuleRefused) as refused:
        freeze(adam, **times)
    assert refused.value.field == field


def test_a_record_that_expires_stays_for_the_reason_that_the_rule_gives(zone: Zone, erin: User, adam: User) -> None:
    set_expiry(zone=zone, key=WWW, remove_at=NOW + HOUR, author=erin, now=NOW)
    rule(adam)
    assert remove_due(now=NOW + 2 * HOUR) == 0
    expiry = expiry_of(zone, WWW)
    assert expiry is not None
    assert "Four eyes" in expiry.refusal


def test_an_import_and_a_zone_without_a_rule_in_one_batch(
    zone: Zone, make_zone: MakeZone, erin: User, adam: User
) -> None:
    other = make_zone(name="other.test.")
    rule(adam, Scope(zone=zone))
    given = [
        ZoneChange(each.pk, each.revision, {(f"new.{each.name}", rdtypes.A): rr(f"new.{each.name} 60 A 192.0.2.5")})
        for each in (zone, other)
    ]
    publication, left = change_zones(changes=given, acting=Acting(erin, Channel.IMPORT, NOW))
    assert publication is not None
    assert left == [zone.pk]
    change = Change("new.example.test.", rdtypes.A, None, rr("new.example.test. 60 A 192.0.2.5"))
    job = ImportJob(author=erin, source="files")
    fault = rights_of(job).refusal(zone, {change.key: change.after}, {})
    assert fault is not None
    assert "approval from 1 person" in fault.reason
    assert rights_of(job).refusal(other, {(f"new.{other.name}", rdtypes.A): None}, {}) is None


BELOW = "deep.www.example.test."


def create_ready(zone: Zone, author: User) -> None:
    [id] = ready_zones.allocate_zone_ids(1)
    content = [rr(f"{BELOW} 60 SOA ns1.test. h.test. 1 2 3 4 5")]
    ready_zones.create_ready_zones(
        zones=[ready_zones.BulkZone(id, BELOW, 1, 1)],
        rows=lambda: [store_rrsets.rows_of_zone(id, BELOW, content)],
        acting=Acting(author, Channel.IMPORT, NOW),
    )


def clone_it(zone: Zone, author: User) -> None:
    clone.clone_zone(source=zone, zone_names=[BELOW], acting=Acting(author, Channel.WEB, NOW))


def restore_all(zone: Zone, author: User) -> None:
    trashed = list(Zone.objects.filter(name=BELOW).exclude(deleted_at=None))
    outcome = restore_zones.restore_zones(zones=trashed, acting=Acting(author, Channel.WEB, NOW)).outcome
    if outcome.refused:
        raise NamesRefused({BELOW: NameRefused(BELOW, outcome.refused[0][1])})


COMING: dict[str, Callable[[Zone, User], object]] = {
    "create": lambda zone, author: edit.create_zone(zone=edit.NewZone(BELOW), acting=Acting(author, Channel.WEB, NOW)),
    "create many": lambda zone, author: edit.create_zones(
        zones=[edit.NewZone("far.test."), edit.NewZone(BELOW)], acting=Acting(author, Channel.WEB, NOW)
    ),
    "clone": clone_it,
    "import": create_ready,
    "from elsewhere": lambda zone, author: create_transferred_zone(
        name=BELOW, terms=Terms(["9.9.9.9"]), acting=Acting(author, Channel.API, NOW)
    ),
    "restore": lambda zone, author: edit.restore_zone(
        zone=Zone.objects.get(name=BELOW), author=author, channel=Channel.WEB, now=NOW
    ),
    "restore many": restore_all,
}


@pytest.mark.parametrize("kind", ruled.PLACE)
@pytest.mark.parametrize("way", COMING)
def test_a_new_zone_is_asked_of_the_rules_of_the_zone_above(
    way: str, kind: str, zone: Zone, erin: User, adam: User
) -> None:
    """Previously the author of a new zone `www.example.test` could bypass the rules of the zone above."""
    if way.startswith("restore"):
        edit.create_zone(zone=edit.NewZone(BELOW), acting=Acting(erin, Channel.WEB, NOW))
        edit.delete_zone(zone=Zone.objects.get(name=BELOW), acting=Acting(erin, Channel.WEB, NOW))
    lift = ruled.lock(zone, adam, name="www.example.test.") if kind == "lock" else ruled.PLACE[kind](zone, adam)
    with pytest.raises((ruled.REFUSAL[kind], NamesRefused)):
        COMING[way](zone, erin)
    assert not Zone.objects.filter(name__in=(BELOW, "far.test."), deleted_at=None).exists()
    lift()
    COMING[way](zone, erin)
    assert Zone.objects.filter(name=BELOW, deleted_at=None).exists()


def test_a_new_zone_is_asked_of_the_closest_zone_above_only(zone: Zone, erin: User, adam: User) -> None:
    edit.create_zone(zone=edit.NewZone("www.example.test."), acting=Acting(erin, Channel.WEB, NOW))
    rule(adam, Scope(zone=zone))
    edit.create_zone(zone=edit.NewZone(BELOW), acting=Acting(erin, Channel.WEB, NOW))
    with pytest.raises(ApprovalNeeded, match="can’t become separate zones"):
        edit.create_zone(zone=edit.NewZone("mail.example.test."), acting=Acting(erin, Channel.WEB, NOW))


@pytest.mark.parametrize(
    ("name", "type", "keeps"),
    [
        ("www.example.test.", rdtypes.A, False),
        ("deep.www.example.test.", rdtypes.A, True),
        ("a.deep.www.example.test.", None, True),
        ("mail.example.test.", None, False),
    ],
)
def test_a_lock_of_a_name_keeps_new_zones_that_take_it(
    name: str, type: int | None, keeps: bool, zone: Zone, erin: User, adam: User
) -> None:
    ruled.lock(zone, adam, name=name, type=type)
    if keeps:
        with pytest.raises(Locked):
            edit.create_zone(zone=edit.NewZone(BELOW), acting=Acting(erin, Channel.WEB, NOW))
        edit.create_zone(zone=edit.NewZone(BELOW), acting=Acting(adam, Channel.WEB, NOW))
    else:
        edit.create_zone(zone=edit.NewZone(BELOW), acting=Acting(erin, Channel.WEB, NOW))


def test_a_ticket_in_the_reason_lets_a_new_zone_pass(zone: Zone, erin: User, adam: User) -> None:
    rule(adam, Scope(zone=zone), needed=0, ticket="OPS-#")
    with pytest.raises(ApprovalNeeded, match="ticket"):
        edit.create_zone(zone=edit.NewZone(BELOW), acting=Acting(erin, Channel.WEB, NOW))
    edit.create_zone(zone=edit.NewZone(BELOW), acting=Acting(erin, Channel.WEB, NOW, "OPS-7"))
