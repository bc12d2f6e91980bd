"""RRsets as pages show them: words, order and identity of a row; no queries, no decisions."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from dnspanel.zones.queries import RecordDiff, RRsetDiff, RRsetRow
from replication.codec import keys
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import RRset

# A row shows this many values of an RRset; the rest on demand.
VALUES_SHOWN = 20
# More values than this, none longer than an IPv6 address, are set in columns.
COMPACT_FROM = 5
COMPACT_WIDTH = 39

SIGNS = {"added": "+", "changed": "~", "deleted": "−"}


@dataclass(frozen=True, slots=True)
class ShownValue:
    """One record of an RRset."""

    text: str
    disabled: bool


@dataclass(frozen=True)
class ShownRow:
    """A row of the editor: an RRset as the author's draft wants it, or the deleted one, struck through."""

    zone: str
    row: RRsetRow
    all_values: bool = False
    show_old: bool = False
    repeats_name: bool = False
    may_change: bool = True  # `row_rights` knows
    may_remove: bool = True

    @property
    def id(self) -> str:
        return row_id(self.row.change.name, self.row.change.type)

    @property
    def order(self) -> str:
        """Sorts as the server does: canonical order of names, then type."""
        return row_order(self.zone, self.row.change.name, self.row.change.type)

    @property
    def owner(self) -> str:
        return names.owner_text(self.row.change.name, self.zone)

    @property
    def name(self) -> str:
        return self.row.change.name

    @property
    def type(self) -> str:
        return rdata.type_to_text(self.row.change.type)

    @property
    def is_soa(self) -> bool:
        return self.row.change.type == rdtypes.SOA

    @property
    def query(self) -> str:
        """Names this RRset in the query part of a URL."""
        return rrset_query(self.row.change.name, self.row.change.type)

    @property
    def shown(self) -> RRset | None:
        return self.row.change.after or self.row.change.before

    @property
    def exists(self) -> bool:
        return self.shown is not None

    @property
    def mark(self) -> str:
        return self.row.mark or ""

    @property
    def sign(self) -> str:
        return SIGNS.get(self.mark, "")

    @property
    def conflict(self) -> bool:
        return self.row.conflict

    @property
    def is_deleted(self) -> bool:
        return self.row.mark == "deleted"

    @property
    def ttl(self) -> int | None:
        return self.shown.ttl if self.shown else None

    @property
    def old_ttl(self) -> int | None:
        """The published TTL, where the draft changes it."""
        before = self.row.change.before
        return before.ttl if before and self.row.mark == "changed" and before.ttl != self.ttl else None

    @property
    def comment(self) -> str:
        return self.shown.comment if self.shown else ""

    @property
    def values(self) -> list[ShownValue]:
        found = shown_values(self.shown)
        return found if self.all_values else found[:VALUES_SHOWN]

    @property
    def is_compact(self) -> bool:
        """Many short values stand side by side."""
        values = self.shown.rdata if self.shown else ()
        return len(values) > COMPACT_FROM and max(map(len, values)) <= COMPACT_WIDTH

    @property
    def hidden_values(self) -> int:
        return 0 if self.all_values or not self.shown else max(0, len(self.shown.rdata) - VALUES_SHOWN)

    @property
    def old_values(self) -> list[ShownValue]:
        return shown_values(self.row.change.before)


@dataclass(frozen=True)
class ShownDiff:
    """A change of one RRset, for review and history."""

    zone: str
    diff: RRsetDiff

    @property
    def id(self) -> str:
        return row_id(self.diff.change.name, self.diff.change.type)

    @property
    def owner(self) -> str:
        return names.owner_text(self.diff.change.name, self.zone)

    @property
    def name(self) -> str:
        return self.diff.change.name

    @property
    def type(self) -> str:
        return rdata.type_to_text(self.diff.change.type)

    @property
    def query(self) -> str:
        return rrset_query(self.diff.change.name, self.diff.change.type)

    @property
    def mark(self) -> str:
        return self.diff.mark

    @property
    def sign(self) -> str:
        return SIGNS[self.diff.mark]

    @property
    def records(self) -> tuple[RecordDiff, ...]:
        return self.diff.records

    @property
    def before(self) -> RRset | None:
        return self.diff.change.before

    @property
    def after(self) -> RRset | None:
        return self.diff.change.after

    @property
    def ttl(self) -> int:
        shown = self.diff.change.after or self.diff.change.before
        assert shown is not None
        return shown.ttl

    @property
    def zone_file(self) -> list[tuple[str, str]]:
        """The change as lines of a zone file: ("is-delete" or "is-add" or "is-same", line)."""
        before, after = _lines(self.diff.change.before), _lines(self.diff.change.after)
        gone = [("is-delete", line) for line in before if line not in after]
        kept = [("is-same", line) for line in after if line in before]
        new = [("is-add", line) for line in after if line not in before]
        return gone + kept + new


def row_id(name: str, type: int) -> str:
    """The id of a row's element: the same for the same RRset, whatever bytes its name has."""
    return "rr-" + hashlib.blake2s(f"{type} {name}".encode(), digest_size=8).hexdigest()


def row_order(zone: str, name: str, type: int) -> str:
    """A text that sorts as the rows do."""
    return f"{keys.relative_key(name, zone).hex()}-{type:05d}"


def rrset_query(name: str, type: int) -> str:
    """`name=…&type=…` for a URL."""
    return urlencode({"name": name, "type": rdata.type_to_text(type)})


def shown_values(rrset: RRset | None) -> list[ShownValue]:
    if rrset is None:
        return []
    return [ShownValue(text, text in rrset.disabled) for text in rrset.rdata]


def shown_rows(zone: str, rows: Iterable[RRsetRow], *, name_above: str = "") -> list[ShownRow]:
    """Rows for the editor's table; a row below one of the same name says so, so that names form groups."""
    found = []
    for row in rows:
        found.append(ShownRow(zone, row, repeats_name=row.change.name == name_above))
        name_above = row.change.name
    return found


def shown_diffs(zone: str, diffs: Iterable[RRsetDiff]) -> list[ShownDiff]:
    return [ShownDiff(zone, diff) for diff in diffs]


def sentence(text: str, *, name: str = "") -> str:
    """The text with a capital letter, unless it starts with a name, which keeps its case."""
    return text if name and text.startswith(name) else text[:1].upper() + text[1:]


def _lines(rrset: RRset | None) -> list[str]:
    if rrset is None:
        return []
    head = f"{rrset.name} {rrset.ttl} IN {rdata.type_to_text(rrset.type)}"
    remark = f" ; {' '.join(rrset.comment.split())}" if rrset.comment else ""
    return [f"{'; ' if text in rrset.disabled else ''}{head} {text}{remark}" for text in rrset.rdata]
