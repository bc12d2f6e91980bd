"""RRsets of a zone → rows of the records table, with everything that `pdnsutil rectify-zone` would do. Pure.

The rules, for a zone that is unsigned or signed with NSEC:

1. A *cut* is a name other than the apex that owns NS. Every row at a cut and
   below one has auth 0, every other row 1; DS rows always 1.
2. Every name between a stored name and the apex that owns nothing is an
   *empty non-terminal* and gets a row of type 0, or it would answer NXDOMAIN.
   Its auth is 1 if a name below it has auth 1.

PowerDNS drops all empty non-terminals of a zone that has more than
`max-ent-entries` (100,000) of them; we keep them, since the answers are wrong
without. Disabled records do not travel.

Names are relative keys here (`codec.keys`): parents sort before children, and
a subtree is one prefix.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from replication.codec import values
from replication.codec.dnssec import NSEC3_HASH_LENGTH, Nsec3, nsec3_hash
from replication.codec.keys import APEX, name_from_relative_key, parent_key, relative_key
from replication.codec.values import ENT
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import RRset
from replication.errors import BadRRset

Row = tuple[bytes, int, bytes]  # relative key, type, body
WireRRset = tuple[bytes, int, int, Sequence[bytes]]  # relative key, type, TTL, rdata in wire form
Content = tuple[int, Sequence[bytes]]  # TTL, rdata in wire form

_NSEC3_HELPER = 50
_HELPER_BACK_TTL = 0  # hash → name; PowerDNS's search stops only at these
_HELPER_FORWARD_TTL = 1  # name → hash
_ADDRESSES = (rdtypes.A, rdtypes.AAAA)
_SEEN_ENT = values.encode_ent(True)


class Rows(Protocol):
    """The rows of one zone as they are now."""

    def get(self, rel: bytes, type: int) -> bytes | None:
        """The body at a name and type."""

    def at(self, rel: bytes) -> list[tuple[int, bytes]]:
        """Types and bodies at exactly one name."""

    def below(self, rel: bytes) -> Iterator[Row]:
        """Rows strictly below a name, in key order."""


def compile_zone(zone: str, rrsets: Iterable[RRset], nsec3: Nsec3 | None = None) -> list[Row]:
    """Every row of the zone, sorted by record key. `nsec3` is None for unsigned zones and for NSEC."""
    to_wire = rdata.to_wire
    served = (
        (_key_within(zone, item.name, item.type), item.type, item.ttl, [to_wire(item.type, text) for text in texts])
        for item in rrsets
        if (texts := item.served)
    )
    return compile_wires(zone, served) if nsec3 is None else _general_rows(zone, _owned(served), nsec3)


def compile_wires(zone: str, rrsets: Iterable[WireRRset]) -> list[Row]:
    """The rows of an unsigned zone, sorted by record key, from its served records in wire form.

    An RRset without records counts as absent. Written for millions of RRsets: where the zone delegates
    nothing, every auth is 1, and only names two labels below the apex can leave an empty name above them.
    """
    rows: list[Row] = []
    deep: list[bytes] = []
    listed = rrsets if isinstance(rrsets, list | tuple) else list(rrsets)
    encode, ns = values.encode_rrset, rdtypes.NS
    for rel, type, ttl, wires in listed:
        if type == ns and rel != APEX:
            return _general_rows(zone, _owned(listed), None)
        if wires:
            rows.append((rel, type, encode(wires, ttl, True)))
            if rel.find(b"\0") != len(rel) - 1:
                deep.append(rel)
    if deep:
        ents = _ents(dict.fromkeys(deep, True) | {row[0]: True for row in rows})
        rows += [(rel, ENT, _SEEN_ENT) for rel in ents]
    rows.sort()
    return rows


def _general_rows(zone: str, owned: Mapping[bytes, Mapping[int, Content]], nsec3: Nsec3 | None) -> list[Row]:
    """The rows of a zone in which anything may occur, sorted by record key."""
    cuts = {rel for rel, types in owned.items() if rdtypes.NS in types and rel != APEX}
    occluded = _occluded(sorted(owned), cuts)
    ents = _ents({rel: rel not in cuts and rel not in occluded for rel in owned})
    hashed = _hashed_names(owned, cuts, occluded, nsec3) if nsec3 else set()
    flagged = hashed if nsec3 and not nsec3.narrow else set()
    rows: list[Row] = []
    for rel, types in owned.items():
        at_cut = rel in cuts
        for type, (ttl, wires) in types.items():
            auth = type == rdtypes.DS or not (at_cut or rel in occluded)
            ordername = rel in flagged and not (at_cut and _unflagged_at_cut(type, types, nsec3))
            rows.append((rel, type, values.encode_rrset(wires, ttl, auth, ordername)))
    for rel, auth in ents.items():
        authoritative = auth or (nsec3 is not None and not nsec3.opt_out and rel in hashed)
        rows.append((rel, ENT, values.encode_ent(authoritative, rel in flagged)))
    if nsec3:
        rows += [row for rel in flagged for row in _helper_rows(zone, rel, nsec3)]
    rows.sort()
    return rows


def _owned(rrsets: Iterable[WireRRset]) -> dict[bytes, dict[int, Content]]:
    """TTL and records of the served RRsets by relative key and type."""
    owned: dict[bytes, dict[int, Content]] = {}
    for rel, type, ttl, wires in rrsets:
        if wires:
            owned.setdefault(rel, {})[type] = ttl, wires
    return owned


def _key_within(zone: str, name: str, type: int) -> bytes:
    if not names.is_within(name, zone):
        raise BadRRset(name=name, type=type, reason=f"{name} is not within the zone {zone}")
    return relative_key(name, zone)


def _body(rrset: RRset, auth: bool) -> bytes:
    to_wire, type = rdata.to_wire, rrset.type
    return values.encode_rrset([to_wire(type, text) for text in rrset.served], rrset.ttl, auth)


def _occluded(ordered: list[bytes], cuts: set[bytes]) -> set[bytes]:
    """The names strictly below a cut."""
    found: set[bytes] = set()
    cut: bytes | None = None
    for rel in ordered if cuts else ():
        if cut is not None and rel.startswith(cut):
            found.add(rel)
        elif rel in cuts:
            cut = rel
    return found


def _ents(auth_of: Mapping[bytes, bool]) -> dict[bytes, bool]:
    """Empty non-terminals and their auth, from the names that own something and theirs."""
    ents: dict[bytes, bool] = {}
    for rel, auth in auth_of.items():
        above = parent_key(rel)
        # An existing ancestor leads the way up itself, and with no less auth than what is below it.
        while above != APEX and above not in auth_of and (above not in ents or ents[above] < auth):
            ents[above] = auth
            above = parent_key(above)
    return ents


def _hashed_names(
    owned: Mapping[bytes, Mapping[int, Content]], cuts: set[bytes], occluded: set[bytes], nsec3: Nsec3
) -> set[bytes]:
    """The names of the NSEC3 chain: with opt-out, insecure delegations are not in it."""
    hashed: set[bytes] = set()
    for rel, types in owned.items():
        if rel in occluded or (nsec3.opt_out and rel in cuts and set(types) == {rdtypes.NS}):
            continue
        while rel not in hashed:
            hashed.add(rel)
            rel = parent_key(rel)
    return hashed


def _unflagged_at_cut(type: int, types: Mapping[int, Content], nsec3: Nsec3 | None) -> bool:
    if type == rdtypes.NS and nsec3 is not None and nsec3.opt_out:
        return rdtypes.DS not in types
    return type in _ADDRESSES


def _helper_rows(zone: str, rel: bytes, nsec3: Nsec3) -> tuple[Row, Row]:
    """The two rows that lead from a name to its hash and back."""
    hashed = nsec3_hash(name_from_relative_key(rel, zone), nsec3.salt, nsec3.iterations)
    relative_name = names.to_wire(name_from_relative_key(rel, names.ROOT))
    label = bytes((NSEC3_HASH_LENGTH,)) + hashed + b"\0"
    return (
        (hashed + b"\0", _NSEC3_HELPER, values.encode_rrset((relative_name,), _HELPER_BACK_TTL, False)),
        (rel, _NSEC3_HELPER, values.encode_rrset((label,), _HELPER_FORWARD_TTL, False)),
    )


def compile_changes(
    zone: str, rows: Rows, changed: Mapping[tuple[str, int], RRset | None]
) -> dict[tuple[bytes, int], bytes | None]:
    """The rows to put (body) or delete (None) so that `rows` become the zone with `changed` applied.

    Equal to the difference of two calls of `compile_zone`, for unsigned zones
    and NSEC; a zone with NSEC3 has to be compiled in full. Values of `changed`
    are the RRsets afterwards, None for absent ones.

    The cost does not grow with the zone: a change reads the rows of its name
    and of the names above it. Three things read more. A delegation that
    appears or disappears reads its subtree, because every auth below it turns.
    The last RRset of a name that disappears reads below the empty
    non-terminals above it up to the first name still there. And where the last
    name with auth 1 leaves an empty non-terminal, the reading goes on to the
    next one with auth 1, which is far only among delegations.
    """
    return _Compiler(zone, rows, changed).result()


class _State:
    """What exists in a zone at one time: `rows`, with some RRsets overridden."""

    def __init__(self, rows: Rows, overrides: Mapping[bytes, Mapping[int, bool]]) -> None:
        self._rows = rows
        self._overrides = overrides
        self._cut: dict[bytes, bool] = {APEX: False}
        self._occluded: dict[bytes, bool] = {APEX: False}

    def exists(self, rel: bytes) -> bool:
        """The name owns something."""
        overrides = self._overrides.get(rel, {})
        return any(overrides.values()) or any(
            type not in overrides and type != ENT and type != _NSEC3_HELPER for type, _ in self._rows.at(rel)
        )

    def is_cut(self, rel: bytes) -> bool:
        """The name is delegated."""
        found = self._cut.get(rel)
        if found is None:
            override = self._overrides.get(rel, {}).get(rdtypes.NS)
            found = self._rows.get(rel, rdtypes.NS) is not None if override is None else override
            self._cut[rel] = found
        return found

    def is_occluded(self, rel: bytes) -> bool:
        """The name is below a delegation."""
        found = self._occluded.get(rel)
        if found is None:
            above = parent_key(rel)
            found = self._occluded[rel] = self.is_cut(above) or self.is_occluded(above)
        return found

    def auth(self, rel: bytes) -> bool:
        """Rows of the name other than DS are authoritative."""
        return not self.is_cut(rel) and not self.is_occluded(rel)

    def names_below(self, rel: bytes) -> Iterator[bytes]:
        """The names below one that have rows and own something; what overrides add elsewhere is not found."""
        last = None
        for name, _, _ in self._rows.below(rel):
            if name != last and self.exists(name):
                yield name
            last = name


@dataclass(slots=True)
class _Below:
    """What the changes did somewhere below a name."""

    gained: bool = False  # a changed name exists
    gained_auth: bool = False  # a changed name exists with auth 1
    lost: bool = False  # a name is gone
    lost_auth: bool = False  # a name with auth 1 is gone or has auth 0 now


class _Compiler:
    """One call of `compile_changes`."""

    def __init__(self, zone: str, rows: Rows, changed: Mapping[tuple[str, int], RRset | None]) -> None:
        self._rows = rows
        self._after: dict[bytes, dict[int, RRset | None]] = defaultdict(dict)
        for (name, type), rrset in changed.items():
            served = rrset if rrset is not None and rrset.served else None
            self._after[_key_within(zone, name, type)][type] = served
        exists = {rel: {type: rrset is not None for type, rrset in types.items()} for rel, types in self._after.items()}
        self._old = _State(rows, {})
        self._new = _State(rows, exists)
        self._below: dict[bytes, _Below] = defaultdict(_Below)
        self._result: dict[tuple[bytes, int], bytes | None] = {}

    def result(self) -> dict[tuple[bytes, int], bytes | None]:
        for rel, types in self._after.items():
            for type, rrset in types.items():
                auth = type == rdtypes.DS or self._new.auth(rel)
                self._set(rel, type, None if rrset is None else _body(rrset, auth))
            self._tell_ancestors(rel)
        for rel in self._turned_cuts():
            self._turn_auth(rel)
        for rel in sorted(self._below.keys() | self._after.keys()):
            if rel != APEX:
                self._set_ent(rel)
        return self._result

    def _set(self, rel: bytes, type: int, body: bytes | None) -> None:
        if self._rows.get(rel, type) != body:
            self._result[rel, type] = body

    def _turned_cuts(self) -> list[bytes]:
        """Delegations that appeared or disappeared, without those below another one of them."""
        found: list[bytes] = []
        for rel in sorted(self._after):
            if self._old.is_cut(rel) != self._new.is_cut(rel) and not (found and rel.startswith(found[-1])):
                found.append(rel)
        return found

    def _turn_auth(self, cut: bytes) -> None:
        """Give every row at and below a turned delegation the auth it has now."""
        last = None
        unchanged = ((cut, type, body) for type, body in self._rows.at(cut))
        for rel, type, body in chain(unchanged, self._rows.below(cut)):
            if type in (ENT, _NSEC3_HELPER):
                continue
            if type != rdtypes.DS and type not in self._after.get(rel, {}):
                self._set(rel, type, values.with_auth(body, self._new.auth(rel)))
            if rel != last:
                self._tell_ancestors(rel)
                last = rel

    def _tell_ancestors(self, rel: bytes) -> None:
        """Note above a name what became of it."""
        was, exists = self._old.exists(rel), self._new.exists(rel)
        was_auth, has_auth = was and self._old.auth(rel), exists and self._new.auth(rel)
        if was == exists and was_auth == has_auth:
            return
        above = rel
        while (above := parent_key(above)) != APEX:
            below = self._below[above]
            below.gained |= exists
            below.gained_auth |= has_auth
            below.lost |= was and not exists
            below.lost_auth |= was_auth and not has_auth

    def _set_ent(self, rel: bytes) -> None:
        """Make the row of an empty non-terminal present with the right auth, or absent."""
        auth = None if self._new.exists(rel) else self._ent_auth(rel)
        self._set(rel, ENT, None if auth is None else values.encode_ent(auth))

    def _ent_auth(self, rel: bytes) -> bool | None:
        """The auth of a name that owns nothing; None if nothing is below it either."""
        below = self._below[rel]
        before = self._rows.get(rel, ENT)
        if below.gained_auth:
            return True
        if before is None and not self._old.exists(rel):
            return False if below.gained else None
        if before is not None and not below.lost and not below.lost_auth:
            return values.first_auth(before)
        # Auth below a name is 0 already if it was so before, and nothing has gained it.
        only_existence = (before is not None and not values.first_auth(before)) or not self._new.auth(rel)
        return self._search_below(rel, below.gained, only_existence)

    def _search_below(self, rel: bytes, gained: bool, only_existence: bool) -> bool | None:
        found: bool | None = False if gained else None
        if found is not None and only_existence:
            return found
        for name in self._new.names_below(rel):
            if self._new.auth(name):
                return True
            found = False
            if only_existence:
                break
        return found
