"""Predict the zones that fail validation after a decision about publications that only nodes have. Verbs.

A zone breaks if its DS records and its signing keys don't match after the decision. It can also break for a time while
caches still contain the nodes' earlier answers. If the parent zone is on this panel, its DS records after the decision
count. Other parents are queried over DNS, because the database's data about them is as old as the backup.
"""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

from django.conf import settings
from django.db.models import Q

from dnspanel.fleet.dnssec.parent_dns import ParentLook, look_at_parent
from dnspanel.fleet.dnssec.resolver import Resolver, resolver_of_settings
from dnspanel.fleet.models import AheadReport, AheadRRset, AheadZone, Choice
from dnspanel.texts import gettext
from dnspanel.texts import gettext_lazy as _
from dnspanel.zones.dnssec.other_keys import keys_in
from dnspanel.zones.dnssec.queries import signing_of_zones
from dnspanel.zones.dnssec.signing_state import UNSIGNED, KeyRole, SigningState
from dnspanel.zones.dnssec.trust import reason_against
from dnspanel.zones.models import Zone, ZoneKey
from dnspanel.zones.publishing.lost_keys import LostSigning
from dnspanel.zones.rules.neighbourhood import ancestors_within
from dnspanel.zones.store import store_rrsets
from replication.dns import names, rdtypes
from replication.dns.rrset import RRset

_AT_ONCE = 500
_LOOKS_AT_ONCE = 8
# Parents that were not queried within this time count as unknown.
_LOOK_SECONDS = 120.0
_NO_LOOK = ParentLook("", {}, None, _("The parent couldn’t be queried in time."))

_SIGNED_OTHERWISE = Q(signing__isnull=False) | ~Q(signing_error="") | ~Q(error="")

RRsets = Mapping[tuple[str, int], RRset]


@dataclass(frozen=True, slots=True)
class _Signed:
    """The signing state of a zone in the panel or on the nodes, with the public parts of its keys, keyed by key id."""

    state: SigningState
    public: Mapping[int, bytes]

    @property
    def visible(self) -> set[bytes]:
        """The keys in the zone's DNSKEY RRset."""
        return {self.public[key.id] for key in self.state.keys if key.published}

    @property
    def signing(self) -> set[bytes]:
        """The keys that sign the zone's records other than the DNSKEY RRset."""
        signing = (key for key in self.state.keys if key.active and self.state.role(key) is not KeyRole.KSK)
        return {self.public[key.id] for key in signing}


@dataclass(frozen=True, slots=True)
class _Above:
    """The DS RRsets at a zone's parent. There is one for each server that can have a different set."""

    after: Sequence[Sequence[str]]
    cached: Sequence[Sequence[str]] = ()  # what nodes answer until the decision
    silent: str = ""  # why they are not all known; empty if they are


def note_breaks(report: AheadReport, *, resolver: Resolver | None = None) -> None:
    """Record in the report the zones that each possible decision would break, and why. Query parents over DNS.

    A zone that is the same on the nodes and in the panel is added to the report if different DS records would break it.
    """
    parent_looks = _Looks(resolver or resolver_of_settings())
    delegated = AheadRRset.objects.filter(zone__report=report, type=rdtypes.DS).values("name")
    suspects = report.zones.filter(_SIGNED_OTHERWISE | Q(name__in=delegated)).order_by("pk")
    differing = suspects.iterator(chunk_size=_AT_ONCE)
    while zones := list(islice(differing, _AT_ONCE)):
        AheadZone.objects.bulk_update(_find_broken(report, zones, parent_looks), ["breaks"])
    same = Zone.objects.filter(name__in=delegated, deleted_at=None).exclude(name__in=report.zones.values("name"))
    others = same.order_by("pk").iterator(chunk_size=_AT_ONCE)
    while zones := [_as_ahead(report, zone) for zone in islice(others, _AT_ONCE)]:
        AheadZone.objects.bulk_create(_find_broken(report, zones, parent_looks))


def _as_ahead(report: AheadReport, zone: Zone) -> AheadZone:
    """Return a report row for a zone that is the same in the panel and on the nodes."""
    return AheadZone(
        report=report,
        name=zone.name,
        id_here=zone.pk,
        id_there=zone.pk,
        serial_here=zone.serial,
        serial_there=zone.serial,
    )


