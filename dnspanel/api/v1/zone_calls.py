"""Actions on a zone that don't change its records: notify, rectify, export, axfr-retrieve."""

from collections.abc import Iterator

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from dnspanel.api.v1 import primaries
from dnspanel.api.v1.content import content_for_client
from dnspanel.api.v1.rrsets import StoredRow, mnemonic
from dnspanel.api.v1.view import PowerdnsView, Refusal, accepts_json, actor_in, answer, zone_by_id
from dnspanel.api.v1.zone_objects import stored_rows
from dnspanel.secondaries import keyless
from dnspanel.zones.dnssec.queries import signing_of
from dnspanel.zones.models import Publication, Zone
from dnspanel.zones.rights import access
from dnspanel.zones.signals import published


class Notify(PowerdnsView):
    """A request to send NOTIFY (RFC 1996) to the zone's secondaries and to its additional addresses."""

    def put(self, request: Request, server_id: str, zone_id: str) -> HttpResponse:
        """Queue a NOTIFY. Return 200 even if nothing receives it, because clients send this request after each change.

        Nodes don't need NOTIFY. The request still wakes the workers that push to nodes, in case they missed a signal.
        """
        zone = _changeable(request, zone_id)
        published.send_robust(sender=Publication, sequence=zone.sequence)
        if keyless.notify_zone(zone=zone, now=timezone.now()):
            return answer({"result": "Notification queued"})
        return answer({"result": "Nodes get the zone from the panel", "warning": "No NOTIFY was sent to anybody."})


class Rectify(PowerdnsView):
    """A request to rectify the zone, which in PowerDNS updates the ordering and the empty non-terminals for DNSSEC."""

    def put(self, request: Request, server_id: str, zone_id: str) -> HttpResponse:
        """Do nothing, because nodes always receive rectified zones. Return 200, or 422 for a presigned zone."""
        zone = _changeable(request, zone_id)
        if signing_of(zone).presigned:
            raise Refusal(422, f"Zone '{zone.name}' is pre-signed, not rectifying.")
        return answer({"result": "Rectified"})


class AxfrRetrieve(PowerdnsView):
    """A request to transfer the zone from its primary."""

    def put(self, request: Request, server_id: str, zone_id: str) -> HttpResponse:
        """Queue a full transfer of the zone by a worker. Return 422 if the panel is the zone's primary."""
        zone = _changeable(request, zone_id)
        return answer({"result": primaries.retrieve(zone=zone, actor=actor_in(request), now=timezone.now())})


class Export(PowerdnsView):
    def get(self, request: Request, server_id: str, zone_id: str) -> HttpResponse:
        """Return one served record per line: name, TTL, class, type and content, separated by tabs.

        Clients that accept JSON receive the text in a JSON object.
        """
        zone = zone_by_id(request, zone_id)
        text = "".join(_lines(stored_rows(actor_in(request), zone)))
        if accepts_json(request):
            return answer({"zone": text})
        return HttpResponse(text, content_type="text/plain; charset=us-ascii")


def _changeable(request: Request, zone_id: str) -> Zone:
    """Return the zone. Raise Refusal (403) if the actor isn't allowed to change any of its records."""
    zone = zone_by_id(request, zone_id)
    if not access.may_edit_zone(actor_in(request), zone):
        raise Refusal(403, f"You may not change {zone.name}.")
    return zone


def _lines(rows: Iterator[StoredRow]) -> Iterator[str]:
    """Yield these rows' served records as lines."""
    for name, type_, ttl, texts, disabled, *_ in rows:
        for text in texts:
            if text not in disabled:
                yield f"{name}\t{ttl}\tIN\t{mnemonic(type_)}\t{content_for_client(type_, text)}\n"
