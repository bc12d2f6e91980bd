"""Defaults of new zones: from the environment, else from the settings page, else built in."""

import pytest
from django.test import override_settings

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.zones.errors import DefaultsFixed, DefaultsMoved, Forbidden
from dnspanel.zones.settings.zone_defaults import HOSTMASTER, NAMESERVERS, change_zone_defaults, zone_defaults
from tests.people import NOW

SERVERS = ["ns1.new.test.", "ns2.new.test."]


@pytest.fixture(autouse=True)
def nothing_fixed() -> object:
    with override_settings(FIXED_BY_ENVIRONMENT=frozenset()):
        yield


def test_the_page_comes_before_the_settings_and_behind_the_environment(alice: User) -> None:
    assert zone_defaults().nameservers == ("ns1.example.net.", "ns2.example.net.")
    change_zone_defaults(nameservers=SERVERS, hostmaster="h.new.test.", seen=None, by=alice, now=NOW)
    found = zone_defaults()
    assert (found.nameservers, found.hostmaster, found.changed_by) == (tuple(SERVERS), "h.new.test.", "alice")
    with override_settings(FIXED_BY_ENVIRONMENT=frozenset({NAMESERVERS, HOSTMASTER})):
        assert zone_defaults().nameservers == ("ns1.example.net.", "ns2.example.net.")
        assert zone_defaults().hostmaster == "hostmaster.example.net."


def test_only_administrators_change_it(bob: User) -> None:
    with pytest.raises(Forbidden):
        change_zone_defaults(nameservers=SERVERS, hostmaster="h.new.test.", seen=None, by=bob, now=NOW)


def test_what_is_fixed_and_what_moved_is_refused(alice: User) -> None:
    with override_settings(FIXED_BY_ENVIRONMENT=frozenset({HOSTMASTER})), pytest.raises(DefaultsFixed):
        change_zone_defaults(nameservers=SERVERS, hostmaster="h.new.test.", seen=None, by=alice, now=NOW)
    change_zone_defaults(nameservers=SERVERS, hostmaster="h.new.test.", seen=None, by=alice, now=NOW)
    with pytest.raises(DefaultsMoved):
        change_zone_defaults(nameservers=SERVERS[:1], hostmaster="h.new.test.", seen=None, by=alice, now=NOW)
    change_zone_defaults(nameservers=SERVERS, hostmaster="h.new.test.", seen=NOW, by=alice, now=NOW)
    assert AuditEntry.objects.filter(action="settings.zones").count() == 1
