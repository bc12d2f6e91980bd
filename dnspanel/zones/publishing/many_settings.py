"""Change the tags and teams of many zones, or delete the zones, after a preview. Verbs.

Everything is read and written in bulk, in one transaction. If a zone changed since the preview, the action is applied
to it completely or not at all. If it isn't applied, the outcome has the reason.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from dnspanel.accounts.actors.actors import Permission, Right, actor_of
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Team
from dnspanel.database.sql import execute
from dnspanel.texts import gettext
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts.draft import Drafter
from dnspanel.zones.errors import Forbidden, RightMissing, SettingsRefused
from dnspanel.zones.governance import publish_guards
from dnspanel.zones.lists.queries import found_zones
from dnspanel.zones.lists.selection import TooMany
from dnspanel.zones.models import Publication, Zone
from dnspanel.zones.names import nesting
from dnspanel.zones.plan import zone_quotas
from dnspanel.zones.publishing import bulk
from dnspanel.zones.rights import access
from dnspanel.zones.rights.lock_rules import refuse_locked
from dnspanel.zones.settings.settings_of_zone import canonical_tags, refuse_gain, teams_to_choose_from
from dnspanel.zones.store.find_zones import lock_zones

MOST_ZONES = 20_000
# Per publication, because nodes delete them in one transaction.
MOST_DELETED = 1_000

_UPDATE = """
UPDATE zones_zone z SET tags = ARRAY(SELECT jsonb_array_elements_text(r.tags)), team_id = r.team
FROM jsonb_to_recordset(%s::jsonb) AS r (id int, tags jsonb, team int) WHERE z.id = r.id
"""


@dataclass(frozen=True, slots=True)
class ZoneSelection:
    """Zones selected by `names`, or all zones that `search` finds."""

    names: tuple[str, ...] = ()
    search: str = ""


@dataclass(frozen=True, slots=True)
class Marks:
    """Tags to add and remove. If `moves` is True, zones also get the new `team`, or leave their team if it is None."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    moves: bool = False
    team: Team | None = None

    def tags_of(self, zone: Zone) -> list[str]:
        """Return the tags that the zone will have. Raise SettingsRefused if it would have too many."""
        return canonical_tags({*zone.tags, *self.add}.difference(self.remove))

    def team_id_of(self, zone: Zone) -> int | None:
        """Return the id of the team that the zone will have, or None for no team."""
        return (self.team.pk if self.team else None) if self.moves else zone.team_id


@dataclass(slots=True)
class ZonesOutcome:
    """The result of an action on zones: changed zones, the number of unchanged ones, and rejected ones."""

    changed: list[Zone] = field(default_factory=list)
    unchanged: int = 0
    refused: list[tuple[Zone, str]] = field(default_factory=list)

    @property
    def rrsets(self) -> int:
        """The total number of RRsets in the changed zones."""
        return sum(zone.rrset_count for zone in self.changed)


def _nothing(_: ZonesOutcome) -> None:
    """Do nothing. This is the default for `in_transaction`."""


def marks_of(*, add: Iterable[str] = (), remove: Iterable[str] = ()) -> Marks:
    """Return Marks with canonical tags to add and remove. Raise SettingsRefused for an invalid tag."""
    return Marks(tuple(canonical_tags(add)), tuple(canonical_tags(remove)))


def preview_marks(*, selection: ZoneSelection, marks: Marks, author: Drafter) -> ZonesOutcome:
    """Return the outcome of `change_marks` without writing or checking quotas. Also raise TooMany."""
    _require_somewhere(author, Right.SETTINGS)
    return outcome_of_marks(selected_zones(selection, author, MOST_ZONES), marks, author)


def change_marks(
    *,
    zones: Sequence[Zone],
    marks: Marks,
    author: Drafter,
    now: datetime,
    in_transaction: Callable[[ZonesOutcome], None] = _nothing,
) -> ZonesOutcome:
    """Change the tags and the team of zones. Return the outcome. The audit log records each zone's old and new values.

    The zones in the outcome have their old values; `in_transaction` is called with the outcome within the transaction.
    The change applies to current values: a tag that another person added since then stays. Deleted zones and zones with
    too many tags are skipped, with the reason. So are zones whose settings the author isn't allowed to change, or over
    which the author would gain a right. Zones that would escape an approval rule, a freeze or a hook are skipped, and
    zones that would change their team while other people's zones are above or below. Raise SettingsRefused for a team
    that the author can't choose, and QuotaExceeded for a team with too many zones. Raise Forbidden if the author isn't
    allowed to change the settings of any zone.
    """
    _require_somewhere(author, Right.SETTINGS)
    with transaction.atomic(durable=True):
        nesting.take_turns(author)
        alive = lock_zones([zone.pk for zone in zones])
        outcome = outcome_of_marks(alive, marks, author)
        living = {zone.pk for zone in alive}
        outcome.refused += [(zone, gettext("The zone no longer exists.")) for zone in zones if zone.pk not in living]
        joining = [zone for zone in outcome.changed if marks.moves and zone.team_id != marks.team_id_of(zone)]
        if marks.team is not None and joining:
            zone_quotas.refuse_zone_of(creator=None, team=marks.team, added=len(joining))
        teams = Team.objects.in_bulk({zone.team_id for zone in outcome.changed if zone.team_id is not None})
        audit.record_each(
            action="zone.settings",
            by=author,
            now=now,
            targets={zone.name: _details(zone, marks, teams) for zone in outcome.changed},
        )
        rows = [
            {"id": zone.pk, "tags": marks.tags_of(zone), "team": marks.team_id_of(zone)} for zone in outcome.changed
        ]
        execute(_UPDATE, [json.dumps(rows)])
        in_transaction(outcome)
    return outcome


