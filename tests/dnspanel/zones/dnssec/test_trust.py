"""A DS for a signed zone in the panel must match one of its keys. All ways to write another DS are refused.

Tests `dnssec.accepted_breaks` too.
"""

from datetime import timedelta

import pytest

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.dnssec.trust import broken_by
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import NamesRefused, RuleViolations, SignedAtParent
from dnspanel.zones.models import AcceptedBreak, Channel, RRset, Zone
from dnspanel.zones.publishing import bulk, edit, ready_zones, revision, zone_patches
from dnspanel.zones.publishing.bulk import ZoneChange
from dnspanel.zones.publishing.ready_zones import BulkZone
from dnspanel.zones.rules.rules import BREAKING_DS
from dnspanel.zones.signing import sign
from dnspanel.zones.store import store_rrsets
from replication.dns import rdtypes
from replication.dns.rrset import make
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

CHILD = "child.example.test."
WRONG = "1 13 2 " + "ab" * 32
LATER = NOW + timedelta(minutes=1)


@pytest.fixture
def child(make_zone: MakeZone, zone: Zone, alice: User) -> Zone:
    """Create a signed zone whose parent is in the panel and has no DS for it."""
    found = make_zone("www 300 A 192.0.2.1", name=CHILD)
    sign.sign(zones=[found], acting=Acting(author=alice, channel="web", now=NOW))
    return found


def ds_of(zone: Zone) -> str:
    return queries.keys_of(zone)[0].ds[0]


def put(parent: Zone, *texts: str, accept_warnings: bool = True) -> None:
    step = zone_patches.replace_with(make(CHILD, rdtypes.DS, 300, texts))
    patch = zone_patches.patch_of_steps(parent, [((CHILD, rdtypes.DS), step)])
    zone_patches.publish_patches(
        patches=[patch], acting=Acting(None, "api", LATER), accept_warnings=accept_warnings, confirmed=True
    )


def test_no_program_puts_a_ds_that_leads_to_no_key(child: Zone, zone: Zone) -> None:
    with pytest.raises(RuleViolations, match="which is signed with keys that don’t match"):
        put(zone, WRONG)
    put(zone, WRONG, ds_of(child))
    with pytest.raises(RuleViolations, match=BREAKING_DS):
        put(zone, WRONG)
    assert broken_by({CHILD: [WRONG]}).keys() == {CHILD}
    assert broken_by({CHILD: [], "elsewhere.test.": [WRONG]}) == {}


def test_a_zone_that_is_not_signed_gets_no_ds(make_zone: MakeZone, zone: Zone) -> None:
    make_zone(name=CHILD)
    with pytest.raises(RuleViolations, match="with this DS, validating resolvers would reject"):
        put(zone, WRONG)


def test_a_key_that_signs_records_only_is_none_that_a_ds_may_name(make_zone: MakeZone, zone: Zone, alice: User) -> None:
    found = make_zone(name=CHILD)
    sign.sign(zones=[found], acting=Acting(author=alice, channel="web", now=NOW), split=True)
    ksk, zsk = sorted(queries.keys_of(found), key=lambda key: key.role)
    public = zsk.public
    assert broken_by({CHILD: [key_material.ds_text(CHILD, 256, 13, public, 2)]}).keys() == {CHILD}
    assert broken_by({CHILD: ksk.ds}) == {}


def test_keys_of_other_signers_count(child: Zone, zone: Zone) -> None:
    other = key_material.generate(13)
    dnskey = rr(f"@ 3600 DNSKEY {key_material.dnskey_text(257, 13, other.public)}", origin=CHILD)
    step = zone_patches.patch_of_steps(child, [((CHILD, rdtypes.DNSKEY), zone_patches.replace_with(dnskey))])
    zone_patches.publish_patches(patches=[step], acting=Acting(None, "api", LATER))
    put(zone, key_material.ds_text(CHILD, 257, 13, other.public, 2))


