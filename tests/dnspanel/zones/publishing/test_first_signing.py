"""New zones are signed at creation if their policies say so. Signatures from imports are tested with the imports."""

import pytest

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Right
from dnspanel.accounts.models import AuditEntry, User
from dnspanel.accounts.people import teams
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.dnssec.signing_state import KeyRole
from dnspanel.zones.models import Channel, Publication, SigningChange, Zone, ZoneKey
from dnspanel.zones.publishing import edit
from dnspanel.zones.signing import policies, sign
from dnspanel.zones.signing.policies import Attached
from replication.codec.dnssec import Nsec3
from tests.dnspanel.zones.publishing.test_zone_patches import token_actor
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)
TERMS = Terms(split=True, nsec3=Nsec3(), cds="2", cdnskey=True, signs_new_zones=True)


@pytest.fixture
def policy(alice: User) -> None:
    policies.create_policy(name="New ones", terms=TERMS, is_default=True, by=alice, now=NOW)


def create(name: str, author: object, channel: str = "web") -> Zone:
    edit.create_zone(zone=edit.NewZone(name), acting=Acting(author, channel, NOW))  # type: ignore[arg-type]
    return Zone.objects.get(name=name, deleted_at=None)


@pytest.mark.usefixtures("policy")
def test_a_new_zone_is_signed_by_its_first_publication(alice: User) -> None:
    before = Publication.objects.count()
    zone = create("born.example.", alice)
    assert Publication.objects.count() == before + 1
    state = queries.signing_of_zones([zone.pk])[zone.pk]
    assert [key.role for key in queries.keys_of(zone)] == [KeyRole.KSK, KeyRole.ZSK]
    assert (state.nsec3, state.cds, state.cdnskey) == (TERMS.nsec3, "2", True)
    assert SigningChange.objects.get().revision_number == zone.revision == 1
    assert AuditEntry.objects.get(action="dnssec.policy").details["keys"] == 2


@pytest.mark.usefixtures("policy")
def test_many_zones_are_signed_each_by_keys_of_its_own(alice: User) -> None:
    names = [f"n{number}.example." for number in range(5)]
    edit.create_zones(zones=[edit.NewZone(name) for name in names], acting=Acting(alice, "web", NOW))
    assert ZoneKey.objects.count() == ZoneKey.objects.values("public").distinct().count() == 10


@pytest.mark.usefixtures("policy")
def test_an_import_leaves_zones_as_they_come(alice: User) -> None:
    edit.create_zones(zones=[edit.NewZone("come.example.")], acting=Acting(alice, Channel.IMPORT, NOW))
    assert not ZoneKey.objects.exists()


@pytest.mark.usefixtures("policy")
def test_who_may_create_a_zone_needs_no_right_to_sign_it(alice: User) -> None:
    author = token_actor(alice, Grant(EVERY_RIGHT - {Right.DNSSEC}, everywhere=True))
    assert queries.keys_of(create("mine.example.", author))


def test_the_policy_of_the_team_counts(alice: User) -> None:
    team, other = (teams.create_team(name=name, by=alice, now=NOW) for name in ("Signers", "Others"))
    policies.create_policy(name="Team", terms=TERMS, attached=Attached(teams=[team]), by=alice, now=NOW)
    for name, of in (("a.example.", team), ("b.example.", other)):
        edit.create_zone(zone=edit.NewZone(name), acting=Acting(alice, "web", NOW), team=of)
    signed = ZoneKey.objects.values_list("zone__name", flat=True)
    assert {*signed} == {"a.example."}


@pytest.mark.usefixtures("policy")
def test_a_request_to_sign_finds_the_zone_signed(alice: User) -> None:
    acting = Acting(author=alice, channel="api", now=NOW)

    def then() -> Publication:
        return sign.sign_new_zone(name="asked.example.", nsec3=Nsec3(narrow=True), acting=acting)

    made = edit.create_zone(zone=edit.NewZone("asked.example."), acting=Acting(alice, "api", NOW), then=then)
    zone = Zone.objects.get(name="asked.example.")
    assert made.pk == zone.sequence
    assert len(queries.keys_of(zone)) == 2
    assert queries.signing_of_zones([zone.pk])[zone.pk].nsec3 == TERMS.nsec3


def test_a_policy_that_says_nothing_of_new_zones_signs_none(alice: User) -> None:
    policies.create_policy(name="Later", terms=Terms(), is_default=True, by=alice, now=NOW)
    assert not queries.keys_of(create("plain.example.", alice))
