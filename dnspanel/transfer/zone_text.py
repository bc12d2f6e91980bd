"""Convert a zone, or a part of it, to zone-file text that people edit, and read the edited text. Writes nothing.

The text is like an export, except that ALIAS and LUA are written as in the editor. Each line is one record. An RRset's
comment is at the end of its first line. A disabled record is `;!disabled name ttl IN TYPE rdata`. Tags and comments of
values are `;!noted name TYPE {…}`. The import parser reads the text.

The edited text is compared with the original text (the base), so RRsets that others published in between, or that the
text does not have, stay unchanged. Neither text is trusted: `draft.change_rrsets` checks each change.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from dnspanel.accounts.models import User
from dnspanel.texts import gettext
from dnspanel.transfer import import_limits
from dnspanel.transfer.documents import Document, ReadyRRset, SourceFault
from dnspanel.transfer.exports.bind import rrset_text
from dnspanel.transfer.exports.exported_rows import Row
from dnspanel.transfer.zone_changes import rrset_of
from dnspanel.transfer.zonefile.reader import Reader
from dnspanel.transfer.zonefile.record_parser import Enough, Scope, is_of_signers
from dnspanel.transfer.zonefile.zonefile_content import type_tail
from dnspanel.transfer.zonefile.zonefile_tokens import Sheet, Unreadable
from dnspanel.zones.drafts.draft import edit_of, operations_of
from dnspanel.zones.errors import RightMissing
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.lists.selection import Selection
from dnspanel.zones.models import Zone
from dnspanel.zones.plan.merge import Edit, is_already_so
from dnspanel.zones.plan.plan import plan_zones
from dnspanel.zones.rights import access
from dnspanel.zones.rules.violations import Severity
from dnspanel.zones.values import soa
from replication.codec.keys import relative_key
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import Change, Key, RRset, format_notes

MOST_RRSETS = 5_000
LONGEST_TEXT = 2_000_000  # characters


class TooLarge(Exception):
    """Raised if the selection has too many or too long RRsets to be edited as text."""


@dataclass(frozen=True, slots=True)
class ZoneText:
    """A zone's RRsets as text. `hidden` counts RRsets from signing, which people cannot edit as text."""

    text: str
    rrsets: int
    hidden: int


@dataclass(slots=True)
class EditedText:
    """The changes in edited zone-file text, and its errors.

    If `faults` is not empty, nothing can be saved. `blocking` are broken rules that prevent publishing, and `advice`
    are possible mistakes. All have a line and column in the text, or line 0. `clashes` are RRsets that the author
    drafted differently after the text was made.
    """

    afters: dict[Key, RRset | None] = field(default_factory=dict)
    added: int = 0
    changed: int = 0
    removed: int = 0
    faults: list[SourceFault] = field(default_factory=list)
    blocking: list[SourceFault] = field(default_factory=list)
    advice: list[SourceFault] = field(default_factory=list)
    clashes: list[SourceFault] = field(default_factory=list)


def text_of(*, zone: Zone, author: User, selection: Selection | None, default_ttl: int) -> ZoneText:
    """Return the draft's selected RRsets, or all RRsets, as text. Omit and count DNSSEC's own RRsets (`is_of_signers`).

    Raise TooLarge if the RRsets are too many or too long. `default_ttl` is the text's `$TTL`.
    """
    if selection is None and zone.rrset_count > 2 * MOST_RRSETS:
        raise TooLarge
    lines = [f"$ORIGIN {zone.name}\n$TTL {default_ttl}\n"]
    size = hidden = 0
    for row in (selection or Selection(filters=rrset_pages.EVERYTHING)).rows(zone=zone, author=author):
        rrset = row.change.after
        assert rrset is not None  # a selection only has existing RRsets
        if is_of_signers(rrset.type, rrset.name, zone.name):
            hidden += 1
            continue
        lines.append(_lines(rrset, zone.name))
        size += len(lines[-1])
        if len(lines) > MOST_RRSETS + 1 or size > LONGEST_TEXT:
            raise TooLarge
    return ZoneText("".join(lines), len(lines) - 1, hidden)


def read_edited_text(  # noqa: PLR0913  # a text, and what it is compared with
    *, zone: Zone, author: User, text: str, base: str, is_complete: bool, now: datetime, over_clashes: bool = False
) -> EditedText:
    """Return the changes in the text compared with the base, which must have been made for the same author.

    `is_complete` means that the base had every RRset of the zone. `over_clashes` means that clashes are not reported.
    Neither text is trusted: pass the result to `draft.change_rrsets`, with the revision that the zone had when the base
    was made. Invalid text never raises an error.
    """
    result = EditedText()
    reader = _read(zone.name, text)
    base_sets = _read(zone.name, base).content.sets
    with suppress(Enough):
        if not any(fault.is_loss for fault in reader.faults):
            _compare(zone, author, reader, base_sets, result, is_complete=is_complete, over_clashes=over_clashes)
    result.faults += [fault for fault in reader.faults if fault.is_loss]
    result.advice += [fault for fault in reader.faults if not fault.is_loss]
    if not result.faults and not result.clashes and result.afters:
        _ask_rules(zone, author, reader, result, now)
    return result


