"""Encrypt (seal) DNSSEC private keys everywhere except in the LMDB files that PowerDNS reads. Pure.

On a node, where PowerDNS signs with the key, the content of a key object is BIND's private-key text. In the panel's
LMDB, in segments and in snapshots the content is one line of text:

    dnspanel-sealed: 1 <id of the sealing key> <fingerprint> <Base64 of the ciphertext>

    ciphertext   AES-SIV (RFC 5297) of the clear content in UTF-8 under the 64 bytes of the sealing key. Associated
                 data, in this order: `dnspanel sealed key 1`, the zone's name in wire form, the id of the row
                 (u32 big endian), the fingerprint (32 bytes)
    fingerprint  SHA-256 of `dnspanel key content 1` 00 and the clear content, in hex

Sealing is deterministic: sealing the same key again results in the same bytes. Content that is sealed for one row can't
be decrypted for another row.

The fingerprint next to the ciphertext isn't encrypted. It reveals nothing about the key, because there are too many
possible private keys to try them all, unlike passwords. The digest of a row is therefore the same everywhere, with any
sealing key or in the clear (`digested_body`).
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from replication.codec import dnssec
from replication.dns import names
from replication.errors import BadBytes, BadName, UnknownSealingKey

SECRET_SIZE = 64
MAX_ID = 0x7FFFFFFF

_PREFIX = "dnspanel-sealed: "
_PREFIX_BYTES = _PREFIX.encode("ascii")
_SEALED = re.compile(rb"dnspanel-sealed: 1 ([1-9][0-9]{0,9}) ([0-9a-f]{64}) ([A-Za-z0-9+/]+={0,2})")
_ASSOCIATED = b"dnspanel sealed key 1"
_FINGERPRINTED = b"dnspanel key content 1\0"
_DIGESTED = b"dnspanel-fingerprint: "
_WHAT = "sealed key"

# Returns the secret of a sealing key by its id, or None if it is unknown here.
SecretOf = Callable[[int], bytes | None]


@dataclass(frozen=True, slots=True)
class SealingKey:
    """A key that encrypts private keys. Its `secret` never appears in logs."""

    id: int
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not 1 <= self.id <= MAX_ID or len(self.secret) != SECRET_SIZE:
            raise ValueError(f"a sealing key has an id of 1 to {MAX_ID} and {SECRET_SIZE} bytes")


def is_sealed(content: str) -> bool:
    """Return True if a key's content has the form of sealed content, valid or not."""
    return content.startswith(_PREFIX)


def fingerprint(content: str) -> str:
    """Return the fingerprint of a key's clear or sealed content (64 hex digits). Sealed content contains it as text.

    Raise BadBytes if sealed content is invalid.
    """
    return _fingerprint(content.encode())


def seal_content(content: str, key: SealingKey, *, zone: str, row_id: int) -> str:
    """Seal a zone key's clear content for the row with this id. Raise BadBytes if it is already sealed."""
    if is_sealed(content):
        raise BadBytes(what=_WHAT, reason="it is sealed already")
    mark = fingerprint(content)
    ciphertext = AESSIV(key.secret).encrypt(content.encode(), _associated_data(zone, row_id, mark))
    return f"{_PREFIX}1 {key.id} {mark} {base64.b64encode(ciphertext).decode('ascii')}"


def open_content(content: str, secret_of: SecretOf, *, zone: str, row_id: int) -> str:
    """Decrypt sealed content. Clear content is returned unchanged.

    Raise UnknownSealingKey if the sealing key is missing, or BadBytes if the content isn't for this zone and row.
    """
    return _open(content.encode(), secret_of, zone, row_id).decode()


def seal_key(obj: dnssec.KeyObject, key: SealingKey, *, row_id: int) -> dnssec.KeyObject:
    """Return the key object with sealed content. Raise BadBytes if the content is already sealed."""
    return replace(obj, content=seal_content(obj.content, key, zone=obj.zone, row_id=row_id))


def is_sealed_body(body: bytes) -> bool:
    """Return True if a key row's body has sealed content. Return False if the body is unreadable."""
    try:
        return dnssec.split_key(body)[2].startswith(_PREFIX_BYTES)
    except (BadBytes, BadName):
        return False


def opened_body(body: bytes, secret_of: SecretOf, *, row_id: int) -> bytes:
    """Return a key row's body with decrypted content. Raise the errors of `open_content`, or BadName for a bad zone."""
    zone, before, content, after = dnssec.split_key(body)
    if not content.startswith(_PREFIX_BYTES):
        return body
    return dnssec.join_key(before, _open(content, secret_of, zone, row_id), after)


def digested_body(body: bytes) -> bytes:
    """Return the bytes to digest for a key row: its body with the fingerprint in place of the content.

    An invalid body, or one with invalid sealed content, is returned unchanged so that checks can continue.
    """
    try:
        _, before, content, after = dnssec.split_key(body)
        return dnssec.join_key(before, _DIGESTED + _fingerprint(content).encode("ascii"), after)
    except (BadBytes, BadName):
        return body


def _fingerprint(content: bytes) -> str:
    if not content.startswith(_PREFIX_BYTES):
        return hashlib.sha256(_FINGERPRINTED + content).hexdigest()
    return _parse(content)[1]


def _open(content: bytes, secret_of: SecretOf, zone: str, row_id: int) -> bytes:
    if not content.startswith(_PREFIX_BYTES):
        return content
    key_id, mark, ciphertext = _parse(content)
    secret = secret_of(key_id)
    if secret is None:
        raise UnknownSealingKey(sealing_key=key_id)
    try:
        clear = AESSIV(secret).decrypt(ciphertext, _associated_data(zone, row_id, mark))
    except (InvalidTag, ValueError) as exc:
        reason = f"row {row_id} of zone {zone} does not open with sealing key {key_id}"
        raise BadBytes(what=_WHAT, reason=reason) from exc
    if _fingerprint(clear) != mark:
        raise BadBytes(what=_WHAT, reason=f"row {row_id} of zone {zone} holds another key than it states")
    return clear


def _parse(content: bytes) -> tuple[int, str, bytes]:
    """Parse sealed content into sealing key id, fingerprint and ciphertext. Raise BadBytes if it is invalid."""
    found = _SEALED.fullmatch(content)
    if found is None or int(found[1]) > MAX_ID:
        raise BadBytes(what=_WHAT, reason="it is not of version 1, or damaged")
    try:
        return int(found[1]), found[2].decode("ascii"), base64.b64decode(found[3], validate=True)
    except binascii.Error as exc:
        raise BadBytes(what=_WHAT, reason="its ciphertext is not Base64") from exc


def _associated_data(zone: str, row_id: int, mark: str) -> list[bytes]:
    return [_ASSOCIATED, names.to_wire(zone), row_id.to_bytes(4, "big"), bytes.fromhex(mark)]
