"""RRsets as table rows: their text, order and element ids. Makes no queries."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from dnspanel.texts import gettext, gettext_noop, joined
from dnspanel.transfer.noted import noted_line_of
from dnspanel.web.row_patterns import PatternRow
from dnspanel.web.templatetags.panel import spoken_age
from dnspanel.zones.lists.by_name import place_of
from dnspanel.zones.lists.rrset_pages import RRsetRow
from dnspanel.zones.log.history import HistoryRow
from dnspanel.zones.log.panel_reasons import told_reason
from dnspanel.zones.models import Expiry, Lock
from dnspanel.zones.typed.layouts import LAYOUTS
from dnspanel.zones.values.readable_texts import readable_text
from replication.codec import keys
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import RRset

# A row shows this many values of an RRset, and further values on demand.
MOST_VALUES = 20
LONGEST_REASON = 80  # characters in a row
# More values than this are shown in columns if none is longer than an IPv6 address.
COMPACT_FROM = 5
COMPACT_WIDTH = 39

SIGNS = {"added": "+", "changed": "~", "deleted": "−"}
# The CSS class of each mark. With the prefix `is-`, it is the class of a row with this mark.
MARK_CLASSES = {"added": "add", "changed": "change", "deleted": "delete"}
# For a record in a diff: the CSS class of its line, and the text for screen readers before it.
_RECORD_CLASSES = {"+": "is-add", "-": "is-delete"}
_RECORD_LABELS = {"+": gettext_noop("new: "), "-": gettext_noop("old: ")}


@dataclass(frozen=True, slots=True)
class DisplayValue:
    """One record of an RRset."""

    text: str
    disabled: bool
    readable: str = ""
    comment: str = ""


@dataclass(frozen=True)
class DisplayRow(PatternRow):
    """A row of the editor's table: an RRset as in the author's draft, struck through if the draft deletes it."""

    SHAPED_BY = (
        *("zone", "type", "mark", "repeats_name", "is_selectable", "is_editable", "is_deleted", "may_remove"),
        *("is_soa", "has_fields", "has_old_ttl", "has_comment", "punycode"),
        *("is_compact", "has_plain_values", "has_notes"),
    )
    FILLED_IN = (
        "id",
        "order",
        "name",
        "owner",
        "tick",
        "query",
        "ttl",
        "old_ttl",
        "plain_values",
        "comment",
        "who",
        "use",
    )

    zone: str
    row: RRsetRow
    all_values: bool = False
    show_old: bool = False
    repeats_name: bool = False
    may_change: bool = True  # set by `row_rights`
    may_remove: bool = True
    lock: Lock | None = None  # binds the reader; set by `row_rights`
    answered_by: str = ""  # another zone; set by `row_answers`
    expiry: Expiry | None = None  # set by `row_expiries`
    blocked: str = ""  # the reason why it can't be published; set by `blocking`
    warned: str = ""  # the first warning about it, in the draft or as published
    revision: HistoryRow | None = None  # the last one that changed it; set by `row_revisions`
    per_day: str = ""  # how often nodes are asked for it, and when they were last; set by `row_uses`
    last_queried: str = ""
    shows_revision: bool = False  # below the values, and not only while the pointer or the focus is in the row

    @property
    def id(self) -> str:
        return row_id(self.row.change.name, self.row.change.type)

    @property
    def order(self) -> str:
        """The row's sort key. Scripts use it to sort rows in the same order as the server."""
        return row_order(self.zone, self.row.change.name, self.row.change.type)

    @cached_property
    def owner(self) -> str:
        return names.owner_text(self.row.change.name, self.zone)

    @property
    def name(self) -> str:
        return self.row.change.name

    @property
    def punycode(self) -> str:
        """The owner name in Punycode if pages show the name in Unicode, otherwise empty."""
        return punycode_owner(self.row.change.name, self.zone)

    @cached_property
    def type(self) -> str:
        return rdata.type_to_text(self.row.change.type)

    @property
    def is_soa(self) -> bool:
        return self.row.change.type == rdtypes.SOA

    @property
    def has_fields(self) -> bool:
        """True if the RRset's type has a form with labeled fields for the parts of its values."""
        return (layout := LAYOUTS.get(self.row.change.type)) is not None and layout.has_parts

    @cached_property
    def query(self) -> str:
        """The URL query that identifies this RRset."""
        return rrset_query(self.row.change.name, self.row.change.type)

    @cached_property
    def rrset(self) -> RRset | None:
        return self.row.change.after or self.row.change.before

    @property
    def edit_url(self) -> str:
        return self._at(_addresses(self.zone).rrset)

    @cached_property
    def history_url(self) -> str:
        return self._at(_addresses(self.zone).history)

    @property
    def row_url(self) -> str:
        return self._at(_addresses(self.zone).row)

    @property
    def undo_url(self) -> str:
        return self._at(_addresses(self.zone).undo)

    @property
    def typed_url(self) -> str:
        return self._at(_addresses(self.zone).typed)

    @property
    def delete_url(self) -> str:
        return self._at(_addresses(self.zone).delete)

    def _at(self, address: str) -> str:
        return f"{address}?{self.query}"

    @property
    def to_select(self) -> str:
        return self._format_title(gettext("Select %(owner)s %(type)s"))

    @property
    def to_history(self) -> str:
        return self._format_title(gettext("View history of %(owner)s %(type)s"))

    @property
    def to_fields(self) -> str:
        return self._format_title(gettext("Edit fields for %(owner)s %(type)s"))

    @property
    def to_delete(self) -> str:
        return self._format_title(gettext("Delete %(owner)s %(type)s"))

    def _format_title(self, text: str) -> str:
        return text % {"owner": self.owner, "type": self.type}

    @cached_property
    def has_notes(self) -> bool:
        """True if the row shows something below its values. Most rows show nothing there."""
        return bool(
            self.tags
            or self.shows_revision
            or self.hidden_values
            or self.is_changed
            or self.expiry
            or (self.lock and self.lock.name)
            or self.answered_by
            or self.blocked
            or self.warned
            or self.conflict
        )

    @property
    def has_pattern(self) -> bool:
        """True if the row has no remarks, like most rows, so that a shared pattern can render it (see `PatternRow`)."""
        return self.has_plain_values and not self.has_notes

    @property
    def exists(self) -> bool:
        return self.rrset is not None

    @cached_property
    def mark(self) -> str:
        return self.row.mark or ""

    @property
    def sign(self) -> str:
        return SIGNS.get(self.mark, "")

    @property
    def sign_class(self) -> str:
        """The CSS class for the sign that shows how the draft changes the RRset."""
        return MARK_CLASSES.get(self.mark, "")

    @property
    def row_class(self) -> str:
        """The CSS class of the table row. Empty if the draft doesn't change the RRset."""
        return f"is-{self.sign_class}" if self.mark else ""

    @property
    def is_changed(self) -> bool:
        return self.mark == "changed"

    @property
    def conflict(self) -> bool:
        return self.row.conflict

    @property
    def is_deleted(self) -> bool:
        return self.row.mark == "deleted"

    @property
    def is_selectable(self) -> bool:
        """True if the RRset can be selected for bulk changes."""
        return (self.may_change or self.may_remove) and not self.is_deleted

    @property
    def tick(self) -> str:
        """The checkbox value that identifies this RRset in bulk changes."""
        return f"{self.row.change.name} {self.row.change.type}"

    @property
    def is_editable(self) -> bool:
        """True if the RRset can be edited. A deleted RRset must be restored first."""
        return self.may_change and not self.is_deleted

    @property
    def ttl(self) -> int | None:
        return self.rrset.ttl if self.rrset else None

    @property
    def old_ttl(self) -> int | None:
        """The published TTL if the draft changes the TTL, otherwise None."""
        before = self.row.change.before
        return before.ttl if before and self.row.mark == "changed" and before.ttl != self.ttl else None

    @property
    def has_old_ttl(self) -> bool:
        return self.old_ttl is not None

    @property
    def comment(self) -> str:
        return self.rrset.comment if self.rrset else ""

    @property
    def has_comment(self) -> bool:
        return bool(self.comment)

    @property
    def tags(self) -> tuple[str, ...]:
        return self.rrset.notes.tags if self.rrset else ()

    @cached_property
    def values(self) -> list[DisplayValue]:
        found = display_values(self.rrset)
        return found if self.all_values else found[:MOST_VALUES]

    @cached_property
    def has_plain_values(self) -> bool:
        """True if none of the values has a remark, as in most rows."""
        return not any(value.disabled or value.readable or value.comment for value in self.values)

    @property
    def who(self) -> str:
        """The time, the author and the reason of the last publication that changed the RRset, or "" for a new RRset."""
        if (last := self.revision) is None:
            return self.last_queried
        age = spoken_age((timezone.now() - last.at).total_seconds())
        said = gettext("{at} by {author}").format(at=age, author=last.author) if last.author else age
        change = joined(": ", filter(None, (said, Truncator(told_reason(last.reason)).chars(LONGEST_REASON))))
        return joined(" · ", filter(None, (change, self.last_queried)))

    @property
    def use(self) -> SafeString:
        """The questions per day as HTML, or "" if nodes don't count them."""
        return format_html('<small class="use">{}</small>', self.per_day) if self.per_day else SafeString()

    @property
    def plain_values(self) -> SafeString:
        """The values as HTML list items, for rows whose values have no remarks."""
        return format_html_join("", "<li><span>{}</span></li>", ((value.text,) for value in self.values))

    @property
    def is_compact(self) -> bool:
        """True if the values are shown side by side, because the RRset has many short values and no comments."""
        values = self.rrset.rdata if self.rrset and not self.rrset.notes.comments else ()
        return len(values) > COMPACT_FROM and max(map(len, values)) <= COMPACT_WIDTH

    @property
    def hidden_values(self) -> int:
        return 0 if self.all_values or not self.rrset else max(0, len(self.rrset.rdata) - MOST_VALUES)

    @property
    def old_values(self) -> list[DisplayValue]:
        return display_values(self.row.change.before)


