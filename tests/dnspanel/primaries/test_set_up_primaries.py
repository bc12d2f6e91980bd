"""Tests of a zone's primaries: the right to set them, the read-only zone, and taking it over or giving it back.

Tests `primaries.signals` too: each operation wakes the workers.
"""

from typing import Any

import pytest

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.primaries import apply_transfer, set_up_primaries
from dnspanel.primaries.errors import NotTransferred, PrimariesRefused, TakeOverRefused
from dnspanel.primaries.set_up_primaries import Terms
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import ApprovalNeeded, DnssecRefused, RightMissing, Transferred
from dnspanel.zones.models import Channel, PublishRequest, RequestState, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.rights import access
from dnspanel.zones.signing import sign
from replication.dns import rdtypes
from replication.dns.rrset import make
from tests.dnspanel.primaries.conftest import KEY, ZONE, Primary, awaited, records_here, row_of, take_turn
from tests.dnspanel.zones import ruled
from tests.people import NOW
from tests.publishing import change_rrsets

pytestmark = pytest.mark.django_db(transaction=True)

NEW = {(f"new.{ZONE}", rdtypes.A): make(f"new.{ZONE}", rdtypes.A, 60, ["192.0.2.9"])}


def test_nothing_of_the_zone_is_changed_here_and_the_reason_says_from_where_it_comes(
    transferred: Zone, primary: Primary, alice: User
) -> None:
    reason = f"abroad.test is transferred from {primary.address}. Change it on the primary."
    with pytest.raises(Transferred) as refused:
        change_rrsets(zone=transferred, changes=NEW, author=alice, channel=Channel.API, now=NOW)
    assert str(refused.value) == reason
    with pytest.raises(Transferred):
        change_rrsets(zone=transferred, changes=NEW, author=None, channel=Channel.SYSTEM, now=NOW)
    with pytest.raises(Transferred):
        access.zone_for_editing(alice, ZONE)
    with pytest.raises(DnssecRefused, match="is transferred from"):
        sign.settle(
            zone=transferred,
            requested=sign.RequestedSigning(signed=True),
            acting=Acting(alice, Channel.WEB, NOW),
        )


def test_a_zone_is_taken_over_edited_and_given_back(transferred: Zone, primary: Primary, alice: User) -> None:
    assert set_up_primaries.take_over(zone=transferred, acting=Acting(alice, Channel.WEB, NOW)) is None
    change_rrsets(zone=transferred, changes=NEW, author=alice, channel=Channel.API, now=NOW)
    with pytest.raises(NotTransferred):
        set_up_primaries.ask_now(zone=transferred, author=alice, now=NOW)
    assert take_turn(transferred) == ""
    drafted = make(f"drafted.{ZONE}", rdtypes.A, 60, ["192.0.2.8"])
    draft.change_rrsets(author=alice, zone=transferred, afters={(drafted.name, drafted.type): drafted}, now=NOW)
    set_up_primaries.give_back(zone=transferred, acting=Acting(alice, Channel.API, NOW))
    with pytest.raises(TakeOverRefused):
        set_up_primaries.give_back(zone=transferred, acting=Acting(alice, Channel.API, NOW))
    assert draft.operations_of(alice).count() == 0
    assert take_turn(transferred) == "axfr"
    assert records_here(transferred) == primary.records()


def test_what_never_came_is_not_taken_over(primary: Primary, alice: User, settings: Any) -> None:
    settings.SOURCE_NETWORKS = ["127.0.0.0/8"]
    zone = awaited(primary.address, alice, **KEY)
    with pytest.raises(TakeOverRefused, match="can’t be taken over, because it was never"):
        set_up_primaries.take_over(zone=zone, acting=Acting(alice, Channel.WEB, NOW))


@pytest.mark.parametrize(
    ("terms", "field"),
    [
        (Terms([]), "addresses"),
        (Terms(["ns1.example.net"]), "addresses"),
        (Terms(["127.0.0.1"]), "addresses"),
        (Terms(["9.9.9.9:25"]), "addresses"),
        (Terms(["9.9.9.9"] * 9), "addresses"),
        (Terms(["9.9.9.9"], "key.test"), "tsig_secret"),
        (Terms(["9.9.9.9"], "key.test", "rot13", KEY["tsig_secret"]), "tsig_algorithm"),
        (Terms(["9.9.9.9"], "key.test", tsig_secret="short"), "tsig_secret"),
        (Terms(["9.9.9.9"], "", tsig_secret=KEY["tsig_secret"]), "tsig_name"),
    ],
    ids=["none", "name", "loopback", "port", "many", "no-secret", "algorithm", "secret", "no-name"],
)
def test_primaries_that_cannot_be_are_refused_at_their_field(terms: Terms, field: str, alice: User) -> None:
    edit.create_zone(zone=edit.NewZone(ZONE), acting=Acting(alice, Channel.WEB, NOW))
    zone = Zone.objects.get(name=ZONE)
    with pytest.raises(PrimariesRefused) as refused:
        set_up_primaries.set_primaries(zone=zone, terms=terms, acting=Acting(alice, Channel.API, NOW))
    assert list(refused.value.fields) == [field]


