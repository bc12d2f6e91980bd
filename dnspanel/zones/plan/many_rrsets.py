"""Many RRsets changed alike: what each of them becomes. Pure.

A pattern is text with stars, each of which stands for any text; it is compared with a whole value, from left to right
and without going back, so that its cost is linear in the text whatever the pattern is.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain

from dnspanel.texts import gettext
from dnspanel.zones.values.absolute_values import parse_absolute
from dnspanel.zones.values.rrset_notes import rrset_tags
from replication.dns import rdata, rdtypes
from replication.dns.rrset import MAX_TTL, RRset, make
from replication.errors import BadRRset, ReplicationError

MOST_STARS = 8
MOST_VALUES = 100
LONGEST_TEXT = 4_000  # of what is looked for, and of what comes in its place


@dataclass(frozen=True, slots=True)
class Refused:
    """An RRset that stays as it is, and why."""

    rrset: RRset
    reason: str


# What an RRset becomes: the same one where nothing is to change, None where it is deleted. Raises ReplicationError.
Act = Callable[[RRset], RRset | None]


def set_ttl(ttl: int) -> Act:
    """The RRset has this TTL, in seconds."""
    if 0 <= ttl <= MAX_TTL:
        return lambda rrset: replace(rrset, ttl=ttl)

    def act(rrset: RRset) -> RRset:  # which says what is wrong
        return make(rrset.name, rrset.type, ttl, rrset.rdata, rrset.disabled, rrset.comment, notes=rrset.notes)

    return act


def set_comment(comment: str) -> Act:
    """The RRset has this comment; "" takes it away."""
    return lambda rrset: replace(rrset, comment=comment)


def add_tags(tags: Sequence[str]) -> Act:
    """The RRset has these tags besides. Raises ValueError for none, and for what is not a tag."""
    added = _tags(tags)
    return lambda rrset: replace(rrset, notes=rrset.notes.with_tags(_fitting((*rrset.notes.tags, *added), rrset)))


def remove_tags(tags: Sequence[str]) -> Act:
    """The RRset lacks these tags. Raises ValueError as `add_tags` does."""
    gone = frozenset(_tags(tags))
    return lambda rrset: replace(rrset, notes=rrset.notes.with_tags([t for t in rrset.notes.tags if t not in gone]))


def _tags(typed: Sequence[str]) -> tuple[str, ...]:
    found = rrset_tags(typed)
    if not found:
        raise ValueError(gettext("say which tags"))
    return found


def _fitting(tags: Sequence[str], rrset: RRset) -> tuple[str, ...]:
    """The tags, if an RRset can have them all. Raises BadRRset."""
    try:
        return rrset_tags(tags)
    except ValueError as exc:
        raise BadRRset(name=rrset.name, type=rrset.type, reason=str(exc)) from exc


def switch(*, on: bool) -> Act:
    """All records of the RRset are answered, or none is."""
    return lambda rrset: replace(rrset, disabled=() if on else rrset.rdata)


def set_values(texts: Sequence[str]) -> Act:
    """The RRset has these values, as a person types them, and no others; those that it had already stay disabled.

    Raises ValueError for none, and for more or longer ones than an act takes.
    """
    values = _checked(texts)

    def act(rrset: RRset) -> RRset:
        parsed = [parse_absolute(rrset.type, text) for text in values]
        disabled = rdata.in_both(rrset.type, rrset.disabled, parsed)
        return make(rrset.name, rrset.type, rrset.ttl, parsed, disabled, rrset.comment, notes=rrset.notes)

    return act


def add_values(texts: Sequence[str]) -> Act:
    """The RRset has these values besides. Raises ValueError as `set_values` does."""
    values = _checked(texts)

    def act(rrset: RRset) -> RRset:
        texts = [*rrset.rdata, *(parse_absolute(rrset.type, text) for text in values)]
        return make(rrset.name, rrset.type, rrset.ttl, texts, rrset.disabled, rrset.comment, notes=rrset.notes)

    return act


def remove_values(texts: Sequence[str]) -> Act:
    """The RRset lacks these values, and is gone when none is left; a zone keeps its SOA.

    What is no value of its type is none that it has. Raises ValueError as `set_values` does.
    """
    values = _checked(texts)

    def act(rrset: RRset) -> RRset | None:
        gone = set()
        for text in values:
            with suppress(ReplicationError):
                gone.add(rdata.parse(rrset.type, text))
        return rrset.without(gone) or delete(rrset)

    return act


def _checked(texts: Sequence[str]) -> Sequence[str]:
    if not 1 <= len(texts) <= MOST_VALUES or max(map(len, texts)) > LONGEST_TEXT:
        raise ValueError(
            gettext("1 to {most_values} values are needed, of at most {longest_text} characters each").format(
                most_values=MOST_VALUES, longest_text=LONGEST_TEXT
            )
        )
    return tuple(texts)


def delete(rrset: RRset) -> RRset | None:
    """The RRset is gone; a zone keeps its SOA."""
    return rrset if rrset.type == rdtypes.SOA else None


def replace_text(find: str, replacement: str, *, is_pattern: bool = False) -> Act:
    """Each value in which the text is found has the replacement in its place; with a pattern, each that it fits.

    The nth star of the replacement is what the nth star of the pattern stood for. Values are compared as they are
    stored, those of types with names in any capitals; what they become is read as if somebody had typed it. Raises
    ValueError for a text that is empty or longer than LONGEST_TEXT, and for a pattern with more than MOST_STARS stars,
    or fewer than its replacement has.
    """
    if not find or max(len(find), len(replacement)) > LONGEST_TEXT:
        raise ValueError(
            gettext("what is looked for has 1 to {longest_text} characters, and its replacement no more").format(
                longest_text=LONGEST_TEXT
            )
        )
    if is_pattern:
        parts, links = find.split("*"), replacement.split("*")
        if len(parts) > MOST_STARS + 1:
            raise ValueError(gettext("a pattern has at most {most_stars} stars").format(most_stars=MOST_STARS))
        if len(links) > len(parts):
            raise ValueError(gettext("the replacement has more stars than what is looked for"))

    def changed(type: int, text: str) -> str:
        any_case = type in rdata.WITH_NAMES
        if not is_pattern:
            return _replaced(text, find, replacement) if any_case else text.replace(find, replacement)
        stars = stars_of(parts, text, any_case=any_case)
        if stars is None:
            return text
        return "".join(chain.from_iterable(zip(links, [*stars[: len(links) - 1], ""], strict=True)))

    def act(rrset: RRset) -> RRset:
        texts = {text: changed(rrset.type, text) for text in rrset.rdata}
        if all(before == after for before, after in texts.items()):
            return rrset
        parsed = {text: parse_absolute(rrset.type, after) for text, after in texts.items()}
        disabled = [parsed[text] for text in rrset.disabled]
        notes = rrset.notes.renamed(parsed.__getitem__)
        return make(rrset.name, rrset.type, rrset.ttl, parsed.values(), disabled, rrset.comment, notes=notes)

    return act


def _replaced(text: str, find: str, replacement: str) -> str:
    """The text with the replacement wherever `find` is in it, in any capitals. Rdata are ASCII."""
    compared, wanted, pieces, at = text.lower(), find.lower(), [], 0
    while (found := compared.find(wanted, at)) >= 0:
        pieces += [text[at:found], replacement]
        at = found + len(wanted)
    return "".join([*pieces, text[at:]])


def stars_of(parts: Sequence[str], text: str, *, any_case: bool = False) -> list[str] | None:
    """What each star between these parts stands for in the text, the shortest from the left; None where it does not."""
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


def try_act(act: Act, rrset: RRset) -> RRset | Refused | None:
    """What the RRset becomes, or why it cannot be."""
    try:
        return act(rrset)
    except ReplicationError as exc:
        return Refused(rrset, str(exc))
