"""The form for one RRset. It converts the input to canonical form and never saves it."""

import hashlib
import itertools
import json
from contextlib import suppress
from typing import Any

from django import forms

from dnspanel.counted_lines import TooManyLines, counted_lines, numbered_lines
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.editor.lines.fields import Unreadable, part_comment
from dnspanel.web.editor.lines.quick_add import TXT_TYPES, AmbiguousName, Reading, read_owner, read_rdata, read_ttl
from dnspanel.web.frame.forms import PanelForm, number_field, split_list, text_field
from dnspanel.web.frame.rows import capitalize, row_id, row_order
from dnspanel.zones.values import soa
from dnspanel.zones.values.rrset_notes import notes_in, notes_of
from replication.dns import names, rdata, rdtypes, rrset
from replication.dns.rrset import NO_NOTES, Notes, format_notes
from replication.errors import ReplicationError

LONGEST_NOTES = 1_000_000
MOST_VALUES = 5_000  # an RRset can hold 4,095 addresses
LONGEST_VALUES = 400_000  # more than the largest RRset with every byte as \DDD
NAME_MISSING = gettext_lazy("Enter a name, or @ for the zone apex.")
VALUES_MISSING = gettext_lazy("Enter at least one value, or delete the row.")
OFF = ";"  # starts a line that is kept but not served, like a comment in a zone file


