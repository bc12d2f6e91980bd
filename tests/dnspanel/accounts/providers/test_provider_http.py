"""Tests of requests to providers: checked addresses only (`providers.provider_http`, `oidc.oidc_discovery`)."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from dnspanel.accounts.providers import provider_http
from dnspanel.accounts.providers.oidc import oidc_discovery
from dnspanel.accounts.providers.provider_http import MOST_BYTES, ProviderAway, provider_session
from tests.dnspanel.accounts.providers.oidc.provider import AtProvider

WELL_KNOWN = "/.well-known/openid-configuration"


class Answers(BaseHTTPRequestHandler):
    """A server that answers with the entry of `bodies` for the path."""

    bodies: dict[str, tuple[int, bytes]] = {}
    hosts: list[str | None] = []

    def do_GET(self) -> None:
        self.hosts.append(self.headers["Host"])
        status, body = self.bodies.get(self.path, (404, b""))
        self.send_response(status)
        if status == 302:
            self.send_header("Location", body.decode())
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Log nothing."""


@pytest.fixture
def server(reachable: None) -> Iterator[str]:
    Answers.bodies, Answers.hosts = {}, []
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://localhost:{running.server_address[1]}"
        running.shutdown()
        thread.join()


def test_a_provider_is_asked_for_what_it_is(idp: AtProvider) -> None:
    found = oidc_discovery.configuration_of(idp.issuer)
    assert found["issuer"] == idp.issuer
    assert oidc_discovery.keys_of(found)["keys"]
    idp.file.parent.joinpath("unused").touch()
    assert oidc_discovery.configuration_of(idp.issuer) is found  # cached


def test_the_connection_goes_to_the_checked_address_and_speaks_of_the_host(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = server.rpartition(":")[2]
    Answers.bodies["/x"] = 200, b"{}"
    monkeypatch.setattr(
        provider_http.outbound, "allowed_addresses", lambda host, *_: {"idp.example.test": ["127.0.0.1"]}[host]
    )
    with provider_session() as client:
        assert client.get(f"http://idp.example.test:{port}/x").json() == {}
    assert Answers.hosts == [f"idp.example.test:{port}"]


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://[::1]/", "http://localhost/", "http://169.254.169.254/"])
def test_private_addresses_are_refused(settings: Any, url: str) -> None:
    settings.OIDC_NETWORKS, settings.OUTBOUND_HTTP = [], True
    with pytest.raises(ProviderAway, match="a public address"), provider_session() as client:
        client.get(url)


def test_http_is_refused(settings: Any) -> None:
    settings.OUTBOUND_HTTP = False
    with pytest.raises(ProviderAway, match="https"), provider_session() as client:
        client.get("http://9.9.9.9/")


def test_a_redirect_is_not_followed_and_a_long_answer_not_read(server: str) -> None:
    Answers.bodies["/away"] = 302, b"http://169.254.169.254/"
    Answers.bodies["/long"] = 200, b"x" * (MOST_BYTES + 1)
    with provider_session() as client:
        assert client.get(f"{server}/away").status_code == 302
        with pytest.raises(ProviderAway, match="too long"):
            client.get(f"{server}/long")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b'{"issuer": "https://other.test"}', "issuer is https://other.test"),
        (b'{"issuer": "ISSUER", "authorization_endpoint": "javascript:alert(1)"}', "authorization_endpoint"),
        (b'{"issuer": "ISSUER"}', "authorization_endpoint"),
        (b"[]", "instead of the provider’s configuration"),
        (b"<html>", "didn’t return valid JSON"),
    ],
    ids=["other", "script", "none", "list", "page"],
)
def test_what_is_no_configuration_is_told(server: str, body: bytes, told: str) -> None:
    Answers.bodies[WELL_KNOWN] = 200, body.replace(b"ISSUER", server.encode())
    with pytest.raises(ProviderAway, match=told):
        oidc_discovery.configuration_of(server)


def test_nobody_there_is_told(reachable: None) -> None:
    with pytest.raises(ProviderAway, match="didn’t respond"):
        oidc_discovery.configuration_of("http://127.0.0.1:1")
