"""The errors of `replication`, except those of enrollment and configuration files. Pure.

    ReplicationError
    ├── Transient                 trying again can work
    │   ├── Gap                   the node lacks segments before the one it got
    │   ├── UnknownSealingKey     the node lacks the key that opens a DNSSEC key that it got
    │   ├── NodeUnreachable       no connection, or it broke
    │   │   └── WrongClock        the panel's certificate is not valid by the agent's clock
    │   ├── NotServed             PowerDNS does not answer with the written data
    │   ├── Busy                  another process or request is at work
    │   ├── NeedsSnapshot         the node needs a snapshot instead of segments
    │   └── DiskFull              no space left, or the disk failed
    └── Permanent                 a person has to resolve it
        ├── BadName               not a domain name
        │   └── NameOutside       a domain name, but outside the zone
        ├── BadRdata              not rdata of its type
        ├── BadRRset              records that cannot form one RRset
        ├── BadBytes              stored bytes that are not what PowerDNS writes
        │   └── Damaged           an LMDB file that can no longer be read
        ├── BadSegment            not a segment
        ├── BadSnapshot           not a snapshot, or not one for this node
        ├── BadSignature          data that no known key signed
        ├── WrongCluster          data of another panel
        ├── WrongEpoch            data of another history of the log
        ├── UnknownSchema         a PowerDNS schema we do not write
        ├── Unfinished            a snapshot was begun and has to be sent again
        ├── Diverged              content that does not match its digest
        ├── MapFull               the LMDB file has reached its map size
        ├── TooMuch               more rows than can be requested at once
        ├── NodeAhead             the node has a position that the panel never published
        └── Refused               the agent refused permanently, with its reason

Attributes have the names of the constructor's keywords, so that an error survives pickling between workers.
"""

from typing import Any, Protocol
from uuid import UUID

from replication.message_texts import gettext, ngettext


class _Position(Protocol):
    """The attributes of `position.Position` that errors need.

    This module can't import `Position`, because the module of `Position` imports this one.
    """

    @property
    def epoch(self) -> UUID: ...
    @property
    def sequence(self) -> int: ...


def _rebuild(kind: "type[ReplicationError]", attributes: dict[str, Any]) -> "ReplicationError":
    return kind(**attributes)


class ReplicationError(Exception):
    """The base class of errors between panel and node. Its attributes contain the details."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), dict(self.__dict__))


class Transient(ReplicationError):
    """The base class of errors that can disappear when the operation is retried."""


class Permanent(ReplicationError):
    """The base class of errors that a person has to resolve, because retrying doesn't help."""


class Gap(Transient):
    """The node lacks segments between its position `have` (None for a new node) and the received sequence `got`."""

    def __init__(self, *, have: _Position | None, got: int) -> None:
        super().__init__(
            gettext("the node doesn’t have a position, so it can’t apply a segment that starts at {got}").format(
                got=got
            )
            if have is None
            else gettext("the node is at sequence {at}, so it can’t apply a segment that starts at {got}").format(
                at=have.sequence, got=got
            )
        )
        self.have, self.got = have, got


class UnknownSealingKey(Transient):
    """The node lacks the sealing key for a DNSSEC key. A retry works once the panel has sent the sealing key."""

    def __init__(self, *, sealing_key: int) -> None:
        super().__init__(gettext("the node doesn’t know sealing key {sealing_key}").format(sealing_key=sealing_key))
        self.sealing_key = sealing_key


class NodeUnreachable(Transient):
    """The agent did not answer: the connection was refused, timed out, or broke."""

    def __init__(self, *, host: str, port: int, reason: str) -> None:
        super().__init__(
            gettext("no connection to {host} port {port}: {reason}").format(host=host, port=port, reason=reason)
        )
        self.host, self.port, self.reason = host, port, reason


