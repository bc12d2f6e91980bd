"""Define the protocol between the panel and an agent: HTTPS with certificates on both sides. Pure.

    GET  /v1/status                         200 Status
    GET  /v1/status?samples_after=<unix>    200 Status         with `samples`, as below; older agents send none
    PUT  /v1/segments                       200 Ack            body: sealed segments, end to end, in order; with
                                                               `Prefer: respond-async` (RFC 7240) the Ack has an earlier
                                                               position if many zones are new; `Unproven: a.,b.`: no
                                                               signatures are verified for these zones
    GET  /v1/ack                            200 Ack            the newest; 503 while PowerDNS does not answer
    GET  /v1/samples?after=<unix>           200 [Sample]       newer than `after`, oldest first
    PUT  /v1/snapshots/<id>                 200 Missing        body: the sealed manifest; the missing chunks
    PUT  /v1/snapshots/<id>/chunks/<n>      200 {}             body: one chunk as it is stored
    POST /v1/snapshots/<id>/install         200 Ack            once PowerDNS answers from it; `Unproven` as above
    PUT  /v1/repairs                        200 Ack            body: one sealed segment of version 3, all of one zone;
                                                               `Unproven` as above
    POST /v1/check                          200 {}             check every row now, faster than usual
    GET  /v1/zones?after=<zone id>          200 [ServedZone]   the next zones by id, at most ZONES_PAGE
    GET  /v1/zones/<zone id>/rows           200 [[key, body]]  hex, of the records; 413 beyond MAX_ROWS_AT_ONCE
    GET  /v1/zones/<zone id>/rows?after=<key>  200 [[key, body]]  the next MAX_ROWS_AT_ONCE; none at the end
    GET  /v1/zones/<zone id>/attached       200 [[table, row id, body]]  hex, of metadata and DNSSEC keys; keys sealed
    GET  /v1/top                            200 Top
    GET  /v1/top/zones?zone=<name>&zone=…   200 {zone: Top}    of each of these zones, at most MOST_TOP_ZONES
    GET  /v1/log                            200 {"lines"}      the last lines that the agent logged, oldest first
    POST /v1/certificate                    200 {"csr"}        a signing request for a new key
    PUT  /v1/certificate                    200 {}             body: {"certificate", "ca"}, for the next connections
    PUT  /v1/keys                           200 {}             body: signed list of the keys that sign segments
    PUT  /v1/sealing-keys                   200 {}             body: the keys that decrypt DNSSEC keys
    POST /v1/restart                        200 {}             PowerDNS stops; its supervisor starts it again
    PUT  /v1/computed-types                 200 {}             body: ComputedTypes; once the running PowerDNS has them
    PUT  /v1/front                          200 {}             to a front: `FrontSettings`; once the front uses them
    PUT  /v1/upgrade                        200 {}             body: the agent's Debian package, signed by the panel
                                                               (`agent.upgrade_request`); `Status.upgrades` shows more

An error response is `{"error": <class of replication.errors>, "message": <text>, "position": <position or null>,
"spoken": <the message as `message_texts.format_text` stores it, which older agents leave out>}`: 409 Gap or
UnknownSealingKey, 413 TooMuch, 503 NotServed, Busy or DiskFull (try again), 422 for errors that need a person, 400,
404, 411 and 413 for requests outside this protocol. All bodies are JSON without spaces, digests are hex.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from ipaddress import ip_address
from typing import Any, NamedTuple, Self
from urllib.parse import quote, unquote

from replication.errors import (
    BadBytes,
    Busy,
    DiskFull,
    Gap,
    NotServed,
    Refused,
    ReplicationError,
    TooMuch,
    UnknownSealingKey,
)
from replication.message_texts import format_text, in_english, parse_text
from replication.wire.position import Position, position_from_json

STATUS_PATH = "/v1/status"
SEGMENTS_PATH = "/v1/segments"
ACK_PATH = "/v1/ack"
SAMPLES_PATH = "/v1/samples"
SNAPSHOTS_PATH = "/v1/snapshots"
REPAIRS_PATH = "/v1/repairs"
CHECK_PATH = "/v1/check"
ZONES_PATH = "/v1/zones"
TOP_PATH = "/v1/top"
TOP_ZONES_PATH = "/v1/top/zones"
QUERY_REPORT_PATH = "/v1/queries"
LOG_PATH = "/v1/log"
CERTIFICATE_PATH = "/v1/certificate"
KEYS_PATH = "/v1/keys"
SEALING_KEYS_PATH = "/v1/sealing-keys"
RESTART_PATH = "/v1/restart"
COMPUTED_TYPES_PATH = "/v1/computed-types"
FRONT_PATH = "/v1/front"
UPGRADE_PATH = "/v1/upgrade"

RESPOND_ASYNC = "respond-async"  # RFC 7240, section 4.1
UNPROVEN = "Unproven"  # percent-encoded zone names, separated by commas
MAX_UNPROVEN = 64

ZONES_PAGE = 5_000
MAX_ROWS_AT_ONCE = 10_000
MAX_LISTED_DIVERGED = 100
MAX_LISTED_UNANSWERED = 100
MOST_TOP_ZONES = 8

_WITH_PORT = re.compile(r"(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<v4>[0-9.]+)):(?P<port>[0-9]{1,5})")

# The subject (common name) of the panel's client certificate; nodes have certificates of the same authority.
PANEL_NAME = "panel"

_STATUS_OF = {TooMuch: 413, Gap: 409, UnknownSealingKey: 409, NotServed: 503, Busy: 503, DiskFull: 503}


@dataclass(frozen=True, slots=True)
class ComputedTypes:
    """The computed types that PowerDNS serves: ALIAS by querying `resolver`, and LUA by running its code."""

    resolver: str = ""  # an IP address, with a colon and a port other than 53; empty: ALIAS is not answered
    lua: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, message: Mapping[str, Any]) -> Self:
        """Read computed types. Raise BadBytes for values that must not be written into pdns.conf."""
        try:
            resolver, lua = message["resolver"], message["lua"]
            if not isinstance(lua, bool) or (resolver != "" and not is_resolver(resolver)):
                raise ValueError
            return cls(resolver, lua)
        except (KeyError, TypeError, ValueError) as exc:
            raise BadBytes(what="computed types", reason=f"{message!r:.80} are none") from exc


# A node's choice until the panel sends another one.
NEITHER = ComputedTypes()


def is_resolver(text: str) -> bool:
    """Return True if PowerDNS accepts `text` as its `resolver` setting.

    The forms are 192.0.2.53, 192.0.2.53:5300, 2001:db8::53 and [2001:db8::53]:5300.
    """
    found = _WITH_PORT.fullmatch(text)
    if "%" in text or (found is not None and not 0 < int(found["port"]) < 65536):
        return False  # an IPv6 scope can be any text
    try:
        address = ip_address(text if found is None else found["v6"] or found["v4"])
    except ValueError:
        return False
    return found is None or (address.version == 6) is (found["v6"] is not None)


def split_resolver(resolver: str, default: int = 53) -> tuple[str, int]:
    """Split a resolver that `is_resolver` accepts into address and port. If it has no port, use `default`."""
    if resolver.startswith("["):
        host, _, port = resolver[1:].partition("]:")
        return host, int(port)
    host, _, port = resolver.partition(":") if resolver.count(":") == 1 else (resolver, "", str(default))
    return host, int(port)


def join_port(host: str, port: int) -> str:
    """Join a host and its port: 192.0.2.53:53, ns.example:53, [2001:db8::53]:53."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Unanswered(NamedTuple):
    """An ALIAS or LUA record that PowerDNS doesn't answer correctly, with the problem. Sent as a JSON array."""

    zone: str
    name: str
    type: str  # ALIAS or LUA
    problem: str


