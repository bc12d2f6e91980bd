"""Tests of API discovery: the versions, and the single server with its URLs."""

import pytest

from dnspanel.accounts.models import User
from tests.dnspanel.api.v1.calls import Caller, caller

pytestmark = pytest.mark.django_db


def test_the_versions_and_their_places(bob: User) -> None:
    ask = caller(bob)
    assert ask.value("GET", "/api") == [{"version": 1, "url": "/api/v1"}]
    assert ask.value("GET", "/api/v1") == [{"server_url": "/api/v1/servers{/server}", "api_features": []}]


def test_there_is_one_server_whose_urls_lead_on(bob: User) -> None:
    ask = caller(bob)
    server = ask.value("GET", "")
    assert ask.value("GET", "/api/v1/servers") == [server]
    assert (server["type"], server["id"], server["daemon_type"]) == ("Server", "localhost", "authoritative")
    assert ask.value("GET", server["url"]) == server
    for url in ("config_url", "zones_url", "autoprimaries_url"):
        assert isinstance(ask.value("GET", server[url].split("{")[0]), list)


def test_the_version_is_three_numbers_because_clients_compare_them(bob: User) -> None:
    version = caller(bob).value("GET", "")["version"]
    assert (4, 9, 12) <= tuple(map(int, version.split("."))) < (5, 0, 0)


def test_any_other_server_is_not_found(bob: User) -> None:
    ask = caller(bob)
    for path in ("", "/config", "/zones", "/tsigkeys", "/search-data?q=x", "/zones/a.test./metadata"):
        assert ask("GET", f"/api/v1/servers/other{path}").status_code == 404


@pytest.mark.parametrize("path", ["/api", "/api/v1", "/api/docs", "/api/v1/servers", "", "/config", "/autoprimaries"])
@pytest.mark.parametrize("key", ["", "wrong", "dnsp_" + "x" * 43])
def test_without_a_good_key_nothing_is_told(path: str, key: str, db: None) -> None:
    response = Caller(key)("GET", path)
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == 'X-API-Key realm="PowerDNS"'
    assert response.json() == {"error": "Unauthorized"}
    assert Caller(key)("GET", path, accept="*/*").content == b"Unauthorized"


@pytest.mark.parametrize("path", ["/api", "/api/v1", "/api/v1/servers", "", "/config", "/statistics"])
def test_other_methods_are_refused_with_those_that_there_are(path: str, bob: User) -> None:
    response = caller(bob)("POST", path, {})
    assert response.status_code == 405
    assert "GET" in response["Allow"]