def preview_deletion(*, selection: ZoneSelection, author: Drafter) -> ZonesOutcome:
    """Return the outcome of `delete_found` by rights and locks only. Raise TooMany, or Forbidden as `delete_found`."""
    _require_somewhere(author, Right.DELETE_ZONE)
    return deletable(selected_zones(selection, author, MOST_DELETED), author)


def delete_found(
    *, zones: Sequence[Zone], author: Drafter, channel: str, now: datetime, reason: str = "", confirmed: bool = False
) -> tuple[Publication | None, ZonesOutcome]:
    """Delete unchanged zones in one publication. Return it (None if nothing was deleted) and the outcome.

    `zones` are in the state that a person saw. A zone is skipped, with the reason, if it has another revision now, or
    if the author's rights, a rule or a publish hook don't allow its deletion. Raise MassDeletion for too many zones
    unless a person `confirmed` the deletion, and Forbidden if the author can't delete any zone.
    """
    _require_somewhere(author, Right.DELETE_ZONE)
    outcome = deletable(zones, author)
    publication, left = bulk.delete_zones(
        zones=[(zone.pk, zone.revision) for zone in outcome.changed],
        acting=Acting(author, channel, now, reason),
        confirmed=confirmed,
    )
    moved = set(left)
    outcome.refused += [
        (zone, gettext("The zone was changed in the meantime, or a publish hook refused the change."))
        for zone in outcome.changed
        if zone.pk in moved
    ]
    outcome.changed = [zone for zone in outcome.changed if zone.pk not in moved]
    return publication, outcome


def selected_zones(selection: ZoneSelection, author: Drafter, most: int) -> list[Zone]:
    """Return the selected zones that the author can see, sorted by name. Raise TooMany if they exceed `most`."""
    visible: QuerySet[Zone] = access.zones_visible_to(author)
    named = visible.filter(name__in=selection.names)
    found = named if selection.names else found_zones(visible, selection.search)
    zones = list(found.order_by("name")[: most + 1])
    if len(zones) > most:
        raise TooMany
    return zones


def outcome_of_marks(zones: Sequence[Zone], marks: Marks, author: Drafter) -> ZonesOutcome:
    """Return the outcome of these changes. Raise SettingsRefused for a team that the author can't choose."""
    if marks.moves and marks.team is not None and marks.team not in teams_to_choose_from(author):
        raise SettingsRefused(
            "team", gettext("You cannot assign zones to the team {name}.").format(name=marks.team.name)
        )
    outcome = ZonesOutcome()
    leaving = (z for z in zones if set(z.tags).difference(marks.tags_of(z)) or marks.team_id_of(z) != z.team_id)
    rules = publish_guards.rules_about(list(leaving))
    for zone in sorted(zones, key=lambda zone: zone.name):
        try:
            access.require_right(author, zone, Right.SETTINGS)
            tags, team_id = marks.tags_of(zone), marks.team_id_of(zone)
            if (tags, team_id) == (zone.tags, zone.team_id):
                outcome.unchanged += 1
                continue
            refuse_gain(author, zone, tags, team_id)
            publish_guards.refuse_escape(rules, author, zone, tags, team_id)
        except (RightMissing, SettingsRefused) as exc:
            outcome.refused.append((zone, str(exc)))
        else:
            outcome.changed.append(zone)
    _leave_nested(outcome, [zone for zone in outcome.changed if zone.team_id != marks.team_id_of(zone)], author)
    return outcome


def _leave_nested(outcome: ZonesOutcome, moving: Sequence[Zone], author: Drafter) -> None:
    """Reject zones in `moving` above or below other people's zones, because the new team would control those names."""
    if not moving or nesting.is_unbounded(author):
        return
    refusals = nesting.refusals_by_others(
        zone_names=[zone.name for zone in moving], own=[zone.pk for zone in moving], author=author
    )
    outcome.refused += [(zone, str(refusals[zone.name])) for zone in moving if zone.name in refusals]
    outcome.changed = [zone for zone in outcome.changed if zone.name not in refusals]


def _details(zone: Zone, marks: Marks, teams: dict[int, Team]) -> dict[str, object]:
    team_before = teams[zone.team_id].name if zone.team_id in teams else ""
    return {
        "tags": marks.tags_of(zone),
        "tags_before": zone.tags,
        "team": (marks.team.name if marks.team else "") if marks.moves else team_before,
        "team_before": team_before,
    }


def deletable(zones: Sequence[Zone], author: Drafter) -> ZonesOutcome:
    """Return an outcome with the zones that the author is allowed to delete, and the rejected ones."""
    outcome = ZonesOutcome()
    for zone in zones:
        try:
            access.require_right(author, zone, Right.DELETE_ZONE)
            refuse_locked(author, zone, None)
        except RightMissing as exc:
            outcome.refused.append((zone, str(exc)))
        else:
            outcome.changed.append(zone)
    return outcome


def _require_somewhere(author: Drafter, right: Right) -> None:
    actor = actor_of(author)
    if actor is None or not actor.may_somewhere(right):
        raise Forbidden(Permission.EDIT)
