"""Find the TTLs in a presigned zone that its signer set. Pure.

A signature has the TTL of the RRset that it signs, and repeats that TTL in its fourth field (RFC 4034 sections 3 and
3.1.4). In the panel all signatures of a name are one RRset with one TTL, and PowerDNS serves NSEC, NSEC3 and NSEC3PARAM
with the SOA's minimum. Programs that verify a zone compare these TTLs, and secondaries use them in answers.
"""

from collections.abc import Iterable, Sequence

from replication.dns import rdtypes

# The types that PowerDNS generates, and the mnemonic at the beginning of their signatures.
_MADE = {rdtypes.NSEC: "NSEC", rdtypes.NSEC3: "NSEC3", rdtypes.NSEC3PARAM: "NSEC3PARAM"}
_TYPES = {mnemonic: type for type, mnemonic in _MADE.items()}


def ttl_of_signature(text: str) -> int:
    """Parse the original TTL from an RRSIG's rdata in presentation format."""
    return int(text.split(" ", 4)[3])


class SignedTtls:
    """The TTLs of a zone's NSEC, NSEC3 and NSEC3PARAM records, as stated in the zone's signatures.

    `signatures` has pairs of an owner and the rdata of its RRSIGs. Nearly all records of a chain have the same TTL, so
    only the exceptions are stored.
    """

    def __init__(self, signatures: Iterable[tuple[str, Sequence[str]]]) -> None:
        self._usual: dict[int, int] = {}
        self._others: dict[tuple[str, int], int] = {}
        for owner, texts in signatures:
            for text in texts:
                covered, _, _, ttl, _ = text.split(" ", 4)
                if (type := _TYPES.get(covered)) is not None:
                    self._take(owner, type, int(ttl))

    def _take(self, owner: str, type: int, ttl: int) -> None:
        if self._usual.setdefault(type, ttl) != ttl:
            self._others[owner.lower(), type] = ttl

    def ttl_of(self, owner: str, type: int, ttl: int, wire: bytes) -> int:
        """Return the TTL that the signer set for a record. PowerDNS serves the record with `ttl`. `wire` is its rdata.

        An RRSIG contains its TTL. NSEC, NSEC3 and NSEC3PARAM have the TTL in their signatures. Other types keep `ttl`.
        """
        if type == rdtypes.RRSIG:
            return int.from_bytes(wire[4:8])
        if type in _MADE:
            usual = self._usual.get(type, ttl)
            return self._others.get((owner.lower(), type), usual) if self._others else usual
        return ttl
