"""DNSSEC policies: creation, change, deletion and attachment by people with the right, and the choice for a zone
(`dnssec.policy_queries`).
"""

import pytest

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Author, Grant, Right
from dnspanel.accounts.models import AuditEntry, GrantRow, User
from dnspanel.accounts.people import teams
from dnspanel.zones.dnssec import policy_queries
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.errors import Forbidden, PolicyRefused, PolicyUnknown, RightMissing
from dnspanel.zones.models import DnssecPolicy, PolicyAttachment, Zone
from dnspanel.zones.signing import policies
from dnspanel.zones.signing.policies import Target
from replication.codec.dnssec import Nsec3
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.publishing.test_zone_patches import token_actor
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)
FULL = Terms(8, 3072, True, Nsec3(0, b"\xab", True, False), "2,4", True, 90, 365, True)


def create(by: Author, name: str = "Standard", terms: Terms = FULL, *, is_default: bool = False) -> DnssecPolicy:
    return policies.create_policy(name=name, terms=terms, is_default=is_default, by=by, now=NOW)


def of(zone: Zone) -> tuple[str, str] | None:
    zone.refresh_from_db()
    found = policy_queries.applied_to(zone)
    return (found.policy.name, found.source) if found else None


def test_a_policy_says_later_what_it_was_made_to_say(alice: User) -> None:
    policy = create(alice)
    assert policy_queries.terms_of(DnssecPolicy.objects.get()) == FULL
    policies.change_policy(policy=policy, name="Plain", terms=Terms(), is_default=False, by=alice, now=NOW)
    found = DnssecPolicy.objects.get()
    assert (found.name, policy_queries.terms_of(found)) == ("Plain", Terms())
    before = policy_queries.fingerprint()
    policies.change_policy(policy=policy, name="Plain", terms=Terms(), is_default=False, by=alice, now=NOW)
    assert list(AuditEntry.objects.order_by("pk").values_list("action", flat=True)) == [
        "dnssec.policy_create",
        "dnssec.policy_change",
    ]
    assert policy_queries.fingerprint() == before
    policies.attach(policy=policy, to=Target(tag="web"), by=alice, now=NOW)
    assert policy_queries.fingerprint() != before


def test_the_default_is_one(alice: User) -> None:
    first = create(alice, "first", is_default=True)
    second = create(alice, "second", is_default=True)
    assert [policy.name for policy in DnssecPolicy.objects.filter(is_default=True)] == ["second"]
    policies.change_policy(policy=first, name="first", terms=FULL, is_default=True, by=alice, now=NOW)
    second.refresh_from_db()
    assert not second.is_default


@pytest.mark.parametrize(
    ("field", "terms"),
    [
        ("algorithm", Terms(algorithm=5)),
        ("bits", Terms(bits=2048)),
        ("bits", Terms(algorithm=8, bits=1024)),
        ("zsk_days", Terms(zsk_days=30)),
        ("ksk_days", Terms(ksk_days=0)),
        ("nsec3", Terms(nsec3=Nsec3(iterations=500))),
        ("cds", Terms(cds="0")),
        ("cds", Terms(cds="9")),
    ],
)
def test_what_no_policy_can_say_is_refused_at_its_field(field: str, terms: Terms, alice: User) -> None:
    with pytest.raises(PolicyRefused) as refusal:
        create(alice, terms=terms)
    assert list(refusal.value.fields) == [field]
    assert not DnssecPolicy.objects.exists()


