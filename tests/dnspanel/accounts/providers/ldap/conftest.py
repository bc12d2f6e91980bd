"""Fixtures of the LDAP tests: a running server that the panel is allowed to contact."""

from collections.abc import Iterator

import pytest

from tests.dnspanel.accounts.providers.ldap.server import AtLdap, slapd_running


@pytest.fixture(scope="session")
def running_slapd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtLdap]:
    with slapd_running(tmp_path_factory.mktemp("ldap")) as server:
        yield server


@pytest.fixture
def at_ldap(running_slapd: AtLdap, reachable: None) -> AtLdap:
    running_slapd.empty()
    return running_slapd