def read_zone_file(zone: str, text: str) -> tuple[dict[Key, ReadyRRset], list[SourceFault]]:
    """Return all RRsets of a complete zone file, and the errors that prevent its use. Invalid text raises no error."""
    reader = _read(zone, text)
    return {_key(ready): ready for ready in reader.content.sets.values()}, [
        fault for fault in reader.faults if fault.is_loss
    ]


def changes_to_zone_file(
    zone: str, wanted: Mapping[Key, ReadyRRset], current: Mapping[Key, RRset]
) -> dict[Key, RRset | None]:
    """Return the changes that give a zone the RRsets of its zone file.

    These stay: the records that signing creates, the SOA if the file has none or differs only in the serial, and
    comments and tags of RRsets for which the file has none.
    """
    changes: dict[Key, RRset | None] = {}
    for key, ready in wanted.items():
        now = current.get(key)
        after = rrset_of(ready)
        if now is not None:
            notes = after.notes.merge_with(now.notes.of_values(after.rdata))
            after = replace(after, comment=after.comment or now.comment, notes=notes)
        if not soa.same(now, after) and not is_already_so(now, after):
            changes[key] = after
    for name, type_ in current.keys() - wanted.keys():
        if type_ != rdtypes.SOA and not is_of_signers(type_, name, zone):
            changes[name, type_] = None
    return changes


def _read(zone: str, text: str) -> Reader:
    """Parse edited text. Unsupported data becomes a fault, so that no part of the text is lost silently."""
    document = Document("", text.encode("utf-8", "surrogateescape"), zone)
    reader = Reader(zone, Scope(comments=True, allow_lua=True), include=_no_include, most_generated=MOST_RRSETS)
    content = reader.content
    with suppress(Enough):
        reader.read_sheet(Sheet(document, 0))
        for place in reader.outside:
            reader.report(place, Unreadable(gettext("this name isn’t inside {zone}").format(zone=zone), "out-of-zone"))
        for type_, (_, place) in reader.left_out.items():
            word = rdata.type_to_text(type_)
            reason = gettext(
                "{word} records can’t be edited as text because the panel manages them: see the zone’s DNSSEC page"
            ).format(word=word)
            reader.report(place, Unreadable(reason, "dnssec-left-out"))
        content.finish()
        for place in content.duplicates:
            reader.warn(place, Unreadable(gettext("duplicate value: only one copy is saved"), "duplicate"))
        for record, (ttl, place) in content.other_ttls.items():
            kept = content.sets[record].ttl
            reason = gettext("all values for a name and type must have the same TTL: {kept} above, {ttl} here").format(
                kept=kept, ttl=ttl
            )
            reader.report(place, Unreadable(reason, "ttl-differs"))
        for place in content.misplaced_notes():
            reason = gettext("this comment isn’t attached to any name, type or value in the text")
            reader.report(place, Unreadable(reason, "noted"))
        for record in content.too_large:
            reason = gettext("the values are too large for one DNS answer")
            reader.report(content.place_of(record), Unreadable(reason, "rrset-too-large"))
        if len(content.sets) > MOST_RRSETS:
            reason = gettext("a text can have at most {most_rrsets:,} RRsets: import more as a file").format(
                most_rrsets=MOST_RRSETS
            )
            reader.report(None, Unreadable(reason, "too-many"))
    return reader


def _no_include(path: str) -> Document:
    raise Unreadable(gettext("“{path}” can’t be included here").format(path=path), "include-missing")