class RRsetForm(PanelForm):
    """Name, type, TTL, values (one per line), comment and tags of one RRset in the editor.

    After a value, ` ; ` starts a comment on this value. `notes` in the request replace these comments and the tags.

    `old_name` and `old_type` identify the RRset in the edited row, and are empty for a new row. `seen` is a digest of
    that RRset, and `base_revision` is the zone's revision when the row was shown.
    """

    name = forms.CharField(max_length=1100, error_messages={"required": NAME_MISSING})
    type = forms.CharField(max_length=20, error_messages={"required": gettext_lazy("Enter a type, such as A.")})
    ttl = text_field(None, 20)
    values = forms.CharField(
        max_length=LONGEST_VALUES, widget=forms.Textarea, strip=False, error_messages={"required": VALUES_MISSING}
    )
    comment = text_field(None, 2000)
    tags = text_field(None, 1000)
    notes = text_field(None, LONGEST_NOTES)  # `replication.dns.rrset.Notes`
    means = forms.ChoiceField(choices=[("", "")] + [(value, value) for value in Reading], required=False)
    base_revision = number_field(None, 0, None)
    old_name = text_field(None, 1100)
    old_type = text_field(None, 20)
    seen = text_field(None, 32)

    def __init__(self, *args: Any, zone_name: str, default_ttl: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.zone_name = zone_name
        self.default_ttl = default_ttl
        self.question: AmbiguousName | None = None
        self.rrset: rrset.RRset | None = None

    @classmethod
    def initial_for(
        cls, zone_name: str, display: rrset.RRset, *, base_revision: int, in_lines: bool = True
    ) -> dict[str, object]:
        """Return the form's initial values for this RRset. `in_lines` puts comments on values after the values."""
        remarks = dict(display.notes.comments) if in_lines else {}
        lines = (
            f"{f'{OFF} ' if text in display.disabled else ''}{text}{f' ; {remarks[text]}' if text in remarks else ''}"
            for text in display.rdata
        )
        type_text = rdata.type_to_text(display.type)
        return {
            "name": names.owner_text(display.name, zone_name),
            "type": type_text,
            "ttl": display.ttl,
            "values": "\n".join(lines),
            "comment": display.comment,
            **(
                {"tags": " ".join(display.notes.tags)}
                if in_lines
                else {"notes": format_notes(display.notes.without_spellings)}
            ),
            "base_revision": base_revision,
            "old_name": display.name,
            "old_type": type_text,
            "seen": digest_of(display),
        }

    @property
    def replaces(self) -> tuple[str, int] | None:
        """The name and type of the RRset whose row was edited, or None for a new row."""
        old_name, old_type = self.cleaned_data.get("old_name"), self.cleaned_data.get("old_type")
        return (old_name, rdata.type_from_text(old_type)) if old_name and old_type else None

    @property
    def row_id(self) -> str:
        """The HTML element id of the row that shows this form."""
        old_name, old_type = self["old_name"].value(), self["old_type"].value()
        try:
            name, type_ = names.parse(str(old_name or "")), rdata.type_from_text(str(old_type or ""))
        except ReplicationError:
            return "rr-new"
        return row_id(name, type_) if names.is_within(name, self.zone_name) else "rr-new"

    @property
    def row_order(self) -> str:
        """The sort key of the row that shows this form. It is empty for a new row, which sorts first."""
        old_name, old_type = self["old_name"].value(), self["old_type"].value()
        if self.row_id == "rr-new":
            return ""
        return row_order(self.zone_name, names.parse(str(old_name)), rdata.type_from_text(str(old_type)))

    def clean_old_name(self) -> str:
        typed = str(self.cleaned_data["old_name"])
        try:
            return names.parse(typed) if typed else ""
        except ReplicationError as exc:
            raise forms.ValidationError(str(exc)) from exc

    def clean_old_type(self) -> str:
        typed = str(self.cleaned_data["old_type"])
        try:
            return rdata.type_to_text(rdata.type_from_text(typed)) if typed else ""
        except ReplicationError as exc:
            raise forms.ValidationError(str(exc)) from exc

    def clean_ttl(self) -> int:
        typed = str(self.cleaned_data["ttl"]).strip()
        try:
            return read_ttl(typed) if typed else self.default_ttl
        except Unreadable as exc:
            raise forms.ValidationError(exc.message) from exc

    def clean(self) -> dict[str, Any]:
        """Parse name, type and values together. Set `rrset` if all of them are valid."""
        data: dict[str, Any] = self.cleaned_data
        means = Reading(data["means"]) if data.get("means") else None
        name = self._read("name", lambda: read_owner(data["name"], self.zone_name, means=means))
        type_ = self._read("type", lambda: _served_type(data["type"]))
        values = self._read("values", lambda: self._values(type_, data["values"], means)) if type_ is not None else None
        if name is None or type_ is None or values is None or "ttl" not in data:
            return data
        served, off, remarks = values
        notes = self._notes(type_, remarks)
        try:
            comment = data.get("comment", "").strip()
            self.rrset = rrset.make(name, type_, data["ttl"], served + off, off, comment, notes=notes)
        except ReplicationError as exc:
            self.add_error("values", capitalize(str(exc), name=name))
        return data

    def _notes(self, type_: int, remarks: dict[str, str]) -> Notes:
        """Parse the notes in the hidden field, or else the typed tags and comments. Add an error for invalid notes."""
        try:
            if "notes" in self.data:
                return notes_in(json.loads(self.cleaned_data.get("notes") or "{}"), type_)
            return notes_of(type_, split_list(str(self.cleaned_data.get("tags", ""))), remarks)
        except (ValueError, RecursionError, ReplicationError) as exc:
            self.add_error("tags", f"{capitalize(str(exc))}.")
        return NO_NOTES

    def _read(self, field: str, read: Any) -> Any:
        """Return the result of `read()`. If it raises, add the error to the field and return None."""
        if field not in self.cleaned_data:
            return None
        try:
            return read()
        except AmbiguousName as exc:
            self.question = self.question or exc
            self.add_error(field, gettext("{typed} has no trailing dot.").format(typed=exc.typed))
        except Unreadable as exc:
            self.add_error(field, exc.message)
        except ReplicationError as exc:
            self.add_error(field, capitalize(str(exc)))
        return None

    def _values(self, type_: int, text: str, means: Reading | None) -> tuple[list[str], list[str], dict[str, str]]:
        """Return served and disabled rdata, and comments by rdata. Raise AmbiguousName like `read_rdata`.

        Raise Unreadable for invalid, missing or too many values.
        """
        served: list[str] = []
        off: list[str] = []
        remarks: dict[str, str] = {}
        try:
            lines = counted_lines(text, MOST_VALUES)
        except TooManyLines as exc:
            raise Unreadable(
                gettext("You entered {count:,} values. An RRset can have at most {most:,} values.").format(
                    count=exc.count, most=exc.most
                )
            ) from exc
        for number, line in lines:
            line = line.strip()
            is_off = line.startswith(OFF)
            line, comment = _part_comment(type_, line.removeprefix(OFF).strip())
            if not line.strip():
                continue
            try:
                value = read_rdata(type_, line, self.zone_name, means=means).rdata
            except Unreadable as exc:
                where = (
                    gettext("Line {number}, column {column}: ").format(number=number, column=exc.column)
                    if len(lines) > 1
                    else ""
                )
                raise Unreadable(where + exc.message, exc.column) from exc
            (off if is_off else served).append(value)
            if comment:
                remarks[value] = comment
        if not served and not off:
            raise Unreadable(VALUES_MISSING)
        return served, list(rdata.not_among(type_, off, served)), remarks


def _part_comment(type_: int, line: str) -> tuple[str, str]:
    """Split a line into its value and comment. An unquoted TXT value can't have a comment."""
    is_one_text = type_ in TXT_TYPES and not line.lstrip(f"{OFF} ").startswith('"')
    return (line, "") if is_one_text else part_comment(line)


def without_comments(text: str, type_: int, zone_name: str) -> tuple[str, dict[str, str]]:
    """Return the value lines without their comments, and the comments by value. Drop comments on invalid values."""
    lines: list[str] = []
    remarks: dict[str, str] = {}
    for _, line in itertools.islice(numbered_lines(text[:LONGEST_VALUES]), MOST_VALUES + 1):
        value, comment = _part_comment(type_, line)
        lines.append(value.rstrip() if comment else line)
        if comment:
            with suppress(Unreadable, AmbiguousName, ReplicationError):
                remarks[read_rdata(type_, value.strip().removeprefix(OFF).strip(), zone_name).rdata] = comment
    return "\n".join(lines), remarks


def digest_of(display: rrset.RRset | None) -> str:
    """Return the RRset's digest, to detect an outdated row. It ignores the SOA serial, which changes automatically."""
    if display is not None and display.type == rdtypes.SOA:
        display = soa.with_serial(display, soa.NO_SERIAL)
    content = [display.name, display.type, display.to_json()] if display else None
    return hashlib.blake2s(json.dumps(content).encode(), digest_size=8).hexdigest()


def _served_type(text: str) -> int:
    type_ = rdata.type_from_text(text)
    if (reason := rdtypes.refusal(type_)) is not None:
        raise Unreadable(reason)
    return type_
