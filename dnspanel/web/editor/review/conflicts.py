"""Show conflicts on the review page with three versions of an RRset: before both changes, published, and drafted."""

from collections.abc import Sequence
from dataclasses import dataclass

from dnspanel.texts import gettext
from dnspanel.web.editor.lines.additions import ONE_VALUE
from dnspanel.web.editor.lines.rrset_form import OFF, RRsetForm
from dnspanel.web.frame.rows import DisplayValue, display_values, row_id
from dnspanel.zones.log.history import HistoryRow, rrset_history
from dnspanel.zones.models import Zone
from dnspanel.zones.plan.merge import Conflict
from replication.dns import names, rdata
from replication.dns.rrset import RRset, format_notes


@dataclass(frozen=True, slots=True)
class Side:
    """A side of a conflict. `rrset` is None if this side has no RRset, and `by` is the published side's revision."""

    key: str
    title: str
    rrset: RRset | None
    values: list[DisplayValue]
    by: HistoryRow | None = None


@dataclass(frozen=True, slots=True)
class DisplayConflict:
    """A conflict with its original, published and drafted version, and a form to combine the last two."""

    conflict: Conflict
    id: str
    owner: str
    type: str
    sides: tuple[Side, Side, Side]
    can_take_both: bool
    form: RRsetForm
    is_open: bool

    def is_by(self, username: str) -> bool:
        """Return True if this person is the author of the published version."""
        theirs = self.sides[1].by
        return theirs is not None and theirs.username == username


def display_conflicts(
    zone: Zone, conflicts: Sequence[Conflict], resolving: RRsetForm | None, resolving_id: int
) -> list[DisplayConflict]:
    return [
        _display(zone, conflict, resolving if conflict.operation_id == resolving_id else None) for conflict in conflicts
    ]


def _display(zone: Zone, conflict: Conflict, resolving: RRsetForm | None) -> DisplayConflict:
    newest = rrset_history(zone=zone, name=conflict.change.name, type=conflict.change.type, limit=1)
    sides = (
        Side("base", gettext("Original version"), conflict.change.before, display_values(conflict.change.before)),
        Side("theirs", gettext("Published version"), conflict.theirs, display_values(conflict.theirs), _first(newest)),
        Side("mine", gettext("Your version"), conflict.change.after, display_values(conflict.change.after)),
    )
    return DisplayConflict(
        conflict=conflict,
        id=row_id(conflict.change.name, conflict.change.type),
        owner=names.owner_text(conflict.change.name, zone.name),
        type=rdata.type_to_text(conflict.change.type),
        sides=sides,
        can_take_both=bool(conflict.change.after and conflict.theirs) and conflict.change.type not in ONE_VALUE,
        form=resolving or _form_of_both(zone, conflict),
        is_open=resolving is not None,
    )


def _first(found: Sequence[tuple[HistoryRow, object]]) -> HistoryRow | None:
    return found[0][0] if found else None


def _form_of_both(zone: Zone, conflict: Conflict) -> RRsetForm:
    """Return a form to resolve the conflict manually, with the drafted values before values that are only published."""
    shape = conflict.change.after or conflict.theirs or conflict.change.before
    assert shape is not None
    initial = RRsetForm.initial_for(zone.name, shape, base_revision=zone.revision, in_lines=False)
    lines = str(initial["values"]).splitlines()
    if conflict.theirs and conflict.change.after:
        theirs = rdata.not_among(shape.type, conflict.theirs.rdata, conflict.change.after.rdata)
        off = conflict.theirs.disabled
        initial["notes"] = format_notes(conflict.change.after.notes.merge_with(conflict.theirs.notes).without_spellings)
        lines += [f"{OFF} {text}" if text in off else text for text in theirs]
    return RRsetForm(initial=initial | {"values": "\n".join(lines)}, zone_name=zone.name, default_ttl=shape.ttl)
