"""Compute the expected rows of signed zones in every LMDB, without the writer's code, like `expected_state`.

dnspython hashes the names for NSEC3. The objects for metadata and keys have the layout in PowerDNS's source. A key's
digest includes only the hash of the private part, as in the segment format.
"""

import hashlib
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import dns.dnssec
import dns.name

from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.publish.reading.publisher_session import Connection

_STATES = """
    SELECT s.zone_id, s.state FROM zones_signing s JOIN zones_zone z ON z.id = s.zone_id
    WHERE z.deleted_at IS NULL AND z.is_served AND (%(only)s::bigint[] IS NULL OR z.id = ANY(%(only)s))"""

_PRIVATE = "SELECT id, private_encrypted FROM zones_zonekey WHERE id = ANY(%s)"

_TYPE_A, _TYPE_AAAA, _TYPE_NS, _TYPE_DS, _TYPE_RRSIG = 1, 28, 2, 43, 46
_OF_BARE_CUT = {_TYPE_A, _TYPE_AAAA, _TYPE_NS, _TYPE_RRSIG}
_LIKE_HASH = re.compile(rb"[0-9a-v]{32}")


@dataclass(frozen=True, slots=True)
class Chain:
    """A zone's NSEC3 parameters: iterations and salt of the hash, and the options opt-out and narrow."""

    iterations: int
    salt: str
    opt_out: bool
    narrow: bool

    def hash(self, name: dns.name.Name) -> bytes:
        """Return the NSEC3 hash of a name, as a label."""
        return dns.dnssec.nsec3_hash(name, self.salt, self.iterations, 1).lower().encode()


@dataclass(frozen=True, slots=True)
class ExpectedSigning:
    """A zone's NSEC3 chain, or None for NSEC, and the expected rows in PowerDNS's tables for metadata and keys."""

    chain: Chain | None
    metadata: tuple[tuple[int, str, str], ...]  # row id, kind, value
    keys: tuple[tuple[int, str, int, bool, bool], ...]  # row id, fingerprint, flags, active, published


def expected_signings(conn: Connection, only: list[int] | None) -> dict[int, ExpectedSigning]:
    """Return the expected signing of served zones (all, or `only`), keyed by zone id. Needs REPEATABLE READ."""
    rows = conn.execute(_STATES, {"only": only})
    states = {zone_id: state for zone_id, state in rows if state["keys"] or state.get("presigned")}
    ids = [key[0] for state in states.values() for key in state["keys"]]
    fingerprints = {
        id: hashlib.sha256(b"dnspanel key content 1\0" + decrypt_secret(encrypted)).hexdigest()
        for id, encrypted in conn.execute(_PRIVATE, (ids,))
        if encrypted is not None
    }
    return {zone_id: _signing(state, fingerprints) for zone_id, state in states.items()}


def _signing(state: Mapping[str, Any], fingerprints: Mapping[int, str]) -> ExpectedSigning:
    chain = Chain(state["nsec3"][0], *state["nsec3"][1:]) if state.get("nsec3") else None
    values: dict[str, str] = {"PRESIGNED": "1"} if state.get("presigned") else {}
    if chain is not None:
        values["NSEC3PARAM"] = f"1 {1 if chain.opt_out else 0} {chain.iterations} {chain.salt or '-'}"
        if chain.narrow:
            values["NSEC3NARROW"] = "1"
    if state.get("paused"):
        values["NSEC3PARAM"] = "-"
    if state.get("cds"):
        values["PUBLISH-CDS"] = state["cds"]
    if state.get("cdnskey"):
        values["PUBLISH-CDNSKEY"] = "0" if state.get("cds") == "0" else "1"
    metadata = tuple((state["rows"][kind], kind, value) for kind, value in values.items())
    keys = tuple((id, fingerprints.get(id, ""), flags, active, seen) for id, _, flags, active, seen in state["keys"])
    return ExpectedSigning(chain, metadata, keys)


def names_in_chain(
    apex: dns.name.Name,
    content: Mapping[dns.name.Name, Mapping[int, object]],
    is_occluded: Mapping[dns.name.Name, bool],
    chain: Chain,
) -> set[dns.name.Name]:
    """Return the names that have an NSEC3, including empty non-terminals.

    With opt-out, delegations with only NS and addresses are left out. `is_occluded` is True for names below a
    delegation.
    """
    found: set[dns.name.Name] = set()
    for name, types in content.items():
        insecure = name != apex and set(types) - {_TYPE_RRSIG} == {_TYPE_NS}
        if is_occluded[name] or (chain.opt_out and insecure):
            continue
        if chain.opt_out and name != apex and _TYPE_NS in types and not set(types) - _OF_BARE_CUT:
            name = name.parent()  # a delegation with addresses is left out, but the names above are not
        while name not in found:
            found.add(name)
            if name != apex:
                name = name.parent()
    return found


def has_flag(chain: Chain, types: Mapping[int, object], type: int, *, at_cut: bool) -> bool:
    """Return True if a record at a name in the chain has PowerDNS's ordername flag, which marks names with a hash."""
    if chain.narrow or type == _TYPE_RRSIG:
        return False
    if at_cut and type in (_TYPE_A, _TYPE_AAAA):
        return False
    return not (at_cut and type == _TYPE_NS and chain.opt_out and _TYPE_DS not in types)


def helper_bodies(apex: dns.name.Name, name: dns.name.Name, chain: Chain) -> Iterator[tuple[bytes | None, bytes]]:
    """Yield (label, body) of each helper row that maps a name to its hash, or the hash to its name.

    The label is the hash's label, or None for the row at the name itself. A name like a hash has no such row.
    """
    hashed = chain.hash(name)
    relative = name.relativize(apex).labels
    wire = b"".join(bytes((len(label),)) + label.lower() for label in relative) + b"\0"
    yield hashed, _helper(wire, 0)
    if not (len(relative) == 1 and _LIKE_HASH.fullmatch(relative[0].lower())):
        yield None, _helper(bytes((len(hashed),)) + hashed + b"\0", 1)


def _helper(content: bytes, ttl: int) -> bytes:
    return struct.pack("<H", len(content)) + content + struct.pack("<IBBB", ttl, 0, 0, 0)


def attached_rows(schema: int, name: str, signing: ExpectedSigning) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield (table, key, body) of each metadata and key row, including the index rows of the zone's name."""
    apex = dns.name.from_text(name)
    zone = _text(apex.to_wire() or b"\0")
    head = _of_class(1) + _of_class(0) + zone + _text(b"") if schema == 6 else _of_class(0) + zone
    objects = [
        (3, id, _of_class(0) + head + _text(kind.encode()) + _text(value.encode()))
        for id, kind, value in signing.metadata
    ]
    objects += [
        (5, id, _of_class(1) + head + _text(b"dnspanel-fingerprint: " + mark.encode()) + struct.pack("<I??", *rest))
        for id, mark, *rest in signing.keys
    ]
    path = b"".join(label.lower() + b"\0" for label in reversed(apex.labels[:-1])) or b"\0"
    for table, id, body in objects:
        if schema == 4:
            key = struct.pack("<I", id)
            yield table, key, body
            yield table + 1, path, key
        else:
            key = struct.pack(">I", id)
            yield table, key, body
            yield table + 1, struct.pack(">H", len(path)) + path + key, b""


def _text(content: bytes) -> bytes:
    return struct.pack("<Q", len(content)) + content


def _of_class(version: int) -> bytes:
    return struct.pack("<BI", 0, version)
