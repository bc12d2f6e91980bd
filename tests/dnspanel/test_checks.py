"""Tests of the system checks: the panel doesn't start with a wrong setting, and the message names the correction.

Tests `accounts.checks` too.
"""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands, load_command_class
from django.core.management.base import SystemCheckError

from dnspanel import checks
from dnspanel.accounts import checks as checks_of_accounts

# All checks except `check_database_key`, which the tests of `secrets.database_key` call.
EVERY_CHECK = (
    checks_of_accounts.check_master_key,
    checks.check_secret_key,
    checks.check_panel_url,
    checks_of_accounts.check_trusted_proxies,
    checks.check_zone_defaults,
    checks.check_suffixes,
    checks.check_resolvers,
    checks.check_gateway_addresses,
    checks.check_gateway_tls,
    checks.check_trust_anchors,
    checks.check_mail,
    checks.check_directories,
)


def found() -> list[str]:
    messages = [message for check in EVERY_CHECK for message in check(None)]
    assert all(message.hint for message in messages)
    return [str(message.id) for message in messages]


@pytest.fixture(autouse=True)
def right_settings(settings: Any, tmp_path: Path) -> None:
    settings.SECRET_KEY = "s" * 50
    settings.MASTER_KEY = "q2Vt8r1Yb9gGm3wq0sUu7Zr3t5yXv1KcN8dPfEhJlAo="
    settings.PANEL_URL = "https://panel.test"
    settings.TRUSTED_PROXIES = ["192.0.2.1"]
    settings.PUBLISHER_DIR = tmp_path / "var" / "publisher"
    settings.UPDATE_TLS_PORT = 853


def test_right_settings_are_passed_over() -> None:
    assert found() == []


@pytest.mark.parametrize(
    ("name", "value", "ids"),
    [
        ("MASTER_KEY", "not a key", ["dnspanel.E001"]),
        ("MASTER_KEYS_OLD", ["not a key"], ["dnspanel.E001"]),
        ("TRUSTED_PROXIES", ["proxy"], ["dnspanel.E008"]),
        ("TRUSTED_PROXIES", [], ["dnspanel.W002"]),
        ("TRUSTED_PROXIES", ["unix", "10.0.0.0/8"], []),
        ("SECRET_KEY", "s" * 49, ["dnspanel.E002"]),
        ("SECRET_KEY", "q2Vt8r1Yb9gGm3wq0sUu7Zr3t5yXv1KcN8dPfEhJlAo=", ["dnspanel.E002", "dnspanel.E003"]),
        ("PANEL_URL", "panel.test", ["dnspanel.E004"]),
        ("PANEL_URL", "ftp://panel.test", ["dnspanel.E004"]),
        ("PANEL_URL", "http://panel.test", ["dnspanel.W001"]),
        ("PANEL_URL", "http://192.0.2.1:8000", ["dnspanel.W001"]),
        ("PANEL_URL", "http://127.0.0.1:8000", []),
        ("PANEL_URL", "http://[::1]:8000", []),
        ("PANEL_URL", "http://localhost:8000", []),
        ("DEMO_PASSWORD", "shown-to-all", ["dnspanel.E018"]),
        ("MAIL_TLS", "yes", ["dnspanel.E009"]),
        ("DEFAULT_NAMESERVERS", [], ["dnspanel.E005"]),
        ("REFUSED_SUFFIXES", ["a..b"], ["dnspanel.E010"]),
        ("PUBLIC_SUFFIX_LIST", "/nowhere/list.dat", ["dnspanel.E010"]),
        ("DNS_RESOLVERS", ["192.0.2.53", "[2001:db8::53]:5300"], []),
        ("DNS_RESOLVERS", ["192.0.2.53", "resolver"], ["dnspanel.E012"]),
        ("PUBLIC_RESOLVERS", ["192.0.2.53", "resolver"], ["dnspanel.E012"]),
        ("GATEWAY_ADDRESSES", ["192.0.2.53:5340", "[2001:db8::53]:5340"], []),
        ("GATEWAY_ADDRESSES", ["gateway.example.net"], ["dnspanel.E014"]),
        ("GATEWAY_TLS_ADDRESSES", ["192.0.2.53", "[2001:db8::53]:8530"], []),
        ("GATEWAY_TLS_ADDRESSES", ["gateway.example.net"], ["dnspanel.E014"]),
        ("UPDATE_TLS_PORT", 65536, ["dnspanel.E016"]),
        ("UPDATE_TLS_CERTIFICATE", "/chain.pem", ["dnspanel.E016"]),
        ("TRUST_ANCHORS", [], []),
        ("TRUST_ANCHORS", ["1 13 4 " + "ab" * 24 + " " + "AB" * 24], []),
        ("TRUST_ANCHORS", ["1 13 2 " + "ab" * 31], ["dnspanel.E013"]),
        ("TRUST_ANCHORS", ["1 13 1 " + "ab" * 20], ["dnspanel.E013"]),
        ("TRUST_ANCHORS", [". IN DS"], ["dnspanel.E013"]),
        ("DEFAULT_NAMESERVERS", ["ns1..test"], ["dnspanel.E005"]),
        ("DEFAULT_HOSTMASTER", "hostmaster@panel.test", ["dnspanel.E006"]),
    ],
)
def test_a_wrong_setting_is_named(settings: Any, name: str, value: Any, ids: list[str]) -> None:
    setattr(settings, name, value)
    assert found() == ids


def test_files_of_the_gateways_certificate_have_to_be_readable(settings: Any, tmp_path: Path) -> None:
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    settings.UPDATE_TLS_CERTIFICATE, settings.UPDATE_TLS_KEY = str(chain), str(key)
    chain.write_text("")
    assert found() == ["dnspanel.E016"]
    key.write_text("")
    assert found() == []
    key.unlink()
    settings.UPDATE_TLS_PORT = 0
    assert found() == [], "nothing reads them"


def test_a_publisher_directory_that_is_a_file_is_refused(settings: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings.PUBLISHER_DIR = tmp_path / "file" / "publisher"
    assert found() == ["dnspanel.E007"]


@pytest.mark.parametrize(
    ("host", "password", "tls", "ids"),
    [
        ("mail.test", "secret", "no", ["dnspanel.W003"]),
        ("mail.test", "secret", "starttls", []),
        ("mail.test", "", "no", []),
        ("127.0.0.1", "secret", "no", []),
        ("localhost", "secret", "no", []),
        ("", "secret", "no", []),
    ],
)
def test_a_password_of_mail_in_the_clear_is_named(
    settings: Any, host: str, password: str, tls: str, ids: list[str]
) -> None:
    settings.EMAIL_HOST, settings.EMAIL_HOST_PASSWORD, settings.MAIL_TLS = host, password, tls
    assert found() == ids


@pytest.mark.django_db
@pytest.mark.parametrize("command", ["collector", "update_gateway"])
def test_a_service_that_leaves_djangos_checks_still_makes_ours(command: str, settings: Any) -> None:
    settings.SECRET_KEY = "short"
    with pytest.raises(SystemCheckError, match=r"dnspanel\.E002"):
        load_command_class(get_commands()[command], command).check(tags=[checks.OWN])
    assert load_command_class(get_commands()[command], command).requires_system_checks == [checks.OWN]
