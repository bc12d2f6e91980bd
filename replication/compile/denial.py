"""Compute how a zone's denial of existence affects its names: rank, flags and NSEC3's helper rows. Pure.

The *rank* of a name is its effect on the empty names above it. The strongest name below an empty non-terminal
determines the empty non-terminal's state.

    rank      an empty name above it      which names
    ABSENT    -                           names that own nothing
    PRESENT   has a row                   names below a cut; cuts, except in NSEC3
    HASHED    is also in the NSEC3 chain  opt-out: cuts that own more than NS
    FULL      also has auth 1             all others

NSEC3 without opt-out sets auth 1 for an empty non-terminal whenever it is in the chain, so there every name that is not
below a cut is FULL. Narrow mode has no rows for its chain, so with opt-out its cuts are PRESENT.

RRSIG does not count: a name with only RRSIG owns nothing. RRSIG rows never have the ordername flag.

A name is in the chain if its rank is at least HASHED, with one exception. With opt-out, a cut that owns only NS and
addresses is not in the chain. `pdnsutil rectify-zone` still puts the empty names above it into the chain. In all other
cases every name above a name in the chain is in the chain too. With opt-out, a cut that owns only NS is out of the
chain, and so are the names below it.
"""

import re
from collections.abc import Collection, Mapping

from replication.codec import values
from replication.codec.dnssec import NSEC3_HASH_LENGTH, Nsec3, nsec3_hash
from replication.codec.keys import name_from_relative_key
from replication.codec.values import ENT
from replication.compile.compiled_rows import Row
from replication.dns import names, rdtypes

HELPER = 50  # the type of the rows that make an NSEC3 chain
ABSENT, PRESENT, HASHED, FULL = range(4)

_HELPER_BACK_TTL = 0  # hash → name; only these end PowerDNS's search
_HELPER_FORWARD_TTL = 1  # name → hash
_ADDRESSES = (rdtypes.A, rdtypes.AAAA)
_BARE = frozenset((*_ADDRESSES, rdtypes.NS, rdtypes.RRSIG, ENT, HELPER))
_HASH_LABEL = re.compile(rb"[0-9a-v]{%d}\x00" % NSEC3_HASH_LENGTH)
_HASH_IN_FORWARD = slice(3, 3 + NSEC3_HASH_LENGTH)  # after the lengths of content and label


class Denial:
    """A zone's denial of existence. `nsec3` is None for unsigned zones and for NSEC."""

    __slots__ = ("_lone_cut", "_nsec3", "_other_cut", "_zone", "has_helpers", "is_opt_out")

    def __init__(self, zone: str, nsec3: Nsec3 | None) -> None:
        self._zone, self._nsec3 = zone, nsec3
        self.has_helpers = nsec3 is not None and not nsec3.narrow
        self.is_opt_out = nsec3 is not None and nsec3.opt_out
        if nsec3 is None or (nsec3.opt_out and nsec3.narrow):
            self._lone_cut = self._other_cut = PRESENT
        else:
            self._lone_cut, self._other_cut = (PRESENT, HASHED) if nsec3.opt_out else (FULL, FULL)

    def rank(self, owned: int, *, at_cut: bool, occluded: bool) -> int:
        """Return a name's rank. `owned` is the number of types that make the name exist (`owned_types`)."""
        if occluded or not at_cut:
            return ABSENT if not owned else PRESENT if occluded else FULL
        return self._lone_cut if owned == 1 else self._other_cut

    def is_in_chain(self, rank: int, types: Collection[int], *, at_cut: bool) -> bool:
        """Return True if a name of this rank that owns these types is in the NSEC3 chain itself."""
        return rank >= HASHED and not (self.is_opt_out and at_cut and is_bare_cut(types))

    def has_ordername(self, type: int, types: Collection[int], rank: int, *, at_cut: bool) -> bool:
        """Return True if the ordername flag is set on this RRset. `types` and `rank` are those of its name."""
        if rank < HASHED or not self.has_helpers or type == rdtypes.RRSIG:
            return False
        return not (at_cut and is_unflagged_at_cut(type, types, opt_out=self.is_opt_out))

    def ent_body(self, rank: int) -> bytes:
        """Encode an empty non-terminal's row. `rank` is the highest rank of the names below it."""
        return values.encode_ent(auth=rank == FULL, ordername=self.has_helpers and rank >= HASHED)

    def ent_rank(self, body: bytes | None) -> int:
        """Return the rank stored in an empty non-terminal's row (see `ent_body`). Return ABSENT for None."""
        if body is None:
            return ABSENT
        auth, ordername = values.first_flags(body)
        return FULL if auth else HASHED if ordername else PRESENT

    def has_same_hashes(self, other: "Denial") -> bool:
        """Return True if both denials write helper rows and use the same hash for every name."""
        one, two = self._nsec3, other._nsec3
        if one is None or two is None or not self.has_helpers or not other.has_helpers:
            return False
        return (one.salt, one.iterations) == (two.salt, two.iterations)

    def helper_rows(self, rel: bytes) -> tuple[Row, ...]:
        """Return the helper rows that map a name's hash to the name, and the name to its hash.

        A name that looks like a hash gets only the first row. The denial must be NSEC3.
        """
        assert self._nsec3 is not None
        return helper_rows(self._zone, rel, self._nsec3)

    def back_key(self, rel: bytes, rows: Mapping[int, bytes]) -> bytes:
        """Return the relative key of the row that maps a name's hash to the name. `rows` are the name's rows.

        The name must be in the chain, and the denial must be NSEC3.
        """
        if HELPER in rows and not is_like_hash(rel):
            return rows[HELPER][_HASH_IN_FORWARD] + b"\0"
        return self.helper_rows(rel)[0][0]


def owned_types(types: Collection[int]) -> int:
    """Count the types that make a name exist, not counting RRSIG and the pseudo-types that the compiler adds."""
    return len(types) - (ENT in types) - (HELPER in types) - (rdtypes.RRSIG in types)


def is_bare_cut(types: Collection[int]) -> bool:
    """Return True if a cut owns only NS and addresses, which can be glue. Such a delegation is insecure."""
    return _BARE.issuperset(types)


def is_like_hash(rel: bytes) -> bool:
    """Return True if the relative key is a hash label or looks like one."""
    return _HASH_LABEL.fullmatch(rel) is not None


def is_unflagged_at_cut(type: int, types: Collection[int], *, opt_out: bool) -> bool:
    """Return True if an RRset at a cut in the chain doesn't have the ordername flag."""
    if type == rdtypes.NS and opt_out:
        return rdtypes.DS not in types
    return type in _ADDRESSES


def helper_rows(zone: str, rel: bytes, nsec3: Nsec3) -> tuple[Row, ...]:
    """Return the rows that map a name's hash to the name, and the name to its hash.

    A name that looks like a hash gets only the first row. Otherwise an attacker could choose a name whose second row
    has the key of another name's first row. The other name would then vanish from the chain. Answers do not need the
    second row.
    """
    hashed = nsec3_hash(name_from_relative_key(rel, zone), nsec3.salt, nsec3.iterations)
    relative_name = names.to_wire(name_from_relative_key(rel, names.ROOT))
    back = (hashed + b"\0", HELPER, values.encode_rrset((relative_name,), _HELPER_BACK_TTL, auth=False))
    if is_like_hash(rel):
        return (back,)
    label = bytes((NSEC3_HASH_LENGTH,)) + hashed + b"\0"
    return back, (rel, HELPER, values.encode_rrset((label,), _HELPER_FORWARD_TTL, auth=False))
