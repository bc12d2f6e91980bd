"""Other signers' keys are added and removed together with their CDS and CDNSKEY. Tests `dnssec.other_keys` too."""

import pytest

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.fleet.models import Node
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.dnssec.other_keys import MOST_OTHER_KEYS, OtherKey, in_one_piece, read_dnskey
from dnspanel.zones.dnssec.rollover_stages import Kind
from dnspanel.zones.errors import BadPublicKey, DnssecRefused, KeyUnknown, NotSigned, RuleViolations
from dnspanel.zones.models import Publication, Zone, ZoneKey
from dnspanel.zones.publishing import zone_patches
from dnspanel.zones.signing import preview, rollovers, sign
from dnspanel.zones.signing.other_signers import add_other_key, remove_other_key
from replication.dns import rdata, rdtypes
from replication.dns.rrset import make
from tests.dnspanel.fleet.conftest import create_active_node
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

APEX_TYPES = ("DNSKEY", "CDS", "CDNSKEY")


def acting(author: User) -> Acting:
    return Acting(author, "web", NOW)


def made(*, algorithm: int = 13, flags: int = 257) -> OtherKey:
    return OtherKey(flags, algorithm, key_material.generate(algorithm).public)


def record(zone: Zone, key: OtherKey) -> str:
    return f"{zone.name} 300 IN DNSKEY {key.dnskey}"


def apex(zone: Zone) -> dict[str, tuple[str, ...]]:
    """Return the zone's rdata of DNSKEY, CDS and CDNSKEY by type."""
    rows = zone.rrsets.filter(type__in=[rdata.type_from_text(word) for word in APEX_TYPES])
    return {rdata.type_to_text(row.type): tuple(map(in_one_piece, row.rdata)) for row in rows}


@pytest.fixture
def signed(zone: Zone, alice: User) -> Zone:
    sign.sign(zones=[zone], acting=acting(alice))
    return zone


def test_keys_of_others_are_answered_beside_ours_with_their_cds(signed: Zone, alice: User) -> None:
    key, zsk = made(), made(flags=256)
    publication = add_other_key(zone=signed, text=record(signed, key), acting=acting(alice))
    assert publication is not None
    assert add_other_key(zone=signed, text=record(signed, key), acting=acting(alice)) is None
    add_other_key(zone=signed, text=record(signed, zsk), acting=acting(alice))
    assert queries.other_keys_of(signed) == [key, zsk]
    assert set(apex(signed)["DNSKEY"]) == {key.dnskey, zsk.dnskey}
    assert set(apex(signed)) == {"DNSKEY"}

    sign.set_cds(zone=signed, cds="2,4", cdnskey=True, acting=acting(alice))
    found = apex(signed)
    assert set(found["CDS"]) == set(key.ds(signed.name))
    assert found["CDNSKEY"] == (key.dnskey,)
    more = made()
    add_other_key(zone=signed, text=record(signed, more), acting=acting(alice))
    assert set(apex(signed)["CDS"]) == {*key.ds(signed.name), *more.ds(signed.name)}
    remove_other_key(zone=signed, tag=more.tag, acting=acting(alice))
    sign.set_cds(zone=signed, cds="4", cdnskey=False, acting=acting(alice))
    assert apex(signed)["CDS"] == (key.ds(signed.name)[1],)
    assert "CDNSKEY" not in apex(signed)
    sign.set_cds(zone=signed, cds="0", cdnskey=True, acting=acting(alice))
    assert set(apex(signed)) == {"DNSKEY"}
    signed.refresh_from_db()
    assert signed.rrset_count == signed.rrsets.count()
    for each in (key, zsk):
        remove_other_key(zone=signed, tag=each.tag, acting=acting(alice))
    assert apex(signed) == {}
    assert queries.other_keys_of(signed) == []
    with pytest.raises(KeyUnknown):
        remove_other_key(zone=signed, tag=key.tag, acting=acting(alice))
    actions = AuditEntry.objects.filter(action__startswith="dnssec.other_key").order_by("pk")
    assert [entry.action.rpartition("_")[2] for entry in actions] == ["add", "add", "add", "remove", "remove", "remove"]
    assert actions[0].details["tag"] == key.tag


def test_cds_of_nobody_known_stay(signed: Zone, alice: User) -> None:
    foreign = f"1 13 2 {'ab' * 32}"
    steps = [((signed.name, rdtypes.CDS), zone_patches.replace_with(make(signed.name, rdtypes.CDS, 60, [foreign])))]
    zone_patches.publish_patches(patches=[zone_patches.patch_of_steps(signed, steps)], acting=Acting(alice, "web", NOW))
    key = made()
    sign.set_cds(zone=signed, cds="2", acting=acting(alice))
    add_other_key(zone=signed, text=record(signed, key), acting=acting(alice))
    assert set(apex(signed)["CDS"]) == {foreign, key.ds(signed.name)[0]}
    remove_other_key(zone=signed, tag=key.tag, acting=acting(alice))
    assert apex(signed)["CDS"] == (foreign,)


