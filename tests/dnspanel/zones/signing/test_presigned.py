"""Presigned zones: they cannot be changed, and their signatures can be removed."""

from datetime import UTC, datetime

import pytest

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.dnssec.policy import Act, Terms
from dnspanel.zones.dnssec.policy_queries import applied_to_zones
from dnspanel.zones.dnssec.rollover_stages import Kind
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.errors import DnssecRefused, NotSigned, RuleViolations
from dnspanel.zones.models import Revision, Signing, SigningChange, Zone
from dnspanel.zones.publishing import bulk, edit, pieces, zone_patches
from dnspanel.zones.publishing.epoch import ChangedZone
from dnspanel.zones.signing import (
    other_signers,
    policies,
    policy_apply,
    presigned,
    preview,
    rollovers,
    sign,
    signalling,
)
from dnspanel.zones.signing.sign import RequestedSigning
from dnspanel.zones.store import store_rrsets
from replication.codec.dnssec import Nsec3
from replication.dns import rdtypes
from replication.dns.rrset import Serial
from tests.dnspanel.zones.conftest import MakeZone, presigned_zone, rr
from tests.dnspanel.zones.publishing.test_epoch import begin
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)
LINES = ("www 300 A 192.0.2.1", "shop 300 CNAME www")


def by(author: User) -> Acting:
    return Acting(author=author, channel="web", now=NOW)


@pytest.fixture
def zone(alice: User) -> Zone:
    return presigned_zone(alice, *LINES, nsec3=Nsec3())


def content(zone: Zone) -> set[tuple[str, int]]:
    return set(store_rrsets.rrsets_of_zones([zone.pk])[zone.pk])


def test_it_is_signed_without_keys(zone: Zone) -> None:
    state = queries.signing_of(zone)
    assert (state.presigned, state.is_signed, state.keys, state.denial) == (True, True, (), Nsec3())
    assert state.metadata == {"PRESIGNED": "1", "NSEC3PARAM": "1 0 0 -"}
    assert SigningState.from_json(state.to_json()) == state
    assert Signing.objects.get().is_signed
    assert queries.presigned_zones([zone.pk]) == {zone.pk}
    assert (zone.serial, zone.revision) == (1, 1)


def test_the_first_signature_that_ends_counts(zone: Zone, alice: User, make_zone: MakeZone) -> None:
    assert presigned.signatures_end(zone) == datetime(2026, 12, 24, tzinfo=UTC)
    assert presigned.signatures_end(make_zone(name="other.example.")) is None


def test_no_act_on_its_signing_is_done(zone: Zone, alice: User) -> None:
    acts = [
        lambda: sign.sign(zones=[zone], acting=by(alice)),
        lambda: sign.unsign(zones=[zone], acting=by(alice)),
        lambda: sign.add_key(zone=zone, acting=by(alice)),
        lambda: sign.set_denial(zone=zone, nsec3=None, acting=by(alice)),
        lambda: sign.set_cds(zone=zone, cds="2", acting=by(alice)),
        lambda: sign.settle(zone=zone, requested=RequestedSigning(False), acting=by(alice)),
        lambda: rollovers.begin(zone=zone, kind=Kind.CSK, acting=by(alice)),
        lambda: signalling.set_signalling(zones=[zone], signals=True, acting=by(alice)),
    ]
    for act in acts:
        with pytest.raises(DnssecRefused, match="with imported signatures"):
            act()  # type: ignore[no-untyped-call]
    [plan] = preview.plan_signing(zones=[zone], requested=RequestedSigning(False), person=alice)
    assert "imported signatures" in str(plan.refusal)
    assert SigningChange.objects.count() == 1


def test_keys_of_other_signers_are_not_added(zone: Zone, alice: User) -> None:
    [own] = queries.other_keys_of(zone)
    with pytest.raises(DnssecRefused):
        other_signers.add_other_key(
            zone=zone, text=f"{zone.name} IN DNSKEY 257 3 13 {'q80x' * 21}qw==", acting=by(alice)
        )
    with pytest.raises(DnssecRefused, match="imported signatures"):
        other_signers.remove_other_key(zone=zone, tag=own.tag, acting=by(alice))


def test_policies_leave_it_alone(zone: Zone, alice: User) -> None:
    policies.create_policy(name="All", terms=Terms(), is_default=True, by=alice, now=NOW)
    published, found = policy_apply.follow_policies(
        zones=[zone], applied=applied_to_zones([zone]), applying=policy_apply.Applying(by(alice))
    )
    assert published == []
    assert [difference.act for difference in found[zone.pk]] == [Act.REFUSED]


