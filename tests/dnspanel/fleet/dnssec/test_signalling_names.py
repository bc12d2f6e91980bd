"""Tests of signalling names, which exist exactly as long as they are needed. Tests `signing.signalling` too."""

from datetime import timedelta

import pytest

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.fleet.dnssec.signalling_names import reconcile
from dnspanel.fleet.models import ParentCheck, ParentState
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.errors import NotSigned
from dnspanel.zones.models import Publication, Signing, Zone
from dnspanel.zones.publishing import zone_patches
from dnspanel.zones.signing import sign
from dnspanel.zones.signing.other_signers import add_other_key
from dnspanel.zones.signing.signalling import has_signalling, set_signalling
from replication.dns import rdata, rdtypes
from replication.dns.rrset import make
from tests.dnspanel.zones.conftest import rr, zone_maker
from tests.people import NOW, alice

__all__ = ["alice"]
pytestmark = pytest.mark.django_db(transaction=True)

HOST = "ns1.provider.test."
SIGNAL = f"_dsboot.shop.test._signal.{HOST}"


class World:
    """A provider's zone with a name server, and a customer's signed zone on that server, without a DS in its parent."""

    def __init__(self, author: User) -> None:
        self.author = author
        make_zone = zone_maker(author)
        self.provider = make_zone("ns1 3600 A 192.0.2.53", name="provider.test.")
        self.shop = make_zone(f"@ 3600 NS {HOST} | ns.elsewhere.test.", name="shop.test.")
        sign.sign(zones=[self.provider, self.shop], acting=self.acting)
        sign.set_cds(zone=self.shop, cds="2", cdnskey=True, acting=self.acting)
        self.parent_has(ParentState.NO_DS)
        set_signalling(zones=[self.provider], signals=True, acting=self.acting)

    @property
    def acting(self) -> Acting:
        return Acting(self.author, "web", NOW)

    def parent_has(self, state: ParentState) -> None:
        ParentCheck.objects.update_or_create(zone=self.shop, defaults={"state": state, "due_at": NOW})

    def names(self, zone: Zone | None = None) -> dict[tuple[str, str], set[str]]:
        """Update the signalling names. Return their records by name and type."""
        reconcile(now=NOW + timedelta(minutes=1))
        rows = (zone or self.provider).rrsets.filter(name__startswith="_dsboot.")
        return {
            (row.name, rdata.type_to_text(row.type)): {
                " ".join((*t.split()[:3], "".join(t.split()[3:]))) for t in row.rdata
            }
            for row in rows
        }


@pytest.fixture
def world(alice: User) -> World:
    return World(alice)


def test_a_zone_without_a_ds_has_its_cds_at_the_names_of_its_name_servers(world: World) -> None:
    [key] = queries.keys_of(world.shop)
    assert world.names() == {(SIGNAL, "CDS"): {key.ds[0]}, (SIGNAL, "CDNSKEY"): {key.dnskey}}
    assert Publication.objects.latest("sequence").reason.endswith("(RFC 9615).")
    before = Publication.objects.count()
    world.names()
    assert Publication.objects.count() == before

    sign.set_cds(zone=world.shop, cds="2,4", cdnskey=False, acting=world.acting)
    assert world.names() == {(SIGNAL, "CDS"): set(key.ds)}
    other = key_material.generate(13).public
    dnskey = key_material.dnskey_text(257, 13, other)
    add_other_key(zone=world.shop, text=f"shop.test. IN DNSKEY {dnskey}", acting=world.acting)
    theirs = {key_material.ds_text("shop.test.", 257, 13, other, digest) for digest in (2, 4)}
    assert world.names() == {(SIGNAL, "CDS"): {*key.ds, *theirs}}
    world.parent_has(ParentState.MATCHES)
    assert world.names() == {}


@pytest.mark.parametrize("end", ["cds", "deletion", "unsigned", "moved", "off", "unsigned-provider"])
def test_they_go_with_what_they_are_for(world: World, end: str) -> None:
    assert world.names()
    if end == "cds":
        sign.set_cds(zone=world.shop, cds="", acting=world.acting)
    elif end == "deletion":
        sign.set_cds(zone=world.shop, cds="0", acting=world.acting)
    elif end == "unsigned":
        sign.unsign(zones=[world.shop], acting=world.acting)
    elif end == "moved":
        step = zone_patches.replace_with(rr("shop.test. 3600 NS ns.elsewhere.test."))
        patch = zone_patches.patch_of_steps(world.shop, [(("shop.test.", rdtypes.NS), step)])
        zone_patches.publish_patches(patches=[patch], acting=Acting(world.author, "web", NOW))
    elif end == "off":
        set_signalling(zones=[world.provider], signals=False, acting=world.acting)
        assert AuditEntry.objects.filter(action="dnssec.signalling").count() == 2
    else:
        sign.unsign(zones=[world.provider], acting=world.acting)
    assert world.names() == {}
    assert has_signalling(world.provider) == (end != "off")
    if end == "off":
        assert Signing.objects.get(zone=world.provider).signalling is None


def test_a_zone_of_its_own_for_the_signals_has_them(world: World) -> None:
    signals = zone_maker(world.author)(name=f"_signal.{HOST}")
    assert world.names() == {}  # the provider's zone would not answer them
    sign.sign(zones=[signals], acting=world.acting)
    set_signalling(zones=[signals], signals=True, acting=world.acting)
    assert world.names() == {}
    assert {name for name, _ in world.names(signals)} == {SIGNAL}


def test_a_name_server_inside_of_the_zone_and_a_name_that_is_too_long_have_none(world: World) -> None:
    make_zone = zone_maker(world.author)
    long = ".".join(["a" * 60] * 4) + "."
    for name in ("ns1.provider.test.", long):
        zone = make_zone(f"@ 3600 NS {HOST}", name=name)
        sign.sign(zones=[zone], acting=world.acting)
        sign.set_cds(zone=zone, cds="2", acting=world.acting)
        ParentCheck.objects.update_or_create(zone=zone, defaults={"state": ParentState.NO_DS, "due_at": NOW})
    assert world.names() == {}


def test_a_zone_that_is_not_signed_has_no_signalling_names(alice: User) -> None:
    zone = zone_maker(alice)(name="plain.test.")
    with pytest.raises(NotSigned):
        set_signalling(zones=[zone], signals=True, acting=Acting(alice, "web", NOW))
    set_signalling(zones=[zone], signals=False, acting=Acting(alice, "web", NOW))
    assert not has_signalling(zone)


def test_what_a_person_put_below_such_names_stays(world: World) -> None:
    name = f"note._signal.{HOST}"
    patch = zone_patches.patch_of_steps(
        world.provider, [((name, 16), zone_patches.replace_with(make(name, 16, 60, ['"x"'])))]
    )
    zone_patches.publish_patches(patches=[patch], acting=Acting(world.author, "web", NOW))
    world.names()
    set_signalling(zones=[world.provider], signals=False, acting=world.acting)
    world.names()
    assert world.provider.rrsets.filter(name=name).exists()
