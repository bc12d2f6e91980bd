"""Seal private DNSSEC keys with a passphrase, for storage in exported files. Pure.

Each key becomes one string:

    text = Base64 of
        offset  size  what
        0       1     version: 1
        1       16    salt of scrypt; one for all keys of a file
        17      12    nonce of AES-256-GCM; random, of this key alone
        29      …     the private-key text (UTF-8), encrypted
        −16     16    tag of AES-256-GCM
    key of AES = scrypt(passphrase in UTF-8 and form NFC, salt, n = 2^15, r = 8, p = 1), 32 bytes
    additional data = the zone's name and the DNSKEY's rdata, both in wire form

This protects the keys from people who have the file without the passphrase. They can't read a key. A key that they
changed, or moved to another zone or DNSKEY, is refused. Each guess of a passphrase costs 32 MiB and about a tenth of a
second, which makes a long passphrase safe, but not a poor one. The rest of the file isn't protected: records, the
choice of active keys, and missing keys. The panel's operator has the original keys.
"""

import base64
import binascii
import os
import struct
import unicodedata
from collections.abc import Callable
from enum import StrEnum

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from dnspanel.texts import gettext, gettext_noop
from dnspanel.transfer.errors import KeyLocked, PassphraseRefused
from replication.dns import names, rdata, rdtypes

FEWEST_CHARACTERS, MOST_CHARACTERS = 12, 1000
# The limit for one import: each salt costs one scrypt, and an export has one salt.
MOST_SALTS = 8

VERSION = 1
_HEAD = struct.Struct(">B16s12s")
_TAG_SIZE = 16
_SALT_SIZE, _NONCE_SIZE, _KEY_SIZE = 16, 12, 32
_COST, _BLOCK_SIZE, _PARALLEL = 2**15, 8, 1
# A private-key text has at most 16 KiB.
_MOST_TEXT = 32 << 10


class KeyLock(StrEnum):
    """The reason why a private key can't be used. Names of stored keys contain the enum's value."""

    ABSENT = "absent"
    SEALED = "sealed"
    NOT_OPENED = "not-opened"
    MANY_SALTS = "many-salts"
    OTHER_KEY = "other-key"
    UNREADABLE = "unreadable"

    @property
    def message(self) -> str:
        """The reason, as the end of a sentence about a zone's keys."""
        return gettext(_MESSAGES[self]).format(most=MOST_SALTS)


_MESSAGES = {
    KeyLock.ABSENT: gettext_noop("the file doesn’t contain the private keys"),
    KeyLock.SEALED: gettext_noop("the keys are encrypted: enter the passphrase"),
    KeyLock.NOT_OPENED: gettext_noop("the keys can’t be decrypted: the passphrase is wrong, or the file was changed"),
    KeyLock.MANY_SALTS: gettext_noop("the keys are encrypted, but the file has keys from more than {most} exports"),
    KeyLock.OTHER_KEY: gettext_noop("a DNSKEY doesn’t match its private key"),
    KeyLock.UNREADABLE: gettext_noop("the key data in the file is invalid"),
}


def refuse_passphrase(passphrase: str) -> None:
    """Raise PassphraseRefused if the passphrase is too short to be safe, or too long."""
    if not FEWEST_CHARACTERS <= len(passphrase) <= MOST_CHARACTERS:
        raise PassphraseRefused(
            gettext("Enter a passphrase of {fewest_characters} to {most_characters:,} characters.").format(
                fewest_characters=FEWEST_CHARACTERS, most_characters=MOST_CHARACTERS
            )
        )


class Sealer:
    """An encryptor for all private keys of one file, with one passphrase and one salt."""

    def __init__(self, passphrase: str, *, chance: Callable[[int], bytes] = os.urandom) -> None:
        refuse_passphrase(passphrase)
        self._chance = chance
        self._salt = chance(_SALT_SIZE)
        self._cipher = _cipher(passphrase, self._salt)

    def seal(self, private_text: str, *, zone: str, dnskey: str) -> str:
        """Return the private key as a string that can be opened only with the passphrase.

        The string is bound to the zone and to this DNSKEY (rdata).
        """
        nonce = self._chance(_NONCE_SIZE)
        encrypted = self._cipher.encrypt(nonce, private_text.encode(), _additional(zone, dnskey))
        return base64.b64encode(_HEAD.pack(VERSION, self._salt, nonce) + encrypted).decode()


class Opener:
    """A decryptor for sealed keys from at most MOST_SALTS exports with the same passphrase."""

    def __init__(self, passphrase: str) -> None:
        self._passphrase = passphrase
        self._ciphers: dict[bytes, AESGCM] = {}

    def open(self, sealed: str, *, zone: str, dnskey: str) -> str:
        """Return the private key in a string from `Sealer.seal`. Raise KeyLocked with the reason if this fails."""
        try:
            content = base64.b64decode(sealed, validate=True) if len(sealed) <= _MOST_TEXT else b""
        except (binascii.Error, ValueError) as exc:
            raise KeyLocked(KeyLock.NOT_OPENED) from exc
        if len(content) < _HEAD.size + _TAG_SIZE or content[0] != VERSION:
            raise KeyLocked(KeyLock.NOT_OPENED)
        _, salt, nonce = _HEAD.unpack_from(content)
        try:
            return self._cipher(salt).decrypt(nonce, content[_HEAD.size :], _additional(zone, dnskey)).decode()
        except (InvalidTag, UnicodeDecodeError) as exc:
            raise KeyLocked(KeyLock.NOT_OPENED) from exc

    def _cipher(self, salt: bytes) -> AESGCM:
        if salt not in self._ciphers:
            if len(self._ciphers) >= MOST_SALTS:
                raise KeyLocked(KeyLock.MANY_SALTS)
            self._ciphers[salt] = _cipher(self._passphrase, salt)
        return self._ciphers[salt]


def _cipher(passphrase: str, salt: bytes) -> AESGCM:
    # Different keyboards produce different bytes for the same characters.
    encoded = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass")
    return AESGCM(Scrypt(salt=salt, length=_KEY_SIZE, n=_COST, r=_BLOCK_SIZE, p=_PARALLEL).derive(encoded))


def _additional(zone: str, dnskey: str) -> bytes:
    """Return the additional data that binds a key to its zone and DNSKEY.

    A name in wire form ends with its root label, so that two different pairs never result in equal bytes.
    """
    return names.to_wire(zone) + rdata.to_wire(rdtypes.DNSKEY, dnskey)
