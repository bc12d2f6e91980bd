"""API resource that searches all zones with the syntax of the panel's search box, and lists zones, then RRsets."""

from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor
from dnspanel.api.v2.http.pages import PageRequest, page_answer, page_request
from dnspanel.api.v2.http.problems import Problem, bad_parameter
from dnspanel.api.v2.http.representation import rrset_json, rrset_url, zone_url
from dnspanel.api.v2.http.view import V2View, api_operation, query_parameter
from dnspanel.api.v2.resources.zones import zones_to_search
from dnspanel.api.v2.schema.fields import PAGED, choice_parameter, page_of, search_parameter
from dnspanel.api.v2.schema.zone_serializers import FoundSerializer
from dnspanel.database.statement_time import searching
from dnspanel.zones.search.everywhere import BEFORE_ALL, Place, place_of, rrsets_found
from dnspanel.zones.search.terms import parse
from dnspanel.zones.search.zone_conditions import refuse_too_general
from dnspanel.zones.search.zones_by_name import zones_fitting

Found = tuple[dict[str, Any], tuple[Any, ...]]  # the item and the cursor after the item


class Search(V2View):
    @api_operation(
        "searchZonesAndRRsets",
        {200: page_of(FoundSerializer)},
        *PAGED,
        query_parameter("q", "Search, as in the panel's search box.", required=True),
        query_parameter("kind", "Only this kind.", {"type": "string", "enum": ["zone", "rrset"]}),
    )
    def get(self, request: Request) -> HttpResponse:
        """Search zones and RRsets.

        Lists zones by name, then RRsets. Finds only zones and RRsets that the token can read. A page can have fewer
        items than `limit` even if more follow, so read pages until `next` is null.
        """
        kind = choice_parameter(request.query_params, "kind", ("zone", "rrset"))
        text = search_parameter(request)
        if not parse(text):
            raise bad_parameter("q", "`q` is required: what to search for, such as `www` or `type:a`.", "required")
        requested = page_request(request, str, str, int)
        found: list[Found] = []
        with searching():
            looked_to = ""
            if kind != "rrset" and requested.after[:1] != ("r",):
                refuse_too_general(parse(text))
                found, looked_to = _zones(self.actor, text, requested)
            if kind == "zone" or looked_to or len(found) >= requested.limit:
                page = found[: requested.limit]
                # RRsets can follow the last zone.
                behind = page[-1][1] if page and (len(found) > requested.limit or kind != "zone") else None
                behind = _zone_cursor(looked_to) if looked_to else behind
            else:
                rrsets, behind = _rrsets(self.actor, text, requested, requested.limit - len(found), now=timezone.now())
                page = [*found, *rrsets]
        return page_answer(request, [item for item, _ in page], behind)


def _zones(actor: Actor, text: str, requested: PageRequest) -> tuple[list[Found], str]:
    """Return a page of zones, and the last compared zone name if the search stopped at its work limit, or else ""."""
    zone_names = zones_to_search(actor, text).values_list("name", flat=True)
    after = requested.after[1] if requested.after else ""
    found = zones_fitting(zone_names, parse(text), now=timezone.now(), after=after, limit=requested.limit + 1)
    zones: list[Found] = [
        ({"kind": "zone", "zone": name, "rrset": None, "url": zone_url(name), "complaint": ""}, _zone_cursor(name))
        for name in found.rows
    ]
    return zones, found.looked_to


def _zone_cursor(name: str) -> tuple[Any, ...]:
    return "z", name, 0


def _rrsets(
    actor: Actor, text: str, requested: PageRequest, limit: int, *, now: datetime
) -> tuple[list[Found], tuple[Any, ...] | None]:
    page = rrsets_found(person=actor, search=parse(text), now=now, after=_after(requested), limit=limit)
    rows: list[Found] = []
    for found in page.rows:
        rrset, zone = found.rrset, found.zone.name
        url = rrset_url(zone, rrset.name, rrset.type)
        displayed = {
            "kind": "rrset",
            "zone": zone,
            "rrset": rrset_json(rrset),
            "url": url,
            "complaint": found.complaint,
        }
        rows.append((displayed, _cursor(found.place)))
    return rows, None if page.next_after is None else _cursor(page.next_after)


def _cursor(place: Place) -> tuple[Any, ...]:
    return "r", f"{place.zone_id}-{place.owner_key.hex()}", place.type


def _after(requested: PageRequest) -> Place:
    if requested.after[:1] != ("r",):
        return BEFORE_ALL
    place = place_of(f"{requested.after[1]}-{requested.after[2]}")
    if place == BEFORE_ALL:
        raise Problem("bad-cursor", "This cursor is not from this list.")
    return place
