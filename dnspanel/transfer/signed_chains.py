"""Compute the additional NSEC3 chains of a zone that another signer signs, from the zone's records. Pure.

A signer that changes from one NSEC3 chain to another has both for a while, with an NSEC3PARAM record for each. PowerDNS
serves only the chain in its metadata. A transfer or export of the whole zone needs all chains. One signature covers
both NSEC3PARAM records, and each of these records promises that its chain is complete (RFC 5155 section 7.3).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from replication.codec.dnssec import Nsec3
from replication.codec.keys import APEX
from replication.compile.nsec_chain import ChainMaker
from replication.dns import rdata, rdtypes


class ChainRecord(NamedTuple):
    """A record of a chain, with its owner's relative key, its type, its TTL, and its rdata as text."""

    owner: bytes
    type: int
    ttl: int
    text: str


class SignedChains:
    """A builder of NSEC3 chains. It collects a zone's owners and types, and then creates the chains' records.

    It uses several hundred bytes per name, or none if `chains` is empty.
    """

    def __init__(self, zone: str, chains: Sequence[Nsec3]) -> None:
        self._zone, self._chains = zone, chains
        self._types: dict[bytes, set[int]] = {}
        self._ttls: dict[bytes, int] = {}
        self._ttl_of_parameters = 0

    def add(self, owner: bytes, type: int) -> None:
        """Add an RRset by its owner's relative key. RRsets of the chains themselves must not be added."""
        if self._chains:
            self._types.setdefault(owner, set()).add(type)

    def add_signature(self, owner: bytes, covered: int, ttl: int) -> None:
        """Store a signature's original TTL (RFC 4034 section 3.1.4) if it covers NSEC3, or NSEC3PARAM at the apex."""
        if covered == rdtypes.NSEC3PARAM and owner == APEX:
            self._ttl_of_parameters = ttl
        elif covered == rdtypes.NSEC3 and self._chains:
            self._ttls[owner] = ttl

    def records(self) -> Iterator[ChainRecord]:
        """Yield the chains' records that have signatures. The parameters of each chain come before its records."""
        for nsec3 in self._chains:
            parameters = f"{nsec3.iterations} {nsec3.salt.hex() or '-'}"
            yield ChainRecord(APEX, rdtypes.NSEC3PARAM, self._ttl_of_parameters, f"1 0 {parameters}")
            maker = ChainMaker(self._zone, nsec3)
            for owner in sorted(self._types):
                for type in self._types[owner]:
                    maker.add(owner, type)
            for link in maker.links():
                if (ttl := self._ttls.get(link.owner)) is not None:
                    types = " ".join(map(rdata.type_to_text, sorted(link.types)))
                    after = link.next[:-1].decode("ascii")
                    text = f"1 {int(nsec3.opt_out)} {parameters} {after} {types}".rstrip()
                    yield ChainRecord(link.owner, rdtypes.NSEC3, ttl, text)
