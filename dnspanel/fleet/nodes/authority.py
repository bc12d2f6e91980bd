"""The panel's certificate authority, which certifies the nodes and the panel that pushes to them. Verbs.

Both sides of the push channel authenticate with a certificate from this authority. The panel's private keys are stored
encrypted with PANEL_MASTER_KEY. A node's private key never leaves the node.
"""

import hashlib
import ipaddress
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from django.db import transaction

from dnspanel.accounts.secrets.vault import decrypt_secret, encrypt_secret
from dnspanel.advisory_locks import Lock, lock_until_commit
from dnspanel.fleet.models import Authority, Node
from replication.node_client import ANSWER_SECONDS, NodeClient

AUTHORITY_LIFETIME = timedelta(days=3652)
NODE_LIFETIME = timedelta(days=366)
# A node whose clock is behind must not reject its new certificate as "not yet valid".
CLOCK_TOLERANCE = timedelta(hours=1)
PANEL_NAME = "panel"

PrivateKey = ec.EllipticCurvePrivateKey


def ensure_authority(*, now: datetime) -> Authority:
    """Return the authority with the panel's client certificate. Create both if they don't exist."""
    if authority := Authority.objects.first():
        return authority
    with transaction.atomic():
        lock_until_commit(Lock.AUTHORITY)
        if authority := Authority.objects.first():
            return authority
        ca_key = ec.generate_private_key(ec.SECP256R1())
        ca = _authority_certificate(ca_key, now)
        client_key = ec.generate_private_key(ec.SECP256R1())
        client = _panel_certificate(ca, ca_key, client_key.public_key(), now)
        return Authority.objects.create(
            ca_pem=_pem(ca),
            ca_key_encrypted=encrypt_secret(_key_pem(ca_key)),
            client_pem=_pem(client),
            client_key_encrypted=encrypt_secret(_key_pem(client_key)),
            created_at=now,
        )


def fingerprint(authority: Authority) -> str:
    """Return the SHA-256 of the authority's certificate in hex. Enrollment codes contain its first digits."""
    der = x509.load_pem_x509_certificate(authority.ca_pem.encode()).public_bytes(serialization.Encoding.DER)
    return hashlib.sha256(der).hexdigest()


def sign_node_certificate(
    *, authority: Authority, public_key: ec.EllipticCurvePublicKey, node_name: str, agent_host: str, now: datetime
) -> x509.Certificate:
    """Return a server certificate for a node, valid for the address at which the panel reaches its agent."""
    ca = x509.load_pem_x509_certificate(authority.ca_pem.encode())
    builder = _builder(ca.subject, node_name, public_key, now, now + NODE_LIFETIME)
    builder = builder.add_extension(x509.SubjectAlternativeName([_general_name(agent_host)]), critical=False)
    return _sign_leaf(builder, _ca_key(authority), ExtendedKeyUsageOID.SERVER_AUTH)


def certificate_is_due(pem: str, now: datetime) -> bool:
    """Return True if the certificate must be renewed, because less than a third of its lifetime is left."""
    certificate = x509.load_pem_x509_certificate(pem.encode())
    lifetime = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    return certificate.not_valid_after_utc - now < min(lifetime, NODE_LIFETIME) / 3


def client_expires_at(authority: Authority) -> datetime:
    """Return the expiry time of the panel's own certificate."""
    return x509.load_pem_x509_certificate(authority.client_pem.encode()).not_valid_after_utc


def authority_expires_at(authority: Authority) -> datetime:
    """Return the expiry time of the authority's own certificate."""
    return x509.load_pem_x509_certificate(authority.ca_pem.encode()).not_valid_after_utc


def rotate_client_certificate(*, now: datetime) -> bool:
    """Replace the panel's client certificate if its renewal is due. Return True if it was replaced.

    Agents accept the former certificate until it expires.
    """
    with transaction.atomic():
        authority = Authority.objects.select_for_update().first()
        if authority is None or not certificate_is_due(authority.client_pem, now):
            return False
        client_key = ec.generate_private_key(ec.SECP256R1())
        ca = x509.load_pem_x509_certificate(authority.ca_pem.encode())
        client = _panel_certificate(ca, _ca_key(authority), client_key.public_key(), now)
        Authority.objects.filter(pk=authority.pk).update(
            client_pem=_pem(client), client_key_encrypted=encrypt_secret(_key_pem(client_key))
        )
    return True


def client_key(authority: Authority) -> PrivateKey:
    """Return the private key of the panel's own certificate `client_pem`."""
    return _private_key(authority.client_key_encrypted)


def client_ssl_context(authority: Authority) -> ssl.SSLContext:
    """Return the TLS context for calls to agents. It trusts only the panel's own authority.

    Each process has one context per authority, so that all connections share sessions and parsed certificates.
    """
    return _client_ssl_context(authority.ca_pem, authority.client_pem, bytes(authority.client_key_encrypted))


def client_of(node: Node, context: ssl.SSLContext, *, answer_seconds: float = ANSWER_SECONDS) -> NodeClient:
    """Return a client for the node's agent, which checks the certificate that the panel knows. It connects later."""
    return NodeClient(
        node.agent_host, node.agent_port, context, certificate_sha256=node.pins, answer_seconds=answer_seconds
    )


@contextmanager
def file_in_memory(content: bytes) -> Iterator[str]:
    """Yield the path of an in-memory file. `ssl` can load keys only from files, and keys must not be on disk."""
    descriptor = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


@cache
def _client_ssl_context(ca_pem: str, client_pem: str, client_key_encrypted: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_verify_locations(cadata=ca_pem)
    with file_in_memory(client_pem.encode() + decrypt_secret(client_key_encrypted)) as path:
        context.load_cert_chain(path)
    return context


def _authority_certificate(key: PrivateKey, now: datetime) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dnspanel authority")])
    usage = _key_usage(digital_signature=False, key_cert_sign=True)
    return (
        _builder(name, "dnspanel authority", key.public_key(), now, now + AUTHORITY_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _ca_key(authority: Authority) -> PrivateKey:
    return _private_key(authority.ca_key_encrypted)


def _private_key(encrypted: bytes | memoryview) -> PrivateKey:
    key = serialization.load_pem_private_key(decrypt_secret(bytes(encrypted)), None)
    if not isinstance(key, PrivateKey):
        raise TypeError("a key of the authority's is not an elliptic curve key")
    return key


def _panel_certificate(
    ca: x509.Certificate, ca_key: PrivateKey, public_key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.Certificate:
    until = min(now + NODE_LIFETIME, ca.not_valid_after_utc)
    builder = _builder(ca.subject, PANEL_NAME, public_key, now, until)
    return _sign_leaf(builder, ca_key, ExtendedKeyUsageOID.CLIENT_AUTH)


def _builder(
    issuer: x509.Name, common_name: str, public_key: ec.EllipticCurvePublicKey, now: datetime, until: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .issuer_name(issuer)
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)]))
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_TOLERANCE)
        .not_valid_after(until)
    )


def _sign_leaf(builder: x509.CertificateBuilder, ca_key: PrivateKey, usage: x509.ObjectIdentifier) -> x509.Certificate:
    issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    return (
        builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(digital_signature=True, key_cert_sign=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(issuer_key, critical=False)
        .sign(ca_key, hashes.SHA256())
    )


def _key_usage(*, digital_signature: bool, key_cert_sign: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=key_cert_sign,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _key_pem(key: PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