class _Addresses(NamedTuple):
    """The URLs of pages about one RRset."""

    rrset: str
    history: str
    row: str
    undo: str
    typed: str
    delete: str


@lru_cache(maxsize=64)
def _addresses(zone: str) -> _Addresses:
    views = ("rrset", "record-history", "rrset-row", "rrset-undo", "typed", "rrset-delete")
    return _Addresses(*(reverse(f"zone-{view}", args=[zone]) for view in views))


def row_id(name: str, type: int) -> str:
    """Return the element id of an RRset's row. The id is stable, and valid even if the name contains unusual bytes."""
    return "rr-" + hashlib.blake2s(f"{type} {name}".encode(), digest_size=8).hexdigest()


def row_address(zone: str, name: str, type: int) -> str:
    """Return the URL of the editor page that starts at this RRset."""
    at = urlencode({"at": names.relative_text(name, zone)})
    return f"{reverse('zone-detail', args=[zone])}?{at}#{row_id(name, type)}"


def row_order(zone: str, name: str, type: int) -> str:
    """Return a row's sort key. Scripts use it to sort rows in the same order as the server."""
    place = place_of((keys.relative_key(name, zone), type))
    return f"{place.name.hex()}-{place.rank:05d}"


def rrset_query(name: str, type: int) -> str:
    """Return the URL query `name=…&type=…` for this RRset."""
    return urlencode({"name": name, "type": rdata.type_to_text(type)})


