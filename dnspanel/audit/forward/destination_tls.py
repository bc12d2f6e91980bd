"""Check pasted certificates and keys of destinations, and create TLS contexts from them."""

import ssl
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from dnspanel.fleet.nodes.authority import file_in_memory
from dnspanel.pasted_certificates import NO_CERTIFICATE, certificates_in, pem_of
from dnspanel.texts import gettext

MOST_CERTIFICATES = 10
LONGEST_PEM = 64_000  # characters


def canonical_certificates(text: str) -> str:
    """Return the text's certificates in PEM, or "". Raise ValueError with a message for the user if it is refused."""
    found = certificates_in(
        text, beside_key=gettext("Enter only the certificate here. The private key goes in the key field.")
    )
    pem = pem_of(found)
    try:
        if found:  # report certificates that OpenSSL refuses now, instead of later in a worker
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=pem)
    except ssl.SSLError as exc:
        raise ValueError(NO_CERTIFICATE) from exc
    if len(found) > MOST_CERTIFICATES:
        raise ValueError(
            gettext("Enter at most {most_certificates} certificates.").format(most_certificates=MOST_CERTIFICATES)
        )
    return pem


def canonical_key(text: str, chain: str) -> bytes:
    """Return the private key in PEM.

    Raise ValueError, with a message for the user, if the key is unreadable, can't be used for TLS, or doesn't belong to
    the first certificate of `chain`.
    """
    try:
        key: Any = load_pem_private_key(text.strip().encode(), None)
        pem: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    except TypeError as exc:
        raise ValueError(gettext("Enter the private key without a password. The panel stores it encrypted.")) from exc
    except (ValueError, UnsupportedAlgorithm) as exc:
        raise ValueError(
            gettext("Enter a private key in PEM format, which starts with -----BEGIN PRIVATE KEY-----")
        ) from exc
    if not fits(pem, chain):
        raise ValueError(gettext("The private key doesn’t match the certificate."))
    try:
        client_context(ca="", chain=chain, key=pem)
    except ssl.SSLError as exc:
        raise ValueError(
            gettext("The private key can’t be used for TLS: {reason}.").format(
                reason=(exc.reason or "").replace("_", " ").lower() or gettext("the key is too weak")
            )
        ) from exc
    return pem


def fits(key: bytes, chain: str) -> bool:
    """Return True if the private key belongs to the first certificate of the chain."""
    certificate = x509.load_pem_x509_certificate(chain.encode())
    public = load_pem_private_key(key, None).public_key()
    return _spki(public) == _spki(certificate.public_key())


def client_context(*, ca: str, chain: str = "", key: bytes = b"") -> ssl.SSLContext:
    """Return a context for TLS 1.2 or newer, with the client certificate in `chain` unless `chain` is "".

    The context trusts only the certificates in `ca`, or the system's CAs if `ca` is "".
    """
    context = ssl.create_default_context(cadata=ca or None)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca:
        # Trust the given certificate even if it is the server's own or an intermediate certificate.
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    if chain:
        with file_in_memory(chain.encode() + key) as path:
            context.load_cert_chain(path)
    return context


def _spki(key: Any) -> bytes:
    encoded: bytes = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return encoded
