"""Fold alike changes into one line of the review, and describe changes in a title. Pure."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dnspanel.texts import gettext, gettext_lazy, ngettext
from dnspanel.web.frame.row_diffs import DisplayDiff
from dnspanel.zones.plan.plan import ZonePlan
from dnspanel.zones.values.readable_texts import readable_text
from replication.dns import names, rdata
from replication.dns.rrset import Change

# The review folds alike changes from this number on.
ALIKE_FROM = 5
# The titles for one change, by whether the RRset existed before and exists after.
_TITLES = {
    (False, True): gettext_lazy("Add {type} of {name}"),
    (True, True): gettext_lazy("Change {type} of {name}"),
    (True, False): gettext_lazy("Delete {type} of {name}"),
}

# What changes ("TTL" or a record type), and the values before and after.
Likeness = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Fold:
    """Alike changes: their number, the number of their zones, and the ones on the displayed page (`diffs`)."""

    likeness: Likeness
    changes: int
    zones: int
    diffs: list[DisplayDiff] = field(default_factory=list)

    @property
    def text(self) -> str:
        """A description of the changes, such as `TTL 3600 → 1200 on 258 records in 100 zones`."""
        what, before, after = self.likeness
        pattern = ngettext(
            "{what} {before} → {after} on {changes:,} RRset",
            "{what} {before} → {after} on {changes:,} RRsets",
            self.changes,
        )
        if self.zones > 1:
            pattern = ngettext(
                "{what} {before} → {after} on {changes:,} RRset in {zones:,} zones",
                "{what} {before} → {after} on {changes:,} RRsets in {zones:,} zones",
                self.changes,
            )
        return pattern.format(
            what=what, before=readable_text(before), after=readable_text(after), changes=self.changes, zones=self.zones
        )


def likeness_of(change: Change) -> Likeness | None:
    """Return what a change of only the TTL or of one value does, or None for another change."""
    before, after = change.before, change.after
    if before is None or after is None:
        return None
    if replace(before, ttl=after.ttl) == after:
        return "TTL", str(before.ttl), str(after.ttl)
    old, new = (
        [text for text in one.rdata if text not in two.rdata] for one, two in ((before, after), (after, before))
    )
    if len(old) == len(new) == 1 and replace(before, rdata=after.rdata) == after:
        return rdata.type_to_text(change.type), old[0], new[0]
    return None


def folds_of(plans: Sequence[ZonePlan]) -> dict[Likeness, Fold]:
    """Return the folds of all alike changes, without their diffs, in the order of the plans."""
    zones: dict[Likeness, list[int]] = defaultdict(list)
    for plan in plans:
        for change in plan.changes:
            if (likeness := likeness_of(change)) is not None:
                zones[likeness].append(plan.zone.pk)
    return {each: Fold(each, len(of), len(set(of))) for each, of in zones.items() if len(of) >= ALIKE_FROM}


def title_of(plans: Sequence[ZonePlan]) -> str:
    """Describe the changes in one line, such as `Change MX of example.com and 3 more`."""
    changes = [change for plan in plans for change in plan.changes]
    folds = list(folds_of(plans).values())
    if len(folds) == 1 and folds[0].changes == len(changes):
        return folds[0].text
    if not changes:
        return gettext("No changes")
    first, more = changes[0], len(changes) - 1
    title = _TITLES[first.before is not None, first.after is not None]
    if more:
        title = gettext("Change {type} of {name} and {more} more")
    name = names.before_full_stop(names.display(first.name))
    return title.format(type=rdata.type_to_text(first.type), name=name, more=more)
