"""RRsets with an expiry time: the rights that count, changes that keep the time, and reasons not to remove one."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Right, actor_of_token
from dnspanel.accounts.models import AuditEntry, GrantRow, Role, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import ExpiryRefused, RightMissing, Unknown
from dnspanel.zones.log import publish_hold
from dnspanel.zones.models import Channel, Expiry, LogHead, Publication, RRset, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.publishing.expiry import (
    LONGEST,
    TRIED_AGAIN_AFTER,
    cancel_expiry,
    expiring,
    expiry_of,
    remove_due,
    set_expiry,
)
from dnspanel.zones.publishing.zone_patches import Step, patch_of_steps, publish_patches, remove_rrset, replace_with
from dnspanel.zones.tasks import remove_expired
from replication.dns import rdtypes
from replication.dns.rrset import Key
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)

WWW = ("www.example.test.", rdtypes.A)
OLD = ("old.example.test.", rdtypes.A)
DUE = NOW + timedelta(days=1)


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    more = [f"h{number} 300 A 192.0.2.9" for number in range(30)]
    return make_zone("www 300 A 192.0.2.1", "old 300 A 192.0.2.2", *more)


def expire(zone: Zone, author: User, key: Key = WWW, *, at: datetime = DUE) -> None:
    set_expiry(zone=zone, key=key, remove_at=at, author=author, now=NOW)


def publish(zone: Zone, key: Key, step: Step, author: User | None = None) -> None:
    publish_patches(patches=[patch_of_steps(zone, [(key, step)])], acting=Acting(author, Channel.API, NOW))


def is_published(zone: Zone, key: Key = WWW) -> bool:
    return RRset.objects.filter(zone=zone, name=key[0], type=key[1]).exists()


def test_what_a_person_set_in_a_day_is_removed_by_one_publication_when_it_is_due(
    zone: Zone, make_zone: MakeZone, alice: User, bob: User
) -> None:
    other = make_zone("www 300 A 192.0.2.1", name="other.test.")
    expire(zone, bob)
    expire(zone, bob, OLD)
    expire(other, bob, ("www.other.test.", rdtypes.A))
    expire(zone, alice, ("h1.example.test.", rdtypes.A))
    before = Publication.objects.count()
    assert remove_due(now=DUE - timedelta(seconds=1)) == 0
    assert Publication.objects.count() == before
    assert remove_due(now=DUE) == 4
    assert not is_published(zone)
    assert not is_published(zone, OLD)
    assert Expiry.objects.count() == 0
    by = Publication.objects.order_by("-pk")[:2]
    assert Publication.objects.count() == before + 2
    assert {(each.author, each.channel, each.reason) for each in by} == {
        (bob, Channel.SYSTEM, "Expired as scheduled by bob on 2026-11-21."),
        (alice, Channel.SYSTEM, "Expired as scheduled by alice on 2026-11-21."),
    }
    assert remove_due(now=DUE) == 0


def test_a_time_is_set_anew_and_cancelled_and_the_audit_log_says_so(zone: Zone, alice: User, bob: User) -> None:
    expire(zone, alice)
    expire(zone, bob, at=DUE + timedelta(days=1))
    found = expiry_of(zone, WWW)
    assert found is not None
    assert (found.remove_at, found.set_by) == (DUE + timedelta(days=1), bob)
    assert remove_due(now=DUE) == 0
    cancel_expiry(zone=zone, key=WWW, author=bob, now=NOW)
    cancel_expiry(zone=zone, key=WWW, author=bob, now=NOW)
    assert remove_due(now=DUE + timedelta(days=9)) == 0
    assert is_published(zone)
    entries = AuditEntry.objects.filter(action="zone.expiry", target=zone.name).order_by("pk")
    assert [(e.user, e.details["remove_at_before"], e.details["remove_at"]) for e in entries] == [
        (alice, "", f"{DUE:%Y-%m-%dT%H:%M:%SZ}"),
        (bob, f"{DUE:%Y-%m-%dT%H:%M:%SZ}", f"{DUE + timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"),
        (bob, f"{DUE + timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}", ""),
    ]


def test_it_needs_the_right_to_remove_this_rrset_and_an_rrset_that_can_go(zone: Zone, bob: User, charlie: User) -> None:
    for act in (lambda: expire(zone, charlie), lambda: cancel_expiry(zone=zone, key=WWW, author=charlie, now=NOW)):
        with pytest.raises(RightMissing):
            act()
    for key in ((zone.name, rdtypes.SOA), ("none.example.test.", rdtypes.A)):
        with pytest.raises(ExpiryRefused):
            expire(zone, bob, key)
    for at in (NOW, NOW + LONGEST + timedelta(seconds=1)):
        with pytest.raises(ExpiryRefused):
            expire(zone, bob, at=at)
    edit.delete_zone(zone=zone, acting=Acting(bob, "web", NOW))
    with pytest.raises(Unknown):
        expire(zone, bob)
    assert Expiry.objects.count() == 0


def test_it_stays_when_the_rrset_is_edited_and_goes_with_it(zone: Zone, alice: User) -> None:
    expire(zone, alice)
    expire(zone, alice, OLD)
    publish(zone, WWW, replace_with(rr("www 60 A 192.0.2.77")))
    assert expiry_of(zone, WWW)
    publish(zone, WWW, remove_rrset)
    publish(zone, WWW, replace_with(rr("www 60 A 192.0.2.78")))
    assert not expiry_of(zone, WWW)
    assert remove_due(now=DUE) == 1
    assert is_published(zone)
    assert not is_published(zone, OLD)


def test_in_the_trash_it_waits_and_goes_with_the_zone(zone: Zone, alice: User) -> None:
    expire(zone, alice)
    edit.delete_zone(zone=zone, acting=Acting(alice, "web", NOW))
    assert remove_due(now=DUE) == 0
    edit.restore_zone(zone=zone, author=alice, channel="web", now=DUE)
    assert remove_due(now=DUE) == 1
    expire(zone, alice, OLD)
    edit.delete_zone(zone=zone, acting=Acting(alice, "web", NOW))
    edit.empty_trash(now=NOW + timedelta(days=40))
    assert Expiry.objects.count() == 0


def test_who_lost_the_right_removes_nothing_and_the_rest_goes(zone: Zone, alice: User) -> None:
    mia = make_person("mia", Role.MEMBER)
    grants = [
        GrantRow.objects.create(
            user=mia,
            grant=Grant(EVERY_RIGHT, zones=frozenset({zone.pk}), names=(name,)).to_json(),
            created_at=NOW,
        )
        for name in ("www", "old")
    ]
    expire(zone, mia)
    expire(zone, mia, OLD)
    grants[0].delete()
    assert remove_due(now=DUE) == 1
    found = expiry_of(zone, WWW)
    assert found is not None
    assert (found.refusal, found.tried_at) == ("mia is no longer allowed to delete the record.", DUE)
    assert not is_published(zone, OLD)
    GrantRow.objects.create(user=mia, grant=Grant(EVERY_RIGHT, everywhere=True).to_json(), created_at=NOW)
    assert remove_due(now=DUE + TRIED_AGAIN_AFTER - timedelta(seconds=1)) == 0
    assert remove_due(now=DUE + TRIED_AGAIN_AFTER) == 1


def test_a_closed_account_and_a_revoked_token_remove_nothing(zone: Zone, alice: User, bob: User) -> None:
    scope = (Grant(EVERY_RIGHT, everywhere=True),)
    token = create_token(owner=alice, terms=TokenTerms("CI", scope), by=alice, now=NOW).token
    actor = actor_of_token(token)
    assert actor is not None
    set_expiry(zone=zone, key=WWW, remove_at=DUE, author=actor, now=NOW)
    expire(zone, bob, OLD)
    User.objects.filter(pk=bob.pk).update(is_active=False)
    token.revoked_at = NOW
    token.save()
    assert remove_due(now=DUE) == 0
    assert {each.refusal for each in Expiry.objects.all()} == {
        "The token that set the expiry was revoked.",
        "The account that set the expiry is closed.",
    }
    token.revoked_at = None
    token.save()
    assert remove_due(now=DUE + TRIED_AGAIN_AFTER) == 1
    assert Publication.objects.latest("pk").token == token


def test_what_a_rule_or_the_guard_forbids_stays_and_says_why(zone: Zone, make_zone: MakeZone, alice: User) -> None:
    expire(zone, alice, (zone.name, rdtypes.NS))
    small = make_zone(*(f"g{number} 300 A 192.0.2.9" for number in range(30)), name="small.test.")
    for number in range(30):
        expire(small, alice, (f"g{number}.small.test.", rdtypes.A))
    expire(zone, alice)
    assert remove_due(now=DUE) == 1
    refusals = {(each.zone.name, each.refusal) for each in Expiry.objects.select_related("zone")}
    assert len(refusals) == 2
    assert dict(refusals)["small.test."].startswith("small.test.: ")
    assert "NS" in dict(refusals)["example.test."]
    assert Expiry.objects.filter(zone=small).count() == 30


def test_while_publishing_is_held_all_wait_untried(zone: Zone, alice: User) -> None:
    expire(zone, alice)
    publish_hold.hold(reason="nodes know more.", now=NOW)
    assert remove_due(now=DUE) == 0
    assert Expiry.objects.get().tried_at is None
    LogHead.objects.update(held_reason="", held_since=None)
    assert remove_due(now=DUE) == 1


def test_the_task_removes_what_is_due_now(zone: Zone, alice: User) -> None:
    expire(zone, alice)
    Expiry.objects.update(remove_at=timezone.now())
    remove_expired()
    assert not is_published(zone)


def test_a_list_has_what_one_may_see(zone: Zone, alice: User) -> None:
    expire(zone, alice)
    expire(zone, alice, OLD, at=DUE + timedelta(days=30))
    mia = make_person("mia", Role.MEMBER)
    until = NOW + timedelta(days=7)
    assert [each.name for each in expiring(alice, until=until, limit=5)] == ["www.example.test."]
    assert expiring(mia, until=until, limit=5) == []
    grant = Grant(frozenset({Right.READ}), zones=frozenset({zone.pk}))
    GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    assert len(expiring(User.objects.get(pk=mia.pk), until=until, limit=5)) == 1
