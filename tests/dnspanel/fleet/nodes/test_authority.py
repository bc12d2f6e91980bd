"""Tests of the certificate authority, and of a TLS handshake with its certificates on both sides."""

import socket
import ssl
import threading
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from dnspanel.fleet.models import Authority
from dnspanel.fleet.nodes.authority import client_ssl_context, ensure_authority, fingerprint, sign_node_certificate
from tests.dnspanel.fleet.conftest import NOW, new_key

pytestmark = pytest.mark.django_db


def test_the_authority_is_made_once() -> None:
    first = ensure_authority(now=NOW)
    assert ensure_authority(now=NOW).ca_pem == first.ca_pem
    assert Authority.objects.count() == 1
    assert len(fingerprint(first)) == 64


def test_its_keys_are_not_readable_in_the_database() -> None:
    authority = ensure_authority(now=NOW)
    assert b"PRIVATE" not in bytes(authority.ca_key_encrypted)
    assert b"PRIVATE" not in bytes(authority.client_key_encrypted)


def test_the_client_context_is_made_once_per_process() -> None:
    authority = ensure_authority(now=NOW)
    assert client_ssl_context(authority) is client_ssl_context(Authority.objects.get())


def handshake(tmp_path: Path, host: str, server_name: str) -> str | None:
    """Do a TLS handshake with an agent certified for `host`. Return the common name in the panel's certificate."""
    from django.utils import timezone

    authority = ensure_authority(now=timezone.now())
    key = new_key()
    certificate = sign_node_certificate(
        authority=authority, public_key=key.public_key(), node_name="ns1", agent_host=host, now=timezone.now()
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "node.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + private)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "node.pem")
    server.load_verify_locations(cadata=authority.ca_pem)
    server.verify_mode = ssl.CERT_REQUIRED
    server.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
    ours, theirs = socket.socketpair()
    seen: list[str] = []

    def serve() -> None:
        try:
            with server.wrap_socket(theirs, server_side=True) as tls:
                tls.recv(1)
                peer = x509.load_der_x509_certificate(tls.getpeercert(binary_form=True) or b"")
                seen.append(peer.subject.rfc4514_string())
        except (ssl.SSLError, OSError):
            theirs.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with client_ssl_context(authority).wrap_socket(ours, server_hostname=server_name) as tls:
            tls.send(b"x")
    finally:
        ours.close()
        thread.join(10)
    return seen[0] if seen else None


@pytest.mark.parametrize("host", ["127.0.0.1", "ns1.example.test", "2001:db8::53"])
def test_panel_and_agent_know_each_other_by_the_authority(tmp_path: Path, host: str) -> None:
    assert handshake(tmp_path, host, host) == "CN=panel"


def test_an_agent_at_another_address_than_its_certificates_is_not_spoken_to(tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(tmp_path, "192.0.2.1", "192.0.2.2")