def encode_unproven(zones: Iterable[str]) -> str:
    """Encode zone names as the value of the header UNPROVEN."""
    return ",".join(quote(zone) for zone in zones)


def decode_unproven(value: str) -> frozenset[str]:
    """Decode the value of the header UNPROVEN into zone names, at most MAX_UNPROVEN."""
    return frozenset(unquote(name) for name in value.split(",", MAX_UNPROVEN)[:MAX_UNPROVEN] if name)


@dataclass(frozen=True, slots=True)
class Ack:
    """A node's confirmation that PowerDNS serves this position, at which the node's files have these digests."""

    position: Position
    digest_main: bytes
    digest_records: bytes
    apply_ms: float = 0.0
    lock_ms: float = 0.0
    verify_ms: float = 0.0
    unanswered: tuple[Unanswered, ...] = ()  # as in Status
    # The position of the node's files, if it is later: they have new zones, and PowerDNS hasn't read its list since.
    applied: Position | None = None

    @property
    def place(self) -> Position:
        """The position of the node's files, after which the next segments to send begin."""
        return self.applied or self.position

    def to_json(self) -> dict[str, Any]:
        message = {
            "position": self.position.to_json(),
            "digests": [self.digest_main.hex(), self.digest_records.hex()],
            "ms": [round(ms, 2) for ms in (self.apply_ms, self.lock_ms, self.verify_ms)],
            "unanswered": [list(each) for each in self.unanswered],
        }
        return message if self.applied is None else message | {"applied": self.applied.to_json()}

    @classmethod
    def from_json(cls, message: Mapping[str, Any]) -> Self:
        try:
            main, records = (bytes.fromhex(digest) for digest in message["digests"])
            unanswered = _read_unanswered(message.get("unanswered", ()))
            apply_ms, lock_ms, verify_ms = map(float, message["ms"])
            position = position_from_json(message["position"])
            applied = position_from_json(message["applied"]) if "applied" in message else None
            return cls(position, main, records, apply_ms, lock_ms, verify_ms, unanswered, applied)
        except (KeyError, TypeError, ValueError) as exc:
            raise BadBytes(what="ack", reason=f"{message!r} is not one") from exc


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a node, as numbers and messages."""

    node: str
    position: Position | None
    digest_main: bytes
    digest_records: bytes
    schema: int
    state: str  # a message for people; "in order" if nothing is wrong
    refusal: str = ""  # the last refusal that a person must fix; empty once a later push was applied
    refused_at: float = 0.0
    answered: Position | None = None  # the newest position that PowerDNS has answered
    unserved: str = ""  # the reason that PowerDNS answers wrongly or not at all; empty if it answers
    clock: float = 0.0
    started_at: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)  # agent, powerdns, lmdb
    map_used: float = 0.0  # of the fuller file, as a share of its map size
    disk_free_bytes: int = 0
    disk_bytes: int = 0  # of the whole file system with the files
    disk_free_inodes: int = 0
    disk_inodes: int = 0  # 0: unknown, or the file system creates them as needed
    oldest_reader: int = 0  # transactions since the oldest reader began
    rss_bytes: int = 0
    peak_rss_bytes: int = 0
    write_lock_ms_max: float = 0.0
    write_lock_own_ms_max: float = 0.0  # the most processor time with the lock
    segments_applied: int = 0
    machine: str = ""  # hex SHA-256 that identifies the machine; the same identity on two machines is a fault
    certificate_expires_at: float = 0.0
    signing_keys: tuple[str, ...] = ()  # hex of the accepted public keys
    sealing_keys: tuple[int, ...] = ()  # the ids of the keys that open DNSSEC keys
    installed_powerdns: str = ""  # the release on disk, which can be newer than the running one
    needed_schema: int = 0  # of the installed PowerDNS; 0 if unknown
    installing: tuple[str, int, int] | None = None  # a snapshot being received: id, received chunks, all chunks
    diverged: tuple[tuple[int, str, str], ...] = ()  # zone id, name and problem, at most MAX_LISTED_DIVERGED
    diverged_count: int = 0  # the number of zones with rows that this agent didn't write
    checked_at: float = 0.0  # the end of the last check of every row; 0: never
    check_share: float = 0.0  # the share of the database that the running check has read, 0 to 1
    computed_types: ComputedTypes | None = None  # of the running PowerDNS; None while it doesn't report them
    takes_computed_types: bool = False  # True if the agent writes pdns.conf and so can change them
    # True if PowerDNS answers with a zone's DNSKEY, CDS and CDNSKEY records in addition to those of its keys.
    serves_stored_keys: bool = False
    resolver_problem: str = ""  # the reason that ALIAS's resolver is unusable; empty if it answers or there is none
    # ALIAS and LUA records whose last answer was missing or bad; at most MAX_LISTED_UNANSWERED.
    unanswered: tuple[Unanswered, ...] = ()
    front: Mapping[str, Any] | None = None  # of a front: `front_messages.FrontReport` as JSON
    # The local setup, which the panel compares with its own data. Older agents don't send it.
    listen: tuple[str, ...] = ()  # where it answers DNS, in the form of `join_port`
    agent_port: int = 0  # the port for the panel's connections
    role: str = ""  # `enrolment.Role`, as the panel had it when this server joined
    debian: str = ""  # the release of Debian, such as 12; empty: another system
    # Upgrades of the agent by the panel: refused, allowed, waiting, running, installed or failed, with the reason.
    upgrades: str = ""
    upgrade_message: str = ""

    def to_json(self) -> dict[str, Any]:
        message = asdict(self)
        message["wanted_schema"] = message.pop("needed_schema")
        message["digest_main"], message["digest_records"] = self.digest_main.hex(), self.digest_records.hex()
        for name in ("position", "answered"):
            position: Position | None = getattr(self, name)
            message[name] = position.to_json() if position else None
        return message

    @classmethod
    def from_json(cls, message: Mapping[str, Any]) -> Self:
        """Read a status, and ignore fields of newer agents. Raise BadBytes if a field is missing or invalid."""
        names = {f.name: "wanted_schema" if f.name == "needed_schema" else f.name for f in fields(cls)}
        known = {field_name: message[name] for field_name, name in names.items() if name in message}
        try:
            known["digest_main"] = bytes.fromhex(known["digest_main"])
            known["digest_records"] = bytes.fromhex(known["digest_records"])
            for name in ("position", "answered"):
                known[name] = position_from_json(known[name]) if known.get(name) else None
            known["signing_keys"] = tuple(known.get("signing_keys", ()))
            known["sealing_keys"] = tuple(map(int, known.get("sealing_keys", ())))
            known["installing"] = tuple(known["installing"]) if known.get("installing") else None
            listed = known.get("diverged", ())
            known["diverged"] = tuple((int(zone), str(name), str(problem)) for zone, name, problem in listed)
            if known.get("computed_types") is not None:
                known["computed_types"] = ComputedTypes.from_json(known["computed_types"])
            known["unanswered"] = _read_unanswered(known.get("unanswered", ()))
            known["listen"] = tuple(map(str, known.get("listen", ())))
            return cls(**known)
        except (KeyError, TypeError, ValueError) as exc:
            raise BadBytes(what="status", reason=f"{message!r} is not one") from exc


def _read_unanswered(listed: Iterable[Sequence[str]]) -> tuple[Unanswered, ...]:
    return tuple(Unanswered(*map(str, each)) for each in listed)


class ServedZone(NamedTuple):
    """A zone in a node's files. `digest` is empty until its rows have been read. Sent as a JSON array."""

    zone_id: int
    name: str
    serial: int | None  # None: it has no SOA
    digest: str  # hex, of its records

    @classmethod
    def from_json(cls, message: list[Any]) -> "ServedZone":
        try:
            zone_id, name, serial, digest = message
            return cls(int(zone_id), str(name), None if serial is None else int(serial), str(digest))
        except (TypeError, ValueError) as exc:
            raise BadBytes(what="served zone", reason=f"{message!r:.80} is not one") from exc