def _compare(  # noqa: PLR0913  # a text, and what it is compared with
    zone: Zone,
    author: User,
    reader: Reader,
    base: Mapping[bytes, ReadyRRset],
    result: EditedText,
    *,
    is_complete: bool,
    over_clashes: bool,
) -> None:
    """Add the differences from the base to the result, and report clashes and changes that aren't allowed.

    The flags are as in `read_edited_text`. Raise Enough if there are too many errors.
    """
    sets = reader.content.sets
    records = [record for record, ready in sets.items() if base.get(record) != ready]
    records += base.keys() - sets.keys()
    known = {**base, **sets}
    rows = rrset_pages.rrset_rows(zone=zone, author=author, keys=[_key(known[record]) for record in records])
    row_of = {row.change.key: row for row in rows}
    for record in records:
        ready, was = sets.get(record), base.get(record)
        key = _key(known[record])
        row = row_of.get(key)
        place = reader.content.place_of(record) if ready else None
        seen = row.change.after if row else None
        after = _requested_rrset(ready, was, seen)
        if after == seen:
            continue  # another person has made the same change
        if was is None and seen is not None and not is_complete:
            reason = gettext("{title} exists in the zone, but not in the part you’re editing").format(title=_title(key))
            reader.report(place, Unreadable(reason, "not-shown"))
        elif after is None and key == (zone.name, rdtypes.SOA):
            assert was is not None
            fix = rrset_text(_row(was), "@").strip()
            reader.report(
                None, Unreadable(gettext("the zone must have an SOA record: add {fix}").format(fix=fix), "soa-missing")
            )
        else:
            if row and row.operation_id is not None and not over_clashes and not _is_as_displayed(seen, was, zone.name):
                _keep(reader, place, _clash(key, seen, zone.name), result.clashes)
            published = row.change.before if row else None
            try:
                access.refuse_changes(author, zone, [Change(*key, published, after)])
            except RightMissing as exc:
                reader.report(place, Unreadable(str(exc), "right-missing"))
            result.afters[key] = after
            result.added += was is None
            result.removed += after is None
            result.changed += was is not None and after is not None


def _requested_rrset(ready: ReadyRRset | None, was: ReadyRRset | None, seen: RRset | None) -> RRset | None:
    """Return the RRset in the text, or None. An unedited comment stays, even if it does not fit on a line."""
    if ready is None:
        return None
    rrset = rrset_of(ready)
    if was is not None and seen is not None and ready.comment == was.comment:
        return replace(rrset, comment=seen.comment)
    return rrset


def _is_as_displayed(seen: RRset | None, was: ReadyRRset | None, zone: str) -> bool:
    """Return True if the author's current RRset equals the RRset in the base."""
    if seen is None or was is None:
        return seen is None and was is None
    return _read(zone, _lines(seen, zone)).content.sets.get(was.key + type_tail(was.type)) == was


def _clash(key: Key, seen: RRset | None, zone: str) -> Unreadable:
    if seen:
        reason = gettext("{title} was changed in your draft after this text was opened: {lines}").format(
            title=_title(key), lines=_lines(seen, zone).strip()
        )
    else:
        reason = gettext("{title} was deleted in your draft after this text was opened").format(title=_title(key))
    return Unreadable(reason, "drafted-meanwhile")


def _keep(reader: Reader, place: int | None, found: Unreadable, kept: list[SourceFault]) -> None:
    """Add a fault, with its place in the text, to `kept`, unless `kept` already has MOST_FAULTS_OF_ZONE faults."""
    if len(kept) < import_limits.MOST_FAULTS_OF_ZONE:
        before = len(reader.faults)
        reader.warn(place, found)
        kept += reader.faults[before:]
        del reader.faults[before:]


def _ask_rules(zone: Zone, author: User, reader: Reader, result: EditedText, now: datetime) -> None:
    """Add the rule violations of the whole draft to the result: errors to `blocking`, and warnings to `advice`."""
    operations = operations_of(author).filter(zone=zone)
    drafted = {edit.change.key: edit for edit in map(edit_of, operations)}
    keys = result.afters.keys()
    rows = {row.change.key: row for row in rrset_pages.rrset_rows(zone=zone, author=author, keys=keys)}
    edits = [edit for key, edit in drafted.items() if key not in keys]
    for key, after in result.afters.items():
        edits.append(Edit(Change(*key, rows[key].change.before if key in rows else None, after)))
    [plan] = plan_zones({zone.pk: (zone, edits)}, now, author=author)
    for violation in plan.violations:
        if violation.severity is Severity.NOTE:
            continue
        record = relative_key(violation.name, zone.name) + type_tail(violation.type)
        place = reader.content.places.get(record)
        message = violation.message if place is not None else f"{violation.name}: {violation.message}"
        kept = result.blocking if violation.severity is Severity.ERROR else result.advice
        _keep(reader, place, Unreadable(message, violation.code), kept)


def _key(ready: ReadyRRset) -> Key:
    return ready.name, ready.type


def _title(key: Key) -> str:
    return f"{names.display(key[0])} {rdata.type_to_text(key[1])}"


def _row(rrset: RRset | ReadyRRset) -> Row:
    texts = rrset.texts if isinstance(rrset, ReadyRRset) else rrset.rdata
    notes = rrset.notes if isinstance(rrset, ReadyRRset) else format_notes(rrset.notes)
    return rrset.name, rrset.type, rrset.ttl, texts, rrset.disabled, rrset.comment, notes


def _lines(rrset: RRset, zone: str) -> str:
    owner = "@" if rrset.name == zone else names.relative_text(rrset.name, zone)
    return rrset_text(_row(rrset), owner, ())