class WrongClock(NodeUnreachable):
    """The agent rejects the panel's certificate, because it isn't valid at `clock`, the time of the agent's clock."""

    def __init__(self, *, host: str, port: int, clock: float, now: float) -> None:
        days, hours = divmod(round(abs(clock - now) / 3600), 24)
        time = (
            ngettext("{count} day", "{count} days", days).format(count=days)
            if days
            else ngettext("{count} hour", "{count} hours", hours).format(count=hours)
        )
        if not days and not hours:
            reason = gettext("the node rejected the panel’s certificate, which isn’t currently valid")
        elif clock > now:
            reason = gettext(
                "the node’s clock is {time} ahead, so the node considers the panel’s certificate to be expired"
            ).format(time=time)
        else:
            reason = gettext(
                "the node’s clock is {time} behind, so the node considers the panel’s certificate not yet valid"
            ).format(time=time)
        super().__init__(host=host, port=port, reason=reason)
        self.clock, self.now = clock, now


class NotServed(Transient):
    """A server on the node, such as PowerDNS or dnsdist, doesn't answer, or its answer isn't the expected one."""

    def __init__(self, *, question: str, expected: str, found: str) -> None:
        super().__init__(
            gettext("wrong answer for {question}: expected {expected}, got {found}").format(
                question=question, expected=expected, found=found
            )
        )
        self.question, self.expected, self.found = question, expected, found


class Busy(Transient):
    """Another process or request uses `what`."""

    def __init__(self, *, what: str) -> None:
        super().__init__(gettext("{what} is in use by another process").format(what=what))
        self.what = what


class NeedsSnapshot(Transient):
    """Segments cannot update the node, or not soon enough. `reason` is a part of a sentence, shown to users."""

    def __init__(self, *, reason: str) -> None:
        super().__init__(gettext("the node needs a snapshot: {reason}").format(reason=reason))
        self.reason = reason


class DiskFull(Transient):
    """The disk has no room for data at `path`, or rejected it. The rejected data isn't visible."""

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(gettext("{path} couldn’t be written: {reason}").format(path=path, reason=reason))
        self.path, self.reason = path, reason


class BadName(Permanent):
    """`text` is not a domain name. The message is for the user who typed it."""

    def __init__(self, *, text: str, reason: str) -> None:
        super().__init__(
            gettext("“{text}” isn’t a valid domain name: {reason}").format(text=_shorten_text(text), reason=reason)
        )
        self.text, self.reason = text, reason


class NameOutside(BadName):
    """The domain name `text` is outside the zone to which it must belong."""

    def __init__(self, *, text: str, zone_name: str) -> None:
        Permanent.__init__(
            self,
            gettext("“{text}” is outside the zone {zone_name}").format(text=_shorten_text(text), zone_name=zone_name),
        )
        self.text, self.zone_name = text, zone_name


