"""A zone's signing state: keys, denial of existence, and other PowerDNS settings. Pure.

States are stored as JSON. Each change of a state is in the log, like a change of an RRset, so the state at any sequence
can be computed. Private keys are stored elsewhere. A state refers to keys by their ids, which are also their row ids in
PowerDNS's files.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from dnspanel.zones.dnssec import key_material
from dnspanel.zones.dnssec.key_material import SEP
from replication.codec.dnssec import Nsec3

NSEC3PARAM, NSEC3NARROW, PRESIGNED, PUBLISH_CDS, PUBLISH_CDNSKEY = KINDS = (
    "NSEC3PARAM",
    "NSEC3NARROW",
    "PRESIGNED",
    "PUBLISH-CDS",
    "PUBLISH-CDNSKEY",
)
# In place of NSEC3 parameters. PowerDNS cannot parse it, and answers SERVFAIL instead of a denial.
PAUSED = "-"
# The JSON key for the due chain.
DUE_NSEC3 = "due_nsec3"
# In place of digest types: CDS and CDNSKEY records that ask the parent to delete its DS.
DELETE = "0"


class KeyRole(StrEnum):
    """The role of a key in signing. PowerDNS derives it from the active keys with the same algorithm."""

    KSK = "ksk"
    ZSK = "zsk"
    CSK = "csk"


@dataclass(frozen=True, slots=True)
class KeyState:
    """A zone's key. An `active` key signs, and a `published` key is in the DNSKEY RRset."""

    id: int
    algorithm: int
    flags: int
    active: bool = True
    published: bool = True

    @property
    def is_sep(self) -> bool:
        """True if the parent's DS should name the key (the secure entry point flag)."""
        return bool(self.flags & SEP)


@dataclass(frozen=True, slots=True)
class SigningState:
    """A zone's signing state. A zone without keys is unsigned, unless it is `presigned`.

    A `presigned` zone has no keys here, and is served with its original signatures. `nsec3` is None for NSEC. A
    `paused` state has no proofs of non-existence (`paused_denial`). A change from one NSEC3 chain to another goes
    through NSEC. Until the change ends, `due_nsec3` is the new chain (`due_denial`). A presigned zone can have several
    chains: PowerDNS serves the chain in `nsec3`, and those in `other_nsec3` are only in transfers of the whole zone.

    `cds` lists the digest types of the CDS records, or is empty if the zone has none. DELETE means CDS and CDNSKEY
    records that request the deletion of the parent's DS (RFC 8078).
    """

    keys: tuple[KeyState, ...] = ()
    nsec3: Nsec3 | None = None
    cds: str = ""
    cdnskey: bool = False
    # Row ids of PowerDNS's metadata, by kind. An id is never used for another zone.
    row_ids: Mapping[str, int] = field(default_factory=dict)
    presigned: bool = False
    paused: bool = False
    due_nsec3: Nsec3 | None = None
    other_nsec3: tuple[Nsec3, ...] = ()

    @property
    def is_signed(self) -> bool:
        """True if answers have signatures."""
        return self.presigned or any(key.active for key in self.keys)

    @property
    def has_chain(self) -> bool:
        """True if the zone has an NSEC or NSEC3 chain, because it has keys or is presigned."""
        return self.presigned or bool(self.keys)

    @property
    def denial(self) -> Nsec3 | None:
        """The NSEC3 parameters for the zone's rows. None for NSEC, and for a zone without a chain."""
        return self.nsec3 if self.has_chain else None

    @property
    def metadata(self) -> dict[str, str]:
        """The zone's PowerDNS metadata: kind → value."""
        found = {}
        if self.presigned:
            found[PRESIGNED] = "1"
        if self.has_chain and self.nsec3 is not None:
            found[NSEC3PARAM] = nsec3param_text(self.nsec3)
            if self.nsec3.narrow:
                found[NSEC3NARROW] = "1"
        if self.paused:
            found[NSEC3PARAM] = PAUSED
        if self.keys and self.cds:
            found[PUBLISH_CDS] = self.cds
        if self.keys and self.cdnskey:
            # If a CDS asks for deletion, CDNSKEY records of keys would ask for the opposite (RFC 8078 section 4).
            found[PUBLISH_CDNSKEY] = DELETE if self.cds == DELETE else "1"
        return found

    def key(self, id: int) -> KeyState | None:
        """Return the key with this id, or None if the zone doesn't have it."""
        return next((key for key in self.keys if key.id == id), None)

    def role(self, key: KeyState) -> KeyRole:
        """Return the role in which PowerDNS uses the key (DNSSECKeeper::getKeys).

        If an algorithm has an active KSK and an active ZSK, each key has its own role. Otherwise every key is a CSK.
        """
        active = [other for other in self.keys if other.algorithm == key.algorithm and other.active]
        if any(other.is_sep for other in active) and any(not other.is_sep for other in active):
            return KeyRole.KSK if key.is_sep else KeyRole.ZSK
        return KeyRole.CSK

    def with_key(self, key: KeyState) -> "SigningState":
        """Return the state with this key, which replaces any key with the same id."""
        others = [other for other in self.keys if other.id != key.id]
        return replace(self, keys=tuple(sorted([*others, key], key=lambda each: each.id)))

    def with_denial(self, nsec3: Nsec3 | None) -> "SigningState":
        """Return the state with this denial of existence, and without a due NSEC3 chain."""
        return replace(self, nsec3=nsec3, due_nsec3=None)

    def without_key(self, id: int) -> "SigningState":
        return replace(self, keys=tuple(key for key in self.keys if key.id != id))

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "keys": [[key.id, key.algorithm, key.flags, key.active, key.published] for key in self.keys],
            "rows": dict(self.row_ids),
        }
        for word, nsec3 in (("nsec3", self.nsec3), (DUE_NSEC3, self.due_nsec3)):
            if nsec3 is not None:
                found[word] = _nsec3_json(nsec3)
        if self.other_nsec3:
            found["other_nsec3"] = list(map(_nsec3_json, self.other_nsec3))
        if self.cds:
            found["cds"] = self.cds
        if self.cdnskey:
            found["cdnskey"] = True
        if self.presigned:
            found["presigned"] = True
        if self.paused:
            found["paused"] = True
        return found

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None) -> "SigningState":
        """Parse the result of `to_json`. None means a zone that was never signed."""
        if not stored:
            return UNSIGNED
        keys = tuple(KeyState(*each) for each in stored["keys"])
        return cls(
            keys,
            _nsec3_in(stored.get("nsec3")),
            stored.get("cds", ""),
            stored.get("cdnskey", False),
            stored["rows"],
            stored.get("presigned", False),
            stored.get("paused", False),
            _nsec3_in(stored.get(DUE_NSEC3)),
            tuple(found for each in stored.get("other_nsec3", ()) if (found := _nsec3_in(each))),
        )


