"""Compute the NSEC or NSEC3 records that PowerDNS creates from a zone's rows. Pure.

PowerDNS lists the types of a name's authoritative rows, and NS. An NSEC also lists RRSIG and NSEC. An NSEC3 lists RRSIG
unless the list is empty or only NS, and NSEC3PARAM at the apex. `denial` explains which names are in the chain.
"""

from collections.abc import Iterator
from typing import NamedTuple

from replication.codec.dnssec import Nsec3, nsec3_hash
from replication.codec.keys import APEX, name_from_relative_key, parent_key
from replication.compile.denial import is_bare_cut
from replication.dns import rdtypes

# PowerDNS answers these types with other types, which it lists in its chain.
_STANDS_FOR = {rdtypes.ALIAS: (rdtypes.A, rdtypes.AAAA)}
_NOTHING: frozenset[int] = frozenset()
_SIGNATURE = frozenset((rdtypes.RRSIG,))


class Link(NamedTuple):
    """One record of a chain: its owner, the name that it matches, the next owner (relative keys), and its types.

    In NSEC the matched name is the owner itself.
    """

    owner: bytes
    name: bytes
    next: bytes
    types: frozenset[int]


class ChainMaker:
    """A builder of one zone's NSEC or NSEC3 chain from the types of its served RRsets. `nsec3` is None for NSEC.

    The builder uses 100 to 200 bytes of memory for each name.
    """

    def __init__(self, zone: str, nsec3: Nsec3 | None) -> None:
        self._zone, self._nsec3 = zone, nsec3
        self._rel = b""
        self._types: set[int] = set()
        self._cut: bytes | None = None
        self._signatures: list[bytes] = []  # the last name that owns only RRSIG, and such names above it
        self._path: set[bytes] = set()  # the last name of an NSEC3 chain, and all names above it
        self._found: list[tuple[bytes, bytes, frozenset[int]]] = []  # owner, name, types
        self._lists: dict[frozenset[int], frozenset[int]] = {}  # few distinct ones, each used millions of times

    def add(self, rel: bytes, type: int) -> None:
        """Add an RRset. The caller must add RRsets in the order of their owners' relative keys."""
        if rel != self._rel:
            self._take_name()
            self._rel = rel
        self._types.add(type)

    def links(self) -> Iterator[Link]:
        """Yield the chain's records in the order of their owners. RRsets can't be added after this call."""
        self._take_name()
        if self._nsec3 is not None:
            self._found.sort()
        for index, (owner, name, types) in enumerate(self._found, 1):
            yield Link(owner, name, self._found[index % len(self._found)][0], types)

    def _take_name(self) -> None:
        rel, types, self._types = self._rel, self._types, set()
        if self._cut is not None and rel.startswith(self._cut):
            return
        if types == {rdtypes.RRSIG}:
            self._signatures = [*(name for name in self._signatures if rel.startswith(name)), rel]
        types.discard(rdtypes.RRSIG)
        if not types:
            return
        at_cut = rdtypes.NS in types and rel != APEX
        if at_cut:
            self._cut = rel
        if self._nsec3 is None:
            self._found.append((rel, rel, self._list(types, rdtypes.RRSIG, rdtypes.NSEC, at_cut=at_cut)))
        elif not (at_cut and self._nsec3.opt_out and len(types) == 1):
            self._take_hashed(rel, types, self._nsec3, at_cut=at_cut)

    def _take_hashed(self, rel: bytes, types: set[int], nsec3: Nsec3, *, at_cut: bool) -> None:
        """Add a name, unless opt-out leaves it out, and the missing names above it to the NSEC3 chain."""
        is_insecure = at_cut and rdtypes.DS not in types
        more = () if is_insecure else (rdtypes.RRSIG,)
        listed = self._list(types, *more, *((rdtypes.NSEC3PARAM,) if rel == APEX else ()), at_cut=at_cut)
        # With opt-out PowerDNS leaves out an insecure delegation that has an address, but none of the names above it.
        left_out = rel if at_cut and nsec3.opt_out and is_bare_cut(types) else None
        path, name = set(), rel
        while True:
            path.add(name)
            if name not in self._path and name != left_out:
                hashed = nsec3_hash(name_from_relative_key(name, self._zone), nsec3.salt, nsec3.iterations)
                self._found.append((hashed + b"\0", name, listed if name == rel else self._list_of_empty(name)))
            if name == APEX:
                break
            name = parent_key(name)
        self._path = path

    def _list_of_empty(self, name: bytes) -> frozenset[int]:
        """Return the types of an empty name: RRSIG if the name has signatures, which are authoritative, else none."""
        return _SIGNATURE if name in self._signatures else _NOTHING

    def _list(self, types: set[int], *more: int, at_cut: bool) -> frozenset[int]:
        if at_cut:
            types = types & {rdtypes.NS, rdtypes.DS}
        found = frozenset(each for type in types for each in _STANDS_FOR.get(type, (type,))).union(more)
        return self._lists.setdefault(found, found)
