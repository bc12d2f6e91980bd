"""Compile whole zones from RRsets to rows of the records table, as after `pdnsutil rectify-zone`. Pure.

The rules, for a zone that is unsigned or signed with NSEC:

1. A *cut* is a name other than the apex that owns NS. Every row at a cut and below one has auth 0, every other row 1.
   DS rows always have auth 1.
2. Every name between a stored name and the apex that owns nothing is an *empty non-terminal*. It gets a row of type 0,
   because PowerDNS would answer NXDOMAIN otherwise. Its auth is 1 if a name below it has auth 1.

PowerDNS drops all empty non-terminals of a zone that has more than `max-ent-entries` (100,000) of them. We keep them,
because answers are wrong without them. Disabled records are not sent to nodes.

RRSIGs occur only in presigned zones. PowerDNS serves them, and creates NSEC and NSEC3 itself. The RRSIG of an NSEC3 is
at the label of the hash, where no name exists: a name that owns only RRSIG counts as one that owns nothing.

Names are relative keys here (`codec.keys`): parents sort before children, and a subtree is one prefix.
"""

from collections.abc import Iterable, Mapping, Sequence

from replication.codec import values
from replication.codec.dnssec import Nsec3
from replication.codec.keys import APEX, parent_key, relative_key
from replication.codec.values import ENT
from replication.compile.compiled_rows import Row
from replication.compile.denial import helper_rows, is_bare_cut, is_unflagged_at_cut, owned_types
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import RRset
from replication.errors import BadRRset

WireRRset = tuple[bytes, int, int, Sequence[bytes]]  # relative key, type, TTL, rdata in wire form
Content = tuple[int, Sequence[bytes]]  # TTL, rdata in wire form

_SEEN_ENT = values.encode_ent(auth=True)


def compile_zone(zone: str, rrsets: Iterable[RRset], nsec3: Nsec3 | None = None) -> list[Row]:
    """Compile all rows of a zone, sorted by record key. `nsec3` is None for unsigned zones and for NSEC."""
    content = list(rrsets)
    signed = {item.name for item in content if item.type == rdtypes.RRSIG}
    served = (
        (
            key_within(zone, item.name, item.type),
            item.type,
            item.ttl,
            rdata.to_node_wires(item.type, texts, comes_signed=item.name in signed),
        )
        for item in content
        if (texts := item.served)
    )
    return compile_wires(zone, served) if nsec3 is None else _general_rows(zone, _rrsets_by_owner(served), nsec3)


def compile_wires(zone: str, rrsets: Iterable[WireRRset]) -> list[Row]:
    """Compile a zone without NSEC3 from its served records in wire form. Return the rows, sorted by record key.

    An RRset without records counts as absent. Optimized for millions of RRsets: if the zone has no delegations, every
    auth is 1, and only names at least two labels below the apex can have an empty name above them.
    """
    rows: list[Row] = []
    deep: list[bytes] = []
    listed = rrsets if isinstance(rrsets, list | tuple) else list(rrsets)
    encode, ns, rrsig = values.encode_rrset, rdtypes.NS, rdtypes.RRSIG
    for rel, type, ttl, wires in listed:
        if type == ns and rel != APEX:
            return _general_rows(zone, _rrsets_by_owner(listed), None)
        if wires:
            rows.append((rel, type, encode(wires, ttl, auth=True)))
            if rel.find(b"\0") != len(rel) - 1 and type != rrsig:
                deep.append(rel)
    if deep:
        ents = _ents(dict.fromkeys(deep, True) | {row[0]: True for row in rows if row[1] != rrsig})
        rows += [(rel, ENT, _SEEN_ENT) for rel in ents]
    rows.sort()
    return rows


