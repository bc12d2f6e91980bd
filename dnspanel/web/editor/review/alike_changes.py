"""Fold alike changes of a review into one line, and choose what a title says about changes. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dnspanel.web.editor.review.review_display import DisplayPlan
from dnspanel.web.frame.row_diffs import DisplayDiff
from dnspanel.zones.log.history import diff
from dnspanel.zones.plan.plan import ZonePlan
from dnspanel.zones.values.readable_texts import readable_text
from replication.dns import names, rdata
from replication.dns.rrset import Change

# The review folds alike changes from this number on.
ALIKE_FROM = 5


class Likeness(NamedTuple):
    """What alike changes have in common: "TTL" or a record type, and the value before and after."""

    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Fold:
    """Alike changes: their number, the number of their zones, and the ones on the displayed page (`diffs`)."""

    likeness: Likeness
    changes: int
    zones: int
    diffs: list[DisplayDiff]


class Title(NamedTuple):
    """What a title says about changes: the fold of all, or the first change, its name, and the number of others."""

    fold: Fold | None
    first: DisplayDiff
    name: str
    more: int


def likeness_of(change: Change) -> Likeness | None:
    """Return what a change of only the TTL or of one value does, or None for another change."""
    before, after = change.before, change.after
    if before is None or after is None:
        return None
    if replace(before, ttl=after.ttl) == after:
        return Likeness("TTL", str(before.ttl), str(after.ttl))
    old, new = (
        [text for text in one.rdata if text not in two.rdata] for one, two in ((before, after), (after, before))
    )
    if len(old) == len(new) == 1 and replace(before, rdata=after.rdata) == after:
        return Likeness(rdata.type_to_text(change.type), readable_text(old[0]), readable_text(new[0]))
    return None


def fold_alike(plans: Sequence[ZonePlan], displayed: Iterable[DisplayPlan] = ()) -> list[Fold]:
    """Return the folds of all alike changes, and move the displayed ones from their zones to the folds."""
    zones: dict[Likeness | None, list[int]] = defaultdict(list)
    for plan in plans:
        for change in plan.changes:
            zones[likeness_of(change)].append(plan.zone.pk)
    folds: dict[Likeness | None, Fold] = {
        each: Fold(each, len(of), len(set(of)), []) for each, of in zones.items() if each and len(of) >= ALIKE_FROM
    }
    for display in displayed if folds else ():
        diffs, display.diffs[:] = list(display.diffs), []
        for each in diffs:
            fold = folds.get(likeness_of(each.diff.change))
            (display.diffs if fold is None else fold.diffs).append(each)
    return list(folds.values())


def title_of(changes: Sequence[tuple[str, Change]]) -> Title | None:
    """Return what a title says about changes of zones (see `_changes_title.html`), or None if there are none."""
    if not changes:
        return None
    (zone, first), more = changes[0], len(changes) - 1
    fold, likeness = None, likeness_of(first)
    if likeness and len(changes) >= ALIKE_FROM and all(likeness_of(change) == likeness for _, change in changes):
        fold = Fold(likeness, len(changes), len({zone for zone, _ in changes}), [])
    return Title(fold, DisplayDiff(zone, diff(first)), names.before_full_stop(names.display(first.name)), more)
