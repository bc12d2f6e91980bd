"""Fixtures of the SAML tests: a running provider that the panel is allowed to contact."""

from collections.abc import Iterator

import pytest

from tests.dnspanel.accounts.providers.saml.provider import AtSaml, saml_running


@pytest.fixture(scope="session")
def running_saml(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtSaml]:
    with saml_running(tmp_path_factory.mktemp("saml")) as idp:
        yield idp


@pytest.fixture
def saml_idp(running_saml: AtSaml, reachable: None) -> AtSaml:
    running_saml.users()
    return running_saml