def _nsec3_json(nsec3: Nsec3) -> list[Any]:
    return [nsec3.iterations, nsec3.salt.hex(), nsec3.opt_out, nsec3.narrow]


def _nsec3_in(stored: Sequence[Any] | None) -> Nsec3 | None:
    if not stored:
        return None
    iterations, salt, opt_out, narrow = stored
    return Nsec3(iterations, bytes.fromhex(salt), opt_out, narrow)


UNSIGNED = SigningState()


def nsec3param_text(nsec3: Nsec3) -> str:
    """Format NSEC3PARAM rdata for PowerDNS's metadata. Flag 1 means opt-out."""
    return f"1 {int(nsec3.opt_out)} {nsec3.iterations} {nsec3.salt.hex() or '-'}"


def read_nsec3param(text: str, *, narrow: bool) -> Nsec3:
    """Parse NSEC3PARAM rdata. Raise ValueError if it is invalid, has unknown flags, or doesn't use SHA-1."""
    algorithm, flags, iterations, salt = text.split()
    if algorithm != "1" or flags not in ("0", "1"):
        raise ValueError(text)
    return Nsec3(int(iterations), bytes.fromhex("" if salt == "-" else salt), flags == "1", narrow)


def chains_differ(before: Nsec3 | None, after: Nsec3 | None) -> bool:
    """Return True if a direct change would mix two NSEC3 chains, because both have rows and different hashes."""
    if before is None or after is None or before.narrow or after.narrow:
        return False
    return (before.iterations, before.salt) != (after.iterations, after.salt)


def steps_between(before: SigningState, after: SigningState) -> Iterator[SigningState]:
    """Yield the states to publish one after another, so that every answer validates at any time.

    The last state is `after`. Between two different NSEC3 chains, a state with NSEC comes first.
    """
    if before.is_signed and after.is_signed and chains_differ(before.denial, after.denial):
        yield replace(after, nsec3=None, due_nsec3=after.nsec3)
    yield after


@dataclass(frozen=True, slots=True)
class KeyView:
    """A zone's key for display, without its private part."""

    zone_name: str
    id: int
    role: KeyRole
    algorithm: int
    bits: int
    flags: int
    tag: int
    active: bool
    published: bool
    dnskey: str
    ds: tuple[str, ...]  # of a key that the parent's DS can name; SHA-256 first
    created_at: datetime
    created_by: str  # username, or ""
    public: bytes = field(repr=False)

    def ds_of(self, digest_type: int) -> str:
        """Return this key's DS with the given digest type, one of EVERY_DIGEST."""
        return key_material.ds_text(self.zone_name, self.flags, self.algorithm, self.public, digest_type)

    @property
    def mnemonic(self) -> str:
        return key_material.ALGORITHMS[self.algorithm]
