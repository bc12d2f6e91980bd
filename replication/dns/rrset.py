"""Define RRsets (the unit of edits, comparisons and pushes), their notes and changes, and SOA serials. Pure."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from json.encoder import encode_basestring as quoted
from typing import Any

from replication.dns import names, rdata, rdtypes
from replication.errors import BadRRset
from replication.message_texts import gettext

MAX_TTL = 2**31 - 1
# A DNS message has 65535 bytes: header, question, OPT, and each record with a compressed owner name. Names in
# rdata count in full: whether a server compresses them is its own choice.
MAX_MESSAGE = 65535
_MESSAGE_OVERHEAD = 12 + 4 + 11
_RECORD_OVERHEAD = 2 + 2 + 2 + 4 + 2
_SINGLE = frozenset((rdtypes.CNAME, rdtypes.DNAME, rdtypes.SOA))

Key = tuple[str, int]  # owner name and type, which identify an RRset in its zone


@dataclass(frozen=True, slots=True)
class Notes:
    """An RRset's notes: sorted tags, and pairs of value and comment, sorted by value. Empty notes are falsy.

    Notes aren't DNS data, and nodes never receive them. They are part of an RRset in storage, comparisons and
    publications.

    `spellings` are pairs of a value and the text that a client of API v1 sent for it, if the text differs, such as
    `"grüß"` or one string of 300 characters. Clients compare the text that they sent with the text that they receive.
    No other interface shows a spelling.
    """

    tags: tuple[str, ...] = ()
    comments: tuple[tuple[str, str], ...] = ()
    spellings: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tags or self.comments or self.spellings)

    @classmethod
    def create(
        cls,
        tags: Collection[str] = (),
        comments: Mapping[str, str] | None = None,
        spellings: Mapping[str, str] | None = None,
    ) -> "Notes":
        """Create notes from tags, comments and spellings in any order. Empty comments are left out."""
        found = () if comments is None else sorted((value, text) for value, text in comments.items() if text)
        return cls(tuple(sorted(set(tags))), tuple(found), tuple(sorted((spellings or {}).items())))

    @property
    def without_spellings(self) -> "Notes":
        return replace(self, spellings=()) if self.spellings else self

    def comment_of(self, value: str) -> str:
        """Return the comment of a value, or "" if it has none."""
        return next((text for noted, text in self.comments if noted == value), "")

    def of_values(self, values: Collection[str]) -> "Notes":
        """Return the notes, with comments and spellings only for `values`."""
        comments = tuple(pair for pair in self.comments if pair[0] in values)
        spellings = tuple(pair for pair in self.spellings if pair[0] in values)
        if (len(comments), len(spellings)) == (len(self.comments), len(self.spellings)):
            return self
        return Notes(self.tags, comments, spellings)

    def rename_values(self, rename: Callable[[str], str]) -> "Notes":
        """Return the notes with renamed values. Renamed values lose their spellings."""
        if not self.comments and not self.spellings:
            return self
        comments = {rename(value): text for value, text in self.comments}
        spellings = tuple(pair for pair in self.spellings if rename(pair[0]) == pair[0])
        return Notes(self.tags, tuple(sorted(comments.items())), spellings)

    def merge_with(self, other: "Notes") -> "Notes":
        """Merge both notes. If both have a comment or spelling for a value, this object's takes precedence."""
        if not other:
            return self
        comments = {**dict(other.comments), **dict(self.comments)}
        spellings = {**dict(other.spellings), **dict(self.spellings)}
        return Notes.create({*self.tags, *other.tags}, comments, spellings)

    def with_tags(self, tags: Collection[str]) -> "Notes":
        """Return the notes with these tags instead of their own."""
        return replace(self, tags=tuple(sorted(set(tags))))

    def with_spellings(self, spellings: Mapping[str, str]) -> "Notes":
        """Return the notes with these spellings instead of their own."""
        return replace(self, spellings=tuple(sorted(spellings.items())))

    def to_json(self) -> dict[str, Any]:
        """Return the notes as JSON. Empty members are left out, because most RRsets have no notes."""
        found: dict[str, Any] = {}
        if self.tags:
            found["tags"] = list(self.tags)
        if self.comments:
            found["value_comments"] = dict(self.comments)
        if self.spellings:
            found[_SPELLINGS] = dict(self.spellings)
        return found

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> "Notes":
        """Read notes from `to_json` output. Other members are ignored."""
        if "tags" not in obj and "value_comments" not in obj and _SPELLINGS not in obj:
            return NO_NOTES
        comments, spellings = (tuple(sorted(obj.get(key, {}).items())) for key in ("value_comments", _SPELLINGS))
        return cls(tuple(obj.get("tags", ())), comments, spellings)


