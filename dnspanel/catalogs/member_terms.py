"""Set the primaries, team and tags of a catalog's members, as the rules of their groups define. Verbs."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from dnspanel.accounts.models import Team
from dnspanel.catalogs.models import Catalog, Listing, Rule, State
from dnspanel.catalogs.turn import BATCH, Turn
from dnspanel.primaries import set_up_primaries as primaries
from dnspanel.primaries.models import TransferredZone
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import ZoneError
from dnspanel.zones.governance import publish_guards
from dnspanel.zones.governance.parts import REPLACE
from dnspanel.zones.governance.publish_hooks import after_hooks
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.settings.settings_of_zone import change_settings


def give_terms(turn: Turn) -> None:
    """Set the primaries, team and tags of members by their group's rule, for at most BATCH members of each rule."""
    here = Listing.objects.filter(catalog=turn.catalog, state=State.MEMBER, zone__deleted_at=None)
    _give_rules(turn, here)
    for rule in (None, *turn.rules.values()):
        of_rule = here.filter(rule=rule)
        columns = columns_of(turn.catalog, rule)
        rows = TransferredZone.objects.filter(pk__in=of_rule.values("zone")).exclude(zone__transferred_from="")
        ids = list(rows.exclude(**columns).order_by("pk").values_list("pk", flat=True)[: BATCH + 1])
        moved = _move(turn, ids[:BATCH], columns)
        turn.left |= len(ids) > BATCH and moved > 0
        _give_settings(turn, of_rule, rule)


def _move(turn: Turn, ids: Sequence[int], columns: Mapping[str, Any]) -> int:
    """Change the primaries of these members, and return the number of changed members.

    Approval rules, freezes and locks are checked, because another server then decides the zones' content. A member
    whose rules forbid the change keeps its primaries, and the reason is stored.
    """
    zones = Zone.objects.in_bulk(ids)
    rules = publish_guards.rules_about(zones.values())
    ruled = [zone for zone in zones.values() if zone.has_locks or any(rules.of(zone).each)]
    moving = zones.keys() - {zone.pk for zone in ruled}
    if moving:
        with transaction.atomic():
            primaries.move_all(zone_ids=moving, columns=columns, now=turn.now)
            primaries.wake_on_commit()
    moved = len(moving)
    for zone in ruled:
        try:
            _move_ruled(zone, columns, turn.now)
        except ZoneError as exc:
            Listing.objects.filter(catalog=turn.catalog, zone=zone).update(reason=str(exc))
        else:
            moved += 1
    return moved


@after_hooks
def _move_ruled(zone: Zone, columns: Mapping[str, Any], now: datetime) -> None:
    with transaction.atomic(durable=True):
        passed = publish_guards.refuse_act(zone, REPLACE, acting=Acting(None, Channel.TRANSFER, now), past_rules=False)
        publish_guards.record_act(passed, zone, author=None, reason="", now=now)
        primaries.move_all(zone_ids=[zone.pk], columns=columns, now=now)
        primaries.wake_on_commit()


def _give_rules(turn: Turn, here: QuerySet[Listing]) -> None:
    changed = []
    for row in here.only("pk", "groups", "rule").iterator(2_000):
        pk = turn.rule_for(row.groups)
        if row.rule_id != pk:
            row.rule_id = pk
            changed.append(row)
    Listing.objects.bulk_update(changed, ["rule"], batch_size=1_000)


def _give_settings(turn: Turn, of_rule: QuerySet[Listing], rule: Rule | None) -> None:
    team, own = team_of(turn.catalog, rule), own_tags(turn.catalog, rule)
    of_others = {tag for each in turn.rules.values() for tag in each.tags} | set(turn.catalog.tags)
    differs = ~Q(zone__tags__contains=sorted(own))
    if stale := sorted(of_others - own):
        differs |= Q(zone__tags__overlap=stale)
    if team is not None:
        differs |= ~Q(zone__team=team) | Q(zone__team=None)
    rows = list(of_rule.filter(differs).select_related("zone", "zone__team").order_by("pk")[: BATCH + 1])
    turn.left |= len(rows) > BATCH
    for row in rows[:BATCH]:
        zone = row.zone
        if zone is None:
            continue
        tags = sorted(set(zone.tags) - of_others | own)
        try:
            change_settings(zone=zone, tags=tags, team=team or zone.team, author=None, now=turn.now)
        except ZoneError as exc:
            Listing.objects.filter(pk=row.pk).update(reason=str(exc))


def columns_of(catalog: Catalog, rule: Rule | None) -> dict[str, Any]:
    """Return the columns for the rule's primaries, or else for the catalog zone's primaries."""
    return primaries.columns_of(rule if rule is not None and rule.addresses else catalog.zone.transferred)


def team_of(catalog: Catalog, rule: Rule | None) -> Team | None:
    return catalog.team if rule is None or rule.team is None else rule.team


def own_tags(catalog: Catalog, rule: Rule | None) -> set[str]:
    return {*catalog.tags, *(() if rule is None else rule.tags)}
