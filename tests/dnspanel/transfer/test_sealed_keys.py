"""Encrypted private keys: only their passphrase, zone and DNSKEY decrypt them. The PEM text may come from any tool."""

import base64
import hashlib
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from dnspanel.transfer import sealed_keys
from dnspanel.transfer.errors import KeyLocked, PassphraseRefused
from dnspanel.transfer.sealed_keys import MOST_SALTS, KeyLock, Opener, Sealer
from dnspanel.zones.dnssec import key_material
from replication.dns import names

PASSPHRASE = "a long passphrase"
ZONE = "example.test."
# The key in RFC 6605 section 6.1.
PRIVATE = (
    "Private-key-format: v1.2\nAlgorithm: 13 (ECDSAP256SHA256)\n"
    "PrivateKey: GU6SnQ/Ou+xC5RumuIUIuJZteXT2z0O/ok1s38Et6mQ=\n"
)
DNSKEY = "257 3 13 GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA=="
AT: dict[str, Any] = {"zone": ZONE, "dnskey": DNSKEY}
GOLDEN = (
    "AQABAgMEBQYHCAkKCwwNDg8AAQIDBAUGBwgJCguE+0JWjtBcnGXDTrlbFmJ7QV0Dbj0lgWuMjgpKN5HqIY62apbDS1sfrjte"
    "ci6ab9Hl9vkPLLwCoByf7Bev8x2m1uHfc8sGmbSHH73jmpPBU5WHhSIgE/MgCY3t/ooshO+CNltE4gjcVtY/qySVoxakI7O+"
    "vr/mLENh7ugWXNXTctcn"
)


def counted(size: int) -> bytes:
    """Return deterministic bytes in place of random ones."""
    return bytes(range(size))


def refusal(text: str, opener: Opener | None = None, **at: str) -> str:
    with pytest.raises(KeyLocked) as refused:
        (opener or Opener(PASSPHRASE)).open(text, **(AT | at))
    return refused.value.lock


def test_the_dnskey_is_that_of_the_private_key() -> None:
    pair = key_material.read(PRIVATE)
    assert key_material.dnskey_text(257, pair.algorithm, pair.public) == DNSKEY


def test_what_was_sealed_is_opened_by_the_same_passphrase() -> None:
    sealed = Sealer(PASSPHRASE).seal(PRIVATE, **AT)
    assert Opener(PASSPHRASE).open(sealed, **AT) == PRIVATE
    assert "GU6SnQ" not in sealed
    assert b"GU6SnQ" not in base64.b64decode(sealed)


def test_the_bytes_are_those_of_the_table() -> None:
    """Later releases have to decrypt files of the current format."""
    sealed = Sealer(PASSPHRASE, chance=counted).seal(PRIVATE, **AT)
    content = base64.b64decode(sealed)
    assert content[0] == 1
    assert (content[1:17], content[17:29]) == (counted(16), counted(12))
    assert len(content) == 29 + len(PRIVATE) + 16
    assert sealed == GOLDEN
    assert Opener(PASSPHRASE).open(GOLDEN, **AT) == PRIVATE


def test_any_program_can_open_it_by_the_table() -> None:
    content = base64.b64decode(GOLDEN)
    key = hashlib.scrypt(PASSPHRASE.encode(), salt=content[1:17], n=2**15, r=8, p=1, dklen=32, maxmem=64 << 20)
    additional = names.to_wire(ZONE) + b"\1\1\3\x0d" + base64.b64decode(DNSKEY.split()[3])
    assert AESGCM(key).decrypt(content[17:29], content[29:], additional).decode() == PRIVATE


def test_a_file_has_one_salt_and_each_key_a_nonce_of_its_own() -> None:
    sealer = Sealer(PASSPHRASE)
    one, two = (base64.b64decode(sealer.seal(PRIVATE, **AT)) for _ in range(2))
    assert one[:17] == two[:17]
    assert one[17:29] != two[17:29]
    assert base64.b64decode(Sealer(PASSPHRASE).seal(PRIVATE, **AT))[1:17] != one[1:17]


def test_another_passphrase_zone_or_dnskey_opens_nothing() -> None:
    sealed = Sealer(PASSPHRASE).seal(PRIVATE, **AT)
    assert refusal(sealed, Opener("another passphrase")) == KeyLock.NOT_OPENED
    assert refusal(sealed, zone="example.net.") == KeyLock.NOT_OPENED
    assert refusal(sealed, dnskey=DNSKEY.replace("257", "256")) == KeyLock.NOT_OPENED


def test_every_byte_of_it_counts() -> None:
    content = base64.b64decode(Sealer(PASSPHRASE).seal("short", **AT))
    opener = Opener(PASSPHRASE)
    for at in (0, *range(17, len(content))):  # a different salt would cost derivation time
        changed = content[:at] + bytes((content[at] ^ 1,)) + content[at + 1 :]
        assert refusal(base64.b64encode(changed).decode(), opener) == KeyLock.NOT_OPENED
    for size in range(len(content)):
        assert refusal(base64.b64encode(content[:size]).decode(), opener) == KeyLock.NOT_OPENED


@pytest.mark.parametrize("text", ["", "no Base64!", "ü", "A" * 40_000, "\ud800"])
def test_what_is_no_sealed_key_is_not_opened(text: str) -> None:
    assert refusal(text) == KeyLock.NOT_OPENED


def test_one_passphrase_is_tried_with_a_few_salts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A salt costs a tenth of a second. A file with a million salts would occupy a worker for a day."""
    derived: list[bytes] = []
    original = sealed_keys._cipher

    def cipher(passphrase: str, salt: bytes) -> Any:
        derived.append(salt)
        return original(passphrase, salt)

    monkeypatch.setattr(sealed_keys, "_cipher", cipher)
    opener = Opener(PASSPHRASE)
    texts = [base64.b64encode(bytes((1, *[salt] * 16)) + bytes(60)).decode() for salt in range(MOST_SALTS + 3)]
    assert [refusal(text, opener) for text in texts[:MOST_SALTS] * 2] == [KeyLock.NOT_OPENED] * 2 * MOST_SALTS
    assert [refusal(text, opener) for text in texts[MOST_SALTS:]] == [KeyLock.MANY_SALTS] * 3
    assert len(derived) == MOST_SALTS


def test_a_passphrase_is_the_same_from_every_keyboard() -> None:
    sealed = Sealer("Bu\u0308cher im Regal").seal(PRIVATE, **AT)
    assert Opener("B\u00fccher im Regal").open(sealed, **AT) == PRIVATE


@pytest.mark.parametrize("passphrase", ["", "eleven char", "x" * 1001])
def test_a_passphrase_that_does_not_hold_is_refused(passphrase: str) -> None:
    with pytest.raises(PassphraseRefused, match="12 to 1,000 characters"):
        Sealer(passphrase)


def test_every_lock_says_what_to_do() -> None:
    assert all(lock.message for lock in KeyLock)
    assert "enter the passphrase" in KeyLock.SEALED.message


def test_no_error_names_the_passphrase_or_the_key() -> None:
    sealed = Sealer(PASSPHRASE).seal(PRIVATE, **AT)
    with pytest.raises(KeyLocked) as refused:
        Opener("another passphrase").open(sealed, **AT)
    assert "passphrase" not in str(refused.value)
    assert sealed not in str(refused.value)