def path_at(zone_name: str, owner: str) -> str:
    """Return the path of the zone's records from this owner name on."""
    return f"{reverse('zone-detail', args=[zone_name])}?{urlencode({'at': owner})}"


def display_values(rrset: RRset | None) -> list[DisplayValue]:
    if rrset is None:
        return []
    remarks = dict(rrset.notes.comments)
    return [
        DisplayValue(
            readable_text(text), text in rrset.disabled, readable_rdata(rrset.type, text), remarks.get(text, "")
        )
        for text in rrset.rdata
    ]


def punycode_owner(name: str, zone: str) -> str:
    """Return the relative owner name in Punycode if pages show the name in Unicode, otherwise ""."""
    owner = names.relative_text(name, zone)
    return owner if "xn--" in owner and owner != names.owner_text(name, zone) else ""


def readable_rdata(type: int, text: str) -> str:
    """Return a value with its Punycode names converted to Unicode, or "" if it contains no such names."""
    if "xn--" not in text:
        return ""
    readable = rdata.with_names(type, text, names.display)
    return "" if readable == text else readable


def display_rows(zone: str, rows: Iterable[RRsetRow], *, name_above: str = "") -> list[DisplayRow]:
    """Return the editor's rows. `repeats_name` marks a name equal to the row above, at first to `name_above`."""
    found = []
    for row in rows:
        found.append(DisplayRow(zone, row, repeats_name=row.change.name == name_above))
        name_above = row.change.name
    return found


def capitalize(text: str, *, name: str = "") -> str:
    """Capitalize the first letter, unless the text starts with `name`, whose case doesn't change."""
    return text if name and text.startswith(name) else text[:1].upper() + text[1:]


def _lines(rrset: RRset | None) -> list[str]:
    if rrset is None:
        return []
    head = f"{rrset.name} {rrset.ttl} IN {rdata.type_to_text(rrset.type)}"
    remark = f" ; {' '.join(rrset.comment.split())}" if rrset.comment else ""
    lines = [f"{'; ' if text in rrset.disabled else ''}{head} {text}{remark}" for text in rrset.rdata]
    remarks = noted_line_of(rrset.name, rdata.type_to_text(rrset.type), rrset.notes)
    return [*lines, remarks.rstrip()] if remarks else lines
