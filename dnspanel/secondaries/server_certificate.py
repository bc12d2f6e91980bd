"""The gateway's TLS certificate (RFC 9103), from the operator's files or from the panel's own authority. Verbs."""

import base64
import hashlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import NameOID
from django.conf import settings
from django.db import transaction

from dnspanel.accounts.secrets.vault import decrypt_secret, encrypt_secret
from dnspanel.advisory_locks import Lock, lock_until_commit
from dnspanel.fleet.nodes.authority import certificate_is_due, ensure_authority, sign_node_certificate
from dnspanel.secondaries.errors import CertificateRefused
from dnspanel.secondaries.models import ServerCertificate
from dnspanel.secondaries.server_addresses import host_and_port, tls_host_and_port
from dnspanel.texts import gettext

# The gateway's name in the panel's own certificate. It does not exist in DNS.
OWN_NAME = "gateway.dnspanel"


@dataclass(frozen=True, slots=True)
class TlsEndpoint:
    """The gateway's TLS addresses, and the name, pin and authority with which secondaries verify its identity."""

    addresses: tuple[tuple[str, int], ...]
    name: str  # the first name in the gateway's certificate
    pin: str  # SHA-256 of the gateway's public key in Base64, which Knot DNS calls a pin
    authority: str  # PEM; empty: an authority that the secondary's system trusts


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """The certificate chain and private key of a TLS server, both in PEM."""

    chain: str
    key: bytes


def tls_endpoint(*, now: datetime) -> TlsEndpoint | None:
    """Return the gateway's TLS endpoint for secondaries, or None if TLS is off or the certificate can't be read."""
    if not settings.UPDATE_TLS_PORT:
        return None
    try:
        chain = _operators_chain() or ensure_own(now=now).pem
        certificate = x509.load_pem_x509_certificate(chain.encode())
    except (CertificateRefused, ValueError):  # a check of the settings shows the reason
        return None
    authority = "" if settings.UPDATE_TLS_CERTIFICATE else ensure_authority(now=now).ca_pem
    return TlsEndpoint(_addresses(), _first_name(certificate), pin_of(certificate), authority)


def server_identity(*, now: datetime) -> ServerIdentity:
    """Return the gateway's current chain and key. Raise CertificateRefused if the operator's files can't be read."""
    if chain := _operators_chain():
        return ServerIdentity(chain, _read(settings.UPDATE_TLS_KEY).encode())
    own = ensure_own(now=now)
    return ServerIdentity(own.pem, decrypt_secret(own.key_encrypted))


def ensure_own(*, now: datetime) -> ServerCertificate:
    """Return the gateway's own certificate. Create it if it is missing, and renew it with the same key if it is due."""
    found = ServerCertificate.objects.first()
    if found is not None and not certificate_is_due(found.pem, now):
        return found
    authority = ensure_authority(now=now)
    with transaction.atomic():
        lock_until_commit(Lock.AUTHORITY)
        found = ServerCertificate.objects.first()
        if found is not None and not certificate_is_due(found.pem, now):
            return found
        key = ec.generate_private_key(ec.SECP256R1()) if found is None else _own_key(found)
        certificate = sign_node_certificate(
            authority=authority, public_key=key.public_key(), node_name=OWN_NAME, agent_host=OWN_NAME, now=now
        )
        pem = certificate.public_bytes(Encoding.PEM).decode()
        key_pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return ServerCertificate.objects.update_or_create(
            id=1, defaults={"pem": pem}, create_defaults={"pem": pem, "key_encrypted": encrypt_secret(key_pem)}
        )[0]


def pin_of(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of the certificate's public key, in Base64 (RFC 7858, section 4.2)."""
    key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(key).digest()).decode()


def _own_key(stored: ServerCertificate) -> ec.EllipticCurvePrivateKey:
    key = load_pem_private_key(decrypt_secret(stored.key_encrypted), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


def _operators_chain() -> str:
    """Return the chain in the operator's file, or "" if no file is configured."""
    return _read(settings.UPDATE_TLS_CERTIFICATE) if settings.UPDATE_TLS_CERTIFICATE else ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except (OSError, UnicodeError) as exc:
        raise CertificateRefused(gettext("{path} couldn’t be read.").format(path=path)) from exc


def _first_name(certificate: x509.Certificate) -> str:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        found = names.get_values_for_type(x509.DNSName)
    except x509.ExtensionNotFound:
        found = []
    common = [str(each.value) for each in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    return next(iter([*found, *common]), "")


def _addresses() -> tuple[tuple[str, int], ...]:
    if settings.GATEWAY_TLS_ADDRESSES:
        return tuple(tls_host_and_port(each) for each in settings.GATEWAY_TLS_ADDRESSES)
    return tuple((host_and_port(each)[0], settings.UPDATE_TLS_PORT) for each in settings.GATEWAY_ADDRESSES)
