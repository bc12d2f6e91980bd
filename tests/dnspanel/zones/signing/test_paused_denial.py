"""The pause before a presigned zone changes its chain: nodes then answer SERVFAIL to queries for nonexistence."""

from datetime import timedelta

import pytest

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.models import Signing, SigningChange, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.signing import paused_denial
from replication.codec.dnssec import Nsec3
from tests.dnspanel.zones.conftest import MakeZone, presigned_zone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def zone(alice: User) -> Zone:
    return presigned_zone(alice, "www 300 A 192.0.2.1")


def pause(alice: User, *zones: Zone) -> list[int]:
    told: list[int] = []
    paused_denial.pause_denial(
        zone_ids=[zone.pk for zone in zones],
        acting=Acting(alice, "import", NOW),
        in_transaction=told.extend,
    )
    return told


def test_a_pause_is_a_revision_without_a_change_of_records(zone: Zone, alice: User, make_zone: MakeZone) -> None:
    other = make_zone(name="other.test.")
    assert pause(alice, zone, other) == [zone.pk]
    zone.refresh_from_db()
    assert (zone.serial, zone.revision) == (1, 2)
    state = queries.signing_of(zone)
    assert (state.paused, state.is_signed, state.denial) == (True, True, None)
    assert state.metadata == {"PRESIGNED": "1", "NSEC3PARAM": "-"}
    assert state.row_ids.keys() == {"PRESIGNED", "NSEC3PARAM"}
    assert SigningState.from_json(state.to_json()) == state
    assert pause(alice, zone) == []
    paused_denial.resume_denial(zone_ids=[zone.pk, other.pk], acting=Acting(alice, "import", NOW))
    assert queries.signing_of(zone).metadata == {"PRESIGNED": "1"}
    assert queries.descriptions_of_changes(zone, [2, 3]) == {
        2: ["denial of existence paused while NSEC or NSEC3 records change"],
        3: ["denial of existence resumed"],
    }


def test_only_another_chain_and_much_at_once_need_a_pause(zone: Zone) -> None:
    state, most = queries.signing_of(zone), paused_denial.MOST_AT_ONCE
    assert not paused_denial.needs_pause(state, None, most)
    assert paused_denial.needs_pause(state, None, most + 1)
    assert paused_denial.needs_pause(state, Nsec3(), 1)
    assert not paused_denial.needs_pause(SigningState(), Nsec3(), most + 1)


def test_what_was_left_paused_is_resumed(zone: Zone, alice: User) -> None:
    deleted = presigned_zone(alice, name="deleted.test.")
    pause(alice, zone, deleted)
    edit.delete_zone(zone=deleted, acting=Acting(alice, "web", NOW))
    later = NOW + paused_denial.FORGOTTEN_AFTER
    assert paused_denial.resume_forgotten(now=later - timedelta(seconds=1)) == 0
    assert paused_denial.resume_forgotten(now=later) == 1
    assert not queries.signing_of(zone).paused
    assert SigningChange.objects.filter(zone=zone).count() == 3
    assert Signing.objects.filter(state__has_key="paused").count() == 1
