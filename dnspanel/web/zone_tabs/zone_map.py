"""The map of a zone: which published records point to which names, in the zone, out of it and into it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Window
from django.db.models.functions import RowNumber
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from dnspanel.accounts.models import User
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.frame.layout import PanelRequest
from dnspanel.web.frame.rows import path_at
from dnspanel.zones.models import Complaint, Zone
from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.names import nesting
from dnspanel.zones.plan import across_zones
from dnspanel.zones.rights import access
from dnspanel.zones.rules.neighbourhood import Neighbourhood, names_to_know, targets_of
from dnspanel.zones.rules.target_rules import fault_of_target
from dnspanel.zones.store import store_rrsets
from replication.dns import names, rdata
from replication.dns.rrset import RRset

MOST_READ, MOST_OF_TYPE = 200, 60  # RRsets with a complaint, and RRsets of a type
MOST_POINTED_AT = 100  # RRsets of the zone whose names are looked up in other zones
MOST_LISTED, MOST_DRAWN, MOST_OWNERS = 100, 30, 3
_ROW = 24  # units of the picture
# The state of an arrow, which is also its class, in the order of the list.
BAD, INTO, HERE, PANEL, OUTSIDE = "is-bad", "is-into", "is-here", "is-panel", "is-outside"
_ORDER = (BAD, INTO, HERE, PANEL, OUTSIDE)


@dataclass(frozen=True, slots=True)
class Arrow:
    """Records of one type that point to one target: the first owners with the paths of their records, and a number."""

    state: str
    type: str
    target: str
    owners: Sequence[tuple[str, str]]
    more: int
    message: str
    y: int
    target_y: int


@require_safe
def zone_map(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show records that point to names, dangling ones first, as a picture and as a list."""
    zone = access.zone_for_reading(request.user, zone_name)
    rrsets, has_more = _pointing_rrsets(zone)
    pointers, has_more_into = across_zones.pointers_into(zone, request.user, most=MOST_POINTED_AT)
    found = [*_leading_out(zone, rrsets, request.user)]
    for each in pointers:
        if each.zone is not None and each.rrset is not None:
            found.append((INTO, each.rrset, each.target, each.zone, ""))
    arrows = _arrows_of(found)
    context: dict[str, object] = {
        "arrows": arrows[:MOST_LISTED],
        "drawn": arrows[:MOST_DRAWN],
        "targets": {arrow.target: arrow for arrow in arrows[:MOST_DRAWN]}.values(),
        "height": _ROW * max(1, min(len(arrows), MOST_DRAWN)),
        "bad": sum(len(arrow.owners) + arrow.more for arrow in arrows if arrow.state == BAD),
        "is_partly_read": has_more,
        "has_more": has_more or has_more_into or len(arrows) > MOST_LISTED,
    }
    return render_zone(request, zone, "map", "zone_tabs/map.html", context)


def _pointing_rrsets(zone: Zone) -> tuple[list[RRset], bool]:
    """Return the first RRsets of each type that points to names, and whether some were left out.

    RRsets with a stored complaint are included, wherever they are. One query reads the keys of the whole zone, but
    returns only these rows.
    """
    of_zone = {"zone": zone, "type__in": rdata.POINTING}
    warned = Complaint.objects.filter(**of_zone).order_by("owner_key").values_list("owner_key", flat=True)[:MOST_READ]
    place = Window(RowNumber(), partition_by="type", order_by="owner_key")
    first = StoredRRset.objects.filter(**of_zone).annotate(place=place).filter(place__lte=MOST_OF_TYPE + 1)
    rows = [*StoredRRset.objects.filter(**of_zone, owner_key__in=list(warned)), *first]
    found = {(row.name, row.type): store_rrsets.rrset_of(row) for row in rows}
    return list(found.values()), len(warned) == MOST_READ or any(row.place > MOST_OF_TYPE for row in first)


def _leading_out(zone: Zone, rrsets: Sequence[RRset], person: User) -> Iterator[tuple[str, RRset, str, Zone, str]]:
    """Yield the state of each target of the RRsets, with a warning if the target is missing. Needs few queries."""
    near_names = names_to_know(zone.name, rrsets)
    near = store_rrsets.rrsets_at_names({zone.pk: (zone.name, near_names)})[zone.pk]
    targets = {target for rrset in rrsets for target in targets_of(rrset)}
    inside = {target for target in targets if names.is_within(target, zone.name)}
    answered = nesting.answering_zones({zone.name: inside - {zone.name}})[zone.name]
    around = Neighbourhood(zone.name, {key: rrset for key, rrset in near.items() if rrset.served}, {}, answered)
    elsewhere = across_zones.missing_elsewhere(zone, rrsets, answered, person)
    known = access.closest_zones_visible_to(person, targets)
    for rrset in rrsets:
        for target in targets_of(rrset):
            message = elsewhere.get((rrset.name, rrset.type, target), "")
            answers = around.answers_at(target) if target in inside and target not in answered else None
            if answers is not None and (fault := fault_of_target(zone.name, rrset, target, answers)):
                message = fault.message
            state = HERE if target in inside and target not in answered else PANEL if target in known else OUTSIDE
            yield BAD if message else state, rrset, target, zone, message


def _arrows_of(found: Sequence[tuple[str, RRset, str, Zone, str]]) -> list[Arrow]:
    """Return an arrow for each state, type and target: dangling ones first, then those of the most records."""
    groups: dict[tuple[str, int, str], list[tuple[RRset, Zone, str]]] = {}
    for state, rrset, target, zone, message in found:
        groups.setdefault((state, rrset.type, target), []).append((rrset, zone, message))
    in_order = sorted(groups.items(), key=lambda group: (_ORDER.index(group[0][0]), -len(group[1]), group[0]))
    places: dict[str, int] = {}
    return [
        Arrow(
            state,
            rdata.type_to_text(type),
            target,
            [(rrset.name, path_at(zone.name, rrset.name)) for rrset, zone, _ in rows[:MOST_OWNERS]],
            max(0, len(rows) - MOST_OWNERS),
            rows[0][2],
            number * _ROW + _ROW // 2,
            places.setdefault(target, len(places)) * _ROW + _ROW // 2,
        )
        for number, ((state, type, target), rows) in enumerate(in_order)
    ]
