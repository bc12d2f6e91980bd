"""Actions that change many RRsets in the same way, with a result for each RRset. Pure.

A pattern is text with asterisks. Each asterisk matches any text. The pattern is compared with a whole value, from left
to right and without backtracking, so that the time is linear in the length of the text for any pattern.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain

from dnspanel.texts import gettext
from dnspanel.zones.values.absolute_values import parse_absolute, reason_in_zone
from dnspanel.zones.values.rrset_notes import rrset_tags
from replication.dns import rdata, rdtypes
from replication.dns.rrset import MAX_TTL, RRset, make
from replication.errors import BadRdata, BadRRset, ReplicationError

MOST_STARS = 8
MOST_VALUES = 100
LONGEST_TEXT = 4_000  # for the text to find, and for its replacement


@dataclass(frozen=True, slots=True)
class Refused:
    """An RRset that the action can't change, and the reason."""

    rrset: RRset
    reason: str


# Returns the new RRset, the same RRset to change nothing, or None to delete it. Raises ReplicationError.
Act = Callable[[RRset], RRset | None]


def set_ttl(ttl: int) -> Act:
    """Return an action that sets the TTL, in seconds. The action raises an error if the TTL is out of range."""
    if 0 <= ttl <= MAX_TTL:
        return lambda rrset: replace(rrset, ttl=ttl)

    def act(rrset: RRset) -> RRset:  # raises the error for the invalid TTL
        return make(rrset.name, rrset.type, ttl, rrset.rdata, rrset.disabled, rrset.comment, notes=rrset.notes)

    return act


def set_comment(comment: str) -> Act:
    """Return an action that sets the comment; "" removes it."""
    return lambda rrset: replace(rrset, comment=comment)


def add_tags(tags: Sequence[str]) -> Act:
    """Return an action that adds tags. Raise ValueError for an empty list or an invalid tag."""
    added = _tags(tags)
    return lambda rrset: replace(rrset, notes=rrset.notes.with_tags(_fitting((*rrset.notes.tags, *added), rrset)))


def remove_tags(tags: Sequence[str]) -> Act:
    """Return an action that removes tags. Raise ValueError for an empty list or an invalid tag."""
    gone = frozenset(_tags(tags))
    return lambda rrset: replace(rrset, notes=rrset.notes.with_tags([t for t in rrset.notes.tags if t not in gone]))


def _tags(typed: Sequence[str]) -> tuple[str, ...]:
    found = rrset_tags(typed)
    if not found:
        raise ValueError(gettext("enter at least one tag"))
    return found


def _fitting(tags: Sequence[str], rrset: RRset) -> tuple[str, ...]:
    """Return the tags in lowercase, sorted. Raise BadRRset if one RRset can't have this many tags."""
    try:
        return rrset_tags(tags)
    except ValueError as exc:
        raise BadRRset(name=rrset.name, type=rrset.type, reason=str(exc)) from exc


def switch(*, on: bool) -> Act:
    """Return an action that enables or disables all records of the RRset."""
    return lambda rrset: replace(rrset, disabled=() if on else rrset.rdata)


def set_values(texts: Sequence[str]) -> Act:
    """Return an action that replaces the values. `texts` has the new values in the form that a person types.

    Disabled values stay disabled. Raise ValueError for an empty list, and for too many or too long values.
    """
    values = _check_texts(texts)

    def act(rrset: RRset) -> RRset:
        parsed = [parse_absolute(rrset.type, text) for text in values]
        disabled = rdata.in_both(rrset.type, rrset.disabled, parsed)
        return make(rrset.name, rrset.type, rrset.ttl, parsed, disabled, rrset.comment, notes=rrset.notes)

    return act


def add_values(texts: Sequence[str]) -> Act:
    """Return an action that adds values, in the form that a person types. Raise ValueError like `set_values`."""
    values = _check_texts(texts)

    def act(rrset: RRset) -> RRset:
        texts = [*rrset.rdata, *(parse_absolute(rrset.type, text) for text in values)]
        return make(rrset.name, rrset.type, rrset.ttl, texts, rrset.disabled, rrset.comment, notes=rrset.notes)

    return act


def remove_values(texts: Sequence[str]) -> Act:
    """Return an action that removes values. It deletes an RRset that has no values left, except an SOA.

    A text that isn't valid for the RRset's type matches no value. Raise ValueError like `set_values`.
    """
    values = _check_texts(texts)

    def act(rrset: RRset) -> RRset | None:
        gone = set()
        for text in values:
            with suppress(ReplicationError):
                gone.add(rdata.parse(rrset.type, text))
        return rrset.without(gone) or delete(rrset)

    return act


