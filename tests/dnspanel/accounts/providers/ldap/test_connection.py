"""Tests of connections to LDAP servers: verified TLS, permitted addresses, and limited time."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import ldap
import pytest

from dnspanel.accounts.providers.ldap import connection as module
from dnspanel.accounts.providers.ldap.connection import open_connection, place_of
from dnspanel.accounts.providers.provider_http import ProviderAway
from tests.dnspanel.accounts.providers.ldap.server import READER, SECRET, AtLdap
from tests.own_certificates import own_certificate


@pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
def test_both_ways_into_tls_lead_to_the_server(at_ldap: AtLdap, scheme: str) -> None:
    uri = at_ldap.uri if scheme == "ldaps" else f"ldap://127.0.0.1:{at_ldap.port}"
    found = open_connection(uri, at_ldap.certificate, seconds=10)
    found.simple_bind_s(READER, SECRET)
    assert found.whoami_s() == f"dn:{READER}"
    found.unbind_s()
    assert " TLS established " in at_ldap.log


@pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
@pytest.mark.parametrize("trusted", ["public", "another", "of another host"])
def test_a_certificate_that_does_not_count_ends_it_before_any_name_is_told(
    at_ldap: AtLdap, monkeypatch: pytest.MonkeyPatch, scheme: str, trusted: str
) -> None:
    port, host = at_ldap.tls_port if scheme == "ldaps" else at_ldap.port, "127.0.0.1"
    certificates = {"public": "", "another": own_certificate("127.0.0.1").certificate}.get(trusted, at_ldap.certificate)
    if trusted == "of another host":
        host = "ldap.elsewhere.test"
        monkeypatch.setattr(module.outbound, "resolve_host", lambda host, port: ["127.0.0.1"])
    before = at_ldap.log.count(" BIND ")
    with pytest.raises(ProviderAway, match="certificate"):
        open_connection(f"{scheme}://{host}:{port}", certificates, seconds=10)
    assert at_ldap.log.count(" BIND ") == before


def test_the_address_that_was_checked_is_the_one_of_the_connection(
    at_ldap: AtLdap, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OIDC_NETWORKS = []
    with pytest.raises(ProviderAway, match="PANEL_OIDC_NETWORKS"):
        open_connection(at_ldap.uri, at_ldap.certificate, seconds=10)
    monkeypatch.setattr(module.outbound, "resolve_host", lambda host, port: ["127.0.0.1", "10.0.0.1"])
    settings.OIDC_NETWORKS = ["127.0.0.0/8"]
    with pytest.raises(ProviderAway, match="a public address"):
        open_connection("ldaps://ldap.work.test", at_ldap.certificate, seconds=10)


@contextmanager
def answering(*chunks: bytes) -> Iterator[int]:
    """Run a server that reads one request and sends these bytes. Yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            accepted, _ = server.accept()
            with closing(accepted):
                accepted.recv(1000)
                for chunk in chunks:
                    accepted.sendall(chunk)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x30\x84\xff\xff\xff\xff",  # 4 GB
        b"\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x02\x04\x00\x04\x00",  # protocolError
        b"\x30\x0c\x02\x01\x02\x78\x07\x0a\x01\x00\x04\x00\x04\x00",  # for another message
        b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00",  # of a bind
        b"\x30\x05\x02\x01\x01\x78\x84",
        b"\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00plain text, and no TLS",
    ],
    ids=range(8),
)
def test_what_does_not_begin_tls_well_is_told(reachable: None, answer: bytes) -> None:
    with answering(answer) as port, pytest.raises(ProviderAway):
        open_connection(f"ldap://127.0.0.1:{port}", "", seconds=10)


def test_a_server_that_sends_slowly_is_waited_for_no_longer_than_for_an_answer(
    reachable: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte arrives within the timeout, but an answer that comes byte by byte would never end."""
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.2)
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            accepted, _ = server.accept()
            with closing(accepted), suppress(OSError):
                while not done.wait(0.02):
                    accepted.sendall(b"\x16")

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(ProviderAway):
            open_connection(f"ldap://127.0.0.1:{server.getsockname()[1]}", "", seconds=10)
        done.set()
        thread.join()


def test_connections_leave_nothing_open(at_ldap: AtLdap) -> None:
    def once() -> None:
        found = open_connection(at_ldap.uri, at_ldap.certificate, seconds=10)
        found.simple_bind_s(READER, SECRET)
        found.unbind_s()
        for thread in threading.enumerate():
            if thread.name.endswith("(_carry)"):
                thread.join()

    once()
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        once()
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_a_connection_ends_by_itself_after_its_time(at_ldap: AtLdap) -> None:
    found = open_connection(at_ldap.uri, at_ldap.certificate, seconds=0)
    with pytest.raises(ldap.LDAPError):
        found.simple_bind_s(READER, SECRET)


@pytest.mark.parametrize(
    "uri",
    ["http://x.test", "ldapi:///run/x", "ldap://", "ldaps://x.test/dc=x", "ldap://a@x.test", "ldap://x.test:0x"],
)
def test_what_is_no_uri_of_a_server_is_none(uri: str) -> None:
    with pytest.raises(ValueError, match="ldaps://host"):
        place_of(uri)