class _Looks:
    """Parallel queries to zones' parents, with a common deadline."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver, self._deadline = resolver, time.monotonic() + _LOOK_SECONDS

    def at(self, zone_names: Collection[str]) -> dict[str, ParentLook]:
        if not zone_names:
            return {}
        with ThreadPoolExecutor(_LOOKS_AT_ONCE, thread_name_prefix="parents") as pool:
            return dict(zip(zone_names, pool.map(self._look, zone_names), strict=True))

    def _look(self, zone_name: str) -> ParentLook:
        if time.monotonic() > self._deadline:
            return _NO_LOOK
        return look_at_parent(zone_name, resolver=self._resolver, networks=settings.SOURCE_NETWORKS)


def _find_broken(report: AheadReport, zones: Sequence[AheadZone], parent_looks: _Looks) -> list[AheadZone]:
    """Return the zones that would break, with `breaks` filled in but not saved."""
    parents = _Parents(report, [zone.name for zone in zones])
    in_panel = _signed_in_panel(zones)
    dnskeys = _apex_dnskeys(zones)
    served = [(zone, choice) for zone in zones for choice in Choice if _is_served(zone, choice)]
    above = {(zone.name, choice): parents.above(zone.name, choice) for zone, choice in served}
    unknown = {zone.name for zone, choice in served if above[zone.name, choice] is None and _is_moved(zone, choice)}
    looks = parent_looks.at(sorted(unknown))
    for zone, choice in served:
        leads = above[zone.name, choice]
        if leads is None and _is_moved(zone, choice):
            look = looks[zone.name]
            leads = _Above(list(look.servers.values()), silent=look.silent)
        if leads is None:
            continue
        before = _on_nodes(zone, in_panel[zone.name])
        is_theirs = choice == Choice.TAKE_OVER and not zone.error
        after = before if is_theirs and before is not None else in_panel[zone.name]
        if reason := _reason(zone.name, leads, before, after, dnskeys[zone.name, is_theirs]):
            zone.breaks[choice.value] = reason
    return [zone for zone in zones if zone.breaks]


def _reason(zone_name: str, above: _Above, before: _Signed | None, after: _Signed, dnskey: RRset | None) -> str:
    """Return a clause that explains why the zone would or might fail validation, or "" if it would validate."""

    def against(sets: Iterable[Sequence[str]]) -> str:
        reasons = (reason_against(zone_name, after.state, ds, after.public, keys_in(dnskey)) for ds in sets)
        return next(filter(None, reasons), "")

    if reason := against(above.after):
        return gettext("the parent has a DS for {zone_name}, {reason}").format(zone_name=zone_name, reason=reason)
    if above.silent:
        return gettext("the parent’s DS is unknown: {silent}").format(silent=above.silent.rstrip("."))
    if reason := against(above.cached):
        return gettext("caches still have a DS for {zone_name}, {reason}").format(zone_name=zone_name, reason=reason)
    if not any(above.after) or not after.state.keys:
        return ""
    if before is None:
        return gettext("it’s unknown whether the nodes sign the zone, and caches have the nodes’ keys and signatures")
    if before.state.keys and not (after.signing & before.visible and before.signing & after.visible):
        return gettext("caches still have the nodes’ keys and signatures, which don’t match the panel’s")
    return ""


def _is_served(zone: AheadZone, choice: Choice) -> bool:
    """Return True if nodes serve the zone before and after the decision. Only such zones can break."""
    if zone.id_there is None:
        return False
    return zone.id_here is not None or (choice == Choice.TAKE_OVER and not zone.error)


def _is_moved(zone: AheadZone, choice: Choice) -> bool:
    """Return True if the decision changes, or can change, the zone's signing on the nodes."""
    if choice == Choice.TAKE_OVER:
        return bool(zone.error or zone.signing_error)
    return bool(zone.signing is not None or zone.error or zone.signing_error)


