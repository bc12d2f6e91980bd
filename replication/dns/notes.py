"""Define an RRset's notes, which aren't DNS data: tags, and a comment and a spelling for each value. Pure.

Nodes never receive notes. They are defined in this package because they belong to the RRset in storage, comparisons and
publications.
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Notes:
    """An RRset's notes: sorted tags, and pairs of value and comment, sorted by value. Empty notes are falsy.

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