class BadRdata(Permanent):
    """`text` is not rdata of `type`. `reason` is for the user who typed it. `detail` doesn't quote the text."""

    def __init__(self, *, type: int, text: str, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.type, self.text, self.reason, self.detail = type, text, reason, detail or reason


class BadRRset(Permanent):
    """The records are valid one by one but cannot form one RRset. `reason` is a message for the user."""

    def __init__(self, *, name: str, type: int, reason: str) -> None:
        super().__init__(reason)
        self.name, self.type, self.reason = name, type, reason


class BadBytes(Permanent):
    """Stored or received bytes are invalid. Code must not guess their meaning."""

    def __init__(self, *, what: str, reason: str) -> None:
        super().__init__(f"{what}: {reason}")
        self.what, self.reason = what, reason


class Damaged(BadBytes):
    """An LMDB file can no longer be read and must be replaced with a new file."""

    def __init__(self, *, what: str, reason: str) -> None:
        super().__init__(what=what, reason=gettext("the file is damaged ({reason})").format(reason=reason))
        self.reason = reason


class BadSegment(Permanent):
    """The bytes are not a segment, or the segment is damaged."""

    def __init__(self, *, reason: str) -> None:
        super().__init__(gettext("invalid segment: {reason}").format(reason=reason))
        self.reason = reason


class BadSnapshot(Permanent):
    """The bytes are not a snapshot, the snapshot is damaged, or this node can't accept it."""

    def __init__(self, *, reason: str) -> None:
        super().__init__(gettext("invalid snapshot: {reason}").format(reason=reason))
        self.reason = reason


class BadSignature(Permanent):
    """Data is not signed with a key that the receiver accepts."""

    def __init__(self, *, reason: str) -> None:
        super().__init__(gettext("invalid signature: {reason}").format(reason=reason))
        self.reason = reason


class WrongCluster(Permanent):
    """Data is for the nodes of another panel."""

    def __init__(self, *, ours: UUID, theirs: UUID) -> None:
        super().__init__(
            gettext("this node belongs to cluster {ours}, but the segment belongs to cluster {theirs}").format(
                ours=ours, theirs=theirs
            )
        )
        self.ours, self.theirs = ours, theirs


class WrongEpoch(Permanent):
    """Received and local data belong to different histories of the log."""

    def __init__(self, *, ours: UUID, theirs: UUID) -> None:
        super().__init__(
            gettext("this side has epoch {ours}, but the other side has epoch {theirs}").format(
                ours=ours, theirs=theirs
            )
        )
        self.ours, self.theirs = ours, theirs


class UnknownSchema(Permanent):
    """A PowerDNS LMDB schema that isn't supported."""

    def __init__(self, *, schema: int) -> None:
        super().__init__(
            gettext("PowerDNS LMDB schema {schema} is not supported (supported: 4, 5 and 6)").format(schema=schema)
        )
        self.schema = schema


class Unfinished(Permanent):
    """A snapshot's installation is unfinished. Segments can't be applied to the current contents."""

    def __init__(self, *, what: str) -> None:
        super().__init__(gettext("{what} contains an incomplete snapshot and needs a full one first").format(what=what))
        self.what = what


class Diverged(Permanent):
    """Content does not match its digest. The position has not changed."""

    def __init__(self, *, expected: bytes, found: bytes, what: str = "the database") -> None:
        super().__init__(
            gettext("{what} has digest {found}, but {expected} was expected").format(
                what=what, found=found.hex(), expected=expected.hex()
            )
        )
        self.expected, self.found, self.what = expected, found, what


class MapFull(Permanent):
    """The LMDB file has reached its map size. PowerDNS must be configured with a larger map size first."""

    def __init__(self, *, path: str, map_size: int) -> None:
        super().__init__(gettext("{path} is full (map size {size} MiB)").format(path=path, size=map_size // 1048576))
        self.path, self.map_size = path, map_size


class TooMuch(Permanent):
    """`what` has more rows than can be requested at once."""

    def __init__(self, *, what: str, limit: int) -> None:
        super().__init__(gettext("{what} has more than {limit} rows").format(what=what, limit=limit))
        self.what, self.limit = what, limit


class NodeAhead(Permanent):
    """The node has a position that this panel hasn't published, possibly after a restore of the panel from a backup."""

    def __init__(self, *, node: _Position, head: _Position) -> None:
        super().__init__(
            gettext("the node is at sequence {at}, but the panel is only at {head}").format(
                at=node.sequence, head=head.sequence
            )
        )
        self.node, self.head = node, head


class Refused(Permanent):
    """The agent rejected the request permanently, with an error of the class `error` and with its message."""

    def __init__(self, *, error: str, message: str) -> None:
        super().__init__(message)
        self.error, self.message = error, message

    def was(self, kind: type[ReplicationError]) -> bool:
        """Return True if the agent raised an error of exactly this class."""
        return self.error == kind.__name__


# Errors that no later attempt resolves, or only at an unknown time: shown until a person has resolved them. Others can
# free space on a full disk, but the alarm cannot wait for that.
NEEDS_A_PERSON = Permanent | DiskFull


def _shorten_text(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "…"
