"""Tests of the comparison of a parent's DS records with a zone's keys."""

from collections.abc import Sequence

import pytest

from dnspanel.fleet.dnssec.compare_ds import SignedBy, SigningKey, compare
from dnspanel.fleet.models import ParentState
from dnspanel.zones.dnssec import key_material

ZONE = "example.test."
FIRST, SECOND = (SigningKey(257, 13, bytes([number]) * 64) for number in (1, 2))
STRANGER = SigningKey(257, 13, bytes(64))
RSA = SigningKey(257, 8, bytes([3]) * 64)


def ds(key: SigningKey, digest: int = 2) -> str:
    return key_material.ds_text(ZONE, key.flags, key.algorithm, key.public, digest)


def tag(key: SigningKey) -> int:
    return key_material.key_tag(key.flags, key.algorithm, key.public)


def state(*sets: Sequence[str], keys: Sequence[SigningKey] = (FIRST, SECOND)) -> ParentState | None:
    return found(*sets, keys=keys)[0]


def found(*sets: Sequence[str], keys: Sequence[SigningKey] = (FIRST, SECOND)) -> tuple[ParentState | None, str]:
    signed = SignedBy(ZONE, tuple(keys), frozenset(key.algorithm for key in keys))
    finding = compare(signed, "test.", {f"ns{number}.test. 192.0.2.{number}": ds for number, ds in enumerate(sets)})
    return finding.state, finding.message


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        ([[ds(FIRST)]], ParentState.MATCHES),
        ([[ds(FIRST).upper()]], ParentState.MATCHES),
        ([[ds(FIRST, 2), ds(FIRST, 4)], [ds(SECOND)]], ParentState.MATCHES),
        ([[ds(FIRST), ds(STRANGER)]], ParentState.MATCHES),  # a key that will sign later
        ([[ds(FIRST, 1)]], ParentState.MATCHES),
        ([[], []], ParentState.NO_DS),
        ([[ds(FIRST)], []], ParentState.PARTIAL),
        ([[ds(FIRST)], [ds(STRANGER)]], ParentState.DIFFERS),
        ([[], [ds(STRANGER)]], ParentState.DIFFERS),
        ([[ds(FIRST, 1), ds(STRANGER, 2)]], ParentState.DIFFERS),  # SHA-1 doesn't count if another digest exists
        ([[ds(FIRST, 2), ds(STRANGER, 4)]], ParentState.DIFFERS),  # some resolvers check only the strongest digest
        ([[ds(FIRST), ds(RSA)]], ParentState.DIFFERS),  # an algorithm without a signing key
        ([[f"{tag(FIRST)} 13 6 00"]], ParentState.DIFFERS),
    ],
)
def test_what_the_ds_records_mean(sets: list[list[str]], expected: ParentState) -> None:
    assert state(*sets) is expected


def test_a_ds_of_a_zone_that_is_not_signed_leads_nowhere() -> None:
    assert state([ds(FIRST)], keys=()) is ParentState.DIFFERS
    assert state([], keys=()) is ParentState.NO_DS


def test_the_message_names_keys_and_servers() -> None:
    assert found([ds(FIRST)])[1] == f"The DS at the parent test. matches key {tag(FIRST)}."
    assert found([ds(FIRST)], [ds(SECOND)])[1] == (
        f"The DS at the parent test. matches keys {min(tag(FIRST), tag(SECOND))}, {max(tag(FIRST), tag(SECOND))} "
        "on all 2 servers."
    )
    assert found([ds(FIRST)], [ds(STRANGER)])[1] == (
        "The DS is wrong on ns1.test. 192.0.2.1, out of 2 servers for the parent test.. "
        "The DS doesn’t match any key that signs the zone, so validating resolvers can’t resolve the zone."
    )
    assert "isn’t signed with RSASHA256, which the DS requires" in found([ds(FIRST), ds(RSA)])[1]
    assert found([ds(FIRST)], [], [])[1] == (
        "2 of 3 servers for the parent test. don’t have a DS for the zone, but the others do."
    )
