"""Changes that would make a zone bogus are refused, as far as the panel can detect it."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.errors import DnssecRefused
from dnspanel.zones.models import Zone
from dnspanel.zones.names import nesting
from dnspanel.zones.publishing import zone_patches
from dnspanel.zones.publishing.revision import Accepted
from dnspanel.zones.rules.rules import BREAKING_DS
from dnspanel.zones.signing import sign
from replication.codec.dnssec import Nsec3
from replication.dns import rdtypes
from replication.dns.rrset import make
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)


def by(author: User) -> Acting:
    return Acting(author=author, channel="web", now=NOW)


def put_ds(parent: Zone, child: Zone, *texts: str, accepted: Accepted = True) -> None:
    key = child.name, rdtypes.DS
    step = zone_patches.replace_with(make(*key, 300, texts))
    patch = zone_patches.patch_of_steps(parent, [(key, step)])
    zone_patches.publish_patches(patches=[patch], acting=Acting(None, "web", NOW), accept_warnings=accepted)


@pytest.fixture
def child(make_zone: MakeZone, zone: Zone, alice: User) -> Zone:
    """Create a signed zone whose parent is in the panel and has the zone's DS."""
    found = make_zone("www 300 A 192.0.2.1", name="child.example.test.")
    sign.sign(zones=[found], acting=by(alice))
    put_ds(zone, found, *queries.keys_of(found)[0].ds)
    return found


def test_the_ds_of_zones_of_this_panel_is_known(child: Zone, zone: Zone) -> None:
    found = nesting.ds_above([child.name, zone.name, "elsewhere.test."])
    assert set(found) == {child.name}
    assert set(found[child.name].ds) == set(queries.keys_of(child)[0].ds)


def test_a_zone_with_a_ds_at_its_parent_is_not_unsigned(child: Zone, alice: User) -> None:
    [key] = queries.keys_of(child)
    with pytest.raises(DnssecRefused, match="has a DS"):
        sign.unsign(zones=[child], acting=by(alice))
    with pytest.raises(DnssecRefused, match="has a DS"):
        sign.delete_key(zone=child, key_id=key.id, acting=by(alice))
    assert queries.signing_of(child).is_signed


def test_the_key_that_the_ds_names_stays(child: Zone, alice: User) -> None:
    [old] = queries.keys_of(child)
    new = sign.add_key(zone=child, acting=by(alice))
    for active, published in ((False, True), (True, False)):
        with pytest.raises(DnssecRefused, match="No signing key for"):
            sign.set_key(zone=child, key_id=old.id, active=active, published=published, acting=by(alice))
    sign.delete_key(zone=child, key_id=new.pk, acting=by(alice))


def test_a_key_whose_ds_has_come_may_take_over(child: Zone, zone: Zone, alice: User) -> None:
    [old] = queries.keys_of(child)
    new = sign.add_key(zone=child, acting=by(alice))
    found = {key.id: key for key in queries.keys_of(child)}
    put_ds(zone, child, *found[new.pk].ds)
    sign.delete_key(zone=child, key_id=old.id, acting=by(alice))
    assert [key.id for key in queries.keys_of(child)] == [new.pk]


def test_every_algorithm_that_a_ds_names_goes_on_signing(child: Zone, zone: Zone, alice: User) -> None:
    [old] = queries.keys_of(child)
    new = sign.add_key(zone=child, acting=by(alice), algorithm=15)
    found = {key.id: key for key in queries.keys_of(child)}
    put_ds(zone, child, *found[old.id].ds, *found[new.pk].ds)
    for key_id, word in ((old.id, "ECDSAP256SHA256"), (new.pk, "ED25519")):
        with pytest.raises(DnssecRefused, match=f"requires {word}"):
            sign.delete_key(zone=child, key_id=key_id, acting=by(alice))


def test_what_is_broken_already_may_be_mended_otherwise(child: Zone, zone: Zone, alice: User) -> None:
    put_ds(zone, child, f"1 13 2 {'ab' * 32}", accepted=(BREAKING_DS, "ds-without-ns"))
    sign.set_denial(zone=child, nsec3=Nsec3(), acting=by(alice))
    assert queries.signing_of(child).nsec3 == Nsec3()


def test_keys_that_sign_have_to_be_seen(zone: Zone, alice: User) -> None:
    sign.sign(zones=[zone], acting=by(alice))
    [key] = queries.keys_of(zone)
    with pytest.raises(DnssecRefused, match="keys that aren’t published"):
        sign.set_key(zone=zone, key_id=key.id, active=True, published=False, acting=by(alice))
