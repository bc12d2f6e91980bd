"""Compute the rows that must change when a zone switches its denial of existence. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from replication.codec import values
from replication.codec.dnssec import Nsec3
from replication.codec.keys import APEX
from replication.codec.values import ENT
from replication.compile.compiled_rows import Change, Rows, by_name
from replication.compile.denial import ABSENT, HASHED, HELPER, Denial, is_like_hash, owned_types
from replication.dns import rdtypes


def switch_denial(
    zone: str, rows: Rows, before: Nsec3 | None, after: Nsec3 | None, *, puts: bool = True, deletes: bool = True
) -> Iterator[Change]:
    """Yield the rows to put and delete when a zone switches to another denial of existence.

    The result equals the difference of two calls of `compile_zone`. `rows` must have been compiled with `before`. No
    row is yielded twice. One pass over `rows` yields them in order, except that empty names and the apex come after the
    names below them. `puts` and `deletes` select the changes. To write the new chain before the old one is deleted,
    call the function twice, both times with the old rows.

    Memory use doesn't depend on the zone's size: only the rows of one name, the name of one delegation, and the empty
    non-terminals above the current name are in memory.
    """
    if before != after:
        switch = _Switch(Denial(zone, before), Denial(zone, after))
        for change in switch.changes(rows, puts=puts, deletes=deletes):
            if deletes if change[2] is None else puts:
                yield change


@dataclass(slots=True)
class _Open:
    """The apex, or an empty non-terminal above the current name."""

    rel: bytes
    rows: Mapping[int, bytes]
    rank: int  # of the apex itself, or the highest rank below the name so far


class _Switch:
    """The state of one call of `switch_denial`."""

    def __init__(self, before: Denial, after: Denial) -> None:
        self._before, self._after = before, after
        self._has_same_hashes = before.has_same_hashes(after)
        self._has_flags = before.has_helpers or after.has_helpers
        self._cut: bytes | None = None
        self._open: list[_Open] = []

    def changes(self, rows: Rows, *, puts: bool, deletes: bool) -> Iterator[Change]:
        """Yield the changes. If puts or deletes are not requested, fewer hashes are computed."""
        self._puts, self._deletes = puts, deletes
        for rel, stored in chain([(APEX, dict(rows.at(APEX)))], by_name(rows.below(APEX))):
            yield from self._close_all_but_above(rel)
            if rel == APEX or ENT in stored:
                self._open.append(_Open(rel, stored, ABSENT))
            if owned_types(stored):
                yield from self._of_name(rel, stored)
        yield from self._close_all_but_above(None)

    def _of_name(self, rel: bytes, stored: Mapping[int, bytes]) -> Iterator[Change]:
        at_cut = rel != APEX and rdtypes.NS in stored
        occluded = self._cut is not None and rel.startswith(self._cut)
        if at_cut and not occluded:
            self._cut = rel
        owned = owned_types(stored)
        was = self._before.rank(owned, at_cut=at_cut, occluded=occluded)
        becomes = self._after.rank(owned, at_cut=at_cut, occluded=occluded)
        self._open[-1].rank = max(self._open[-1].rank, becomes)
        for type, body in stored.items() if self._has_flags else ():
            if type != HELPER:
                auth, had = values.first_flags(body)
                has = self._after.has_ordername(type, stored, becomes, at_cut=at_cut)
                if has != had:
                    yield rel, type, values.with_flags(body, auth=auth, ordername=has)
        if rel != APEX:
            was_in_chain = self._before.is_in_chain(was, stored, at_cut=at_cut)
            is_in_chain = self._after.is_in_chain(becomes, stored, at_cut=at_cut)
            yield from self._helpers(rel, stored, was_in_chain=was_in_chain, is_in_chain=is_in_chain)

    def _close_all_but_above(self, rel: bytes | None) -> Iterator[Change]:
        """Close open empty names that aren't above `rel`, and yield their changes. If `rel` is None, close all."""
        while self._open:
            last = self._open[-1]
            if rel is not None and (last.rel == APEX or rel.startswith(last.rel)):
                return
            self._open.pop()
            if self._open:
                self._open[-1].rank = max(self._open[-1].rank, last.rank)
            if last.rel == APEX:
                was_in_chain = HELPER in last.rows
            else:
                was_in_chain = self._before.ent_rank(last.rows[ENT]) >= HASHED
                body = self._after.ent_body(last.rank)
                if body != last.rows[ENT]:
                    yield last.rel, ENT, body
            yield from self._helpers(last.rel, last.rows, was_in_chain=was_in_chain, is_in_chain=last.rank >= HASHED)

    def _helpers(
        self, rel: bytes, stored: Mapping[int, bytes], *, was_in_chain: bool, is_in_chain: bool
    ) -> Iterator[Change]:
        goes = was_in_chain and self._before.has_helpers
        comes = is_in_chain and self._after.has_helpers
        if goes and comes and self._has_same_hashes:
            return
        if goes and self._deletes:
            yield self._before.back_key(rel, stored), HELPER, None
            if not comes and not is_like_hash(rel):
                yield rel, HELPER, None
        if comes and self._puts:
            yield from self._after.helper_rows(rel)
