"""What travels through an import: documents out of a source, parsed zones, and faults. Pure.

Every source, whatever it reads, yields zone-file text; one parser reads all
of it. So a value from a CSV file passes the same checks as one typed into a
zone file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

from dnspanel.zones.rules.violations import Severity
from replication.codec.dnssec import Nsec3

__all__ = [
    "BroughtSignatures",
    "Document",
    "Item",
    "Kept",
    "Options",
    "ParsedZone",
    "ReadyRRset",
    "ServerSource",
    "Severity",
    "Source",
    "SourceFault",
]


@dataclass(frozen=True, slots=True)
class Document:
    """The text of one zone, as one source gave it.

    `zone` is the zone's name where the source knows it (canonical), or "" for
    a file that has to say it itself. `lines` leads from the text's lines to
    those of the file that `path` names, where they differ (CSV); entry 0 is
    the first line's.
    """

    path: str
    text: bytes
    zone: str = ""
    lines: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class SourceFault:
    """Something wrong, or worth noting, at a place of a source.

    `line` and `column` count from 1; 0 means the file as a whole. `source` is
    the text at fault, at most 200 characters of it. `fix` is text that could
    stand in place of the whole line, or "". `code` is stable and names the kind.
    """

    path: str
    line: int
    column: int
    source: str
    reason: str
    code: str
    fix: str = ""
    severity: Severity = Severity.ERROR
    zone: str = ""

    @property
    def is_loss(self) -> bool:
        """True if the line does not come into the zone: an import says so and goes on, an edit must be refused."""
        return self.severity is Severity.ERROR or self.code == "out-of-zone" or self.code.endswith("-left-out")


@dataclass(frozen=True, slots=True)
class Kept:
    """Something of a source that zones here cannot hold yet; `kind` is a `models.KeptKind`, `value` may be secret."""

    zone: str
    kind: str
    name: str
    value: bytes


class ReadyRRset(NamedTuple):
    """An RRset in canonical form, with its wire form and owner key: nothing has to be computed again.

    `texts` and `wires` correspond, are sorted by wire and hold no duplicates;
    `disabled` is the subset of `texts` that is not served. A tuple, because a
    bulk import has millions of them.
    """

    name: str
    key: bytes
    type: int
    ttl: int
    texts: tuple[str, ...]
    wires: tuple[bytes, ...]
    disabled: tuple[str, ...] = ()
    comment: str = ""
    notes: str = ""  # of `replication.dns.notes`, as one text


# Each costs a hash of every name. A signer has two chains at most, while it goes from one to the other.
MOST_OTHER_CHAINS = 3


@dataclass(frozen=True, slots=True)
class BroughtSignatures:
    """How a zone is signed by the signatures that it brings: `entries` are the rdata of its DNSKEY records.

    `end` is when the first signature ends, as YYYYMMDDHHMMSS in UTC. `nsec3` is missing (None) for NSEC, and where its
    parameters are not in the records (`nsec3_elsewhere`): a PowerDNS has them beside. `other_nsec3` are its further
    chains.
    """

    nsec3: Nsec3 | None
    entries: tuple[str, ...]
    end: str
    nsec3_elsewhere: bool = False
    other_nsec3: tuple[Nsec3, ...] = ()

    def with_chains(self, elsewhere: Sequence[Nsec3]) -> "BroughtSignatures":
        """Return these signatures with the parameters of the NSEC3 chains that the source has beside the
        records, served first.
        """
        if not self.nsec3_elsewhere:
            return self
        return replace(self, nsec3=next(iter(elsewhere), None), other_nsec3=tuple(elsewhere[1:]))


@dataclass(slots=True)
class ParsedZone:
    """What a document says; to be imported only if no fault is an error.

    `name` is "" when not even that could be found out. `rrsets` is sorted by
    (key, type). `records` counts rdata, `generated` those that `$GENERATE` made.
    `signatures` are given if they are among the RRsets.
    `made` are the apex types (SOA, NS) that the source did not have and the
    options asked to make: a zone that exists keeps its own.
    """

    name: str
    serial: int = 0
    rrsets: list[ReadyRRset] = field(default_factory=list)
    faults: list[SourceFault] = field(default_factory=list)
    records: int = 0
    generated: int = 0
    made: frozenset[int] = frozenset()
    signatures: BroughtSignatures | None = None

    @property
    def is_sound(self) -> bool:
        return self.name != "" and not any(fault.severity is Severity.ERROR for fault in self.faults)


# Beside the options of a job: [id, version] of the set of name servers that is ours.
SERVER_SET = "server_set"


@dataclass(frozen=True, slots=True)
class Options:
    """How an import reads zones and what it does with them, unless a zone has a choice of its own.

    `new` is `create` or `skip`; `existing` is `union` (the values of both),
    `rrsets` (RRsets of the source replace the zone's, the others stay),
    `replace` (the zone becomes what the source says) or `skip`.
    `ttl` replaces every TTL, else `ttl_least` and `ttl_most` bound them.
    `nameservers` and `soa` are `keep`, `ours` (those of the set of name servers
    that new zones of the team begin with, else the settings' defaults; with
    `soa="ours"` the serial is kept) or `missing` (ours only where the source
    has none, as in most CSV files). `signatures` is `drop` (records of
    DNSSEC's own types are left out, with a warning) or `keep`: a zone that is
    signed is imported as it is, and then nothing above changes its records.
    """

    new: str = "create"
    existing: str = "union"
    ttl: int | None = None
    ttl_least: int | None = None
    ttl_most: int | None = None
    comments: bool = True
    nameservers: str = "keep"
    soa: str = "keep"
    signatures: str = "drop"

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Options":
        return cls(**{name: value for name, value in stored.items() if name in cls.__slots__})


class Source(Protocol):
    """Where an import reads from. Deterministic: the same source yields the same items in the same order."""

    @property
    def total(self) -> int:
        """The size of the source, in `unit`; 0 when unknown."""

    @property
    def done(self) -> int:
        """How much of it has been read."""

    @property
    def unit(self) -> str:
        """`bytes` or `zones`."""

    def items(self, skip: int = 0) -> Iterator["Item"]:
        """Yield everything it has, but not the first `skip` items; raise TransferError when it cannot go on."""


@runtime_checkable
class ServerSource(Source, Protocol):
    """A source that waits for the server of another operator."""

    def cut(self) -> None:
        """End every wait for the server with an error; called from another thread."""


Item = Document | SourceFault | Kept
