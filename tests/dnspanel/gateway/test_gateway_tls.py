"""Tests of transfers over TLS (RFC 9103): accepted and refused clients, and the record of refusals.

The clients use OpenSSL.
"""

import base64
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import dns.message
import dns.query
import dns.rcode
import pytest
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.gateway import gateway_server
from dnspanel.gateway.gateway_server import Gateway
from dnspanel.secondaries import secondary_catalog, set_up_secondaries
from dnspanel.secondaries.models import Member, Secondary, Transport
from dnspanel.secondaries.server_certificate import OWN_NAME, tls_endpoint
from dnspanel.zones.models import Zone
from tests.dnspanel.gateway.test_gateway_server import LOOPBACK, running_gateway
from tests.dnspanel.secondaries.conftest import MakeSecondary, key_of
from tests.dnspanel.secondaries.conftest import make_secondary as make_secondary
from tests.own_certificates import OwnCertificate, own_certificate

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def at_home(settings: Any) -> None:
    settings.SECONDARY_NETWORKS = ["127.0.0.0/8"]
    settings.UPDATE_TLS_PORT = 853


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with running_gateway(tls_port=0) as found:
        yield found


@pytest.fixture
def secondary(make_secondary: MakeSecondary, zone: Zone) -> Secondary:
    return make_secondary(addresses=[LOOPBACK], transport="tls")


def change(secondary: Secondary, alice: User, **terms: Any) -> None:
    set_up_secondaries.change_secondary(
        secondary=secondary,
        terms=replace(set_up_secondaries.terms_of(secondary), **terms),
        by=alice,
        now=timezone.now(),
    )


def connected(
    gateway: Gateway, directory: Path, *, own: OwnCertificate | None = None, alpn: list[str] | None = None,
    newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
) -> ssl.SSLSocket:  # fmt: skip
    """Connect a client that trusts only the panel's certificate authority, as a configured secondary does."""
    endpoint = tls_endpoint(now=timezone.now())
    assert endpoint is not None
    context = ssl.create_default_context(cadata=endpoint.authority)
    context.maximum_version = newest
    if alpn := ["dot"] if alpn is None else alpn:
        context.set_alpn_protocols(alpn)
    if own is not None:
        (directory / "own.pem").write_text(own.certificate + own.key)
        context.load_cert_chain(directory / "own.pem")
    plain = socket.create_connection((LOOPBACK, gateway.tls_port or 0), timeout=10)
    return context.wrap_socket(plain, server_hostname=OWN_NAME)


def transferred(stream: Any, secondary: Secondary, name: str = "example.test.") -> str:
    """Send a signed AXFR query. Return the rcode of the single answer message."""
    query = dns.message.make_query(name, "AXFR", flags=0)
    key = key_of(secondary)
    query.use_tsig(key, algorithm=key.algorithm)
    dns.query.send_tcp(stream, query.to_wire())
    reply, _ = dns.query.receive_tcp(stream, keyring=key, request_mac=query.mac)
    return dns.rcode.to_text(reply.rcode())


def test_a_zone_and_a_catalog_go_over_tls_and_that_is_noted(
    gateway: Gateway, secondary: Secondary, tmp_path: Path
) -> None:
    with connected(gateway, tmp_path) as stream:
        assert stream.version() == "TLSv1.3"
        assert stream.selected_alpn_protocol() == "dot"
        assert transferred(stream, secondary) == "NOERROR"
        assert transferred(stream, secondary, secondary_catalog.catalog_name(secondary)) == "NOERROR", (
            "on the same connection"
        )
    member = Member.objects.get()
    assert (member.transferred_how, member.transferred_over_tls) == ("AXFR", True)


def test_who_transfers_over_tls_only_gets_nothing_over_tcp(gateway: Gateway, secondary: Secondary, alice: User) -> None:
    def over_tcp(name: str) -> str:
        with socket.create_connection((LOOPBACK, gateway.port), timeout=10) as stream:
            return transferred(stream, secondary, name)

    names = ("example.test.", secondary_catalog.catalog_name(secondary))
    assert [over_tcp(name) for name in names] == ["REFUSED", "REFUSED"]
    secondary.refresh_from_db()
    assert secondary.refusals == 2
    assert "must use TLS" in secondary.refused_reason
    change(secondary, alice, transport=Transport.ANY)
    assert [over_tcp(name) for name in names] == ["NOERROR", "NOERROR"]
    assert not Member.objects.get().transferred_over_tls


def test_its_own_certificate_is_needed_besides_where_that_is_so(
    gateway: Gateway, secondary: Secondary, make_secondary: MakeSecondary, alice: User, tmp_path: Path
) -> None:
    own, following, others = own_certificate(), own_certificate(rsa_bits=2048), own_certificate("other.test")
    change(secondary, alice, transport=Transport.CERTIFICATE, certificate=own.certificate + following.certificate)
    make_secondary("other", addresses=["9.9.9.9"], transport=Transport.TLS, certificate=others.certificate)
    for own_or_other, rcode in ((own, "NOERROR"), (following, "NOERROR"), (None, "REFUSED"), (others, "REFUSED")):
        with connected(gateway, tmp_path, own=own_or_other) as stream:
            assert transferred(stream, secondary) == rcode
    secondary.refresh_from_db()
    assert "other than its own" in secondary.refused_reason
    change(secondary, alice, certificate=following.certificate)
    with connected(gateway, tmp_path, own=following) as stream:
        assert transferred(stream, secondary) == "NOERROR"


