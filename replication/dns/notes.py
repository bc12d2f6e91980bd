"""What people note about an RRset beside its comment: tags, and a comment for each of its values. Pure.

It never travels to nodes; it is here because it belongs to the RRset wherever that is kept, compared and published.
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Notes:
    """Tags, sorted; and pairs of a value and its comment, sorted by the value's text. False when there is nothing."""

    tags: tuple[str, ...] = ()
    comments: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tags or self.comments)

    @classmethod
    def noted(cls, tags: Collection[str] = (), comments: Mapping[str, str] | None = None) -> "Notes":
        """These, in their order; a comment that is empty is none."""
        found = () if comments is None else sorted((value, text) for value, text in comments.items() if text)
        return cls(tuple(sorted(set(tags))), tuple(found))

    def comment_of(self, value: str) -> str:
        """The comment of a value; empty if it has none."""
        return next((text for noted, text in self.comments if noted == value), "")

    def of_values(self, values: Collection[str]) -> "Notes":
        """The same without comments of what is not among the values."""
        kept = tuple(pair for pair in self.comments if pair[0] in values)
        return self if len(kept) == len(self.comments) else Notes(self.tags, kept)

    def renamed(self, rename: Callable[[str], str]) -> "Notes":
        """The same for values that are written otherwise."""
        if not self.comments:
            return self
        return Notes(self.tags, tuple(sorted({rename(value): text for value, text in self.comments}.items())))

    def joined(self, other: "Notes") -> "Notes":
        """Both; where both have a comment for a value, this one's."""
        if not other:
            return self
        return Notes.noted({*self.tags, *other.tags}, {**dict(other.comments), **dict(self.comments)})

    def with_tags(self, tags: Collection[str]) -> "Notes":
        """The same with these tags and no others."""
        return Notes(tuple(sorted(set(tags))), self.comments)

    def to_json(self) -> dict[str, Any]:
        """Only what there is: most RRsets have none of it."""
        found: dict[str, Any] = {}
        if self.tags:
            found["tags"] = list(self.tags)
        if self.comments:
            found["value_comments"] = dict(self.comments)
        return found

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> "Notes":
        """The inverse of `to_json`; other members are passed over."""
        if "tags" not in obj and "value_comments" not in obj:
            return NO_NOTES
        return cls(tuple(obj.get("tags", ())), tuple(sorted(obj.get("value_comments", {}).items())))


NO_NOTES = Notes()


def format_notes(notes: Notes) -> str:
    """As one text on one line, which is empty for none."""
    return json.dumps(notes.to_json(), ensure_ascii=False) if notes else ""


def parse_notes(text: str) -> Notes:
    """The inverse of `format_notes`."""
    return Notes.from_json(json.loads(text)) if text else NO_NOTES
