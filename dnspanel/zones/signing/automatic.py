"""Begin rollovers that DNSSEC policies require: in a policy run, for old keys, or to a first DS. Verbs."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from django.db.models import QuerySet, Value
from django.db.models.functions import Coalesce

from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.policy import due
from dnspanel.zones.dnssec.policy_queries import applied_to_zones, keys_made_at
from dnspanel.zones.dnssec.queries import signing_of_zones
from dnspanel.zones.dnssec.rollover_stages import Kind
from dnspanel.zones.errors import ZoneError
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.models import Channel, DnssecPolicy, Rollover, Signing, Zone
from dnspanel.zones.signing import rollovers
from dnspanel.zones.signing.first_ds import awaiting_first_ds, candidates, room_for_first_ds

BATCH = 500
# Only this number begins at once: each rollover is checked every half minute, and may need a change at a parent.
MOST_BEGUN = 1000

logger = logging.getLogger(__name__)


def begin_rollover(zone: Zone, kind: Kind, acting: Acting, algorithm: int | None) -> Rollover:
    """Begin and return a rollover in a policy run. Raise the errors of `rollovers.begin`."""
    return rollovers.begin(zone=zone, kind=kind, acting=acting, algorithm=algorithm)


def begin_due_rollovers(*, now: datetime, most: int = MOST_BEGUN) -> int:
    """Begin rollovers in zones whose policies require one. Return the number of rollovers.

    The panel itself is the author. Each zone has one rollover at a time: first for an old ZSK, then for an old KSK or
    CSK, and last to the first DS. If a rollover is rejected, the reason is stored with the zone's signing until the
    rollover begins or is no longer due. `most` is as in `begin_first_ds`.
    """
    return _begin(_in_batches(Zone.objects.filter(deleted_at=None, signing__is_signed=True)), now, most)


def begin_first_ds(*, now: datetime, most: int = MOST_BEGUN) -> int:
    """Begin rollovers in zones that only lack their first DS. Return the number of rollovers.

    This is cheap and can run often. Zones with a rejected rollover wait for `begin_due_rollovers`. `most` limits the
    new rollovers, and all rollovers to a first DS that are checked often.
    """
    if not DnssecPolicy.objects.filter(first_ds=True).exists():
        return 0
    return _begin(_in_batches(candidates()), now, most)


def _begin(batches: Iterable[Sequence[Zone]], now: datetime, most: int) -> int:
    begun, room = 0, room_for_first_ds(most, now)
    for zones in batches:
        refusals: dict[int, str] = {}
        for zone, kind in _due(zones, now):
            if begun >= most:
                return begun
            if kind is Kind.SECURE and room <= 0:
                continue
            try:
                rollovers.begin(zone=zone, kind=kind, acting=Acting(None, Channel.SYSTEM, now, _reason(kind)))
                begun, room = begun + 1, room - (kind is Kind.SECURE)
            except ZoneError as refusal:
                if Rollover.objects.filter(zone=zone, ended_at=None).exists():
                    continue  # another transaction began one at the same moment
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
    applied = {pk: each for pk, each in applied_to_zones(zones).items() if each.terms.automatic or each.terms.first_ds}
    if not applied:
        return
    states, made = signing_of_zones(list(applied)), keys_made_at(list(applied))
    awaiting = awaiting_first_ds(zones, {pk: each.terms for pk, each in applied.items()})
    under_way = {*Rollover.objects.filter(zone__in=list(applied), ended_at=None).values_list("zone_id", flat=True)}
    for zone in zones:
        if zone.pk in applied and zone.pk in states and zone.pk not in under_way:
            terms = applied[zone.pk].terms
            found = due(terms, states[zone.pk], made.get(zone.pk, {}), now) if terms.automatic else []
            if found:
                yield zone, found[0].kind
            elif zone.pk in awaiting:
                yield zone, Kind.SECURE


def _reason(kind: Kind) -> str:
    if kind is Kind.SECURE:
        return panel_reasons.FIRST_DS
    return panel_reasons.LIFETIME


def _in_batches(signed: "QuerySet[Zone]") -> Iterator[list[Zone]]:
    after = 0
    while True:
        zones = list(signed.filter(pk__gt=after).order_by("pk")[:BATCH])
        if not zones:
            return
        yield zones
        after = zones[-1].pk
