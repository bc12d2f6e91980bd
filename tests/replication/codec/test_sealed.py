"""Sealing of private keys: each is sealed for one row, opens only there, and has one digest, sealed or clear."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.codec import dnssec, sealed
from replication.codec.dnssec import KeyObject
from replication.codec.schema import Dbi, schema_for
from replication.codec.sealed import SealingKey, fingerprint, open_content, seal_content, seal_key
from replication.errors import BadBytes, UnknownSealingKey
from replication.wire.operations import row_digest

ONE, TWO = SealingKey(1, bytes(range(64))), SealingKey(2, bytes(64))
SECRETS = {key.id: key.secret for key in (ONE, TWO)}
CLEAR = "Private-key-format: v1.2\nAlgorithm: 13 (ECDSAP256SHA256)\nPrivateKey: " + "A" * 43 + "=\n"
ZONE = "example.test."
SEALED = seal_content(CLEAR, ONE, zone=ZONE, row_id=7)


def test_the_bytes_of_sealed_content_never_change() -> None:
    """Content that is sealed now must open years later, so this compares with a fixed text."""
    head = "dnspanel-sealed: 1 1 f2359afef83f5666798fbb63229f11cecc51a3ea2a62e90993628c1a13b49ed7 "
    assert SEALED.startswith(head)
    assert SEALED.removeprefix(head)[:32] == "Dw33wYU4J2+s9nA+WUCGAJOH6cFZfXQ0"
    assert "A" * 20 not in SEALED


@given(st.text(), st.integers(1, 2**31 - 2))
def test_what_was_sealed_opens(content: str, row_id: int) -> None:
    if not sealed.is_sealed(content):
        text = seal_content(content, TWO, zone=ZONE, row_id=row_id)
        assert sealed.is_sealed(text)
        assert open_content(text, SECRETS.get, zone=ZONE, row_id=row_id) == content
        assert fingerprint(text) == fingerprint(content)


def test_clear_content_is_open_already_and_sealed_content_is_not_sealed_again() -> None:
    assert open_content(CLEAR, SECRETS.get, zone=ZONE, row_id=7) == CLEAR
    with pytest.raises(BadBytes, match="sealed already"):
        seal_content(SEALED, TWO, zone=ZONE, row_id=7)


def test_sealed_content_opens_for_its_own_row_alone() -> None:
    other = seal_content(CLEAR + "x", ONE, zone=ZONE, row_id=7)
    for text, zone, row_id in (
        (SEALED, "other.test.", 7),
        (SEALED, ZONE, 8),
        (SEALED.replace(fingerprint(SEALED), fingerprint(other)), ZONE, 7),
        (SEALED[:-4] + ("AAA=" if SEALED[-4:] != "AAA=" else "AAE="), ZONE, 7),
        (SEALED.replace(": 1 1 ", ": 1 2 "), ZONE, 7),
        (SEALED.replace(": 1 1 ", ": 2 1 "), ZONE, 7),
        (SEALED + "\n", ZONE, 7),
        ("dnspanel-sealed: ", ZONE, 7),
    ):
        with pytest.raises(BadBytes):
            open_content(text, SECRETS.get, zone=zone, row_id=row_id)


def test_an_unknown_sealing_key_is_named() -> None:
    with pytest.raises(UnknownSealingKey, match="doesn’t know sealing key 1") as raised:
        open_content(SEALED, {2: TWO.secret}.get, zone=ZONE, row_id=7)
    assert raised.value.sealing_key == 1


@pytest.mark.parametrize(("key_id", "secret"), [(0, bytes(64)), (2**31, bytes(64)), (1, bytes(32))])
def test_a_sealing_key_has_its_size(key_id: int, secret: bytes) -> None:
    with pytest.raises(ValueError, match="64 bytes"):
        SealingKey(key_id, secret)


def test_the_secret_stays_out_of_logs() -> None:
    assert "\\x01" not in repr(ONE)
    assert "Private" not in repr(seal_key(key(), ONE, row_id=7))


def key(**changes: object) -> KeyObject:
    fields: dict[str, object] = {"zone": ZONE, "content": CLEAR, "flags": 257, "active": True, "published": True}
    return KeyObject(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("schema", [4, 5, 6])
def test_a_key_counts_the_same_sealed_clear_and_sealed_with_another_key(schema: int) -> None:
    kind = schema_for(schema)
    objects = [key(), seal_key(key(), ONE, row_id=7), seal_key(key(), TWO, row_id=7)]
    rows = [kind.key_rows(7, obj)[0] for obj in objects]
    assert len(set(rows)) == 3
    assert len({row_digest(*row) for row in rows}) == 1
    for _, _, body in rows:
        opened = sealed.opened_body(body, SECRETS.get, row_id=7)
        assert opened == dnssec.encode_key(key(), schema)
    assert [sealed.is_sealed_body(body) for _, _, body in rows] == [False, True, True]


@pytest.mark.parametrize("schema", [4, 5, 6])
def test_everything_of_a_key_counts(schema: int) -> None:
    kind = schema_for(schema)
    others = [key(flags=256), key(active=False), key(published=False), key(content=CLEAR + "\n"), key(zone="b.test.")]
    digests = {row_digest(*kind.key_rows(7, obj)[0]) for obj in (key(), *others)}
    digests |= {row_digest(*kind.key_rows(8, key())[0])}
    # Content that looks like digested content is treated like any other content.
    digests |= {row_digest(*kind.key_rows(7, key(content=f"dnspanel-fingerprint: {fingerprint(CLEAR)}"))[0])}
    assert len(digests) == 8


@given(st.binary(max_size=200))
def test_a_damaged_body_has_a_digest_too(body: bytes) -> None:
    assert row_digest(Dbi.KEYDATA, b"\0\0\0\1", body) != row_digest(Dbi.KEYDATA, b"\0\0\0\1", body + b"x")
    sealed.is_sealed_body(body)


@given(st.integers(0, 300), st.binary(max_size=3))
def test_a_sealed_body_cut_or_patched_anywhere_has_a_digest(at: int, patch: bytes) -> None:
    body = dnssec.encode_key(key(content=SEALED), 4)
    row_digest(Dbi.KEYDATA, b"\0\0\0\1", body[:at])
    row_digest(Dbi.KEYDATA, b"\0\0\0\1", body[:at] + patch + body[at + len(patch) :])


def test_other_tables_count_their_bodies_as_they_are() -> None:
    body = dnssec.encode_key(key(), 4)
    resealed = dnssec.encode_key(key(content=SEALED), 4)
    assert row_digest(Dbi.METADATA, b"\0\0\0\1", body) != row_digest(Dbi.METADATA, b"\0\0\0\1", resealed)


def test_the_ciphertext_is_not_the_key() -> None:
    ciphertext = base64.b64decode(SEALED.rsplit(" ", 1)[1])
    assert CLEAR.encode() not in ciphertext
    assert len(ciphertext) == len(CLEAR) + 16