class Counted(NamedTuple):
    """An item of a top list, with its count in PowerDNS's ring of the last queries."""

    what: str
    times: int


@dataclass(frozen=True, slots=True)
class Top:
    """PowerDNS's most frequent items among its last 10,000 queries of each kind, highest count first.

    `zones` are zones of the node, each with its count among the last `questions` queries. If the agent is too old to
    report zones, the list is empty and `questions` is 0. The counts are not totals since PowerDNS started.
    """

    at: float
    names: tuple[Counted, ...] = ()  # "name/TYPE"
    types: tuple[Counted, ...] = ()
    rcodes: tuple[Counted, ...] = ()
    nxdomain: tuple[Counted, ...] = ()
    servfail: tuple[Counted, ...] = ()
    refused: tuple[Counted, ...] = ()
    networks: tuple[Counted, ...] = ()  # clients, shortened to /24 and /48; only if the agent's settings allow it
    zones: tuple[Counted, ...] = ()
    questions: int = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, message: Mapping[str, Any]) -> Self:
        try:
            lists = {f.name: message.get(f.name, ()) for f in fields(cls) if f.name not in {"at", "questions"}}
            found = {name: tuple(Counted(str(w), int(n)) for w, n in items) for name, items in lists.items()}
            return cls(float(message["at"]), questions=int(message.get("questions", 0)), **found)
        except (KeyError, TypeError, ValueError) as exc:
            raise BadBytes(what="top", reason=f"{message!r:.80} is not one") from exc