def _on_nodes(zone: AheadZone, in_panel: _Signed) -> _Signed | None:
    """Return the zone's signing state on the nodes, or None if it is unknown."""
    if zone.error or zone.signing_error:
        return None
    if zone.signing is None:
        return in_panel
    lost = LostSigning.from_json(zone.signing)
    return _Signed(lost.state, {key.id: bytes.fromhex(key.public) for key in lost.keys})


def _panel_id(zone: AheadZone) -> int | None:
    """Return the zone's id in the panel, even if the zone is in the trash there."""
    return zone.id_here or (zone.id_there if zone.in_trash else None)


def _signed_in_panel(zones: Sequence[AheadZone]) -> dict[str, _Signed]:
    states = signing_of_zones([id for zone in zones if (id := _panel_id(zone))])
    ids = [key.id for state in states.values() for key in state.keys]
    public = {pk: bytes(key) for pk, key in ZoneKey.objects.filter(pk__in=ids).values_list("pk", "public")}
    return {zone.name: _Signed(states.get(_panel_id(zone) or 0, UNSIGNED), public) for zone in zones}


def _apex_dnskeys(zones: Sequence[AheadZone]) -> dict[tuple[str, bool], RRset | None]:
    """Return the stored DNSKEY RRset at each zone's apex, keyed by (zone name, True for the nodes' version)."""
    ids = {id: (zone.name, [zone.name]) for zone in zones if (id := _panel_id(zone))}
    stored = store_rrsets.rrsets_at_names(ids) if ids else {}
    found: dict[tuple[str, bool], RRset | None] = {}
    for zone in zones:
        here = stored.get(_panel_id(zone) or 0, {}).get((zone.name, rdtypes.DNSKEY))
        found[zone.name, False] = found[zone.name, True] = here
    rows = AheadRRset.objects.filter(zone__in=[zone.pk for zone in zones if zone.pk], type=rdtypes.DNSKEY)
    for row in rows.select_related("zone"):
        if row.name == row.zone.name:
            found[row.name, True] = _of_nodes(row)
    return found


def _of_nodes(row: AheadRRset) -> RRset | None:
    return RRset.from_json(row.name, row.type, row.there) if row.there else None


class _Parents:
    """The parent zones of the given names, in the panel and on the nodes, with their DS records for these names."""

    def __init__(self, report: AheadReport, zone_names: Sequence[str]) -> None:
        self._above = {name: list(ancestors_within(name, names.ROOT)) for name in zone_names}
        around = {each for chain in self._above.values() for each in chain}
        self._rows = {row.name: row for row in report.zones.filter(name__in=around).defer("signing")}
        self._ids = dict(Zone.objects.filter(name__in=around, deleted_at=None).values_list("name", "pk"))
        self._ids |= {name: row.id_there or 0 for name, row in self._rows.items() if row.in_trash}
        owners: dict[int, tuple[str, set[str]]] = {}
        for name, chain in self._above.items():
            for each in chain:
                if each in self._ids:
                    owners.setdefault(self._ids[each], (each, set()))[1].add(name)
        self._here = store_rrsets.rrsets_at_names(owners) if owners else {}
        differing = AheadRRset.objects.filter(zone__report=report, type=rdtypes.DS, name__in=zone_names)
        self._of_nodes = {(row.zone_id, row.name): _of_nodes(row) for row in differing}

    def above(self, zone_name: str, choice: Choice) -> _Above | None:
        """Return the DS RRsets at the zone's parent after the decision, and those that caches can still have.

        Return None if the parent won't be a zone of this panel after the decision.
        """
        parent = next((each for each in self._above[zone_name] if self._stands(each, choice)), None)
        if parent is None:
            return None
        row = self._rows.get(parent)
        here = self._here.get(self._ids.get(parent, 0), {}).get((zone_name, rdtypes.DS))
        on_nodes = self._of_nodes.get((row.pk, zone_name), here) if row else here
        is_theirs = choice == Choice.TAKE_OVER and row is not None and not row.error
        after = on_nodes if is_theirs else here
        return _Above([after.served if after else ()], [on_nodes.served if on_nodes else ()])

    def _stands(self, name: str, choice: Choice) -> bool:
        row = self._rows.get(name)
        if row is None:
            return name in self._ids
        if choice == Choice.TAKE_OVER and not row.error:
            return row.id_there is not None
        return row.id_here is not None