_SPELLINGS = "spellings"
NO_NOTES = Notes()


def format_notes(notes: Notes) -> str:
    """Format notes as one line of JSON, or as "" if they are empty."""
    return json.dumps(notes.to_json(), ensure_ascii=False) if notes else ""


def parse_notes(text: str) -> Notes:
    """Parse the output of `format_notes`."""
    return Notes.from_json(json.loads(text)) if text else NO_NOTES


def notes_without_spellings(text: str) -> str:
    """Return formatted notes without spellings, as shown to users."""
    return format_notes(parse_notes(text).without_spellings) if _SPELLINGS in text else text


@dataclass(frozen=True, slots=True)
class RRset:
    """A name, type and TTL, plus rdata as canonical strings, sorted by wire form, without duplicates.

    Names in rdata keep their capital letters, which make no difference in DNS. RRsets that differ only in the case of
    names have the same `folded`. `disabled` is the part of `rdata` that is stored but not served.
    """

    name: str
    type: int
    ttl: int
    rdata: tuple[str, ...]
    disabled: tuple[str, ...] = ()
    comment: str = ""
    notes: Notes = NO_NOTES

    @property
    def served(self) -> tuple[str, ...]:
        """The rdata to send to nodes, without disabled values."""
        if not self.disabled:
            return self.rdata
        return tuple(text for text in self.rdata if text not in self.disabled)

    @property
    def folded(self) -> "RRset":
        """The same RRset with all names in lowercase, for comparisons that ignore the case of names."""
        if self.type not in rdata.WITH_NAMES:
            return self
        texts = rdata.fold_all(self.type, self.rdata)
        if texts == self.rdata:
            return self
        ordered = tuple(sorted(texts, key=partial(rdata.to_wire, self.type)))
        off = set(rdata.fold_all(self.type, self.disabled))
        notes = self.notes.rename_values(partial(rdata.fold, self.type))
        return replace(self, rdata=ordered, disabled=tuple(text for text in ordered if text in off), notes=notes)

    def without(self, texts: Iterable[str]) -> "RRset | None":
        """Return the RRset without these canonical values, ignoring the case of names, or None if it is empty."""
        left = rdata.not_among(self.type, self.rdata, texts)
        if not left:
            return None
        disabled = tuple(text for text in self.disabled if text in left)
        return replace(self, rdata=left, disabled=disabled, notes=self.notes.of_values(left))

    def to_json(self) -> dict[str, Any]:
        """Return everything except name and type as JSON."""
        return {
            "ttl": self.ttl,
            "rdata": list(self.rdata),
            "disabled": list(self.disabled),
            "comment": self.comment,
            **self.notes.to_json(),
        }

    @property
    def json_members(self) -> str:
        """The members of `to_json` as JSON text, built directly for speed, because thousands are written at once."""
        return (
            f'"ttl": {self.ttl}, "rdata": [{",".join(map(quoted, self.rdata))}], '
            f'"disabled": [{",".join(map(quoted, self.disabled))}], "comment": {quoted(self.comment)}'
            f"{', ' + json.dumps(self.notes.to_json())[1:-1] if self.notes is not NO_NOTES and self.notes else ''}"
        )

    @classmethod
    def from_json(cls, name: str, type: int, obj: Mapping[str, Any]) -> "RRset":
        """Read an RRset from `to_json` output."""
        notes = Notes.from_json(obj)
        return cls(name, type, obj["ttl"], tuple(obj["rdata"]), tuple(obj["disabled"]), obj["comment"], notes)


def json_text(rrset: RRset | None) -> str:
    """Return the RRset's `to_json` as a JSON string, or `null` for None."""
    return "null" if rrset is None else f"{{{rrset.json_members}}}"


@dataclass(frozen=True, slots=True)
class Change:
    """One RRset before and after a change. None means absent."""

    name: str
    type: int
    before: RRset | None
    after: RRset | None

    @property
    def key(self) -> Key:
        return self.name, self.type


