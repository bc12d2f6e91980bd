"""Rollovers that DNSSEC policies ask for: begun by a run, or because keys have outlived their lifetime. Verbs."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from django.db.models import Value
from django.db.models.functions import Coalesce

from dnspanel.zones.dnssec import rollovers
from dnspanel.zones.dnssec.guarded import Acting
from dnspanel.zones.dnssec.policy import due
from dnspanel.zones.dnssec.policy_queries import applied_to_zones, keys_made_at
from dnspanel.zones.dnssec.queries import signing_of_zones
from dnspanel.zones.dnssec.rollover import Kind
from dnspanel.zones.errors import ZoneError
from dnspanel.zones.models import Channel, Rollover, Signing, Zone

BATCH = 500
# More do not begin at once: each of them is looked at every half minute, and a parent may have to be told.
MOST_BEGUN = 1000

logger = logging.getLogger(__name__)


def begin_rollover(zone: Zone, kind: Kind, acting: Acting, algorithm: int | None) -> Rollover:
    """What a run of policies begins. Raises as `rollovers.begin`."""
    return rollovers.begin(zone=zone, kind=kind, acting=acting, algorithm=algorithm)


def begin_due_rollovers(*, now: datetime, most: int = MOST_BEGUN) -> int:
    """Zones with automatic policies whose keys are too old have a rollover under way; returns how many began.

    By the panel itself, one for each zone at a time: that of the records' key before that of the parent's. Why one is
    refused stands with the signing of its zone, until it begins or is not due any more.
    """
    begun = 0
    for zones in _signed_zones():
        refusals: dict[int, str] = {}
        for zone, kind in _due(zones, now):
            if begun >= most:
                return begun
            acting = Acting(None, Channel.SYSTEM, now, "The lifetime that the DNSSEC policy gives the key has ended.")
            try:
                rollovers.begin(zone=zone, kind=kind, acting=acting)
                begun += 1
            except ZoneError as refusal:
                logger.warning("no rollover of %s, which is due: %s", zone.name, refusal)
                refusals[zone.pk] = str(refusal)
        _keep_refusals(zones, refusals, now)
    return begun


def _keep_refusals(zones: Sequence[Zone], refusals: Mapping[int, str], now: datetime) -> None:
    refused = Signing.objects.exclude(due_refused_at=None)
    refused.filter(pk__in=[zone.pk for zone in zones if zone.pk not in refusals]).update(
        due_refusal="", due_refused_at=None
    )
    for zone_id, refusal in refusals.items():
        Signing.objects.filter(pk=zone_id).update(
            due_refusal=refusal, due_refused_at=Coalesce("due_refused_at", Value(now))
        )


def _due(zones: Sequence[Zone], now: datetime) -> Iterator[tuple[Zone, Kind]]:
    applied = {pk: each for pk, each in applied_to_zones(zones).items() if each.terms.automatic}
    if not applied:
        return
    states, made = signing_of_zones(list(applied)), keys_made_at(list(applied))
    under_way = {*Rollover.objects.filter(zone__in=list(applied), ended_at=None).values_list("zone_id", flat=True)}
    for zone in zones:
        if zone.pk in applied and zone.pk in states and zone.pk not in under_way:
            found = due(applied[zone.pk].terms, states[zone.pk], made.get(zone.pk, {}), now)
            if found:
                yield zone, found[0].kind


def _signed_zones() -> Iterator[list[Zone]]:
    after = 0
    while True:
        signed = Zone.objects.filter(deleted_at=None, signing__is_signed=True, pk__gt=after)
        zones = list(signed.order_by("pk")[:BATCH])
        if not zones:
            return
        yield zones
        after = zones[-1].pk