def test_names_are_unique_bounded_and_can_be_read(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    create(alice)
    for name in ("STANDARD", " ", "x" * 65, "a\x00b"):
        with pytest.raises(PolicyRefused):
            create(alice, name)
    monkeypatch.setattr(policies, "MOST_POLICIES", 1)
    with pytest.raises(PolicyRefused, match="at most 1 policies"):
        create(alice, "another")


def test_the_nearest_policy_is_the_one_of_a_zone(zone: Zone, alice: User) -> None:
    assert of(zone) is None
    default = create(alice, "default", is_default=True)
    assert of(zone) == ("default", "the panel’s default")
    team = teams.create_team(name="Web", by=alice, now=NOW)
    Zone.objects.filter(pk=zone.pk).update(team=team, tags=["a", "b"])
    for name, target in (("team", Target(team=team)), ("b", Target(tag=" B ")), ("a", Target(tag="a"))):
        policies.attach(policy=create(alice, name), to=target, by=alice, now=NOW)
    assert of(zone) == ("a", "from the tag a")
    policies.attach(policy=default, to=Target(zone=zone), by=alice, now=NOW)
    assert of(zone) == ("default", "set for this zone")
    for target, expected in (
        (Target(zone=zone), ("a", "from the tag a")),
        (Target(tag="a"), ("b", "from the tag b")),
        (Target(tag="b"), ("team", "from the team Web")),
        (Target(team=team), ("default", "the panel’s default")),
    ):
        policies.detach(target=target, by=alice, now=NOW)
        policies.detach(target=target, by=alice, now=NOW)
        assert of(zone) == expected


def test_the_zones_of_a_policy_are_those_whose_policy_it_is(make_zone: MakeZone, alice: User) -> None:
    team = teams.create_team(name="Web", by=alice, now=NOW)
    tagged = {"plain": [], "a": ["a"], "ab": ["a", "b"], "b": ["b"], "other": ["z"], "own": ["a"]}
    for name, tags in tagged.items():
        zone = make_zone(name=f"{name}.test.")
        Zone.objects.filter(pk=zone.pk).update(tags=tags, team=team if name in {"b", "other"} else None)
    made = {name: create(alice, name, is_default=name == "default") for name in ("default", "a", "b", "team", "own")}
    own = Zone.objects.get(name="own.test.")
    targets = {"a": Target(tag="a"), "b": Target(tag="b"), "team": Target(team=team), "own": Target(zone=own)}
    for name, target in targets.items():
        policies.attach(policy=made[name], to=target, by=alice, now=NOW)
    zones = list(Zone.objects.all())
    applied = policy_queries.applied_to_zones(zones)
    for policy in made.values():
        expected = {zone.name for zone in zones if applied[zone.pk].policy == policy}
        assert {zone.name for zone in Zone.objects.filter(policy_queries.zones_of(policy))} == expected
    assert [row.tag for row in policy_queries.attached_to(made["a"])] == ["a"]
    assert list(policy_queries.zones_attached_to(made["own"])) == [own]
    assert policy_queries.own_policy_of(own) == made["own"]


def test_a_policy_that_is_in_use_goes_only_for_another_one(zone: Zone, alice: User) -> None:
    policy, heir = create(alice, is_default=True), create(alice, "heir")
    policies.attach(policy=policy, to=Target(zone=zone), by=alice, now=NOW)
    with pytest.raises(PolicyRefused, match="attached to 1 zone"):
        policies.delete_policy(policy=policy, by=alice, now=NOW)
    with pytest.raises(PolicyRefused, match="Choose a different policy as the replacement"):
        policies.delete_policy(policy=policy, by=alice, now=NOW, replaced_by=policy)
    policies.delete_policy(policy=policy, by=alice, now=NOW, replaced_by=heir)
    assert of(zone) == ("heir", "set for this zone")
    heir.refresh_from_db()
    assert heir.is_default
    with pytest.raises(PolicyUnknown):
        policies.delete_policy(policy=policy, by=alice, now=NOW)
    with pytest.raises(PolicyUnknown):
        policy_queries.policy_by_id(policy.pk)


def test_policies_are_for_who_may_sign_every_zone(zone: Zone, bob: User, charlie: User, dora: User) -> None:
    policy = create(bob)
    weak = token_actor(bob, Grant(EVERY_RIGHT - {Right.DNSSEC}, everywhere=True))
    for nobody in (charlie, dora, weak):
        assert not policy_queries.may_change_policies(nobody)
        with pytest.raises(Forbidden):
            create(nobody, "mine")
        with pytest.raises(Forbidden):
            policies.change_policy(policy=policy, name="mine", terms=FULL, is_default=False, by=nobody, now=NOW)
        with pytest.raises(Forbidden):
            policies.delete_policy(policy=policy, by=nobody, now=NOW)
        with pytest.raises(Forbidden):
            policies.attach(policy=policy, to=Target(tag="web"), by=nobody, now=NOW)
        with pytest.raises(RightMissing):
            policies.attach(policy=policy, to=Target(zone=zone), by=nobody, now=NOW)
        with pytest.raises(RightMissing):
            policies.detach(target=Target(zone=zone), by=nobody, now=NOW)
    assert not PolicyAttachment.objects.exists()


def test_who_may_sign_a_zone_chooses_its_policy(zone: Zone, alice: User, charlie: User) -> None:
    grant = Grant(frozenset({Right.READ, Right.DNSSEC}), zones=frozenset({zone.pk}))
    GrantRow.objects.create(user=charlie, grant=grant.to_json(), created_at=NOW)
    policies.attach(policy=create(alice), to=Target(zone=zone), by=User.objects.get(pk=charlie.pk), now=NOW)
    assert of(zone) == ("Standard", "set for this zone")


def test_only_a_tag_is_a_tag(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = create(alice)
    for text in ("two words", "", "ü"):
        with pytest.raises(PolicyRefused):
            policies.attach(policy=policy, to=Target(tag=text), by=alice, now=NOW)
    monkeypatch.setattr(policies, "MOST_TAGS", 0)
    with pytest.raises(PolicyRefused, match="0 tags"):
        policies.attach(policy=policy, to=Target(tag="web"), by=alice, now=NOW)


def test_the_last_tag_that_can_have_a_policy_can_get_another(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "MOST_TAGS", 1)
    for name in ("First", "Second"):
        policies.attach(policy=create(alice, name=name), to=Target(tag="web"), by=alice, now=NOW)
    assert policies.PolicyAttachment.objects.get(tag="web").policy.name == "Second"