def make(  # noqa: PLR0913  # the fields of an RRset
    name: str,
    type: int,
    ttl: int,
    rdata_texts: Iterable[str],
    disabled: Iterable[str] = (),
    comment: str = "",
    origin: str | None = None,
    notes: Notes = NO_NOTES,
) -> RRset:
    """Create an RRset from text that a user typed. Raise BadName, BadRdata or BadRRset if a part is invalid.

    `disabled` lists rdata that are also in `rdata_texts`. The last of several duplicates is kept, with its capitals.
    Notes on values that the RRset doesn't have are dropped. `notes` refers to values by their canonical text.
    """
    owner = names.parse(name, origin)
    rdata.check_type(type)
    spelled = {rdata.fold(type, text): text for text in (rdata.parse(type, text, origin) for text in rdata_texts)}
    wires = {rdata.to_wire(type, text): text for text in spelled.values()}
    ordered = tuple(wires[wire] for wire in sorted(wires))
    off = {rdata.fold(type, rdata.parse(type, text, origin)) for text in disabled}
    found = RRset(
        owner,
        type,
        ttl,
        ordered,
        tuple(text for text in ordered if rdata.fold(type, text) in off) if off else (),
        comment,
        notes_of_values(notes, type, ordered),
    )
    if not off.issubset(spelled):
        raise _bad(found, gettext("a disabled value is missing from the values"))
    _check(found, wires)
    return found


def with_spellings_of(rrset: RRset, current: RRset) -> RRset:
    """Return the RRset with the spellings of `current`, except for values that have a new spelling.

    Only API v1 uses spellings. A change through another interface must not drop them.
    """
    if not current.notes.spellings:
        return rrset
    stay = {value: text for value, text in current.notes.spellings if value in rrset.rdata}
    spellings = stay | dict(rrset.notes.spellings)
    return replace(rrset, notes=rrset.notes.with_spellings(spellings))


def notes_of_values(notes: Notes, type: int, texts: Collection[str]) -> Notes:
    """Return the notes without comments and spellings of values outside `texts`. Values are written as in `texts`."""
    if notes.comments and type in rdata.WITH_NAMES:
        spelled = {rdata.fold(type, text): text for text in texts}
        notes = notes.rename_values(lambda value: spelled.get(rdata.fold(type, value), value))
    return notes.of_values(texts)


def _check(rrset: RRset, wires: Iterable[bytes]) -> None:
    mnemonic = rdata.type_to_text(rrset.type)
    if not rrset.rdata:
        raise _bad(
            rrset, gettext("{mnemonic} at {name} doesn’t have a value").format(mnemonic=mnemonic, name=rrset.name)
        )
    if not 0 <= rrset.ttl <= MAX_TTL:
        raise _bad(
            rrset,
            gettext("the TTL {ttl} is out of range (0 to {max_ttl} seconds)").format(ttl=rrset.ttl, max_ttl=MAX_TTL),
        )
    if rrset.type in _SINGLE and len(rrset.served) > 1:
        raise _bad(
            rrset,
            gettext("a name can have only one {mnemonic}, but {name} would have {count}").format(
                mnemonic=mnemonic, name=rrset.name, count=len(rrset.served)
            ),
        )
    size = _MESSAGE_OVERHEAD + len(names.to_wire(rrset.name)) + sum(_RECORD_OVERHEAD + len(wire) for wire in wires)
    if size > MAX_MESSAGE:
        raise _bad(
            rrset,
            gettext(
                "the {count} {mnemonic} values at {name} have {size} bytes, but a DNS message can have at most "
                "{max_message}"
            ).format(count=len(rrset.rdata), mnemonic=mnemonic, name=rrset.name, size=size, max_message=MAX_MESSAGE),
        )


def _bad(rrset: RRset, reason: str) -> BadRRset:
    return BadRRset(name=rrset.name, type=rrset.type, reason=reason)


@dataclass(frozen=True, slots=True)
class Serial:
    """An SOA serial, compared as in RFC 1982. If two serials are exactly 2**31 apart, neither is greater."""

    value: int

    def __post_init__(self) -> None:
        if not 0 <= self.value < 2**32:
            raise ValueError(
                gettext("the serial {value} must be from 0 to {highest}").format(value=self.value, highest=2**32 - 1)
            )

    def __lt__(self, other: "Serial") -> bool:
        return 0 < (other.value - self.value) % 2**32 < 2**31

    def __gt__(self, other: "Serial") -> bool:
        return other < self

    def __le__(self, other: "Serial") -> bool:
        return self == other or self < other

    def __ge__(self, other: "Serial") -> bool:
        return self == other or other < self

    @property
    def next(self) -> "Serial":
        """The next serial. 0 is skipped, because tools treat it as `unset`."""
        return Serial((self.value + 1) % 2**32 or 1)