class QueryReport(NamedTuple):
    """The questions for RRsets from `begin` to `end` (unix time). With a `problem`, there were more questions.

    Without an `id`, nothing was counted because of the problem. Sent as a JSON array.
    """

    id: str
    begin: float
    end: float
    problem: str
    counts: tuple[tuple[int, str, int, int], ...]  # zone id, relative key in hex, type, number of questions

    @classmethod
    def from_json(cls, message: list[Any]) -> "QueryReport":
        try:
            id_, begin, end, problem, counts = message
            found = tuple((int(z), bytes.fromhex(rel).hex(), int(type), int(n)) for z, rel, type, n in counts)
            return cls(str(id_), float(begin), float(end), str(problem), found)
        except (TypeError, ValueError) as exc:
            raise BadBytes(what="query report", reason=f"{message!r:.80} is not one") from exc


class Sample(NamedTuple):
    """PowerDNS's counters over an interval of about a second, as differences, never as totals.

    `seconds` is 0 for a gap: PowerDNS had just started or had not answered before, so a comparison is impossible. A
    sample is a tuple, to save memory, because an hour of samples is kept. Its JSON form is an array in this order.
    """

    at: int  # unix time
    seconds: float
    uptime: int
    udp: int
    tcp: int
    rcodes: Mapping[str, int]  # answers by rcode, e.g. {"NOERROR": 12}; only those that occurred
    packet_hits: int
    packet_misses: int
    query_hits: int
    query_misses: int
    latency_us: int  # PowerDNS's own running average
    memory_bytes: int
    udp6: int = 0  # the part of `udp` and `tcp` over IPv6
    tcp6: int = 0

    @property
    def qps(self) -> float | None:
        """Queries per second, or None in a gap."""
        return (self.udp + self.tcp) / self.seconds if self.seconds else None

    @property
    def cache_hit_rate(self) -> float | None:
        """The share of packet-cache lookups that were hits, or None if there were no lookups."""
        lookups = self.packet_hits + self.packet_misses
        return self.packet_hits / lookups if lookups else None

    def to_json(self) -> list[Any]:
        return list(self)

    @classmethod
    def from_json(cls, message: list[Any]) -> "Sample":
        least = len(cls._fields) - len(cls._field_defaults)  # the fields of older agents
        if not isinstance(message, list) or not least <= len(message) <= len(cls._fields):
            raise BadBytes(what="sample", reason=f"{message!r} is not one")
        return cls(*message)


