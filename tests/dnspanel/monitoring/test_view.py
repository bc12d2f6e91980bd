"""`/metrics` is for tokens that can see nodes and for the operator's networks. All others are refused."""

from typing import Any

import pytest
from django.test import Client

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.people import NOW

pytestmark = pytest.mark.django_db


def scrape(address: str = "192.0.2.10", **headers: str) -> Any:
    return Client(REMOTE_ADDR=address).get("/metrics", headers=headers)


def secret(owner: User, *permissions: Permission) -> str:
    terms = TokenTerms("scraper", permissions=frozenset(permissions))
    return create_token(owner=owner, terms=terms, by=owner, now=NOW).secret


def test_without_a_token_there_is_nothing(alice: User) -> None:
    answer = scrape()
    assert (answer.status_code, b"dnspanel_" in answer.content) == (401, False)
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert scrape(Authorization="Bearer dnsp_nonsense").status_code == 401


def test_a_session_is_no_token(alice: User) -> None:
    client = Client()
    client.force_login(alice, backend="django.contrib.auth.backends.ModelBackend")
    assert client.get("/metrics").status_code == 401


def test_a_token_that_may_see_nodes_opens_it(alice: User) -> None:
    answer = scrape(Authorization=f"Bearer {secret(alice, Permission.FLEET)}", Accept="application/openmetrics-text")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain; version=")
    assert answer["Cache-Control"] == "no-store"
    assert b"dnspanel_publications_total 0.0\n" in answer.content


def test_a_token_that_may_not_is_told_so(alice: User) -> None:
    answer = scrape(Authorization=f"Bearer {secret(alice, Permission.AUDIT)}", Accept="text/plain")
    assert (answer.status_code, answer.content) == (403, b"This token may not: see nodes.\n")


@pytest.mark.parametrize(
    ("networks", "address", "status"),
    [
        ([], "127.0.0.1", 401),
        (["192.0.2.0/28", "2001:db8::/64"], "192.0.2.10", 200),
        (["192.0.2.0/28", "2001:db8::/64"], "2001:db8::9", 200),
        (["192.0.2.0/28"], "192.0.2.16", 401),
    ],
)
def test_the_operators_networks_need_no_token(settings: Any, networks: list[str], address: str, status: int) -> None:
    settings.METRICS_NETWORKS = networks
    assert scrape(address).status_code == status


def test_a_bad_token_from_such_a_network_is_refused_all_the_same(settings: Any) -> None:
    settings.METRICS_NETWORKS = ["192.0.2.0/24"]
    assert scrape(Authorization="Bearer dnsp_nonsense").status_code == 401
