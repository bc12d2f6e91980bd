"""Compile a zone's changed RRsets into changed rows, for each kind of denial of existence. Pure."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from replication.codec import values
from replication.codec.dnssec import Nsec3
from replication.codec.keys import APEX, parent_key
from replication.codec.values import ENT
from replication.compile.compiled_rows import Rows, by_name
from replication.compile.denial import ABSENT, FULL, HASHED, HELPER, PRESENT, Denial, is_like_hash, owned_types
from replication.compile.full import key_within
from replication.dns import rdata, rdtypes
from replication.dns.rrset import RRset


def compile_changes(
    zone: str, rows: Rows, changed: Mapping[tuple[str, int], RRset | None], nsec3: Nsec3 | None = None
) -> dict[tuple[bytes, int], bytes | None]:
    """Return the rows to put (body) or delete (None) to apply the changed RRsets to `rows`.

    The result equals the difference of two calls of `compile_zone` with this `nsec3`. `rows` must have been compiled
    with the same `nsec3`. Values of `changed` are the RRsets after the change, or None for absent ones.

    The cost does not grow with the zone: for a change, only the rows of its name and of the names above it are read.
    Membership in the NSEC3 chain and all flags follow from these rows (see `denial`). In four cases more rows are read:

    1. If a delegation appears or disappears, and is not below another one, its subtree is read, because every auth flag
       below it changes, and so does the chain.
    2. If the last RRset of a name disappears, the rows below each empty name above it are read up to the first name
       that is still present. Rows of names that disappear in the same call, and of empty names on the way, are read
       too.
    3. If the name that made an empty non-terminal authoritative, or put it into the chain, disappears or is delegated,
       rows are read up to the next name of the same rank. That is far only among delegations (with opt-out, insecure
       ones) and below them. It never happens in NSEC3 without opt-out, where all names have the same rank.
    4. In NSEC3, if the apex owns nothing, the zone is read up to the first name of the chain. No server answers for
       such a zone.
    """
    return _Compiler(zone, rows, changed, Denial(zone, nsec3)).result()


class _State:
    """A zone's contents at one time: the rows returned by `read`, with some RRsets changed."""

    def __init__(
        self,
        read: Callable[[bytes], Mapping[int, bytes]],
        changed: Mapping[bytes, Mapping[int, RRset | None]],
        denial: Denial,
    ) -> None:
        self._read, self._changed, self._denial = read, changed, denial
        self._types: dict[bytes, Collection[int]] = {}
        self._occluded: dict[bytes, bool] = {}  # True if names directly below this name are occluded

    def types(self, rel: bytes) -> Collection[int]:
        """Return the types of a name's rows, including the compiler's pseudo-types as stored before the changes."""
        if rel not in self._changed:
            return self._read(rel)
        found = self._types.get(rel)
        if found is None:
            found = self._types[rel] = self._with_changes(rel, self._read(rel))
        return found

    def is_cut(self, rel: bytes) -> bool:
        """Return True if the name is delegated."""
        return rel != APEX and rdtypes.NS in self.types(rel)

    def is_occluded(self, rel: bytes) -> bool:
        """Return True if the name is below a delegation."""
        above = parent_key(rel)
        if above == APEX:
            return False
        found = self._occluded.get(above)
        if found is None:
            found = self._occluded[above] = rdtypes.NS in self.types(above) or self.is_occluded(above)
        return found

    def auth(self, rel: bytes) -> bool:
        """Return True if the name's RRsets, except DS, are authoritative."""
        return not self.is_cut(rel) and not self.is_occluded(rel)

    def rank(self, rel: bytes) -> int:
        """Return the rank of a name (explained in `denial`)."""
        return self._rank(rel, self.types(rel))

    def is_in_chain(self, rel: bytes) -> bool:
        """Return True if the name is in the NSEC3 chain because of its own RRsets."""
        return self._denial.is_in_chain(self.rank(rel), self.types(rel), at_cut=self.is_cut(rel))

    def ranks_below(self, rel: bytes, rows: Rows) -> Iterator[int]:
        """Yield the ranks of names below `rel` that have rows, except names that exist only because of the changes."""
        for name, stored in by_name(rows.below(rel)):
            yield self._rank(name, self._with_changes(name, stored) if name in self._changed else stored)

    def _rank(self, rel: bytes, types: Collection[int]) -> int:
        owned = owned_types(types)
        if not owned:
            return ABSENT  # without reading the names above
        return self._denial.rank(owned, at_cut=rel != APEX and rdtypes.NS in types, occluded=self.is_occluded(rel))

    def _with_changes(self, rel: bytes, stored: Mapping[int, bytes]) -> Collection[int]:
        types = set(stored)
        for type, rrset in self._changed[rel].items():
            if rrset is None:
                types.discard(type)
            else:
                types.add(type)
        return types


