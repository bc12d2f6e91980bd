"""The `dnssec` member of a JSON export: its items, and the reasons why parts cannot be imported."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dnspanel.transfer.documents import Document, Item, Kept, SourceFault
from dnspanel.transfer.models import KeptKind
from dnspanel.transfer.sealed_keys import Opener, Sealer
from dnspanel.transfer.sources import powerdns
from dnspanel.transfer.sources.json_dnssec import read_dnssec
from dnspanel.transfer.sources.json_zones import JsonSource
from dnspanel.zones.dnssec import key_material

ZONE = "a.test."
PASSPHRASE = "a long passphrase"
PAIR = key_material.generate(13)
DNSKEY = key_material.dnskey_text(257, 13, PAIR.public)
SEALED = Sealer(PASSPHRASE).seal(PAIR.private_text, zone=ZONE, dnskey=DNSKEY)
OPENER = Opener(PASSPHRASE)


def key(**more: Any) -> dict[str, Any]:
    return {"flags": 257, "algorithm": 13, "active": True, "published": True, "dnskey": DNSKEY, "sealed": SEALED} | more


def member(*keys: Any, **more: Any) -> dict[str, Any]:
    modes = {"nsec3param": None, "narrow": False, "cds": "", "cdnskey": False}
    return modes | {"keys": list(keys)} | more


def kept(found: dict[str, Any], opener: Opener | None = OPENER) -> list[tuple[str, bytes]]:
    items, wrong = read_dnssec(ZONE, found, opener)
    assert wrong == []
    assert {item.zone for item in items} <= {ZONE}
    return [(item.name, item.value) for item in items]


def test_an_opened_key_is_kept_as_powerdns_has_it() -> None:
    private = PAIR.private_text.encode()
    assert kept(member(key())) == [("257 ECDSAP256SHA256", private)]
    assert kept(member(key(active=False, published=False))) == [("257 ECDSAP256SHA256 inactive unpublished", private)]


def test_the_modes_are_the_metadata_that_powerdns_has() -> None:
    found, _ = read_dnssec(ZONE, member(key(), nsec3param="1 0 0 -", narrow=True, cds="2, 4", cdnskey=True), OPENER)
    assert [(item.name, item.value) for item in found if item.kind == KeptKind.METADATA] == [
        ("NSEC3PARAM", b"1 0 0 -"),
        ("NSEC3NARROW", b"1"),
        ("PUBLISH-CDS", b"2,4"),
        ("PUBLISH-CDNSKEY", b"1"),
    ]


def test_a_zone_without_keys_brings_nothing() -> None:
    assert kept(member(cds="2")) == []


def test_a_key_that_is_not_opened_is_kept_sealed_with_the_reason_in_its_name() -> None:
    sealed = SEALED.encode()
    assert kept(member(key()), None) == [("257 ECDSAP256SHA256 sealed", sealed)]
    assert kept(member(key()), Opener("another passphrase")) == [("257 ECDSAP256SHA256 not-opened", sealed)]
    public = {name: value for name, value in key(active=False).items() if name != "sealed"}
    assert kept(member(public)) == [("257 ECDSAP256SHA256 inactive absent", DNSKEY.encode())]


def test_a_dnskey_that_does_not_belong_to_its_private_key_is_a_problem() -> None:
    """The owner of the passphrase can encrypt any key for any DNSKEY."""
    other = key_material.generate(13)
    sealed = Sealer(PASSPHRASE).seal(other.private_text, zone=ZONE, dnskey=DNSKEY)
    [item], [reason] = read_dnssec(ZONE, member(key(sealed=sealed)), OPENER)
    assert item.name.endswith(" other-key")
    assert "doesn’t match its private key" in reason
    no_key = Sealer(PASSPHRASE).seal("PrivateKey: very secret", zone=ZONE, dnskey=DNSKEY)
    [item], [reason] = read_dnssec(ZONE, member(key(sealed=no_key)), OPENER)
    assert item.name.endswith(" other-key")
    assert "very secret" not in reason


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"keys": 1}, "“keys”"),
        ({"keys": [1]}, "“flags”"),
        ({"keys": [key(flags=True)]}, "“flags”"),
        ({"keys": [key(active=1)]}, "“active”"),
        ({"keys": [key(flags=256)]}, "the flags or the algorithm"),
        ({"keys": [key(algorithm=15)]}, "the flags or the algorithm"),
        ({"keys": [key(flags=-1)]}, "the flags or the algorithm"),
        ({"keys": [key(dnskey="nonsense")]}, "“dnskey”"),
        ({"keys": [key(dnskey="\\# 3 010103")]}, "“dnskey”"),
        ({"keys": [key(sealed=None)]}, "“sealed”"),
        ({"keys": [key()] * 21}, "21 keys"),
        ({"nsec3param": 7}, "“nsec3param”"),
        ({"nsec3param": "2 0 0 -"}, "“nsec3param”"),
        ({"nsec3param": "1 0 0"}, "“nsec3param”"),
        ({"nsec3param": "1 0 0 -", "other_nsec3params": ["2 0 0 -"]}, "“nsec3param”"),
        ({"nsec3param": "1 0 0 -", "other_nsec3params": "1 0 0 -"}, "“other_nsec3params”"),
        ({"cds": "9"}, "“cds”"),
        ({"cds": None}, "“cds”"),
        ({"cdnskey": "yes"}, "“cdnskey”"),
        ({"narrow": None}, "“narrow”"),
    ],
)
def test_what_cannot_be_understood_is_a_problem_and_not_half_a_signed_zone(bad: dict[str, Any], reason: str) -> None:
    [item], [message] = read_dnssec(ZONE, member(key()) | bad, OPENER)
    assert item.name == "? ? unreadable"
    assert reason in message
    assert SEALED not in message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.dictionaries(st.sampled_from([*member(), "more"]), JSON), st.dictionaries(st.sampled_from([*key()]), JSON))
def test_no_member_breaks_the_import(modes: dict[str, Any], of_key: dict[str, Any]) -> None:
    read_dnssec(ZONE, member(key() | of_key) | modes, None)
    read_dnssec(ZONE, member(key(), key() | of_key), OPENER)


class TestInTheFile:
    """JSON exports with `dnssec` members, read as a source."""

    @pytest.fixture
    def read(self, tmp_path: Path) -> Callable[..., list[Item]]:
        def read(*zones: dict[str, Any], skip: int = 0, **how: Any) -> list[Item]:
            path = tmp_path / "zones.jsonl"
            path.write_text("\n".join(map(json.dumps, zones)))
            return list(JsonSource(path, **how).items(skip))

        return read

    def test_keys_come_before_their_zone_so_that_its_piece_has_them(self, read: Callable[..., list[Item]]) -> None:
        items = read({"zone": "a.test", "rrsets": [], "dnssec": member(key(), cds="2")}, keys_passphrase=PASSPHRASE)
        assert [type(item) for item in items] == [Kept, Kept, Document]
        assert items[1] == powerdns.kept_key(ZONE, 257, PAIR.private_text, active=True, published=True)
        assert [type(item) for item in read({"zone": "a.test", "rrsets": [], "dnssec": member(key())}, skip=1)] == [
            Document
        ]

    def test_a_zone_that_comes_again_brings_no_second_keys(self, read: Callable[..., list[Item]]) -> None:
        zone = {"zone": "a.test", "rrsets": [], "dnssec": member(key())}
        assert [type(item) for item in read(zone, zone)] == [Kept, Document, Document]

    def test_what_powerdns_means_by_the_word_is_no_member(self, read: Callable[..., list[Item]]) -> None:
        assert [type(item) for item in read({"name": "a.test.", "rrsets": [], "dnssec": True})] == [Document]

    def test_a_problem_is_a_fault_of_the_zone_and_its_records_are_read(self, read: Callable[..., list[Item]]) -> None:
        broken = {"zone": "a.test", "rrsets": [], "dnssec": {"keys": 1}}
        kept_item, fault, document = read({"zone": "b.test", "rrsets": []}, broken)[1:]
        assert isinstance(kept_item, Kept)
        assert isinstance(fault, SourceFault)
        assert (fault.zone, fault.line, fault.code, fault.source) == (ZONE, 2, "dnssec-member", "")
        assert isinstance(document, Document)
