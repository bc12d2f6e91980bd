"""NSEC3 parameters and signed records of presigned zones. `test_chain` checks the chains with validators."""

from dnspanel.transfer.signed_chains import ChainRecord, SignedChains
from replication.codec.dnssec import Nsec3, nsec3_hash
from replication.codec.keys import APEX
from replication.dns import rdtypes

ZONE = "z.test."
SALTED = Nsec3(2, b"\xab")


def chains(*made: Nsec3) -> SignedChains:
    found = SignedChains(ZONE, made)
    found.add(APEX, rdtypes.SOA)
    found.add(b"www\0", rdtypes.A)
    found.add_signature(APEX, rdtypes.NSEC3PARAM, 7)
    return found


def owner(name: str) -> bytes:
    return nsec3_hash(name, SALTED.salt, SALTED.iterations) + b"\0"


def test_without_chains_there_is_nothing() -> None:
    assert list(chains().records()) == []


def test_only_what_is_signed_is_given_behind_its_parameters() -> None:
    found = chains(SALTED)
    found.add_signature(owner("www.z.test."), rdtypes.NSEC3, 300)
    first, second = found.records()
    assert first == ChainRecord(APEX, rdtypes.NSEC3PARAM, 7, "1 0 2 ab")
    after = owner(ZONE)[:-1].decode()
    assert second == ChainRecord(owner("www.z.test."), rdtypes.NSEC3, 300, f"1 0 2 ab {after} A RRSIG")