def test_only_who_names_it_and_says_why_gets_over_it(child: Zone, zone: Zone, bob: User) -> None:
    draft.replace_rrset(author=bob, zone=zone, rrset=make(CHILD, rdtypes.DS, 300, [WRONG]), now=NOW)
    acting = Acting(bob, "web", LATER)
    for accepted, reason in ((True, "because"), ((BREAKING_DS,), " "), ((), "because")):
        with pytest.raises(RuleViolations):
            revision.publish(consent=revision.Consent(reason, accepted), acting=acting)  # type: ignore[arg-type]
    others = [violation.code for violation in revision.preview(author=bob)[0].warnings]
    published = revision.publish(consent=revision.Consent("a drill", others), acting=acting)
    accepted_break = AcceptedBreak.objects.get()
    assert (accepted_break.publication_id, accepted_break.reason) == (published.sequence, "a drill")
    assert AuditEntry.objects.get(action="dnssec.accept_break").details["reason"] == "a drill"
    put(zone, "2 13 2 " + "cd" * 32)  # no worse than before


def test_a_zone_comes_back_from_the_trash_without_a_ds_that_does_not_fit_any_more(
    child: Zone, zone: Zone, alice: User
) -> None:
    put(zone, ds_of(child))
    edit.delete_zone(zone=zone, acting=Acting(alice, "web", LATER))
    [key] = queries.keys_of(child)
    acting = Acting(author=alice, channel="web", now=LATER)
    sign.add_key(zone=child, acting=acting)
    sign.delete_key(zone=child, key_id=key.id, acting=acting)
    edit.restore_zone(zone=zone, author=alice, channel="web", now=LATER)
    row = RRset.objects.get(zone=zone, type=rdtypes.DS)
    assert row.disabled == row.rdata == [key.ds[0]]
    restored = zone.revisions.latest("number")
    assert (restored.kind, restored.changed, restored.removed) == ("restore", 1, 0)


def test_a_zone_comes_back_from_the_trash_as_it_was_while_its_ds_fit(child: Zone, zone: Zone, alice: User) -> None:
    put(zone, ds_of(child))
    for each in (child, zone):
        edit.delete_zone(zone=each, acting=Acting(alice, "web", LATER))
    for each in (zone, child):
        edit.restore_zone(zone=each, author=alice, channel="web", now=LATER)
    assert RRset.objects.get(zone=zone, type=rdtypes.DS).disabled == []


def test_a_zone_stays_in_the_trash_while_the_ds_above_names_another_key(child: Zone, zone: Zone, alice: User) -> None:
    edit.delete_zone(zone=child, acting=Acting(alice, "web", LATER))
    put(zone, WRONG)
    with pytest.raises(SignedAtParent):
        edit.restore_zone(zone=child, author=alice, channel="web", now=LATER)
    put(zone, ds_of(child))
    edit.restore_zone(zone=child, author=alice, channel="web", now=LATER)


def test_no_new_zone_brings_a_ds_that_leads_to_no_key(child: Zone, zone: Zone, make_zone: MakeZone) -> None:
    edit.delete_zone(zone=zone, acting=Acting(None, "web", LATER))
    lines = ["child 300 NS ns1.example.net.", f"child 300 DS {WRONG}"]
    with pytest.raises(NamesRefused, match="has a DS for child"):
        ready_zones.create_ready_zones(
            zones=[BulkZone(900, zone.name, 1, 4)],
            rows=lambda: [
                store_rrsets.rows_of_zone(
                    900, zone.name, [*map(rr, ("@ 300 SOA a. b. 1 1 1 1 1", "@ 300 NS ns1.example.net.", *lines))]
                )
            ],
            acting=Acting(None, Channel.IMPORT, LATER),
        )
    make_zone(lines[0], f"child 300 DS {ds_of(child)}")


def test_undoing_an_import_brings_no_such_ds_back(child: Zone, zone: Zone, alice: User) -> None:
    put(zone, ds_of(child))
    zone.refresh_from_db()
    gone = ZoneChange(zone.pk, zone.revision, {(CHILD, rdtypes.DS): None})
    done, _ = bulk.change_zones(changes=[gone], acting=Acting(None, Channel.IMPORT, LATER))
    assert done is not None
    acting = Acting(author=alice, channel="web", now=LATER)
    sign.unsign(zones=[child], acting=acting)
    kept = bulk.undo_zone_changes(sequence=done.sequence, acting=Acting(None, Channel.IMPORT, LATER))[1]
    assert kept == [(zone.name, CHILD, rdtypes.DS)]
    assert not RRset.objects.filter(zone=zone, type=rdtypes.DS).exists()