def _check_texts(texts: Sequence[str]) -> Sequence[str]:
    if not 1 <= len(texts) <= MOST_VALUES or max(map(len, texts)) > LONGEST_TEXT:
        raise ValueError(
            gettext("enter 1 to {most_values} values of at most {longest_text} characters each").format(
                most_values=MOST_VALUES, longest_text=LONGEST_TEXT
            )
        )
    return tuple(texts)


def delete(rrset: RRset) -> RRset | None:
    """Return None to delete the RRset, or the RRset itself if it is an SOA. This function is an action."""
    return rrset if rrset.type == rdtypes.SOA else None


def replace_text(find: str, replacement: str, *, is_pattern: bool = False) -> Act:
    """Return an action that replaces `find` in each value.

    With `is_pattern`, it replaces each value that matches the pattern. The nth asterisk of the replacement becomes the
    text that the nth asterisk of the pattern matched. Values are compared as stored. Case is ignored in types with
    names in their rdata. The results are parsed like typed values. Raise ValueError if `find` is empty, or if a text is
    longer than LONGEST_TEXT. Also raise it if a pattern has more than MOST_STARS asterisks, or fewer asterisks than its
    replacement.
    """
    if not find or max(len(find), len(replacement)) > LONGEST_TEXT:
        raise ValueError(
            gettext("enter a search text and a replacement of at most {longest_text} characters each").format(
                longest_text=LONGEST_TEXT
            )
        )
    if is_pattern:
        parts, links = find.split("*"), replacement.split("*")
        if len(parts) > MOST_STARS + 1:
            raise ValueError(gettext("a pattern can have at most {most_stars} asterisks").format(most_stars=MOST_STARS))
        if len(links) > len(parts):
            raise ValueError(gettext("the replacement has more asterisks than the search text"))

    def replace_in(type: int, text: str) -> str:
        any_case = type in rdata.WITH_NAMES
        if not is_pattern:
            return _replace_in_any_case(text, find, replacement) if any_case else text.replace(find, replacement)
        stars = stars_of(parts, text, any_case=any_case)
        if stars is None:
            return text
        return "".join(chain.from_iterable(zip(links, [*stars[: len(links) - 1], ""], strict=True)))

    def act(rrset: RRset) -> RRset:
        texts = {text: replace_in(rrset.type, text) for text in rrset.rdata}
        if all(before == after for before, after in texts.items()):
            return rrset
        parsed = {text: parse_absolute(rrset.type, after) for text, after in texts.items()}
        disabled = [parsed[text] for text in rrset.disabled]
        notes = rrset.notes.rename_values(parsed.__getitem__)
        return make(rrset.name, rrset.type, rrset.ttl, parsed.values(), disabled, rrset.comment, notes=notes)

    return act


def _replace_in_any_case(text: str, find: str, replacement: str) -> str:
    """Replace `find` in the text, ignoring case. Both texts must be ASCII, like all rdata."""
    compared, wanted, pieces, at = text.lower(), find.lower(), [], 0
    while (found := compared.find(wanted, at)) >= 0:
        pieces += [text[at:found], replacement]
        at = found + len(wanted)
    return "".join([*pieces, text[at:]])


def stars_of(parts: Sequence[str], text: str, *, any_case: bool = False) -> list[str] | None:
    """Return the texts that the asterisks between `parts` match, or None if the text doesn't match.

    From left to right, each asterisk matches the shortest possible text.
    """
    compared = text
    if any_case:
        compared, parts = text.lower(), [part.lower() for part in parts]
    if len(parts) == 1:
        return [] if compared == parts[0] else None
    first, *between, last = parts
    if len(text) < len(first) + len(last) or not (compared.startswith(first) and compared.endswith(last)):
        return None
    at, end = len(first), len(text) - len(last)
    stars = []
    for part in between:
        found = compared.find(part, at, end)
        if found < 0:
            return None
        stars.append(text[at:found])
        at = found + len(part)
    return [*stars, text[at:end]]


def try_act(act: Act, rrset: RRset, zone_name: str) -> RRset | Refused | None:
    """Apply an action to an RRset of a zone. Return its result (None deletes the RRset), or Refused with the reason."""
    try:
        return act(rrset)
    except BadRdata as exc:
        return Refused(rrset, reason_in_zone(exc, zone_name))
    except ReplicationError as exc:
        return Refused(rrset, str(exc))
