"""Display an RRset before and after a change, record by record."""

from collections.abc import Iterable
from dataclasses import dataclass

from dnspanel.texts import gettext
from dnspanel.web.frame import rows
from dnspanel.zones.log.history import RecordDiff, RRsetDiff
from dnspanel.zones.values.readable_texts import readable_text
from replication.dns import names, rdata
from replication.dns.rrset import NO_NOTES, RRset


@dataclass(frozen=True, slots=True)
class DisplayRecord:
    """A record in a diff: added, deleted or unchanged."""

    record: RecordDiff
    type: int

    @property
    def readable(self) -> str:
        return rows.readable_rdata(self.type, self.record.rdata)

    @property
    def css(self) -> str:
        return rows._RECORD_CLASSES.get(self.record.sign, "is-same")

    @property
    def label(self) -> str:
        """The screen reader text before the record."""
        label = rows._RECORD_LABELS.get(self.record.sign)
        return gettext(label) if label else ""

    @property
    def rdata(self) -> str:
        return readable_text(self.record.rdata)

    @property
    def disabled(self) -> bool:
        return self.record.disabled


@dataclass(frozen=True, slots=True)
class NoteDiff:
    """An RRset's tags, or a value's comment or API v1 spelling, before and after the change (empty if absent)."""

    title: str
    before: str
    after: str


@dataclass(frozen=True)
class DisplayDiff:
    """A change to one RRset, shown in the review and the history."""

    zone: str
    diff: RRsetDiff

    @property
    def id(self) -> str:
        return rows.row_id(self.diff.change.name, self.diff.change.type)

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
    def punycode(self) -> str:
        """The owner name in Punycode if pages show the name in Unicode, otherwise empty."""
        return rows.punycode_owner(self.diff.change.name, self.zone)

    @property
    def query(self) -> str:
        return rows.rrset_query(self.diff.change.name, self.diff.change.type)

    @property
    def mark(self) -> str:
        return self.diff.mark

    @property
    def sign(self) -> str:
        return rows.SIGNS[self.diff.mark]

    @property
    def sign_class(self) -> str:
        """The CSS class for the sign (added, changed or deleted) and the text next to it."""
        return rows.MARK_CLASSES[self.diff.mark]

    @property
    def records(self) -> list[DisplayRecord]:
        return [DisplayRecord(record, self.diff.change.type) for record in self.diff.records]

    @property
    def note_diffs(self) -> list[NoteDiff]:
        """The changes to the RRset's tags, and to its values' comments and API v1 spellings.

        Deleted values and deleted RRsets have none.
        """
        before, after = (NO_NOTES if each is None else each.notes for each in (self.before, self.after))
        if before == after or self.after is None:
            return []
        tags = NoteDiff(gettext("Tags"), " ".join(before.tags), " ".join(after.tags))
        pairs = [tags] if tags.before != tags.after else []
        old, new = dict(before.comments), dict(after.comments)
        values = [value for value in self.after.rdata if old.get(value, "") != new.get(value, "")]
        pairs += [
            NoteDiff(
                gettext("Comment on {value}").format(value=readable_text(value)), old.get(value, ""), new.get(value, "")
            )
            for value in values
        ]
        old, new = dict(before.spellings), dict(after.spellings)
        return pairs + [
            NoteDiff(
                gettext("Spelling of {value} in API v1").format(value=readable_text(value)),
                old.get(value, ""),
                new[value],
            )
            for value in new
            if old.get(value) != new[value]
        ]

    @property
    def before(self) -> RRset | None:
        return self.diff.change.before

    @property
    def after(self) -> RRset | None:
        return self.diff.change.after

    @property
    def ttl(self) -> int:
        rrset = self.diff.change.after or self.diff.change.before
        assert rrset is not None
        return rrset.ttl

    @property
    def zone_file(self) -> list[tuple[str, str]]:
        """The change in zone-file syntax, as (class, line). The class is "is-delete", "is-add" or "is-same"."""
        before, after = rows._lines(self.diff.change.before), rows._lines(self.diff.change.after)
        gone = [("is-delete", line) for line in before if line not in after]
        kept = [("is-same", line) for line in after if line in before]
        new = [("is-add", line) for line in after if line not in before]
        return gone + kept + new


def display_diffs(zone: str, diffs: Iterable[RRsetDiff]) -> list[DisplayDiff]:
    return [DisplayDiff(zone, diff) for diff in diffs]
