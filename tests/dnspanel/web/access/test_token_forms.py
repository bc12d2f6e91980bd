"""Forms of new tokens."""

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.accounts.tokens.presets import Preset
from dnspanel.web.access.token_forms import OFFERS, AcmeForm, CustomForm, MonitoringForm, closest_zone
from dnspanel.zones.models import Zone
from tests.dnspanel.web.conftest import MakeZone
from tests.people import NOW, make_person

COMMON = {"kind": "api", "expires": "90"}


def test_every_preset_is_offered_once() -> None:
    assert [offer.preset for offer in OFFERS] == list(Preset)
    assert [offer.form.preset for offer in OFFERS] == list(Preset)


def test_a_name_belongs_to_the_closest_zone_that_one_sees(make_zone: MakeZone, bob: User) -> None:
    wide, narrow = make_zone(name="example.test."), make_zone(name="dev.example.test.")
    assert closest_zone(bob, "www.example.test.") == wide
    assert closest_zone(bob, "a.dev.example.test.") == narrow
    assert closest_zone(bob, "*.dev.example.test.") == narrow
    assert closest_zone(bob, "elsewhere.test.") is None
    member = make_person("mia", Role.MEMBER)
    grant = Grant(frozenset({Right.READ}), zones=frozenset({wide.pk}))
    GrantRow.objects.create(user=member, grant=grant.to_json(), created_at=NOW)
    assert closest_zone(member, "a.dev.example.test.") == wide


@pytest.mark.parametrize(("typed", "message"), [("a..b", "name"), ("www.other.test", "have a zone that contains")])
def test_a_name_in_no_zone_is_refused(zone: Zone, bob: User, typed: str, message: str) -> None:
    form = AcmeForm({**COMMON, "name": typed}, person=bob)
    assert not form.is_valid()
    assert message in str(form.errors)


def test_a_name_too_long_for_its_challenge_is_refused(zone: Zone, bob: User) -> None:
    long = ".".join(["a" * 60] * 3 + ["b" * 48]) + ".example.test."
    assert not AcmeForm({**COMMON, "name": long}, person=bob).is_valid()


def test_monitoring_gives_a_member_no_nodes(db: None) -> None:
    form = MonitoringForm(COMMON, person=make_person("mia", Role.MEMBER))
    assert form.is_valid()
    assert form.terms(timezone.now()).permissions == frozenset()


def test_a_token_over_nodes_alone_needs_no_zones(alice: User) -> None:
    form = CustomForm({**COMMON, "purpose": "nodes", "where": "some", "permissions": ["see nodes"]}, person=alice)
    assert form.is_valid(), form.errors
    assert form.terms(timezone.now()).scope == ()


def test_only_permissions_that_one_has_are_offered(alice: User, charlie: User) -> None:
    offered = {value for value, _ in CustomForm(person=charlie).fields["permissions"].choices}
    assert offered == {"see nodes", "approve and decline requests with a token"}
    assert len(CustomForm(person=alice).fields["permissions"].choices) == 7
    assert "permissions" not in CustomForm(person=make_person("mia", Role.MEMBER)).fields


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone()
