"""Certificates in PEM, as somebody pastes them into a form. Pure."""

import hashlib
from collections.abc import Iterable, Sequence

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding

from dnspanel.texts import gettext, gettext_noop

NO_CERTIFICATE = gettext_noop("This is no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----")


def certificates_in(text: str, *, beside_key: str) -> Sequence[x509.Certificate]:
    """The certificates, in their order; none in an empty text.

    Raises ValueError with words for people: `beside_key` where a private key stands there too.
    """
    if not text.strip():
        return ()
    if "PRIVATE KEY" in text:
        raise ValueError(beside_key)
    try:
        return x509.load_pem_x509_certificates(text.encode())
    except (ValueError, UnsupportedAlgorithm) as exc:
        raise ValueError(gettext(NO_CERTIFICATE)) from exc


def pem_of(certificates: Iterable[x509.Certificate]) -> str:
    """These in PEM, one behind the other and nothing besides."""
    return "".join(each.public_bytes(Encoding.PEM).decode() for each in certificates)


def fingerprints_of(pem: str) -> frozenset[str]:
    """The fingerprints of what `pem_of` made."""
    if not pem:
        return frozenset()
    return frozenset(
        fingerprint(each.public_bytes(Encoding.DER)) for each in x509.load_pem_x509_certificates(pem.encode())
    )


def fingerprint(der: bytes) -> str:
    """SHA-256 of a certificate, in hex."""
    return hashlib.sha256(der).hexdigest()
