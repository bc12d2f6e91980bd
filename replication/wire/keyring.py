"""Encode and verify the list of segment-signing keys, sent to nodes that have at least one of our keys. Pure.

    offset  size   field
    0       4      magic `DPKR`
    4       1      version, 1
    5       1      number n of keys, at least 1
    6       2      reserved, 0
    8       16     cluster
    24      8      generation: a list never replaces one with a higher generation, big endian
    32      32 n   raw Ed25519 public keys, newest first
    32+32n  64     Ed25519 signature over `dnspanel keys 1` 00 and all bytes before it

The signing key doesn't have to be on the list. This lets a node catch up even if its last known key was retired while
the node was offline.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from replication.errors import BadBytes, BadSignature

MAGIC = b"DPKR"
VERSION = 1
HEADER = struct.Struct(">4sBB2x16sQ")
KEY_SIZE = 32
SIGNATURE_SIZE = 64
MAX_KEYS = 16
_SIGNED = b"dnspanel keys 1\0"


@dataclass(frozen=True, slots=True)
class Keyring:
    """The keys whose signatures on segments a node accepts, newest first."""

    cluster: UUID
    generation: int
    keys: tuple[bytes, ...]


def encode_keyring(keyring: Keyring, private_key: Ed25519PrivateKey) -> bytes:
    """Encode the keyring, signed with a key that the receiver already has. Raise ValueError if it is invalid."""
    if not 1 <= len(keyring.keys) <= MAX_KEYS or any(len(key) != KEY_SIZE for key in keyring.keys):
        raise ValueError(f"a keyring has 1 to {MAX_KEYS} keys of {KEY_SIZE} bytes")
    header = HEADER.pack(MAGIC, VERSION, len(keyring.keys), keyring.cluster.bytes, keyring.generation)
    content = header + b"".join(keyring.keys)
    return content + private_key.sign(_SIGNED + content)


def decode_keyring(sealed: bytes, known: Iterable[bytes]) -> Keyring:
    """Decode a keyring. Raise BadBytes if it is invalid, or BadSignature if none of the `known` keys signed it."""
    if len(sealed) < HEADER.size:
        raise BadBytes(what="list of keys", reason="it ends inside the header")
    magic, version, count, cluster, generation = HEADER.unpack_from(sealed)
    if magic != MAGIC or version != VERSION:
        raise BadBytes(what="list of keys", reason="it does not begin as one of version 1")
    end = HEADER.size + count * KEY_SIZE
    if not count or len(sealed) != end + SIGNATURE_SIZE:
        raise BadBytes(what="list of keys", reason=f"{len(sealed)} bytes are not the size for {count} keys")
    content, signature = sealed[:end], sealed[end:]
    if not any(_signed_by(key, signature, content) for key in known):
        raise BadSignature(reason="the list of keys is signed by no key this side knows")
    keys = tuple(content[at : at + KEY_SIZE] for at in range(HEADER.size, end, KEY_SIZE))
    return Keyring(UUID(bytes=cluster), generation, keys)


def signer_for(known: Sequence[bytes], ours: Iterable[bytes]) -> bytes | None:
    """Return the first of our keys that the receiver already has, or None if the receiver must enroll again."""
    return next((key for key in ours if key in known), None)


def _signed_by(key: bytes, signature: bytes, content: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, _SIGNED + content)
    except InvalidSignature:
        return False
    return True
