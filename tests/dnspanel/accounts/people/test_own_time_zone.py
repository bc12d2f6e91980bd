"""Tests of the time zone of each person."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.accounts.people.own_time_zone import set_time_zone, time_zone_of
from dnspanel.time_zones import UnknownTimeZone
from tests.people import alice as alice


@pytest.mark.django_db
def test_a_time_zone_is_kept_and_what_is_none_changes_nothing(alice: User) -> None:
    set_time_zone(person=alice, name="Asia/Tokyo")
    with pytest.raises(UnknownTimeZone):
        set_time_zone(person=alice, name="Asia/Atlantis")
    assert str(time_zone_of(User.objects.get(pk=alice.pk))) == "Asia/Tokyo"


def test_where_the_database_of_the_machine_lost_a_name_times_are_utc() -> None:
    assert str(time_zone_of(User(time_zone="Europe/Gone"))) == "UTC"
