"""The data of an import: documents from a source, parsed zones, and faults. Pure.

Every source yields zone-file text, and one parser reads it. A value from a CSV file therefore passes the same checks as
a value in a zone file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

from dnspanel.zones.rules.violations import Severity
from replication.codec.dnssec import Nsec3


@dataclass(frozen=True, slots=True)
class Document:
    """The text of one zone, as in the source.

    `zone` is the zone's canonical name if the source knows it, or "" if the text has to contain it. `lines` maps line
    numbers of the text to line numbers of the file `path`, where they differ (CSV). Entry 0 of `lines` is for the first
    line.
    """

    path: str
    text: bytes
    zone: str = ""
    lines: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class SourceFault:
    """An error, a warning or a note about a position in a source.

    `line` and `column` count from 1. 0 means the file as a whole. `source` is the faulty text, at most 200 characters.
    `fix` is text that could replace the whole line, or "". `code` is a stable identifier for this kind of fault.
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
        """True if the faulty line isn't part of the parsed zone.

        An import reports such a fault and continues, but an edit must be refused.
        """
        return self.severity is Severity.ERROR or self.code == "out-of-zone" or self.code.endswith("-left-out")


@dataclass(frozen=True, slots=True)
class Kept:
    """Data from a source that zones in the panel can't store yet.

    `kind` is a `models.KeptKind`, and `value` can be secret.
    """

    zone: str
    kind: str
    name: str
    value: bytes


class ReadyRRset(NamedTuple):
    """An RRset in canonical form, with its wire form and owner key already computed.

    `texts` and `wires` correspond, are sorted by wire form and have no duplicates. `disabled` is the subset of `texts`
    that isn't served. A plain tuple, to save memory in bulk imports with millions of RRsets.
    """

    name: str
    key: bytes
    type: int
    ttl: int
    texts: tuple[str, ...]
    wires: tuple[bytes, ...]
    disabled: tuple[str, ...] = ()
    comment: str = ""
    notes: str = ""  # in the format of `format_notes`


# Each chain costs a hash of every name. Signers have at most two chains, while they change from one to the other.
MOST_OTHER_CHAINS = 3


@dataclass(frozen=True, slots=True)
class BroughtSignatures:
    """The signing data of a zone that is already signed in the source. `entries` are the rdata of its DNSKEY records.

    `end` is the earliest expiration of a signature, as YYYYMMDDHHMMSS in UTC. `nsec3` is None for NSEC, and also if the
    NSEC3 parameters are not in the records (`nsec3_elsewhere`), because PowerDNS stores them separately. `other_nsec3`
    are the zone's other NSEC3 chains.
    """

    nsec3: Nsec3 | None
    entries: tuple[str, ...]
    end: str
    nsec3_elsewhere: bool = False
    other_nsec3: tuple[Nsec3, ...] = ()

    def with_chains(self, elsewhere: Sequence[Nsec3]) -> "BroughtSignatures":
        """Return these signatures with NSEC3 parameters that the source stores outside the records.

        The first of `elsewhere` is the served chain.
        """
        if not self.nsec3_elsewhere:
            return self
        return replace(self, nsec3=next(iter(elsewhere), None), other_nsec3=tuple(elsewhere[1:]))


@dataclass(slots=True)
class ParsedZone:
    """The zone in a document. It must not be imported if one of its faults is an error.

    `name` is "" if the zone's name is unknown. `rrsets` is sorted by (key, type). `records` counts rdata, and
    `generated` those from `$GENERATE`. `signatures` is set if the RRsets include signatures. `made` contains the apex
    types (SOA, NS) that the import created because they are missing in the source. An existing zone keeps its own.
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


# A key in the stored options of a job: [id, version] of our set of name servers.
SERVER_SET = "server_set"


@dataclass(frozen=True, slots=True)
class Options:
    """The options for reading and applying an import's zones. `new` and `existing` can be overridden for each zone.

    `new` is `create` or `skip`. `existing` is `union` (add the source's values to the zone), `rrsets` (replace only the
    RRsets that the source has), `replace` (replace the whole zone) or `skip`.

    `ttl` replaces every TTL. Without it, `ttl_least` and `ttl_most` bound the TTLs.

    `nameservers` and `soa` are `keep`, `ours` or `missing`. `ours` means the team's set of name servers for new zones,
    or else the defaults in the settings. `soa="ours"` keeps the serial. `missing` means `ours`, but only for zones
    without these records, as in most CSV files.

    `signatures` is `drop` (leave out DNSSEC's own record types, with a warning) or `keep`. With `keep`, a signed zone
    is imported unchanged, and none of the options above changes its records.
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
    """A source of an import, such as files or a server.

    A source must be deterministic: every run yields the same items in the same order.
    """

    @property
    def total(self) -> int:
        """The source's size in `unit`, or 0 if it is unknown."""

    @property
    def done(self) -> int:
        """The amount that has been read so far, in `unit`."""

    @property
    def unit(self) -> str:
        """The unit of `total` and `done`: `bytes` or `zones`."""

    def items(self, skip: int = 0) -> Iterator["Item"]:
        """Yield all items of the source except the first `skip`. Raise TransferError if reading can't continue."""


@runtime_checkable
class ServerSource(Source, Protocol):
    """A source that reads from another operator's server."""

    def cut(self) -> None:
        """Make every read from the server fail, so that a thread that waits for the server ends."""


Item = Document | SourceFault | Kept
