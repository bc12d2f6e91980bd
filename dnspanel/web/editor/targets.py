"""Targets outside of the panel, looked up over DNS when somebody asks: those that the person's draft points at."""

from dataclasses import dataclass

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from dnspanel.fleet.dnssec.resolver import configured
from dnspanel.fleet.lookups.targets import MOST_TARGETS, TargetLook, look_up_targets
from dnspanel.fleet.lookups.turns import Busy, turn
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.layout import PanelRequest
from dnspanel.zones import access, queries
from dnspanel.zones.find_zones import ids_of_living
from dnspanel.zones.models import Zone
from dnspanel.zones.queries import RRsetFilter
from dnspanel.zones.rules import ancestors_within, targets_of
from replication.dns import names, rdata, rdtypes

MOST_RRSETS = 500
_NEED_ADDRESSES = frozenset((rdtypes.MX, rdtypes.NS, rdtypes.SRV))


@dataclass(frozen=True, slots=True)
class Outside:
    """A name outside of the panel, and the first record of the draft that points at it."""

    target: str
    pointed_at_by: str
    needs_address: bool


@require_http_methods(["GET", "HEAD", "POST"])
def zone_targets(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show which names outside of the panel the draft points at; a POST looks them up."""
    zone = access.zone_for_editing(request.user, zone_name)
    outside = _outside(request, zone)
    looks: dict[str, TargetLook] = {}
    error = ""
    if request.method == "POST" and outside:
        try:
            with turn():
                found = look_up_targets([(each.target, each.needs_address) for each in outside], resolver=configured())
            looks = {look.target: look for look in found}
        except Busy as exc:
            error = str(exc)
    context: dict[str, object] = {
        "targets": [(each, looks.get(each.target)) for each in outside[:MOST_TARGETS]],
        "left_out": max(0, len(outside) - MOST_TARGETS),
        "has_looked": bool(looks),
        "error": error,
    }
    return render_zone(request, zone, "review", "editor/targets.html", context, 503 if error else 200)


def _outside(request: PanelRequest, zone: Zone) -> list[Outside]:
    """Return the targets of the draft's records that no zone here answers for, by name; in a few queries."""
    rows = queries.rrset_page(
        zone=zone, author=request.user, filters=RRsetFilter(in_draft=True), limit=MOST_RRSETS
    ).rows
    found: dict[str, Outside] = {}
    for row in rows:
        if (rrset := row.change.after) is None:
            continue
        by = f"{names.owner_text(rrset.name, zone.name)} {rdata.type_to_text(rrset.type)}"
        for target in targets_of(rrset) - {names.ROOT}:
            needs = rrset.type in _NEED_ADDRESSES or (target in found and found[target].needs_address)
            found[target] = Outside(target, found[target].pointed_at_by if target in found else by, needs)
    above = {target: {target, *ancestors_within(target, names.ROOT)} for target in found}
    live = ids_of_living(set().union(*above.values())).keys()
    return [found[target] for target in sorted(found) if not above[target] & live]
