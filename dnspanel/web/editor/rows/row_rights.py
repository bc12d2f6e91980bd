"""Add the user's rights to change or delete each row in the editor, so pages offer only allowed actions."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dnspanel.accounts.actors.actors import Person, Right, actor_of
from dnspanel.web.frame.rows import DisplayRow
from dnspanel.zones.models import Lock, Zone
from dnspanel.zones.rights.lock_rules import lock_of, locks_against


def with_rights(person: Person, zone: Zone, rows: Iterable[DisplayRow]) -> list[DisplayRow]:
    """Return the rows with the person's rights and the lock, only for display: changes check the rights again."""
    actor = actor_of(person)
    # Zones from a primary elsewhere can't be changed here.
    grants = actor.grants if actor is not None and zone.is_edited_here else ()
    here = [grant for grant in grants if grant.covers_zone(zone.pk, zone.tags, zone.team_id)]

    at_all = {right for grant in here if not grant.is_limited for right in grant.rights}

    def may(right: Right, row: DisplayRow) -> bool:
        return right in at_all or any(
            right in grant.rights and grant.covers_rrset(zone.name, row.name, row.row.change.type) for grant in here
        )

    def with_them(row: DisplayRow) -> DisplayRow:
        # For an RRset that only the draft has, any change is an addition when the draft is published.
        may_change = may(Right.CHANGE if row.row.change.before else Right.ADD, row)
        may_remove = may(Right.REMOVE if row.row.change.before else Right.ADD, row)
        is_known = (row.may_change, row.may_remove) == (may_change, may_remove)
        return row if is_known else replace(row, may_change=may_change, may_remove=may_remove)

    locks = locks_against(actor, zone) if actor is not None and zone.has_locks else ()
    return [_with_lock(row, locks) or with_them(row) for row in rows]


def _with_lock(row: DisplayRow, locks: Sequence[Lock]) -> DisplayRow | None:
    lock = lock_of(locks, row.name, row.row.change.type)
    return replace(row, may_change=False, may_remove=False, lock=lock) if lock else None
