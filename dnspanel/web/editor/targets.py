"""Look up a draft's external names and the zone's delegations in DNS, on request."""

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from dnspanel.fleet.dnssec.resolver import resolver_of_settings
from dnspanel.fleet.lookups.delegations import MOST_DELEGATIONS, Delegation, DelegationLook, look_up_delegations
from dnspanel.fleet.lookups.targets import MOST_TARGETS, TargetLook, look_up_targets
from dnspanel.fleet.lookups.turns import Busy, turn
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.frame.layout import PanelRequest
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import pointers
from dnspanel.zones.rights import access
from dnspanel.zones.rules.neighbourhood import targets_of
from replication.dns import names, rdata, rdtypes

MOST_RRSETS = 500
_NEED_ADDRESSES = frozenset((rdtypes.MX, rdtypes.NS, rdtypes.SRV))


@dataclass(frozen=True, slots=True)
class Outside:
    """A name outside the zones that the person can see, and the draft's first record that points to it."""

    target: str
    pointed_at_by: str
    needs_address: bool


@require_http_methods(["GET", "HEAD", "POST"])
def zone_targets(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the draft's targets outside visible zones, and the delegations. A POST looks up one of these two lists."""
    zone = access.zone_for_editing(request.user, zone_name)
    outside, delegations = _outside(request, zone), _delegations(request, zone)
    looks: dict[str, TargetLook] = {}
    delegation_looks: dict[str, DelegationLook] = {}
    about = request.POST.get("ask", "targets") if request.method == "POST" else ""
    error = ""
    try:
        if about == "targets" and outside:
            with turn():
                found = look_up_targets(
                    [(each.target, each.needs_address) for each in outside], resolver=resolver_of_settings()
                )
            looks = {look.target: look for look in found}
        elif about == "delegations" and delegations:
            with turn():
                of_each = look_up_delegations(
                    delegations, resolver=resolver_of_settings(), networks=settings.SOURCE_NETWORKS
                )
            delegation_looks = {look.delegation.name: look for look in of_each}
    except Busy as exc:
        error = str(exc)
    context: dict[str, object] = {
        "targets": [(each, looks.get(each.target)) for each in outside[:MOST_TARGETS]],
        "left_out": max(0, len(outside) - MOST_TARGETS),
        "has_looked": bool(looks),
        "delegations": [(each, delegation_looks.get(each.name)) for each in delegations[:MOST_DELEGATIONS]],
        "has_more_delegations": len(delegations) > MOST_DELEGATIONS,
        "has_looked_at_delegations": bool(delegation_looks),
        "about": about,
        "error": error,
    }
    return render_zone(request, zone, "review", "editor/targets.html", context, 503 if error else 200)


def _delegations(request: PanelRequest, zone: Zone) -> list[Delegation]:
    """Return the zone's own name servers and the first delegations below it, including changes in the person's draft.

    Delegations in the draft come first. This takes a few queries.
    """
    rows: list[rrset_pages.RRsetRow] = []
    for in_draft in (True, False):
        filters = rrset_pages.RRsetFilter(types=frozenset((rdtypes.NS,)), in_draft=in_draft)
        rows += rrset_pages.rrset_page(zone=zone, author=request.user, filters=filters, limit=MOST_DELEGATIONS + 1).rows
    served = [rrset for row in rows if (rrset := row.change.after) is not None and rrset.served]
    hosts = {rrset.name: sorted(targets_of(rrset)) for rrset in sorted(served, key=lambda each: each.name != zone.name)}
    inside = {host for of_name in hosts.values() for host in of_name if names.is_within(host, zone.name)}
    seen = pointers.seen_at(request.user, {zone.pk: (zone.name, inside)})[zone.pk] if inside else {}
    addresses: dict[str, tuple[str, ...]] = {}
    for (name, type), rrset in seen.items():
        if type in pointers.ADDRESS_TYPES:
            addresses[name] = (*addresses.get(name, ()), *rrset.served)
    return [
        Delegation(
            name, tuple(of_name), {host: addresses[host] for host in of_name if host in addresses}, name == zone.name
        )
        for name, of_name in hosts.items()
    ]


def _outside(request: PanelRequest, zone: Zone) -> list[Outside]:
    """Return the targets of the draft's records, sorted by name, except targets in zones that the person can see.

    This takes a few queries. Targets in the panel's other zones are looked up like external names, because they are
    public in DNS.
    """
    rows = rrset_pages.rrset_page(
        zone=zone, author=request.user, filters=rrset_pages.RRsetFilter(in_draft=True), limit=MOST_RRSETS
    ).rows
    found: dict[str, Outside] = {}
    for row in rows:
        if (rrset := row.change.after) is None:
            continue
        by = f"{names.owner_text(rrset.name, zone.name)} {rdata.type_to_text(rrset.type)}"
        for target in targets_of(rrset) - {names.ROOT}:
            needs = rrset.type in _NEED_ADDRESSES or (target in found and found[target].needs_address)
            found[target] = Outside(target, found[target].pointed_at_by if target in found else by, needs)
    known = access.closest_zones_visible_to(request.user, found)
    return [found[target] for target in sorted(found) if target not in known]
