"""certbot obtains certificates from a real ACME server with both PowerDNS plugins, by tokens for only that purpose."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.clients import certbot
from tests.clients.pebble import Pebble, names_in, pebble
from tests.clients.services import Service, call, create_zone, expect_answers, rrset

pytestmark = pytest.mark.flow

# Below a real top-level domain, because both plugins use lexicon, which splits names by the public suffix list.
ZONE = "certbot.example.org."
CHALLENGE = f"_acme-challenge.{ZONE}"


@pytest.fixture
def acme(tmp_path: Path, service: Service) -> Iterator[Pebble]:
    """Run an ACME server that queries the service. Its zone already has a foreign TXT value at the challenge's name."""
    create_zone(service, ZONE, rrset(CHALLENGE, "TXT", '"a foreign value"'))
    with pebble(tmp_path, service) as running:
        yield running
    call(service, "DELETE", f"zones/{ZONE}")


@pytest.fixture(params=certbot.PLUGINS)
def plugin(request: pytest.FixtureRequest) -> certbot.Plugin:
    return certbot.PLUGINS[request.param]


def test_apex_and_wildcard_are_two_values_at_one_name_and_a_foreign_one_survives(
    service: Service, plugin: certbot.Plugin, acme: Pebble, tmp_path: Path
) -> None:
    domains = ("certbot.example.org", "*.certbot.example.org")
    key = service.acme_key(ZONE, ZONE)
    certificate = certbot.obtain(
        plugin, *domains, directory=tmp_path / "certbot", service=service, key=key, pebble=acme
    )
    assert names_in(certificate) == set(domains)
    expect_answers(service, CHALLENGE, "TXT", '"a foreign value"')


def test_a_zone_is_found_from_a_name_far_below_it(
    service: Service, plugin: certbot.Plugin, acme: Pebble, tmp_path: Path
) -> None:
    certificate = obtain_far_below("a", service, plugin, acme, tmp_path)
    assert names_in(certificate) == {"a.far.below.certbot.example.org"}
    expect_answers(service, f"_acme-challenge.a.far.below.{ZONE}", "TXT")


# The real server with SQLite answers 500 to one of two simultaneous changes.
@pytest.mark.parametrize("service", ["panel"], indirect=True)
def test_runs_at_once_in_one_zone_all_succeed(
    service: Service, plugin: certbot.Plugin, acme: Pebble, tmp_path: Path
) -> None:
    with ThreadPoolExecutor() as pool:
        certificates = list(
            pool.map(lambda label: obtain_far_below(label, service, plugin, acme, tmp_path / label), "abc")
        )
    assert [names_in(certificate) for certificate in certificates] == [
        {f"{label}.far.below.certbot.example.org"} for label in "abc"
    ]


def obtain_far_below(label: str, service: Service, plugin: certbot.Plugin, acme: Pebble, directory: Path) -> Path:
    """Obtain a certificate for a name three labels below the zone, with a token for only this name. Return its path."""
    domain = f"{label}.far.below.certbot.example.org"
    key = service.acme_key(ZONE, f"{domain}.")
    return certbot.obtain(plugin, domain, directory=directory / "certbot", service=service, key=key, pebble=acme)


def test_a_wrong_key_is_told_as_such(service: Service, plugin: certbot.Plugin, acme: Pebble, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"401|Unauthorized"):
        certbot.obtain(
            plugin, "certbot.example.org", directory=tmp_path / "certbot", service=service, key="wrong", pebble=acme
        )
