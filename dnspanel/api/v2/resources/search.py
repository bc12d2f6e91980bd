"""Search over all zones: zones by their names, then RRsets by owner name or by one of their rdata.

Only what has an index is asked: a part of a zone's name, a whole owner name,
a whole rdata. Parts of rdata and comments are found within a zone, by the
list of its RRsets.
"""

from collections.abc import Iterator
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from dnspanel.accounts.actors import Actor
from dnspanel.api.v2.http.answers import actor_in
from dnspanel.api.v2.http.pages import PageRequest, page_answer, page_request
from dnspanel.api.v2.http.problems import Problem, bad_parameter
from dnspanel.api.v2.http.representation import rrset_json, rrset_url, zone_url
from dnspanel.api.v2.http.view import V2View
from dnspanel.api.v2.resources.zones import found_zones
from dnspanel.api.v2.schema.fields import PAGED, choice_parameter, page_of, search_parameter, text_parameter
from dnspanel.api.v2.schema.zone_serializers import FoundSerializer
from dnspanel.statement_time import searching
from dnspanel.zones import access
from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.models import Zone
from dnspanel.zones.search.terms import LONGEST_SEARCH, parse, rdata_spellings
from dnspanel.zones.search.zone_conditions import refuse_too_general
from dnspanel.zones.store_rrsets import rrset_of
from replication.codec.keys import relative_key
from replication.dns import names
from replication.errors import BadName

Found = tuple[dict[str, Any], tuple[Any, ...]]  # what is shown, and the cursor behind it


class Search(V2View):
    """Zones and RRsets wherever they are."""

    @extend_schema(
        operation_id="search",
        parameters=[
            *PAGED,
            OpenApiParameter("q", str, required=True, description="Part of a zone's name, an owner name, or an rdata."),
            OpenApiParameter("kind", {"type": "string", "enum": ["zone", "rrset"]}, description="Only these."),
        ],
        responses={200: page_of(FoundSerializer)},
    )
    def get(self, request: Request) -> HttpResponse:
        """Search zones and RRsets

        Zones first, by name; then RRsets whose owner name or one of whose
        rdata is `q`, or the part of `q` behind `has:`.
        """
        actor = actor_in(request)
        kind = choice_parameter(request.query_params, "kind", ("zone", "rrset"))
        # An rdata may begin with any word and a colon; a zone's name may not.
        text = search_parameter(request) if kind == "zone" else _text(request)
        text = text.strip()
        if not text:
            raise bad_parameter("q", "Say what to search for.")
        requested = page_request(request, str, str, int)
        found: list[Found] = []
        with searching():
            if kind != "rrset" and requested.after[:1] != ("r",):
                refuse_too_general(parse(text))
                found += _zones(actor, text, requested)
            if kind != "zone" and len(found) <= requested.limit:
                found += _rrsets(actor, text, requested, requested.limit + 1 - len(found))
        page = found[: requested.limit]
        return page_answer(request, [item for item, _ in page], page[-1][1] if len(found) > requested.limit else None)


def _text(request: Request) -> str:
    return text_parameter(request.query_params, "q", longest=LONGEST_SEARCH)


def _zones(actor: Actor, text: str, requested: PageRequest) -> list[Found]:
    zones = found_zones(actor, text).order_by("name")
    if requested.after:
        zones = zones.filter(name__gt=requested.after[1])
    zone_names = zones.values_list("name", flat=True)[: requested.limit + 1]
    return [
        ({"kind": "zone", "zone": name, "rrset": None, "url": zone_url(name)}, ("z", name, 0)) for name in zone_names
    ]


def _rrsets(actor: Actor, text: str, requested: PageRequest, limit: int) -> list[Found]:
    value = text[4:].strip() if text.lower().startswith("has:") else text
    matching = Q(rdata__overlap=rdata_spellings(value))
    for zone in _zones_around(actor, value):
        matching |= Q(zone=zone, owner_key=relative_key(names.parse(value), zone.name))
    rrsets = StoredRRset.objects.filter(matching, zone__in=access.zones_visible_to(actor))
    return list(_seen(actor, _after(rrsets, requested).select_related("zone"), limit))


def _zones_around(actor: Actor, text: str) -> list[Zone]:
    """The zones in which this could be an owner name."""
    try:
        name: str | None = names.parse(text)
    except BadName:
        return []
    around = []
    while name is not None:
        around.append(name)
        name = names.parent(name)
    return list(access.zones_visible_to(actor).filter(name__in=around))


def _seen(actor: Actor, rrsets: QuerySet[StoredRRset], limit: int) -> Iterator[Found]:
    """The first of them that the actor sees."""
    visibilities: dict[int, access.Visibility | None] = {}
    left = limit
    for row in rrsets.order_by("zone_id", "owner_key", "type").iterator(chunk_size=limit):
        if row.zone_id not in visibilities:
            visibilities[row.zone_id] = access.visibility_of(actor, row.zone)
        visibility = visibilities[row.zone_id]
        if left and (visibility is None or visibility(row.name, row.type)):
            left -= 1
            url = rrset_url(row.zone.name, row.name, row.type)
            item = {"kind": "rrset", "zone": row.zone.name, "rrset": rrset_json(rrset_of(row)), "url": url}
            yield item, ("r", f"{row.zone_id}-{bytes(row.owner_key).hex()}", row.type)
        if not left:
            return


def _after(rrsets: QuerySet[StoredRRset], requested: PageRequest) -> QuerySet[StoredRRset]:
    if requested.after[:1] != ("r",):
        return rrsets
    zone_id, _, key = requested.after[1].partition("-")
    try:
        zone, owner_key = int(zone_id), bytes.fromhex(key)
        if not 0 < zone < 2**31:
            raise ValueError
    except ValueError as exc:
        raise Problem("bad-cursor", "This is not a cursor that this list gave.") from exc
    type_ = min(max(requested.after[2], 0), 65_536)
    behind = (
        Q(zone__gt=zone) | Q(zone=zone, owner_key__gt=owner_key) | Q(zone=zone, owner_key=owner_key, type__gt=type_)
    )
    return rrsets.filter(behind)
