"""Parse PEM certificates that people paste into a form. Pure."""

import hashlib
from collections.abc import Iterable, Sequence

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding

from dnspanel.texts import gettext, gettext_noop

NO_CERTIFICATE = gettext_noop("Enter a certificate in PEM format, which starts with -----BEGIN CERTIFICATE-----")


def certificates_in(text: str, *, beside_key: str) -> Sequence[x509.Certificate]:
    """Return the certificates in the text, in order. If the text is empty, return an empty sequence.

    Raise ValueError with a message for the user if the text is invalid. `beside_key` is the message for a private key.
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
    """Return the certificates as PEM text, without other content."""
    return "".join(each.public_bytes(Encoding.PEM).decode() for each in certificates)


def fingerprints_of(pem: str) -> frozenset[str]:
    """Return the fingerprints of the certificates in PEM from `pem_of`."""
    if not pem:
        return frozenset()
    return frozenset(
        fingerprint(each.public_bytes(Encoding.DER)) for each in x509.load_pem_x509_certificates(pem.encode())
    )


def fingerprint(der: bytes) -> str:
    """Return the SHA-256 of a DER certificate, in hex."""
    return hashlib.sha256(der).hexdigest()
