"""Which zones wait for the rollover that leads to their first DS to begin by itself, as their policies say."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet

from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.dnssec.policy_queries import zones_of
from dnspanel.zones.dnssec.queries import signing_of_zones
from dnspanel.zones.dnssec.rollover_stages import Kind, Step
from dnspanel.zones.dnssec.signing_state import DELETE
from dnspanel.zones.models import DnssecPolicy, Rollover, Zone, ZoneKey
from dnspanel.zones.names import nesting
from replication.dns import rdtypes

# A parent elsewhere that has no DS after this long takes its time: it is asked less often, and others may begin.
LONG_WAIT = timedelta(hours=1)


def candidates() -> "QuerySet[Zone]":
    """Signed zones whose policies have the first DS come by itself, and for which that was not refused yet.

    They never had a DS, as far as is known, nor a rollover to or from one; `awaiting_first_ds` leaves more of them out.
    """
    policies = DnssecPolicy.objects.filter(first_ds=True)
    followed = Q(pk__in=[])
    for policy in policies:
        followed |= zones_of(policy)
    return _without_ds(Zone.objects.filter(followed, deleted_at=None, signing__due_refused_at=None)).order_by("pk")


def awaiting_first_ds(zones: Sequence[Zone], terms: Mapping[int, Terms]) -> frozenset[int]:
    """Those of these zones (ids) whose policy's terms have the first DS come by itself, and for which that is to begin.

    A person who cancelled it, or took a DS away, decided otherwise. A parent that is no zone here only finds the DS in
    CDS or CDNSKEY records: without them there is nothing to wait for. In a few queries, and none where no terms ask.
    """
    following = [zone for zone in zones if zone.pk in terms and terms[zone.pk].first_ds]
    if not following:
        return frozenset()
    found = list(_without_ds(Zone.objects.filter(pk__in=[zone.pk for zone in following])))
    states = signing_of_zones([zone.pk for zone in found]) if found else {}
    able = [zone for zone in found if zone.pk in states and states[zone.pk].keys and not _leaves(states[zone.pk].cds)]
    delegated = _delegated_here([zone.name for zone in able])
    return frozenset(
        zone.pk
        for zone in able
        if (not delegated[zone.name] if zone.name in delegated else states[zone.pk].cds or states[zone.pk].cdnskey)
    )


def room_for_first_ds(most: int, now: datetime) -> int:
    """How many more such rollovers may begin so that at most `most` are looked at often."""
    mine = Rollover.objects.filter(ended_at=None, kind=Kind.SECURE, started_by=None)
    return max(most - mine.exclude(waits_long(now)).count(), 0)


def waits_long(now: datetime) -> Q:
    """The condition of rollovers begun by the panel in which a parent elsewhere has not taken the first DS for long."""
    return Q(
        kind=Kind.SECURE,
        step=Step.DS,
        started_by=None,
        is_stuck=False,
        parent_silent="",
        waits_since__lte=now - LONG_WAIT,
    )


def _without_ds(zones: "QuerySet[Zone]") -> "QuerySet[Zone]":
    of_zone = {"zone": OuterRef("pk")}
    seen = ZoneKey.objects.filter(ds_seen_at__isnull=False, **of_zone)
    decided = Rollover.objects.filter(Q(ended_at=None) | Q(kind__in=(Kind.SECURE, Kind.INSECURE)), **of_zone)
    return zones.filter(~Exists(seen), ~Exists(decided), signing__is_signed=True)


def _leaves(cds: str) -> bool:
    return DELETE in cds.split(",")


def _delegated_here(zone_names: Sequence[str]) -> dict[str, bool]:
    """Those of these zones that a zone here delegates, and whether it has a DS for them."""
    found = {}
    for name, (_, rrsets) in (nesting.rrsets_above(zone_names) if zone_names else {}).items():
        ds, ns = (rrsets.get((name, type)) for type in (rdtypes.DS, rdtypes.NS))
        if (ds and ds.served) or (ns and ns.served):
            found[name] = bool(ds and ds.served)
    return found
