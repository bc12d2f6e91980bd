"""Keep the agent's key, its certificate and the accepted signing keys. All of them can change at run time.

    node.key node.pem      for TLS
    ca.pem                 the panel's CA; it never changes as long as this is the same node
    identity.json          name, cluster, schema, and the keys that sign segments
    next.key               a new key whose certificate has been requested
    next.pem               the new certificate with its key in one file; it commits the rotation

Renaming next.pem into place commits a rotation. A process that finds next.pem at its start finishes the rotation. After
a crash, the agent therefore has either the old pair or the new pair, never a certificate with a wrong key.
"""

import logging
import os
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, overload

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from replication.agent.agent_config import IDENTITY_FILE, Identity, format_identity
from replication.disk import sync_directory
from replication.errors import BadBytes, WrongCluster
from replication.wire.keyring import decode_keyring

NEXT_KEY_FILE, NEXT_FILE = "next.key", "next.pem"

logger = logging.getLogger(__name__)


class SigningKeys(Sequence[bytes]):
    """The currently accepted signing keys. All users of this object see a replacement immediately."""

    def __init__(self, keys: tuple[bytes, ...]) -> None:
        self._keys = keys

    def replace(self, keys: tuple[bytes, ...]) -> None:
        self._keys = keys

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes]:
        return self._keys[index]


class Enrolled(Protocol):
    """The interface shared by the configurations of nodes and fronts: the identity, and the paths of its files."""

    @property
    def identity(self) -> Identity: ...
    @property
    def key_path(self) -> Path: ...
    @property
    def certificate_path(self) -> Path: ...
    @property
    def ca_path(self) -> Path: ...