def test_a_zone_signed_by_the_panel_has_no_primary_elsewhere(alice: User) -> None:
    edit.create_zone(zone=edit.NewZone(ZONE), acting=Acting(alice, Channel.WEB, NOW))
    sign.sign_new_zone(name=ZONE, nsec3=None, acting=Acting(alice, Channel.WEB, NOW))
    with pytest.raises(PrimariesRefused, match="Unsign the zone first"):
        set_up_primaries.set_primaries(
            zone=Zone.objects.get(name=ZONE), terms=Terms(["9.9.9.9"]), acting=Acting(alice, Channel.API, NOW)
        )


def test_an_expired_zone_is_served_again_when_it_is_taken_over(transferred: Zone, alice: User) -> None:
    row = row_of(transferred)
    assert row.expires_at is not None
    assert apply_transfer.expire_due(now=row.expires_at) == 1
    transferred.refresh_from_db()
    assert set_up_primaries.take_over(zone=transferred, acting=Acting(alice, Channel.WEB, NOW)) is not None
    transferred.refresh_from_db()
    assert (transferred.is_served, transferred.transferred_from) == (True, "")


ABROAD = Terms(["9.9.9.9"])


def set_elsewhere(zone: Zone, author: User, **said: Any) -> None:
    set_up_primaries.set_primaries(
        zone=zone, terms=ABROAD, acting=Acting(author, Channel.WEB, NOW, said.pop("reason", "")), **said
    )


def take_it_over(zone: Zone, author: User, **said: Any) -> None:
    set_up_primaries.take_over(zone=zone, acting=Acting(author, Channel.WEB, NOW, said.pop("reason", "")), **said)


def give_it_back(zone: Zone, author: User, **said: Any) -> None:
    set_up_primaries.give_back(zone=zone, acting=Acting(author, Channel.WEB, NOW, said.pop("reason", "")), **said)


ACTS = {"set": set_elsewhere, "move": set_elsewhere, "take over": take_it_over, "give back": give_it_back}


def zone_for(act: str, author: User) -> Zone:
    """Create a zone in the state that this operation needs."""
    if act == "set":
        edit.create_zone(zone=edit.NewZone(ZONE), acting=Acting(author, Channel.WEB, NOW))
        return Zone.objects.get(name=ZONE)
    zone = awaited("9.9.9.10", author)
    row_of(zone).__class__.objects.update(serial=7)
    Zone.objects.update(is_served=True)
    if act == "give back":
        set_up_primaries.take_over(zone=zone, acting=Acting(author, Channel.WEB, NOW))
    zone.refresh_from_db()
    return zone


@pytest.mark.parametrize("kind", ruled.PLACE)
@pytest.mark.parametrize("act", ACTS)
def test_another_primary_is_asked_of_all_rules(act: str, kind: str, alice: User, bob: User) -> None:
    """Regression test: with a PUT of its primaries, an editor replaced the content of a zone under an approval rule."""
    zone = zone_for(act, bob)
    before = zone.transferred_from
    lift = ruled.PLACE[kind](zone, alice)
    with pytest.raises(ruled.REFUSAL[kind]):
        ACTS[act](zone, bob)
    with pytest.raises(RightMissing):  # an editor isn't allowed to govern, and locks and hooks can't be passed
        ACTS[act](zone, bob, past_rules=True, reason="Because")
    zone.refresh_from_db()
    assert zone.transferred_from == before
    lift()
    ACTS[act](zone, bob)


@pytest.mark.parametrize("kind", ["approval", "freeze"])
@pytest.mark.parametrize("act", ACTS)
def test_who_may_govern_goes_past_rules_with_a_reason_that_others_see(act: str, kind: str, alice: User) -> None:
    zone = zone_for(act, alice)
    ruled.PLACE[kind](zone, alice)
    with pytest.raises(ruled.REFUSAL[kind]):
        ACTS[act](zone, alice)
    assert AuditEntry.objects.filter(action="publication.refused", user=alice, target=ZONE).count() == 1
    with pytest.raises(ApprovalNeeded, match="Enter a reason"):
        ACTS[act](zone, alice, past_rules=True)
    ACTS[act](zone, alice, past_rules=True, reason="The house burns")
    listed = PublishRequest.objects.get()
    assert (listed.state, listed.reason, listed.zone_ids) == (RequestState.PAST_RULES, "The house burns", [zone.pk])
    assert (listed.ended_by, listed.ended_at, listed.publication) == (alice, NOW, None)
    entry = AuditEntry.objects.get(action="publication.past-rules")
    assert (entry.target, entry.details["reason"]) == ("abroad.test", "The house burns")


def test_drafts_of_others_keep_what_they_hold_of_the_zone(alice: User, bob: User) -> None:
    zone = zone_for("set", alice)
    wanted = make(f"drafted.{ZONE}", rdtypes.A, 60, ["192.0.2.8"])
    for person in (alice, bob):
        draft.change_rrsets(author=person, zone=zone, afters={(wanted.name, wanted.type): wanted}, now=NOW)
    set_elsewhere(zone, alice)
    assert (draft.operations_of(alice).count(), draft.operations_of(bob).count()) == (0, 1)
