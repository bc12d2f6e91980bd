"""Fixtures of the OpenID Connect tests: a running provider that the panel is allowed to contact."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings as panel
from django.core.cache import cache

from dnspanel.accounts.providers.oidc import oidc_discovery
from tests.dnspanel.accounts.providers.oidc.provider import AtProvider, provider_running
from tests.people import alice as alice
from tests.people import bob as bob


def answer_url(slug: str) -> str:
    return f"{panel.PANEL_URL}/sign-in/by/{slug}/answer/"


@pytest.fixture(scope="session")
def running_provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtProvider]:
    with provider_running(tmp_path_factory.mktemp("oidc"), answer_url("one"), answer_url("two")) as idp:
        yield idp


@pytest.fixture(scope="session")
def second_running_provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtProvider]:
    with provider_running(tmp_path_factory.mktemp("oidc"), answer_url("two")) as idp:
        yield idp


@pytest.fixture
def reachable(settings: Any, db: None) -> None:
    """Allow requests to providers on loopback, and empty the caches of the previous test."""
    settings.OIDC_NETWORKS, settings.OUTBOUND_HTTP = ["127.0.0.0/8"], True
    oidc_discovery.forget()
    cache.clear()


@pytest.fixture
def idp(running_provider: AtProvider, reachable: None) -> AtProvider:
    running_provider.users()
    return running_provider
