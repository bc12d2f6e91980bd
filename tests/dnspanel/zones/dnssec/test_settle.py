"""Signing a zone as requested, with keys and metadata, in one transaction or not at all."""

from collections.abc import Callable

import pytest

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.errors import DnssecRefused, NotSigned, RightMissing
from dnspanel.zones.models import Channel, Publication, Zone, ZoneKey
from dnspanel.zones.publishing import edit
from dnspanel.zones.signing import sign
from dnspanel.zones.signing.sign import RequestedSigning
from replication.codec.dnssec import Nsec3
from replication.dns import rdtypes
from replication.dns.rrset import make
from tests.dnspanel.api.v1.calls import make_zone
from tests.people import NOW
from tests.people import bob as bob
from tests.people import charlie as charlie

pytestmark = pytest.mark.django_db
SIGNED, UNSIGNED = RequestedSigning(True), RequestedSigning(False)


def acting(author: User | None = None) -> Acting:
    return Acting(author, Channel.API, NOW)


def settle(zone: Zone, requested: RequestedSigning) -> int:
    """Settle the requested signing, and return the number of publications."""
    return len(sign.settle(zone=zone, requested=requested, acting=acting()))


@pytest.fixture
def zone() -> Zone:
    return make_zone("a.test.")


def test_a_zone_is_signed_once_and_unsigned_once(zone: Zone) -> None:
    assert [settle(zone, SIGNED), settle(zone, SIGNED)] == [1, 0]
    (key,) = queries.keys_of(zone)
    assert (key.algorithm, key.flags, key.active, key.published, key.role) == (13, 257, True, True, "csk")
    assert [settle(zone, UNSIGNED), settle(zone, UNSIGNED)] == [1, 0]
    assert queries.keys_of(zone) == []
    assert ZoneKey.objects.get().deleted_at == NOW


def test_denial_comes_with_the_key_in_one_publication(zone: Zone) -> None:
    requested = RequestedSigning(True, True, Nsec3(narrow=True))
    assert not requested.is_met_by(queries.signing_of(zone))
    assert settle(zone, requested) == 1
    assert requested.is_met_by(queries.signing_of(zone))
    assert settle(zone, RequestedSigning(None, True, None)) == 1
    assert queries.signing_of(zone).denial is None


def test_keys_that_do_not_sign_stay_with_an_unsigned_zone(zone: Zone) -> None:
    sign.add_key(zone=zone, acting=acting(), active=False)
    assert settle(zone, UNSIGNED) == 0
    assert settle(zone, SIGNED) == 1
    assert [key.active for key in queries.keys_of(zone)] == [False, True]


def test_nsec3_needs_a_zone_that_is_signed_then(zone: Zone) -> None:
    for signed in (None, False):
        with pytest.raises(NotSigned):
            settle(zone, RequestedSigning(signed, True, Nsec3()))
    with pytest.raises(DnssecRefused, match="RFC 9276"):
        settle(zone, RequestedSigning(True, True, Nsec3(iterations=500)))


def test_what_is_written_alongside_is_written_if_the_zone_is_signed_so(zone: Zone) -> None:
    written = []
    for requested in (SIGNED, SIGNED):  # the second time, nothing changes
        sign.settle(zone=zone, requested=requested, acting=acting(), in_transaction=lambda: written.append(1))
    assert written == [1, 1]

    def move_serial() -> None:
        Zone.objects.filter(pk=zone.pk).update(soa_edit_api="EPOCH")

    with pytest.raises(NotSigned):
        sign.settle(
            zone=zone, requested=RequestedSigning(False, True, Nsec3()), acting=acting(), in_transaction=move_serial
        )
    assert Zone.objects.get().soa_edit_api == "INCREASE"
    assert queries.signing_of(zone).is_signed


def create(author: User | None, then: Callable[[], Publication] | None) -> Publication:
    return edit.create_zone(zone=edit.NewZone("n.test."), acting=Acting(author, Channel.API, NOW), then=then)


def test_a_new_zone_is_signed_in_the_transaction_that_creates_it(bob: User) -> None:
    last = create(bob, lambda: sign.sign_new_zone(name="n.test.", nsec3=Nsec3(), acting=acting(bob)))
    made = Zone.objects.get(name="n.test.")
    assert (made.revision, made.sequence) == (2, last.sequence)
    assert queries.signing_of(made).denial == Nsec3()
    assert AuditEntry.objects.filter(action="dnssec.sign", target="n.test.").count() == 1


def test_a_zone_that_cannot_be_signed_is_not_created_either(bob: User, charlie: User) -> None:
    with pytest.raises(RightMissing):
        create(bob, lambda: sign.sign_new_zone(name="n.test.", nsec3=None, acting=acting(charlie)))
    with pytest.raises(DnssecRefused):
        create(bob, lambda: sign.sign_new_zone(name="n.test.", nsec3=Nsec3(101), acting=acting(bob)))
    assert not Zone.objects.filter(name="n.test.").exists()
    assert not ZoneKey.objects.exists()


def test_cds_and_cdnskey_are_set_one_by_one(zone: Zone) -> None:
    with pytest.raises(NotSigned):
        sign.set_cds(zone=zone, cds="2", acting=acting())
    settle(zone, SIGNED)
    sign.set_cds(zone=zone, cds="2, 4", acting=acting())
    sign.set_cds(zone=zone, cdnskey=True, acting=acting())
    state = queries.signing_of(zone)
    assert (state.cds, state.cdnskey) == ("2,4", True)
    with pytest.raises(DnssecRefused):
        sign.set_cds(zone=zone, cds="x", acting=acting())


def test_a_ds_of_sha1_in_the_zone_above_names_the_key_too() -> None:
    zone = make_zone("c.a.test.")
    settle(zone, SIGNED)
    (key,) = queries.keys_of(zone)
    ds = make(zone.name, rdtypes.DS, 300, [key.ds_of(1)])
    delegation = make(zone.name, rdtypes.NS, 300, ["ns1.x.test."])
    edit.create_zone(zone=edit.NewZone("a.test.", [delegation, ds]), acting=Acting(None, Channel.API, NOW))
    assert settle(zone, RequestedSigning(None, True, Nsec3())) == 1
    with pytest.raises(DnssecRefused, match="has a DS"):
        settle(zone, UNSIGNED)
