"""Compute fields: TLSA from a certificate, SSHFP from public keys, and hints from addresses. Pure."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Sequence

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from dnspanel.texts import gettext
from dnspanel.zones.errors import BadFields
from dnspanel.zones.typed.fields import base64_text

LONGEST_PEM = 200_000
MOST_KEYS = 20
AUTHORITIES = ("0", "2")  # usages for a certificate authority, not for the server's own certificate
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")
# The name in a key's bytes → its algorithm number in SSHFP (RFC 4255, 6594, 7479, 8709).
_SSH_ALGORITHMS = {
    b"ssh-rsa": "1",
    b"ssh-dss": "2",
    b"ecdsa-sha2-nistp256": "3",
    b"ecdsa-sha2-nistp384": "3",
    b"ecdsa-sha2-nistp521": "3",
    b"ssh-ed25519": "4",
    b"ssh-ed448": "6",
}


def certificates_of(text: str) -> Sequence[x509.Certificate]:
    """Parse the PEM certificates in `text`, in order. Raise BadFields if it is invalid or has a private key."""
    if len(text) > LONGEST_PEM:
        raise BadFields(
            {
                "": gettext("The text has {text} characters, but at most {longest_pem} are allowed.").format(
                    text=len(text), longest_pem=LONGEST_PEM
                )
            }
        )
    if "PRIVATE KEY-----" in text:
        raise BadFields(
            {"": gettext("The text contains a private key, which was not saved. Paste only the certificate.")}
        )
    blocks = _PEM.findall(text)
    if not blocks:
        raise BadFields({"": gettext("Paste a certificate in PEM format, starting with -----BEGIN CERTIFICATE-----.")})
    return [read_certificate(_der(block)) for block in blocks]


def read_certificate(der: bytes) -> x509.Certificate:
    """Parse a DER certificate. Raise BadFields if it is invalid."""
    try:
        return x509.load_der_x509_certificate(der)
    except (ValueError, x509.InvalidVersion) as exc:
        raise BadFields(
            {"": gettext("The certificate can’t be read because the text is damaged or incomplete.")}
        ) from exc


def _der(block: str) -> bytes:
    try:
        return base64.b64decode(base64_text(block), validate=True)
    except binascii.Error:
        return b""  # not a valid certificate


def tlsa_of(certificate: x509.Certificate, *, usage: str, selector: str, matching: str) -> dict[str, str]:
    """Return the certificate's TLSA fields. Raise BadFields for an unknown selector, matching type or key type."""
    if selector not in _SELECTORS or matching not in _MATCHINGS:
        raise BadFields({"": gettext("Choose a valid selector and matching type.")})
    try:
        data = _MATCHINGS[matching](_SELECTORS[selector](certificate))
    except (ValueError, UnsupportedAlgorithm) as exc:
        raise BadFields({"": gettext("This certificate’s public key has an unsupported type.")}) from exc
    return {"usage": usage, "selector": selector, "matching": matching, "certificate": data.hex()}


def certificate_for(usage: str, chain: Sequence[x509.Certificate]) -> x509.Certificate:
    """Return the chain's certificate for a TLSA usage: the last one for an authority, else the server's own."""
    return chain[-1] if usage in AUTHORITIES else chain[0]


def sshfp_of(text: str, *, with_sha1: bool = False) -> list[dict[str, str]]:
    """Return the fields of SSHFP records for public keys, one per line, as in a .pub file or from `ssh-keyscan`.

    Each key gets a SHA-256 fingerprint, and also a SHA-1 one if `with_sha1`. Raise BadFields if a line is invalid, or
    unless there are 1 to MOST_KEYS keys.
    """
    lines = [line.strip() for line in text[:LONGEST_PEM].splitlines() if line.strip() and not line.startswith("#")]
    if not lines or len(lines) > MOST_KEYS:
        raise BadFields(
            {
                "": gettext("Paste 1 to {most_keys} public keys, one per line. Example: ssh-ed25519 AAAA…").format(
                    most_keys=MOST_KEYS
                )
            }
        )
    found = []
    for number, line in enumerate(lines, 1):
        algorithm, blob = _ssh_key(line, number)
        if with_sha1:
            found.append(_fingerprint(algorithm, "1", hashlib.sha1(blob, usedforsecurity=False).hexdigest()))
        found.append(_fingerprint(algorithm, "2", hashlib.sha256(blob).hexdigest()))
    return [fields for at, fields in enumerate(found) if fields not in found[:at]]


def hints_of(ipv4: Iterable[str], ipv6: Iterable[str]) -> dict[str, str]:
    """Return the address-hint fields of an SVCB or HTTPS record."""
    return {"ipv4hint": ",".join(ipv4), "ipv6hint": ",".join(ipv6)}


def _all_of(raw: bytes) -> bytes:
    return raw


def _sha256(raw: bytes) -> bytes:
    return hashlib.sha256(raw).digest()


def _sha512(raw: bytes) -> bytes:
    return hashlib.sha512(raw).digest()


def _certificate(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.DER)


def _public_key(certificate: x509.Certificate) -> bytes:
    return certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


_MATCHINGS = {"0": _all_of, "1": _sha256, "2": _sha512}
_SELECTORS = {"0": _certificate, "1": _public_key}


def _fingerprint(algorithm: str, kind: str, digits: str) -> dict[str, str]:
    return {"algorithm": algorithm, "fingerprint_type": kind, "fingerprint": digits}


def _ssh_key(line: str, number: int) -> tuple[str, bytes]:
    """Parse a public key. Return its SSHFP algorithm number and its bytes. Raise BadFields if it is invalid."""
    if "PRIVATE KEY" in line:
        raise BadFields(
            {"": gettext("The text contains a private key, which was not saved. Paste the line from the .pub file.")}
        )
    parts = line.split()
    at = next((at for at, part in enumerate(parts[:-1]) if part.encode() in _SSH_ALGORITHMS), None)
    if at is None:
        raise BadFields(
            {"": gettext("Line {number} doesn’t contain a public key that SSHFP supports.").format(number=number)}
        )
    try:
        blob = base64.b64decode(parts[at + 1], validate=True)
    except ValueError as exc:
        raise BadFields({"": gettext("The key on line {number} isn’t valid Base64.").format(number=number)}) from exc
    name = parts[at].encode()
    # A key begins with its algorithm's name. Otherwise the text is truncated or mixed up.
    if blob[: 4 + len(name)] != len(name).to_bytes(4, "big") + name or not _is_complete(blob):
        raise BadFields({"": gettext("The key on line {number} is damaged or incomplete.").format(number=number)})
    return _SSH_ALGORITHMS[name], blob


def _is_complete(blob: bytes) -> bool:
    """Return True if the bytes consist of at least two complete fields, each with its length in front."""
    at = count = 0
    while at + 4 <= len(blob):
        at += 4 + int.from_bytes(blob[at : at + 4], "big")
        count += 1
    return at == len(blob) and count >= 2