def test_what_is_no_key_of_another_signer_is_refused(zone: Zone, alice: User) -> None:
    key = made()
    with pytest.raises(NotSigned):
        add_other_key(zone=zone, text=record(zone, key), acting=acting(alice))
    sign.sign(zones=[zone], acting=acting(alice))
    [own] = queries.keys_of(zone)
    for text, message in (
        (f"other.test. IN DNSKEY {key.dnskey}", "The key belongs to other.test."),
        ("nonsense", "The text must be a single DNSKEY record with the"),
    ):
        with pytest.raises(BadPublicKey, match=message):
            add_other_key(zone=zone, text=text, acting=acting(alice))
    for text, message in (
        (f"{zone.name} IN DNSKEY {own.dnskey}", "one of the panel’s own keys"),
        (record(zone, made(algorithm=15)), "All signers of a zone must use the same algorithms"),
    ):
        with pytest.raises(DnssecRefused, match=message):
            add_other_key(zone=zone, text=text, acting=acting(alice))
    assert apex(zone) == {}
    for _ in range(MOST_OTHER_KEYS):
        add_other_key(zone=zone, text=record(zone, made()), acting=acting(alice))
    with pytest.raises(DnssecRefused, match="already has 20 keys from other signers"):
        add_other_key(zone=zone, text=record(zone, made()), acting=acting(alice))


def test_the_editor_refuses_what_the_panel_makes_itself(signed: Zone, alice: User) -> None:
    [own] = queries.keys_of(signed)
    for type, text in (
        (rdtypes.DNSKEY, own.dnskey),
        (rdtypes.CDNSKEY, own.dnskey),
        (rdtypes.CDS, own.ds[1]),
    ):
        steps = [((signed.name, type), zone_patches.replace_with(make(signed.name, type, 300, [text])))]
        with pytest.raises(RuleViolations, match=f"for its own key {own.tag}"):
            zone_patches.publish_patches(
                patches=[zone_patches.patch_of_steps(signed, steps)], acting=Acting(alice, "web", NOW)
            )


def test_a_key_of_others_that_does_not_go_with_ours_comes_by_no_other_way(zone: Zone, alice: User) -> None:
    """Previously an editor or API could add a key that the form refuses."""

    def put(of: Zone, *keys: OtherKey) -> None:
        rrset = make(of.name, rdtypes.DNSKEY, 300, [key.dnskey for key in keys])
        step = ((of.name, rdtypes.DNSKEY), zone_patches.replace_with(rrset))
        zone_patches.publish_patches(
            patches=[zone_patches.patch_of_steps(of, [step])], acting=Acting(alice, "api", NOW)
        )

    first = made()
    with pytest.raises(RuleViolations, match="isn’t signed"):
        put(zone, first)
    sign.sign(zones=[zone], acting=acting(alice))
    put(zone, first)
    with pytest.raises(RuleViolations, match="the same algorithms"):
        put(zone, first, made(algorithm=15))
    with pytest.raises(RuleViolations, match="already has 20 keys from other signers"):
        put(zone, first, *(made() for _ in range(MOST_OTHER_KEYS)))
    [own] = queries.keys_of(zone)
    second = made()
    ZoneKey.objects.filter(pk=own.id).update(tag=second.tag)
    with pytest.raises(RuleViolations, match="another key with the tag"):
        put(zone, first, second)
    assert queries.other_keys_of(zone) == [first]


def test_the_preview_says_what_the_change_says_during_a_rollover(signed: Zone, alice: User) -> None:
    rollovers.begin(zone=signed, kind=Kind.CSK, acting=acting(alice))
    requested = sign.RequestedSigning(signed=False)
    [plan] = preview.plan_signing(zones=[signed], requested=requested, person=alice)
    with pytest.raises(DnssecRefused, match="A rollover for") as refused:
        sign.settle_zones(zones=[signed], requested=requested, acting=acting(alice))
    assert str(plan.refusal) == str(refused.value)


def test_text_without_the_fields_of_a_dnskey_is_refused() -> None:
    for text in ("", "257 3", "257 3 x AwEA", "257 3 13 no-base64"):
        with pytest.raises(BadPublicKey, match="isn’t a valid DNSKEY record"):
            read_dnskey(text)


def test_who_signs_with_others_does_not_leave_them_alone(signed: Zone, alice: User) -> None:
    key = made()
    add_other_key(zone=signed, text=record(signed, key), acting=acting(alice))
    before = Publication.objects.count()
    with pytest.raises(DnssecRefused, match="before the panel stops signing the zone"):
        sign.unsign(zones=[signed], acting=acting(alice))
    [plan] = preview.plan_signing(zones=[signed], requested=sign.RequestedSigning(signed=False), person=alice)
    assert "before the panel stops signing the zone" in str(plan.refusal)
    for kind, algorithm in ((Kind.INSECURE, None), (Kind.ALGORITHM, 15)):
        with pytest.raises(DnssecRefused, match=r"example\.test\. also has other signers"):
            rollovers.begin(zone=signed, kind=kind, acting=acting(alice), algorithm=algorithm)
    assert Publication.objects.count() == before
    remove_other_key(zone=signed, tag=key.tag, acting=acting(alice))
    sign.unsign(zones=[signed], acting=acting(alice))


def test_a_node_that_does_not_answer_with_such_records_is_named(signed: Zone, alice: User, node: Node) -> None:
    with pytest.raises(DnssecRefused, match=r"ns1 \(direct-dnskey=yes is not set in PowerDNS\)"):
        add_other_key(zone=signed, text=record(signed, made()), acting=acting(alice))
    Node.objects.filter(pk=node.pk).update(report={"serves_stored_keys": True})
    assert add_other_key(zone=signed, text=record(signed, made()), acting=acting(alice)) is not None


@pytest.fixture
def node() -> Node:
    found = create_active_node("ns1")
    Node.objects.filter(pk=found.pk).update(report={"clock": 1})
    return found
