"""Parse the tags of an RRset and the comments on its values, as people type them. Pure.

Tags and comments are stored, compared and published with the RRset. Changing them therefore creates a revision.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from dnspanel.texts import gettext, gettext_noop
from replication.dns import rdata
from replication.dns.rrset import Notes

MOST_TAGS = 20
LONGEST_COMMENT = 500  # for one value
MOST_COMMENTS = 500  # for one RRset
TAG_HINT = gettext_noop("use 1 to 40 lowercase letters, digits, dots, hyphens or underscores")
_TAG = re.compile(r"[a-z0-9._-]{1,40}")


def is_tag(text: str) -> bool:
    """Return True if the text is a valid tag for a zone or an RRset."""
    return _TAG.fullmatch(text) is not None


def rrset_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags in lowercase, sorted and without duplicates. Raise ValueError for invalid or too many tags."""
    found = sorted({tag.strip().lower() for tag in tags} - {""})
    wrong = next((tag for tag in found if not is_tag(tag)), None)
    if wrong is not None:
        raise ValueError(
            gettext("{wrong} isn’t a valid tag: {tag_hint}").format(wrong=wrong[:60], tag_hint=gettext(TAG_HINT))
        )
    if len(found) > MOST_TAGS:
        raise ValueError(
            gettext("an RRset can have at most {most_tags} tags, not {count}").format(
                most_tags=MOST_TAGS, count=len(found)
            )
        )
    return tuple(found)


def notes_in(found: Any, type: int, origin: str | None = None) -> Notes:
    """Parse a client's notes in the format of `Notes.to_json`. Raise ValueError, or the errors of `notes_of`."""
    if not isinstance(found, dict) or found.keys() - {"tags", "value_comments"}:
        raise ValueError(gettext("the object can only have “tags” and “value_comments”"))
    tags, comments = found.get("tags", []), found.get("value_comments", {})
    if not (isinstance(tags, list) and isinstance(comments, dict)):
        raise ValueError(gettext("“tags” must be a list, and “value_comments” must be an object"))
    if not all(isinstance(text, str) for text in (*tags, *comments.values())):
        raise ValueError(gettext("tags and comments must be strings"))
    return notes_of(type, tags, comments, origin)


def notes_of(type: int, tags: Iterable[str], comments: Mapping[str, str], origin: str | None = None) -> Notes:
    """Return the notes of an RRset of this type, with canonical values and tags, and with each comment on one line.

    Raise ValueError for invalid or too many tags, and for too long or too many comments. Raise BadName or BadRdata if a
    value is invalid for the type.
    """
    if len(comments) > MOST_COMMENTS:
        raise ValueError(
            gettext("at most {most_comments} values can have a comment, not {count}").format(
                most_comments=MOST_COMMENTS, count=len(comments)
            )
        )
    flat = {value: " ".join(text.split()) for value, text in comments.items()}
    if any(len(text) > LONGEST_COMMENT for text in flat.values()):
        raise ValueError(
            gettext("the comment on a value can have at most {longest_comment} characters").format(
                longest_comment=LONGEST_COMMENT
            )
        )
    canonical = {rdata.parse(type, value, origin): text for value, text in flat.items()}
    return Notes.create(rrset_tags(tags), canonical)