def encode_message(message: Any) -> bytes:
    """Encode a message as compact JSON."""
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode()


def decode_message(body: bytes) -> Any:
    """Decode a message, the inverse of `encode_message`. Raise BadBytes if the body isn't JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise BadBytes(what="message", reason=f"{body[:80]!r} is not JSON") from exc


def with_samples(status: bytes, samples: bytes) -> bytes:
    """Add encoded samples to an encoded status."""
    return b"".join((status[:-1], b',"samples":', samples, b"}"))


def encode_refusal(error: ReplicationError, position: Position | None) -> tuple[int, bytes]:
    """Return the HTTP status code and body for an error that stopped an agent at `position`."""
    message = {
        "error": type(error).__name__,
        "message": in_english(str(error)),
        "position": position.to_json() if position else None,
        **{name: value for name, value in vars(error).items() if isinstance(value, str | int)},
        "spoken": format_text(str(error)),
    }
    return _STATUS_OF.get(type(error), 422), encode_message(message)


def decode_clock(body: bytes) -> float | None:
    """Return the time of an agent's clock that rejects the panel's certificate, or None for other answers."""
    try:
        message = decode_message(body)
        return float(message["clock"]) if message["error"] == "WrongClock" else None
    except (BadBytes, KeyError, TypeError, ValueError):
        return None


def decode_refusal(status: int, body: bytes) -> ReplicationError:
    """Return the error in an agent's error response, or BadBytes if the response is unreadable.

    Errors that the panel must distinguish keep their class. Others become Refused.
    """
    try:
        return _refusal_in(decode_message(body))
    except (BadBytes, KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return BadBytes(what="answer of the agent", reason=f"status {status}, body {body[:200]!r}")


def _refusal_in(message: Mapping[str, Any]) -> ReplicationError:
    name, text = str(message["error"]), parse_text(str(message.get("spoken") or message["message"]))
    if name == "Gap":
        have = position_from_json(message["position"]) if message.get("position") else None
        return Gap(have=have, got=int(message.get("got", 0)))
    if name == "UnknownSealingKey":
        return UnknownSealingKey(sealing_key=int(message.get("sealing_key", 0)))
    if name == "NotServed":
        return NotServed(**{key: str(message.get(key, "")) for key in ("question", "expected", "found")})
    if name == "Busy":
        return Busy(what=str(message.get("what", "")))
    if name == "DiskFull":
        return DiskFull(path=str(message.get("path", "")), reason=str(message.get("reason", "")))
    return Refused(error=name, message=text)
