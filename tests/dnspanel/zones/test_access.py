"""The doors to a zone."""

import pytest
from django.contrib.auth.models import AnonymousUser

from dnspanel.accounts.models import User
from dnspanel.zones import access, edit
from dnspanel.zones.models import Zone
from tests.dnspanel.zones.conftest import ZONE
from tests.people import NOW


def test_everybody_with_an_account_reads_and_editors_edit(alice: User, bob: User, charlie: User, zone: Zone) -> None:
    for person in (alice, bob, charlie):
        assert access.zone_for_reading(person, ZONE) == zone
    for person in (alice, bob):
        assert access.zone_for_editing(person, ZONE) == zone
    assert [access.may_edit(person) for person in (alice, bob, charlie)] == [True, True, False]


def test_a_reader_who_edits_is_told_which_permission_lacks(charlie: User, zone: Zone) -> None:
    with pytest.raises(access.Forbidden, match="edit, publish, create and delete zones"):
        access.zone_for_editing(charlie, ZONE)


def test_a_stranger_learns_nothing(dora: AnonymousUser, zone: Zone) -> None:
    for door in (access.zone_for_reading, access.zone_for_editing):
        with pytest.raises(access.Unknown):
            door(dora, ZONE)
    assert not access.zones_visible_to(dora).exists()


def test_somebody_deactivated_is_a_stranger(bob: User, zone: Zone) -> None:
    bob.is_active = False
    assert not access.zones_visible_to(bob).exists()


def test_the_door_takes_a_name_as_people_type_it_and_refuses_nonsense(bob: User, zone: Zone) -> None:
    assert access.zone_for_reading(bob, "Example.Test") == zone
    for name in ("other.test.", "..", "a b"):
        with pytest.raises(access.Unknown):
            access.zone_for_reading(bob, name)


def test_a_deleted_zone_is_only_in_the_trash(bob: User, charlie: User, zone: Zone) -> None:
    edit.delete_zone(zone=zone, author=bob, channel="web", now=NOW)
    with pytest.raises(access.Unknown):
        access.zone_for_reading(bob, ZONE)
    assert access.trash_visible_to(bob).get() == zone
    assert access.trashed_zone_for_restoring(bob, zone.pk) == zone
    with pytest.raises(access.Forbidden):
        access.trashed_zone_for_restoring(charlie, zone.pk)
    with pytest.raises(access.Unknown):
        access.trashed_zone_for_restoring(bob, zone.pk + 1)