def refused_reason(secondary: Secondary, count: int) -> str:
    """Wait until the secondary was refused `count` times, and return the last reason, which is stored late."""
    deadline = time.monotonic() + 10
    while secondary.refusals < count and time.monotonic() < deadline:
        secondary.refresh_from_db()
    assert secondary.refusals == count
    return secondary.refused_reason


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"alpn": ["h2"]}, "“dot”"),
        ({"alpn": []}, "“dot”"),
        ({"newest": ssl.TLSVersion.TLSv1_2}, "doesn’t support TLS 1.3"),
        ({"own": "stranger"}, "doesn’t belong to a secondary"),
        ({"own": "expired"}, "expired"),
    ],
    ids=["another protocol", "no protocol", "old TLS", "an unknown certificate", "an expired certificate"],
)
def test_whoever_is_not_let_in_is_counted_where_the_address_is_known(
    gateway: Gateway, secondary: Secondary, alice: User, tmp_path: Path, how: dict[str, Any], reason: str
) -> None:
    expired = own_certificate(begins=timezone.now() - timedelta(days=60))
    known = {"stranger": own_certificate(), "expired": expired}
    change(secondary, alice, transport=Transport.TLS, certificate=own_certificate().certificate + expired.certificate)
    if "own" in how:
        how = {"own": known[how["own"]]}
    with pytest.raises((OSError, EOFError)), connected(gateway, tmp_path, **how) as stream:
        transferred(stream, secondary)
    assert reason in refused_reason(secondary, 1)
    assert AuditEntry.objects.filter(action="secondary.refused").count() == 1


def test_what_speaks_no_tls_and_who_is_silent_is_cut_off(
    gateway: Gateway, secondary: Secondary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_server, "HANDSHAKE_SECONDS", 0.2)
    for start in (b"GET / HTTP/1.1\r\n\r\n", b"\0\x1dnot a handshake of any kind", b""):
        with socket.create_connection((LOOPBACK, gateway.tls_port or 0), timeout=5) as connection:
            connection.sendall(start)
            while connection.recv(100):
                pass
    assert "the client didn’t use TLS" in refused_reason(secondary, 2)


def test_a_key_that_does_not_fit_lets_nobody_in_and_harms_nothing_else(
    gateway: Gateway, zone: Zone, settings: Any, tmp_path: Path
) -> None:
    one, two = own_certificate(), own_certificate()
    (tmp_path / "chain.pem").write_text(one.certificate)
    (tmp_path / "key.pem").write_text(two.key)
    settings.UPDATE_TLS_CERTIFICATE, settings.UPDATE_TLS_KEY = str(tmp_path / "chain.pem"), str(tmp_path / "key.pem")
    with socket.create_connection((LOOPBACK, gateway.tls_port or 0), timeout=5) as connection:
        assert connection.recv(1) == b""
    question = dns.message.make_query("example.test.", "SOA")
    assert dns.query.tcp(question, LOOPBACK, port=gateway.port, timeout=5).answer


@pytest.mark.skipif(shutil.which("kdig") is None, reason="kdig asks here")
def test_kdig_transfers_by_our_authority_and_by_our_pin(
    gateway: Gateway, secondary: Secondary, alice: User, tmp_path: Path
) -> None:
    own, endpoint = own_certificate(), tls_endpoint(now=timezone.now())
    assert endpoint is not None
    change(secondary, alice, transport=Transport.CERTIFICATE, certificate=own.certificate)
    for name, text in (("ca", endpoint.authority), ("own", own.certificate), ("key", own.key)):
        (tmp_path / name).write_text(text)
    key = key_of(secondary)
    signed_by = f"{secondary.tsig_algorithm}:{secondary.tsig_name}:{base64.b64encode(key.secret).decode()}"
    command = [
        *("kdig", f"@{LOOPBACK}", "-p", str(gateway.tls_port), "-y", signed_by),
        *(f"+tls-certfile={tmp_path / 'own'}", f"+tls-keyfile={tmp_path / 'key'}"),
    ]
    for known_by in ([f"+tls-ca={tmp_path / 'ca'}", f"+tls-hostname={OWN_NAME}"], [f"+tls-pin={endpoint.pin}"]):
        done = subprocess.run(
            [*command, *known_by, "example.test.", "AXFR"], capture_output=True, text=True, timeout=20, check=False
        )
        assert "www.example.test." in done.stdout, done.stdout + done.stderr


def test_a_client_that_does_not_trust_us_is_no_refusal_of_ours(
    gateway: Gateway, secondary: Secondary, tmp_path: Path
) -> None:
    plain = socket.create_connection((LOOPBACK, gateway.tls_port or 0), timeout=10)
    with pytest.raises(ssl.SSLCertVerificationError):
        ssl.create_default_context().wrap_socket(plain, server_hostname=OWN_NAME)
    with pytest.raises((OSError, EOFError)), connected(gateway, tmp_path, alpn=["h2"]) as stream:
        transferred(stream, secondary)
    assert "“dot”" in refused_reason(secondary, 1)