def _general_rows(zone: str, owned: Mapping[bytes, Mapping[int, Content]], nsec3: Nsec3 | None) -> list[Row]:
    """Return a zone's rows, sorted by record key, without the simplifications of `compile_wires`."""
    cuts = {rel for rel, types in owned.items() if rdtypes.NS in types and rel != APEX}
    occluded = _names_below_cuts(sorted(owned), cuts)
    ents = _ents({rel: rel not in cuts and rel not in occluded for rel, types in owned.items() if owned_types(types)})
    hashed = _hashed_names(owned, cuts, occluded, nsec3) if nsec3 else set()
    flagged = hashed if nsec3 and not nsec3.narrow else set()
    opt_out = nsec3 is not None and nsec3.opt_out
    rows: list[Row] = []
    for rel, types in owned.items():
        at_cut = rel in cuts
        for type, (ttl, wires) in types.items():
            auth = type == rdtypes.DS or not (at_cut or rel in occluded)
            is_unflagged = type == rdtypes.RRSIG or (at_cut and is_unflagged_at_cut(type, types, opt_out=opt_out))
            ordername = rel in flagged and not is_unflagged
            rows.append((rel, type, values.encode_rrset(wires, ttl, auth=auth, ordername=ordername)))
    for rel, auth in ents.items():
        authoritative = auth or (nsec3 is not None and not nsec3.opt_out and rel in hashed)
        rows.append((rel, ENT, values.encode_ent(auth=authoritative, ordername=rel in flagged)))
    if nsec3:
        rows += [row for rel in flagged for row in helper_rows(zone, rel, nsec3)]
    rows.sort()
    return rows


def _rrsets_by_owner(rrsets: Iterable[WireRRset]) -> dict[bytes, dict[int, Content]]:
    owned: dict[bytes, dict[int, Content]] = {}
    for rel, type, ttl, wires in rrsets:
        if wires:
            owned.setdefault(rel, {})[type] = ttl, wires
    return owned


def key_within(zone: str, name: str, type: int) -> bytes:
    """Return the relative key of an RRset's name. Raise BadRRset if the name is outside the zone."""
    if not names.is_within(name, zone):
        raise BadRRset(name=name, type=type, reason=f"{name} is not within the zone {zone}")
    return relative_key(name, zone)


def _names_below_cuts(ordered: list[bytes], cuts: set[bytes]) -> set[bytes]:
    """Return the `ordered` names that are strictly below a cut."""
    found: set[bytes] = set()
    cut: bytes | None = None
    for rel in ordered if cuts else ():
        if cut is not None and rel.startswith(cut):
            found.add(rel)
        elif rel in cuts:
            cut = rel
    return found


def _ents(auth_of: Mapping[bytes, bool]) -> dict[bytes, bool]:
    """Return the empty non-terminals with their auth flags. `auth_of` maps each name that owns records to its flag."""
    ents: dict[bytes, bool] = {}
    for rel, auth in auth_of.items():
        above = parent_key(rel)
        # An existing ancestor continues upwards itself, and its auth is at least that of the names below it.
        while above != APEX and above not in auth_of and (above not in ents or ents[above] < auth):
            ents[above] = auth
            above = parent_key(above)
    return ents


def _hashed_names(
    owned: Mapping[bytes, Mapping[int, Content]], cuts: set[bytes], occluded: set[bytes], nsec3: Nsec3
) -> set[bytes]:
    """Return the names in the NSEC3 chain. With opt-out, insecure delegations are not in it.

    As in `pdnsutil rectify-zone`, the empty names above an insecure delegation are in the chain if the delegation owns
    an address.
    """
    hashed: set[bytes] = set()
    for rel, types in owned.items():
        owns = owned_types(types)
        if not owns or rel in occluded or (nsec3.opt_out and rel in cuts and owns == 1):
            continue
        if nsec3.opt_out and rel in cuts and is_bare_cut(types):
            rel = parent_key(rel)  # the names above it are in the chain nevertheless
        while rel not in hashed:
            hashed.add(rel)
            rel = parent_key(rel)
    return hashed
