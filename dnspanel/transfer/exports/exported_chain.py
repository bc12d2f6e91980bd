"""Compute the NSEC or NSEC3 records of a zone that is exported with the signatures of its source.

PowerDNS computes these records, so they are not among the zone's RRsets. Each record has the original TTL from its
signature.
"""

from collections.abc import Iterator, Sequence

from dnspanel.transfer.exports.exported_rows import Row
from dnspanel.transfer.signed_chains import SignedChains
from dnspanel.zones.dnssec.signing_state import SigningState
from replication.codec.keys import APEX, name_from_relative_key, relative_key
from replication.compile.nsec_chain import ChainMaker
from replication.dns import names, rdata, rdtypes


class Chain:
    """The NSEC or NSEC3 chain of a presigned zone, and its other chains. Uses several hundred bytes per name."""

    def __init__(self, zone: str, state: SigningState) -> None:
        self._zone, self._nsec3 = zone, state.denial
        self._maker = ChainMaker(zone, self._nsec3)
        self._others = SignedChains(zone, state.other_nsec3)
        self._type = "NSEC" if self._nsec3 is None else "NSEC3"
        self._ttls: dict[bytes, int] = {}
        self._ttl_of_parameters: int | None = None

    def take(self, row: Row) -> None:
        """Add an RRset to the chain. RRsets must be added sorted by their owners."""
        name, type_, _, texts, disabled, *_ = row
        served = [text for text in texts if text not in disabled] if disabled else texts
        if not served:
            return
        key = relative_key(name, self._zone)
        self._maker.add(key, type_)
        self._others.add(key, type_)
        if type_ == rdtypes.RRSIG:
            self._take_ttls(key, served)

    def lines(self) -> Iterator[str]:
        """Yield the records of the zone's own chain, then of the others, one per line. NSEC3 parameters come first."""
        yield from self._own_lines()
        for record in self._others.records():
            yield f"{self._owner(record.owner)} {record.ttl} IN {rdata.type_to_text(record.type)} {record.text}\n"

    def _own_lines(self) -> Iterator[str]:
        if self._nsec3 is None:
            for link in self._maker.links():
                after = name_from_relative_key(link.next, self._zone)
                yield f"{self._owner(link.owner)} {self._ttl(link.owner)} IN NSEC {after} {_types(link.types)}\n"
            return
        parameters = f"{self._nsec3.iterations} {self._nsec3.salt.hex() or '-'}"
        if self._ttl_of_parameters is not None:
            yield f"@ {self._ttl_of_parameters} IN NSEC3PARAM 1 0 {parameters}\n"
        for link in self._maker.links():
            after = link.next[:-1].decode("ascii")
            head = f"{self._owner(link.owner)} {self._ttl(link.owner)} IN NSEC3"
            yield f"{head} 1 {int(self._nsec3.opt_out)} {parameters} {after} {_types(link.types)}".rstrip() + "\n"

    def _take_ttls(self, key: bytes, texts: Sequence[str]) -> None:
        """Store the original TTLs from the signatures' rdata: the fourth field of each (RFC 4034 section 3.1.4)."""
        for text in texts:
            covered, _, _, ttl, _ = text.split(" ", 4)
            if covered == self._type:
                self._ttls[key] = int(ttl)
            elif covered == "NSEC3PARAM" and key == APEX:
                self._ttl_of_parameters = int(ttl)
            if covered.startswith("NSEC3"):
                self._others.add_signature(key, rdata.type_from_text(covered), int(ttl))

    def _ttl(self, owner: bytes) -> int:
        return self._ttls.get(owner, 0)

    def _owner(self, key: bytes) -> str:
        if key == APEX:
            return "@"
        return name_from_relative_key(key, self._zone if self._zone == names.ROOT else names.ROOT).removesuffix(".")


def _types(types: frozenset[int]) -> str:
    return " ".join(map(rdata.type_to_text, sorted(types)))
