"""Find the zones whose policies require a rollover to the first DS now."""

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

# If a parent outside the panel has no DS after this time, it is queried less often, so that other rollovers can begin.
LONG_WAIT = timedelta(hours=1)


def candidates() -> "QuerySet[Zone]":
    """Select signed zones whose policies set the first DS automatically, except zones with a rejected rollover.

    According to the panel's data, these zones never had a DS or a rollover that adds or removes it, and no rollover is
    in progress. `awaiting_first_ds` filters them further.
    """
    policies = DnssecPolicy.objects.filter(first_ds=True)
    followed = Q(pk__in=[])
    for policy in policies:
        followed |= zones_of(policy)
    return _without_ds(Zone.objects.filter(followed, deleted_at=None, signing__due_refused_at=None)).order_by("pk")


def awaiting_first_ds(zones: Sequence[Zone], terms: Mapping[int, Terms]) -> frozenset[int]:
    """Return the ids of the zones that are due for their first DS and whose terms set it automatically.

    If a person canceled the rollover or removed a DS, the zone is left out, because that was the person's decision. A
    parent outside the panel finds the DS only through CDS or CDNSKEY records. Zones that lack the records they need, or
    that request deletion of the DS, are left out too. Needs a few queries, or none if no terms set the first DS.
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
    """Return the number of rollovers to a first DS that can still begin, if at most `most` are checked often."""
    mine = Rollover.objects.filter(ended_at=None, kind=Kind.SECURE, started_by=None)
    return max(most - mine.exclude(waits_long(now)).count(), 0)


def waits_long(now: datetime) -> Q:
    """Return the query condition for rollovers to a first DS that have waited for at least LONG_WAIT.

    Only rollovers that the panel itself began, that aren't stuck, and whose parent zone answers, count.
    """
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
    """Return, for each name that a zone of this panel delegates, True if that zone has a DS for the name."""
    found = {}
    for name, (_, rrsets) in (nesting.rrsets_above(zone_names) if zone_names else {}).items():
        ds, ns = (rrsets.get((name, type)) for type in (rdtypes.DS, rdtypes.NS))
        if (ds and ds.served) or (ns and ns.served):
            found[name] = bool(ds and ds.served)
    return found
