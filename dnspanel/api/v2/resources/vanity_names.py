"""API resources for vanity names: name servers of a set that have names in zones of this panel.

The resources show the addresses that the panel maintains, the glue, and the check at the parent zone.
"""

from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Permission, person_form
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write
from dnspanel.api.v2.http.pages import page_answer
from dnspanel.api.v2.http.problems import Problem
from dnspanel.api.v2.http.representation import code_of
from dnspanel.api.v2.http.view import V2View, actor_in, answer, api_operation, no_content
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.fields import Shape, page_of, stamp
from dnspanel.api.v2.schema.query_parameters import DRY_RUN
from dnspanel.fleet.lookups.turns import Busy
from dnspanel.transfer.cutover.delegation_checklist import Verdict
from dnspanel.transfer.vanity.keep import Place, keep_addresses, places_of, stop_keeping
from dnspanel.transfer.vanity.parent import ask_parent
from dnspanel.transfer.zone_templates.access import set_for
from dnspanel.zones.models import Zone, ZoneTemplate
from dnspanel.zones.rights import access


class ParentPointSerializer(serializers.Serializer):
    """The result of one check at the parent zone, and the records to change there."""

    code = serializers.CharField(help_text="`parent` (delegation) or `glue`.")
    verdict = serializers.ChoiceField(
        choices=[(code_of(verdict), code_of(verdict)) for verdict in Verdict], help_text="Result of the check."
    )
    message = serializers.CharField(help_text="Problem, in words.")
    lines = serializers.ListField(child=serializers.CharField(), help_text="Records to publish in the parent zone.")


class VanityNameSerializer(serializers.Serializer):
    """A vanity name from a name server set, and the addresses of its nodes."""

    name = serializers.CharField()
    addresses = serializers.ListField(child=serializers.CharField(), help_text="Addresses, also used as glue.")


class VanityPlaceSerializer(Shape):
    """A zone that contains names of a name server set.

    Includes the check at the parent zone, and whether the panel maintains the addresses of these names.
    """

    zone = serializers.CharField()
    names = VanityNameSerializer(many=True)
    kept = serializers.BooleanField(help_text="True if the panel maintains the A and AAAA records.")
    kept_by = ActorSerializer(allow_null=True)
    refusal = serializers.CharField(help_text="Reason why the records could not be updated; empty: none.")
    asked_at = serializers.DateTimeField(allow_null=True)
    parent = ParentPointSerializer(many=True, help_text="Results of the last check at the parent zone.")


class VanityPlaces(V2View):
    @api_operation("listVanityAddresses", page_of(VanityPlaceSerializer))
    def get(self, request: Request, set_id: int) -> HttpResponse:
        """List the zones that contain names of a name server set.

        Lists the zones of this panel that contain the name of a name server of the set. Ignores name servers without
        nodes, and omits zones that the token can't read. Needs the permission `read`.
        """
        places = places_of(_set(request, set_id), self.actor)
        return page_answer(request, [place_json(place) for place in places])


class VanityPlace(V2View):
    @api_operation("getVanityAddresses", VanityPlaceSerializer)
    def get(self, request: Request, set_id: int, zone_name: str) -> HttpResponse:
        """Read the vanity names in a zone.

        Returns the zone's vanity names and the addresses of their nodes. `kept` is true if the panel maintains these
        addresses. Needs the `read` right.
        """
        template = _set(request, set_id)
        zone = access.zone_for_reading(self.actor, zone_name)
        return answer_with_tag(place_json(_place(request, template, zone.name)))

    @api_operation("setVanityAddresses", VanityPlaceSerializer, DRY_RUN, request=None)
    def put(self, request: Request, set_id: int, zone_name: str) -> HttpResponse:
        """Maintain the addresses of name servers in a zone.

        Publishes A and AAAA records at the vanity names, with the addresses of the nodes. From then on, the panel keeps
        these records up to date, in your name. Needs the rights `add`, `change` and `remove` for these records. If the
        panel cannot publish the records, the response includes the reason and the panel tries again.
        """
        template = _set(request, set_id)
        zone = access.zone_for_editing(self.actor, zone_name)
        with conditional_write(request, _lock(template, zone), lambda: _as_it_is(request, template, zone)):
            keep_addresses(template=template, zone=zone, by=self.actor, now=timezone.now())
        return answer_with_tag(_as_it_is(request, template, zone))

    @api_operation("deleteVanityAddresses", {204: None}, DRY_RUN)
    def delete(self, request: Request, set_id: int, zone_name: str) -> HttpResponse:
        """Stop maintaining the addresses of name servers.

        The published records stay. Needs the right to change records of the zone.
        """
        template = _set(request, set_id)
        zone = access.zone_for_editing(self.actor, zone_name)
        with conditional_write(request, _lock(template, zone), lambda: _as_it_is(request, template, zone)):
            stop_keeping(template=template, zone=zone, by=self.actor, now=timezone.now())
        return no_content()


class VanityParent(V2View):
    @api_operation("checkVanityParent", VanityPlaceSerializer, request=None)
    def post(self, request: Request, set_id: int, zone_name: str) -> HttpResponse:
        """Check the delegation and glue at the parent zone.

        Queries the parent zone over DNS now, which takes some seconds. The panel must already maintain the addresses in
        the zone. Needs the right to change records of the zone.
        """
        template = _set(request, set_id)
        zone = access.zone_for_editing(self.actor, zone_name)
        kept = _place(request, template, zone.name).kept
        if kept is None:
            raise Problem("not-found", f"The panel does not maintain the addresses in {zone.name}")
        try:
            ask_parent(kept=kept, by=self.actor, now=timezone.now())
        except Busy as exc:
            raise Problem("unavailable", str(exc), headers={"Retry-After": "5"}) from exc
        return answer(_as_it_is(request, template, zone))


def place_json(place: Place) -> dict[str, Any]:
    """Return the JSON form of a zone with vanity names."""
    kept = place.kept
    points = [] if kept is None else kept.points
    return {
        "zone": place.zone.name,
        "names": [{"name": name, "addresses": list(found)} for name, found in place.addresses.items()],
        "kept": kept is not None,
        "kept_by": None if kept is None else person_form(kept.set_by),
        "refusal": "" if kept is None else kept.refusal,
        "asked_at": None if kept is None or kept.asked_at is None else stamp(kept.asked_at),
        "parent": [
            {
                "code": each["code"],
                "verdict": code_of(each["verdict"]),
                "message": each["sentence"],
                "lines": each["lines"],
            }
            for each in points
        ],
    }


def _as_it_is(request: Request, template: ZoneTemplate, zone: Zone) -> dict[str, Any]:
    return place_json(_place(request, template, zone.name))


def _lock(template: ZoneTemplate, zone: Zone) -> str:
    return f"template/{template.pk}/addresses/{zone.pk}"


def _set(request: Request, set_id: int) -> ZoneTemplate:
    actor = actor_in(request)
    access.require(actor, Permission.READ)
    return set_for(actor, set_id)


def _place(request: Request, template: ZoneTemplate, zone_name: str) -> Place:
    found = next((each for each in places_of(template, actor_in(request)) if each.zone.name == zone_name), None)
    if found is None:
        raise Problem("not-found", f"No name server of this set has nodes and a name in {zone_name}")
    return found