@dataclass(slots=True)
class _Below:
    """The effect of the changes on the ranks below one name."""

    gained: int = ABSENT  # the highest new rank among names whose rank changed
    lost: int = ABSENT  # the highest former rank among names whose rank decreased


class _Compiler:
    """The state of one call of `compile_changes`."""

    def __init__(self, zone: str, rows: Rows, changed: Mapping[tuple[str, int], RRset | None], denial: Denial) -> None:
        self._rows, self._denial = rows, denial
        self._stored: dict[bytes, dict[int, bytes]] = {}
        self._after: dict[bytes, dict[int, RRset | None]] = defaultdict(dict)
        self._reshaped: dict[bytes, dict[int, RRset | None]] = {}  # names whose types change: only these affect others
        for (name, type), rrset in changed.items():
            served = rrset if rrset is not None and rrset.served else None
            rel = key_within(zone, name, type)
            self._after[rel][type] = served
            if (served is None) == (type in self._read(rel)):
                self._reshaped[rel] = self._after[rel]
        self._old = _State(self._read, {}, denial)
        self._new = _State(self._read, self._reshaped, denial)
        self._touched: set[bytes] = set(self._reshaped)  # names whose chain membership or empty row can change
        self._below: dict[bytes, _Below] = defaultdict(_Below)
        self._result: dict[tuple[bytes, int], bytes | None] = {}

    def result(self) -> dict[tuple[bytes, int], bytes | None]:
        for rel, types in self._after.items():
            for type, rrset in types.items():
                self._set(rel, type, None if rrset is None else self._body(rel, rrset))
            if rdtypes.RRSIG in types and types[rdtypes.RRSIG] is None:
                self._lower_names(rel)
        for rel in self._reshaped:
            if self._denial.is_opt_out and self._new.is_cut(rel):
                self._renew(rel)  # the signing of a delegation determines the flag of NS and its place in the chain
            self._tell_ancestors(rel)
        for rel in self._turned_cuts():
            self._renew_subtree(rel)
        for rel in sorted(self._touched | self._below.keys()):
            self._set_added_rows(rel)
        return self._result

    def _read(self, rel: bytes) -> dict[int, bytes]:
        found = self._stored.get(rel)
        if found is None:
            found = self._stored[rel] = dict(self._rows.at(rel))
        return found

    def _set(self, rel: bytes, type: int, body: bytes | None) -> None:
        if self._read(rel).get(type) != body:
            self._result[rel, type] = body

    def _lower_names(self, rel: bytes) -> None:
        """Lowercase the names in RRsets whose signatures were deleted, because PowerDNS now signs them in lowercase."""
        for type, body in self._read(rel).items():
            if type not in rdata.SIGNED_IN_LOWER_CASE or type in self._after[rel]:
                continue
            records = values.decode_records(body)
            texts = (rdata.from_wire(type, record.content) for record in records)
            wires = rdata.to_node_wires(type, texts, comes_signed=False)
            self._set(rel, type, self._encode(rel, type, records[0].ttl, wires))

    def _body(self, rel: bytes, rrset: RRset) -> bytes:
        comes_signed = rrset.type in rdata.SIGNED_IN_LOWER_CASE and rdtypes.RRSIG in self._new.types(rel)
        wires = rdata.to_node_wires(rrset.type, rrset.served, comes_signed=comes_signed)
        return self._encode(rel, rrset.type, rrset.ttl, wires)

    def _encode(self, rel: bytes, type: int, ttl: int, wires: Sequence[bytes]) -> bytes:
        """Encode an RRset with the current flags of its name."""
        auth, ordername = self._flags(rel, type)
        return values.encode_rrset(wires, ttl, auth=auth, ordername=ordername)

    def _flags(self, rel: bytes, type: int) -> tuple[bool, bool]:
        """Return the flags auth and ordername of an RRset."""
        new = self._new
        auth = type == rdtypes.DS or new.auth(rel)
        if not self._denial.has_helpers:
            return auth, False
        return auth, self._denial.has_ordername(type, new.types(rel), new.rank(rel), at_cut=new.is_cut(rel))

    def _renew(self, rel: bytes) -> None:
        """Update the flags of a name's unchanged RRsets."""
        changed = self._after.get(rel, {})
        for type, body in self._read(rel).items():
            if type in (ENT, HELPER) or type in changed:
                continue
            auth, ordername = self._flags(rel, type)
            if (auth, ordername) != values.first_flags(body):
                self._result[rel, type] = values.with_flags(body, auth=auth, ordername=ordername)

    def _turned_cuts(self) -> list[bytes]:
        """Return the topmost delegations that appeared or disappeared and aren't below an unchanged one."""
        found: list[bytes] = []
        old, new = self._old, self._new
        turned = [rel for rel in self._reshaped if old.is_cut(rel) != new.is_cut(rel)]
        for rel in sorted(turned):
            # Below a delegation that stays, nothing depends on another delegation.
            if not (found and rel.startswith(found[-1])) and not (old.is_occluded(rel) and new.is_occluded(rel)):
                found.append(rel)
        return found

    def _renew_subtree(self, cut: bytes) -> None:
        """Update the flags of every row at and below a delegation that appeared or disappeared."""
        for rel, stored in chain([(cut, self._read(cut))], by_name(self._rows.below(cut))):
            self._stored.setdefault(rel, stored)
            self._renew(rel)
            self._tell_ancestors(rel)

    def _tell_ancestors(self, rel: bytes) -> None:
        """Record a name's rank change at its ancestors, and mark names whose membership in the chain can change."""
        was, becomes = self._old.rank(rel), self._new.rank(rel)
        if self._denial.has_helpers and self._old.is_in_chain(rel) != self._new.is_in_chain(rel):
            self._touched.add(rel)
        if was == becomes:
            return
        above = rel
        while (above := parent_key(above)) != APEX:
            self._note_below(above, was, becomes)
        if self._denial.has_helpers:
            self._touched.add(rel)
            self._note_below(APEX, was, becomes)

    def _note_below(self, rel: bytes, was: int, becomes: int) -> None:
        below = self._below[rel]
        if becomes > below.gained:
            below.gained = becomes
        if becomes < was and was > below.lost:
            below.lost = was

    def _set_added_rows(self, rel: bytes) -> None:
        """Write the compiler's own rows for a name: the row of an empty non-terminal, and rows of the NSEC3 chain."""
        own = rank = self._new.rank(rel)
        if rel != APEX:
            ent_rank = ABSENT if rank else self._ent_rank(rel)
            self._set(rel, ENT, self._denial.ent_body(ent_rank) if ent_rank else None)
            rank = rank or ent_rank
        elif not rank and self._denial.has_helpers:
            rank = self._highest_below(rel, self._below[rel].gained, HASHED)
        if self._denial.has_helpers:
            is_in_chain = self._new.is_in_chain(rel) if own else rank >= HASHED
            if is_in_chain != self._was_in_chain(rel):
                self._set_helpers(rel, in_chain=is_in_chain)

    def _ent_rank(self, rel: bytes) -> int:
        """Return the highest rank below a name that owns nothing. Return ABSENT if no name exists below it."""
        below = self._below[rel]
        before = self._denial.ent_rank(self._read(rel).get(ENT))
        if before == ABSENT and not self._old.rank(rel):
            return below.gained  # nothing was below it
        if before > below.lost:
            return max(before, below.gained)  # the name with this rank still exists
        # A name without recorded changes keeps its rank, so none is above the rank in the row.
        ceiling = PRESENT if self._new.is_occluded(rel) else before or FULL
        return self._highest_below(rel, below.gained, ceiling)

    def _highest_below(self, rel: bytes, found: int, ceiling: int) -> int:
        """Return the highest rank among `found` and the names below `rel`. Stop reading at rank `ceiling`."""
        if found < ceiling:
            for rank in self._new.ranks_below(rel, self._rows):
                found = max(found, rank)
                if found >= ceiling:
                    break
        return found

    def _was_in_chain(self, rel: bytes) -> bool:
        """Return True if the name was in the NSEC3 chain.

        Helper rows don't show this reliably, because names that look like hashes don't have one.
        """
        stored = self._read(rel)
        if rel == APEX:
            return HELPER in stored
        if self._old.rank(rel):
            return self._old.is_in_chain(rel)
        return self._denial.ent_rank(stored.get(ENT)) >= HASHED

    def _set_helpers(self, rel: bytes, *, in_chain: bool) -> None:
        if in_chain:
            for key, type, body in self._denial.helper_rows(rel):
                self._set(key, type, body)
            return
        self._set(self._denial.back_key(rel, self._read(rel)), HELPER, None)
        if not is_like_hash(rel):
            self._set(rel, HELPER, None)
