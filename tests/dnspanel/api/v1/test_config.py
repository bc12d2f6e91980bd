"""Tests of the settings that clients can read."""

from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.api.v1.config import config
from replication.dns import rdtypes
from tests.dnspanel.api.v1.calls import caller


@pytest.mark.django_db
def test_settings_come_by_name_and_each_says_what_it_is(bob: User) -> None:
    found = caller(bob).value("GET", "/config")
    assert [item["name"] for item in found] == sorted(config(unanswered=()))
    assert {item["type"] for item in found} == {"ConfigSetting"}
    assert all(isinstance(item["value"], str) for item in found)
    # Clients look for this setting, because every PowerDNS has it.
    assert "daemon" in config(unanswered=())


def test_settings_say_what_is_in_effect(settings: Any) -> None:
    settings.ALLOW_LUA_RECORDS, settings.DEFAULT_NAMESERVERS = True, ["ns7.nodes.test."]
    assert config(unanswered=())["enable-lua-records"] == config(unanswered=())["expand-alias"] == "yes"
    here = config(unanswered={rdtypes.ALIAS, rdtypes.LUA})
    assert here["enable-lua-records"] == here["expand-alias"] == "no"
    assert config(unanswered=())["default-soa-content"].startswith("ns7.nodes.test. ")


def test_no_secret_is_among_them(settings: Any) -> None:
    assert config(unanswered=())["api-key"] == "***"
    assert settings.SECRET_KEY not in str(config(unanswered=()))
