"""Compute the steps that make a zone match a template without losing manual edits. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from dnspanel.texts import gettext
from replication.dns import rdata, rdtypes
from replication.dns.rrset import Change, Key, RRset, make, notes_of_values
from replication.errors import BadRRset

RRsets = Mapping[Key, RRset]


class Act(StrEnum):
    """The kind of change to one RRset."""

    ADD = "add"
    CHANGE = "change"
    REMOVE = "remove"
    CONFLICT = "conflict"  # edited by hand, or older than the template: a person decides
    SAME = "same"


class Outcome(StrEnum):
    """The kind of a run's result for one zone."""

    CHANGE = "change"
    CONFLICT = "conflict"  # edited by hand, and kept unless a person chooses to overwrite it
    REFUSED = "refused"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Step:
    """The template's effect on one RRset. In a conflict, `change` replaces the zone's RRset with the template's."""

    act: Act
    change: Change
    message: str = ""

    @property
    def changes(self) -> bool:
        return self.act is not Act.SAME


def compare(now: RRsets, wanted: RRsets, bases: Sequence[RRsets], *, apex: str) -> list[Step]:
    """Return the steps that make a zone match the template, sorted by name and type.

    `now` has the zone's RRsets at the keys of `wanted` and `bases`. Each base has the RRsets that one version of the
    template put into the zone. If the zone's RRset is the same as in a base, or both lack it, it was not edited
    manually and follows the template. Without bases, only RRsets that the zone lacks follow the template.

    Any other RRset that differs is a conflict. The apex NS RRset is never removed, because a zone needs NS records.
    Differences in comments and tags are ignored. An RRset keeps its comment if the template's RRset has none.
    """
    keys = dict.fromkeys([*wanted, *(key for base in bases for key in base)])
    return [_step(key, now.get(key), wanted.get(key), [base.get(key) for base in bases], apex) for key in sorted(keys)]


def _step(key: Key, now: RRset | None, wanted: RRset | None, bases: Sequence[RRset | None], apex: str) -> Step:
    after = wanted
    if now is not None and wanted is not None:
        notes = notes_of_values(wanted.notes.merge_with(now.notes), wanted.type, wanted.rdata)
        after = replace(wanted, comment=wanted.comment or now.comment, notes=notes)
    change = Change(*key, now, after)
    if _is_same(now, wanted) or (wanted is None and key == (apex, rdtypes.NS)):
        return Step(Act.SAME, Change(*key, now, now))
    is_untouched = any(_is_same(now, base) for base in bases) if bases else now is None
    if not is_untouched:
        return Step(Act.CONFLICT, change, _reason(now, wanted, bases))
    return Step(Act.ADD if now is None else Act.REMOVE if wanted is None else Act.CHANGE, change)


def _reason(now: RRset | None, wanted: RRset | None, bases: Sequence[RRset | None]) -> str:
    was_made = any(base is not None for base in bases)
    if now is None:
        return gettext("Record deleted by hand.")
    if not was_made:
        return gettext("Record already exists, but not from the template.")
    if wanted is None:
        return gettext("Record edited by hand and no longer in the template.")
    return gettext("Record edited by hand.")


def add_beside(now: RRsets, wanted: RRsets) -> list[Step]:
    """Return the steps that add a snippet's records to the existing ones, sorted by name and type.

    An existing RRset keeps its TTL. If the records can't form one RRset, for example because the type allows only one
    record, the step is a conflict, and the step's change replaces the existing records.
    """
    return [_beside(now.get(key), wanted[key]) for key in sorted(wanted)]


def _beside(now: RRset | None, wanted: RRset) -> Step:
    key = wanted.name, wanted.type
    if now is None:
        return Step(Act.ADD, Change(*key, None, wanted))
    missing = rdata.not_among(wanted.type, wanted.rdata, now.rdata)
    if not missing:
        return Step(Act.SAME, Change(*key, now, now))
    disabled = (*now.disabled, *(text for text in wanted.disabled if text in missing))
    try:
        texts, notes = (*now.rdata, *missing), now.notes.merge_with(wanted.notes)
        both = make(wanted.name, wanted.type, now.ttl, texts, disabled, now.comment, notes=notes)
    except BadRRset:
        word = rdata.type_to_text(wanted.type)
        reason = gettext("Another {type} record already exists, and a second one isn’t allowed.").format(type=word)
        return Step(Act.CONFLICT, Change(*key, now, wanted), reason)
    return Step(Act.CHANGE, Change(*key, now, both))


def _is_same(one: RRset | None, other: RRset | None) -> bool:
    if one is None or other is None:
        return one is other
    one, other = one.folded, other.folded
    return (one.ttl, one.rdata, set(one.disabled)) == (other.ttl, other.rdata, set(other.disabled))