class IdentityKeeper:
    """A running agent's identity. `context` is the TLS context for the next connection."""

    def __init__(self, config: Enrolled) -> None:
        self._config = config
        self._directory = config.key_path.parent
        self._lock = threading.Lock()
        self.identity = config.identity
        self.signing_keys = SigningKeys(config.identity.signing_keys)
        self._finish()
        self.context = server_context(config.certificate_path, config.key_path, config.ca_path)
        self.certificate_expires_at = _expires_at(config.certificate_path)

    def request(self) -> str:
        """Return a certificate signing request for a new key, the same one until `install` receives its certificate."""
        with self._lock:
            kept = self._directory / NEXT_KEY_FILE
            if not kept.exists():
                write_atomically(kept, format_key(ec.generate_private_key(ec.SECP256R1())))
            return signing_request(_load_key(kept))

    def install(self, certificate_pem: str, ca_pem: str) -> None:
        """Install the certificate for the next connections. A repeated call with the same certificate changes nothing.

        Raise BadBytes unless the panel's CA issued the certificate for this node and it has not expired. The
        certificate must also be for the current key or the key that `request` created.
        """
        with self._lock:
            certificate = self._check_certificate(certificate_pem, ca_pem)
            kept, config = self._directory / NEXT_KEY_FILE, self._config
            if certificate.public_key() == _load_key(config.key_path).public_key():
                write_atomically(config.certificate_path, certificate_pem)
            elif kept.exists() and certificate.public_key() == _load_key(kept).public_key():
                write_atomically(self._directory / NEXT_FILE, kept.read_text() + certificate_pem)
                self._finish()
            else:
                raise BadBytes(what="certificate", reason="it is for a key that this agent does not have")
            self.context = server_context(config.certificate_path, config.key_path, config.ca_path)
            self.certificate_expires_at = _expires_at(config.certificate_path)
        logger.info("certificate replaced; it expires %s", certificate.not_valid_after_utc.date())

    def take_keys(self, sealed: bytes) -> None:
        """Replace the accepted signing keys with those in this signed list.

        A list older than the current one changes nothing. Raise BadBytes if the list is invalid, BadSignature if no
        known key signed it, or WrongCluster if it is from another panel.
        """
        with self._lock:
            keyring = decode_keyring(sealed, self.signing_keys)
            if keyring.cluster != self.identity.cluster:
                raise WrongCluster(ours=self.identity.cluster, theirs=keyring.cluster)
            if keyring.generation < self.identity.keys_generation:
                return
            self._write(replace(self.identity, signing_keys=keyring.keys, keys_generation=keyring.generation))
        logger.info("signing keys: %s", " ".join(key.hex()[:16] for key in keyring.keys))

    def change_schema(self, schema: int) -> None:
        """Store a new PowerDNS schema version in the node's identity."""
        with self._lock:
            self._write(replace(self.identity, schema=schema))

    def _write(self, identity: Identity) -> None:
        write_atomically(self._directory / IDENTITY_FILE, format_identity(identity))
        self.identity = identity
        self.signing_keys.replace(identity.signing_keys)

    def _finish(self) -> None:
        """Finish the key rotation if next.pem exists. Each step can be repeated safely."""
        decided = self._directory / NEXT_FILE
        if not decided.exists():
            return
        key, _, certificate = decided.read_text().partition("-----BEGIN CERTIFICATE-----")
        write_atomically(self._config.key_path, key)
        write_atomically(self._config.certificate_path, "-----BEGIN CERTIFICATE-----" + certificate)
        (self._directory / NEXT_KEY_FILE).unlink(missing_ok=True)
        decided.unlink()
        sync_directory(self._directory)

    def _check_certificate(self, certificate_pem: str, ca_pem: str) -> x509.Certificate:
        try:
            certificate = x509.load_pem_x509_certificate(certificate_pem.encode())
            ca = x509.load_pem_x509_certificate(self._config.ca_path.read_bytes())
            if x509.load_pem_x509_certificate(ca_pem.encode()) != ca:
                raise ValueError("it comes with an authority that is not this node's")
            certificate.verify_directly_issued_by(ca)
            [name] = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
            if name.value != self.identity.node:
                raise ValueError(f"it is for {name.value!r}, this is {self.identity.node}")
            if certificate.not_valid_after_utc <= datetime.now(UTC):
                raise ValueError(f"it expired {certificate.not_valid_after_utc}")
        except Exception as exc:  # cryptography raises its own, ValueError and TypeError
            raise BadBytes(what="certificate", reason=str(exc) or type(exc).__name__) from exc
        return certificate


# OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which has no name in `ssl`.
_NO_CHECK_TIME = 0x200000


def server_context(certificate: Path, key: Path, ca: Path) -> ssl.SSLContext:
    """Return a TLS 1.3 context with the node's certificate, for clients with a certificate from the panel's CA.

    The context doesn't check validity times. The caller checks the client's certificate with `is_valid_at` and can then
    report a wrong clock as the reason.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(ca)
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= _NO_CHECK_TIME
    context.num_tickets = 0
    return context


def is_valid_at(certificate: Mapping[str, Any], now: float) -> bool:
    """Return True if the certificate, as returned by `getpeercert`, is valid at this time."""
    begin, end = (ssl.cert_time_to_seconds(str(certificate[name])) for name in ("notBefore", "notAfter"))
    return begin <= now <= end


def signing_request(key: ec.EllipticCurvePrivateKey) -> str:
    """Return a PEM certificate signing request for this key. The panel decides the certificate's contents."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "node")])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM).decode("ascii")


def format_key(key: ec.EllipticCurvePrivateKey) -> str:
    """Format a private key as PEM without a password. Only the file mode protects the key."""
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return pem.decode("ascii")


def write_atomically(path: Path, text: str) -> None:
    """Write a file that only this user can read. After a crash or power loss, it has either the old or the new text."""
    partial = path.with_name(path.name + ".part")
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    sync_directory(path.parent)


def _load_key(path: Path) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise BadBytes(what=str(path), reason="it is not an elliptic curve key")
    return key


def _expires_at(path: Path) -> float:
    return x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc.timestamp()