def test_nobody_changes_its_records(zone: Zone, alice: User) -> None:
    step = zone_patches.replace_with(rr("www 300 A 192.0.2.9"))
    patch = zone_patches.patch_of_steps(zone, [(("www.example.test.", rdtypes.A), step)])
    with pytest.raises(RuleViolations) as refused:
        zone_patches.publish_patches(patches=[patch], acting=Acting(alice, "web", NOW))
    assert [(each.code, each.name, each.type) for each in refused.value.violations] == [
        ("presigned", "www.example.test.", rdtypes.A)
    ]
    [plan] = zone_patches.preview_patches(patches=[patch], author=None)
    assert plan.soa_after == plan.soa_before


def test_it_comes_back_from_the_trash_with_its_serial(zone: Zone, alice: User) -> None:
    before = content(zone)
    edit.delete_zone(zone=zone, acting=Acting(alice, "web", NOW))
    edit.restore_zone(zone=zone, author=alice, channel="web", now=NOW)
    zone.refresh_from_db()
    assert (zone.serial, content(zone)) == (1, before)
    assert Revision.objects.get(zone=zone, number=zone.revision).serial == 1


def test_a_new_epoch_leaves_its_soa_alone(zone: Zone, alice: User) -> None:
    begin([ChangedZone(zone.pk, Serial(9), {})], by=alice)
    zone.refresh_from_db()
    assert (zone.serial, zone.revision) == (1, 1)
    edit.delete_zone(zone=zone, acting=Acting(alice, "web", NOW))
    begin([ChangedZone(zone.pk, Serial(9), {})], by=alice)
    zone.refresh_from_db()
    assert (zone.serial, zone.revision, zone.deleted_at) == (1, 3, None)


def test_many_changes_at_once_give_it_exactly_the_soa_that_they_say(zone: Zone, alice: User) -> None:
    soa = rr("@ 3600 SOA ns1.example.net. hostmaster.example.net. 7 10800 3600 604800 3600")
    change = bulk.ZoneChange(zone.pk, 1, {(zone.name, rdtypes.SOA): soa})
    publication, _ = bulk.change_zones(changes=[change], acting=Acting(alice, "import", NOW))
    zone.refresh_from_db()
    assert (zone.serial, zone.revision) == (7, 2)
    assert publication is not None
    again, _ = bulk.undo_zone_changes(sequence=publication.sequence, acting=Acting(alice, "import", NOW))
    assert again is None
    same = bulk.ZoneChange(zone.pk, 2, {(zone.name, rdtypes.SOA): soa})
    assert bulk.change_zones(changes=[same], acting=Acting(alice, "import", NOW)) == (None, [])


@pytest.mark.parametrize("size", [2_000, 2])
def test_its_signatures_are_dropped(zone: Zone, alice: User, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_RRSETS", size)
    presigned.drop_signatures(zones=[zone], acting=by(alice))
    zone.refresh_from_db()
    assert zone.serial == 2
    assert content(zone) == {
        (zone.name, rdtypes.SOA),
        (zone.name, rdtypes.NS),
        ("www.example.test.", rdtypes.A),
        ("shop.example.test.", rdtypes.CNAME),
    }
    state = queries.signing_of(zone)
    assert (state.is_signed, state.denial, state.metadata) == (False, None, {})
    assert SigningChange.objects.get(revision_number=zone.revision, zone=zone).before["presigned"]
    assert queries.descriptions_of_changes(zone, [1, zone.revision]) == {
        1: ["served with imported signatures", "NSEC3 on"],
        zone.revision: ["signatures deleted"],
    }
    assert AuditEntry.objects.filter(action="dnssec.drop_signatures", target=zone.name).exists()
    assert presigned.signatures_end(zone) is None
    with pytest.raises(NotSigned):
        presigned.drop_signatures(zones=[zone], acting=by(alice))
    sign.sign(zones=[zone], acting=by(alice))


def test_signatures_stay_while_the_parent_here_holds_a_ds(alice: User, make_zone: MakeZone) -> None:
    zone = presigned_zone(alice, *LINES, name="sub.example.test.")
    [key] = queries.other_keys_of(zone)
    make_zone("sub 300 NS ns1.example.net.", f"sub 300 DS {key.ds(zone.name)[0]}")
    with pytest.raises(DnssecRefused, match="so validating resolvers would reject all answers"):
        presigned.drop_signatures(zones=[zone], acting=by(alice))
    assert queries.signing_of(zone).presigned
