"""A zone can have either NS records at a wildcard or signatures. Each way to add the second is refused."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.dnssec.policy import Act, Terms
from dnspanel.zones.errors import DnssecRefused, RuleViolations
from dnspanel.zones.models import Channel, Publication, Zone, ZoneKey
from dnspanel.zones.publishing import edit
from dnspanel.zones.publishing.zone_patches import Patch, publish_patches
from dnspanel.zones.runs import policy_runs
from dnspanel.zones.signing import policies, sign
from dnspanel.zones.signing.preview import plan_signing
from replication.dns.rrset import RRset
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

CUT = "*.sub 300 NS ns1.example.net."


@pytest.fixture
def acting(alice: User) -> Acting:
    return Acting(alice, Channel.API, NOW)


def publish(zone: Zone, author: User, rrset: RRset, *, removes: bool = False) -> None:
    key = rrset.name, rrset.type
    patch = Patch(zone, lambda current: {key: None if removes else rrset}, {rrset.name})
    publish_patches(patches=[patch], acting=Acting(author, Channel.API, NOW))


def test_a_signed_zone_gets_no_ns_at_a_wildcard(zone: Zone, alice: User, acting: Acting) -> None:
    """Previously the change was published with a warning, and validating resolvers got no answer below the wildcard."""
    sign.sign(zones=[zone], acting=acting)
    with pytest.raises(RuleViolations, match=r"a signed zone can’t have NS records at the wildcard \*\.sub\."):
        publish(zone, alice, rr(CUT))
    publish(zone, alice, rr("*.sub 300 A 192.0.2.1"))
    publish(zone, alice, rr("sub2 300 NS ns1.example.net."))


def test_one_that_is_kept_without_being_served_is_taken(zone: Zone, alice: User, acting: Acting) -> None:
    off = rr(CUT, disabled=("ns1.example.net.",))
    publish(zone, alice, off)
    sign.sign(zones=[zone], acting=acting)
    publish(zone, alice, rr("*.other 300 NS ns1.example.net.", disabled=("ns1.example.net.",)))


def test_a_zone_with_one_is_not_signed_until_it_is_deleted(zone: Zone, alice: User, acting: Acting) -> None:
    publish(zone, alice, rr(CUT))
    with pytest.raises(DnssecRefused, match="Delete these NS records first"):
        sign.sign(zones=[zone], acting=acting)
    with pytest.raises(DnssecRefused, match="Delete these NS records first"):
        sign.add_key(zone=zone, acting=acting)
    requested = sign.RequestedSigning(signed=True)
    with pytest.raises(DnssecRefused, match="Delete these NS records first"):
        sign.settle(zone=zone, requested=requested, acting=acting)
    [plan] = plan_signing(zones=[zone], requested=requested, person=alice)
    assert "Delete these NS records first" in str(plan.refusal)
    assert not queries.signing_of(zone).is_signed
    publish(zone, alice, rr(CUT), removes=True)
    sign.sign(zones=[zone], acting=acting)
    assert queries.signing_of(zone).is_signed


def test_a_policy_does_not_sign_it_and_says_why(zone: Zone, alice: User) -> None:
    publish(zone, alice, rr(CUT))
    policies.create_policy(name="All", terms=Terms(), is_default=True, by=alice, now=NOW)
    run = policy_runs.create_run(by=alice, now=NOW, dry_run=False, policy=None, search="")
    assert not policy_runs.work_on_run(run.pk)
    [found] = run.zones.all()
    assert (found.act, "NS records at the wildcard" in found.message) == (Act.REFUSED, True)
    assert not ZoneKey.objects.exists()


def test_a_zone_that_would_begin_signed_is_refused(make_zone: MakeZone, alice: User, acting: Acting) -> None:
    policies.create_policy(name="New", terms=Terms(signs_new_zones=True), is_default=True, by=alice, now=NOW)
    before = Publication.objects.count()
    with pytest.raises(RuleViolations, match="NS records at the wildcard"):
        make_zone(CUT)
    assert Publication.objects.count() == before
    assert not Zone.objects.exists()


def test_a_zone_that_its_creator_signs_is_refused(alice: User, acting: Acting) -> None:
    """API v1 signs new zones this way for `dnssec: true`."""
    name = "new.test."

    def then() -> Publication:
        return sign.sign_new_zone(name=name, nsec3=None, acting=acting)

    with pytest.raises(DnssecRefused, match="NS records at the wildcard"):
        edit.create_zone(
            zone=edit.NewZone(name, [rr(CUT, origin=name)]), acting=Acting(alice, Channel.API, NOW), then=then
        )
    assert not Zone.objects.exists()
