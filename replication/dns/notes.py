"""What is kept of an RRset beside its values and comment: tags, and a comment and a spelling for each value. Pure.

It never travels to nodes; it is here because it belongs to the RRset wherever that is kept, compared and published.
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Notes:
    """Tags, sorted; and pairs of a value and its comment, sorted by the value's text. False when there is nothing.

    `spellings` are pairs of a value and how a client of API v1 wrote it, where that is another text: one string of 300
    characters, `"grüß"`. Clients compare what they sent with what they get. Nobody else is shown a spelling.
    """

    tags: tuple[str, ...] = ()
    comments: tuple[tuple[str, str], ...] = ()
    spellings: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tags or self.comments or self.spellings)

    @classmethod
    def noted(
        cls,
        tags: Collection[str] = (),
        comments: Mapping[str, str] | None = None,
        spellings: Mapping[str, str] | None = None,
    ) -> "Notes":
        """These, in their order; a comment that is empty is none."""
        found = () if comments is None else sorted((value, text) for value, text in comments.items() if text)
        return cls(tuple(sorted(set(tags))), tuple(found), tuple(sorted((spellings or {}).items())))

    @property
    def without_spellings(self) -> "Notes":
        """The same without spellings."""
        return replace(self, spellings=()) if self.spellings else self

    def comment_of(self, value: str) -> str:
        """The comment of a value; empty if it has none."""
        return next((text for noted, text in self.comments if noted == value), "")

    def of_values(self, values: Collection[str]) -> "Notes":
        """The same without comments and spellings of what is not among the values."""
        comments = tuple(pair for pair in self.comments if pair[0] in values)
        spellings = tuple(pair for pair in self.spellings if pair[0] in values)
        if (len(comments), len(spellings)) == (len(self.comments), len(self.spellings)):
            return self
        return Notes(self.tags, comments, spellings)

    def renamed(self, rename: Callable[[str], str]) -> "Notes":
        """The same for values that are written otherwise. Spellings of values that change are dropped."""
        if not self.comments and not self.spellings:
            return self
        comments = {rename(value): text for value, text in self.comments}
        spellings = tuple(pair for pair in self.spellings if rename(pair[0]) == pair[0])
        return Notes(self.tags, tuple(sorted(comments.items())), spellings)

    def joined(self, other: "Notes") -> "Notes":
        """Both; where both have something for a value, this one's."""
        if not other:
            return self
        comments = {**dict(other.comments), **dict(self.comments)}
        spellings = {**dict(other.spellings), **dict(self.spellings)}
        return Notes.noted({*self.tags, *other.tags}, comments, spellings)

    def with_tags(self, tags: Collection[str]) -> "Notes":
        """The same with these tags and no others."""
        return replace(self, tags=tuple(sorted(set(tags))))

    def with_spellings(self, spellings: Mapping[str, str]) -> "Notes":
        """The same with these spellings and no others."""
        return replace(self, spellings=tuple(sorted(spellings.items())))

    def to_json(self) -> dict[str, Any]:
        """Only what there is: most RRsets have none of it."""
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
        """The inverse of `to_json`; other members are passed over."""
        if "tags" not in obj and "value_comments" not in obj and _SPELLINGS not in obj:
            return NO_NOTES
        comments, spellings = (tuple(sorted(obj.get(key, {}).items())) for key in ("value_comments", _SPELLINGS))
        return cls(tuple(obj.get("tags", ())), comments, spellings)


_SPELLINGS = "spellings"
NO_NOTES = Notes()


def format_notes(notes: Notes) -> str:
    """As one text on one line, which is empty for none."""
    return json.dumps(notes.to_json(), ensure_ascii=False) if notes else ""


def parse_notes(text: str) -> Notes:
    """The inverse of `format_notes`."""
    return Notes.from_json(json.loads(text)) if text else NO_NOTES


def notes_without_spellings(text: str) -> str:
    """Return notes as one text, as they are given to people: without spellings."""
    return format_notes(parse_notes(text).without_spellings) if _SPELLINGS in text else text
