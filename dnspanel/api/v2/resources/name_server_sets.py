"""API resources for name server sets. A set defines the NS records and SOA names of the zones that follow it.

Vanity names are name servers of a set that have names in zones of this panel. Their resources show the addresses that
the panel maintains, the glue, and the check at the parent zone.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Permission, person_form
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write
from dnspanel.api.v2.http.pages import page_answer, page_by_id
from dnspanel.api.v2.http.problems import Problem
from dnspanel.api.v2.http.representation import code_of
from dnspanel.api.v2.http.view import V2View, actor_in, answer, api_operation, no_content
from dnspanel.api.v2.resources.templates import team_of_body
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.fields import PAGED, Flag, Id, Integer, OptionalText, Shape, Text, page_of, read, stamp
from dnspanel.api.v2.schema.query_parameters import DRY_RUN
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.fleet.lookups.turns import Busy
from dnspanel.transfer.cutover.delegation_checklist import Verdict
from dnspanel.transfer.vanity.keep import Place, keep_addresses, places_of, stop_keeping
from dnspanel.transfer.vanity.parent import ask_parent
from dnspanel.transfer.zone_templates import access as template_access
from dnspanel.transfer.zone_templates import edit_template, server_set_text
from dnspanel.transfer.zone_templates.access import set_for
from dnspanel.transfer.zone_templates.queries import FollowedSet, set_of
from dnspanel.zones.errors import TemplateRefused, TemplateUnknown
from dnspanel.zones.models import TemplateKind, Zone, ZoneTemplate
from dnspanel.zones.rights import access
from dnspanel.zones.rules.name_rules import mailbox_text
from dnspanel.zones.settings.server_sets import Servers, newest_set, newest_sets
from dnspanel.zones.values.soa import DEFAULT_TTL


class NameServerSerializer(Shape):
    """A name server, with its own addresses or with nodes that provide the addresses."""

    name = Text(max_length=1100)
    addresses = serializers.ListField(
        child=Text(max_length=64),
        default=list,
        max_length=server_set_text.MOST_ADDRESSES,
        help_text="IP addresses for glue.",
    )
    nodes = serializers.ListField(
        child=Text(max_length=63),
        default=list,
        max_length=server_set_text.MOST_ADDRESSES,
        help_text="Names of nodes whose public addresses the name server has.",
    )


class NameServerSetSerializer(Shape):
    """A set of name servers, with versions.

    `createTemplateRun` updates the zones that follow the set.
    """

    id = serializers.IntegerField(read_only=True)
    name = Text(max_length=edit_template.LONGEST_NAME)
    team = Id(default=None, allow_null=True, help_text="Id of the team; null: panel-wide.")
    description = OptionalText(max_length=edit_template.LONGEST_NOTE)
    default = Flag(
        default=False, help_text="Use the set for new zones of the team, or, if panel-wide, of teams without a default."
    )
    servers = NameServerSerializer(many=True, min_length=1, max_length=server_set_text.MOST_HOSTS)
    primary = OptionalText(
        max_length=1100,
        help_text="Primary in the SOA. Empty: the first server in new zones; unchanged in existing zones.",
    )
    hostmaster = OptionalText(
        max_length=1100,
        help_text="Mailbox in the SOA, as a name. Empty: the panel's in new zones; unchanged in existing ones.",
    )
    ttl = Integer(default=DEFAULT_TTL, min_value=server_set_text.LEAST_TTL, max_value=server_set_text.MOST_TTL)
    note = OptionalText(write_only=True, max_length=edit_template.LONGEST_NOTE, help_text="Description of the version.")
    version = serializers.IntegerField(read_only=True)
    created_at = serializers.DateTimeField(read_only=True)
    changed_at = serializers.DateTimeField(read_only=True)


class FollowedSetSerializer(Shape):
    """The name server set that a zone follows, and the differences between zone and set."""

    set = serializers.IntegerField(allow_null=True, help_text="Id of the set; null: none, or hidden from this token.")
    version = serializers.IntegerField(allow_null=True, help_text="Version of the zone's last update.")
    more = serializers.ListField(child=serializers.CharField(), help_text="Name servers only in the zone.")
    fewer = serializers.ListField(child=serializers.CharField(), help_text="Name servers only in the set.")
    soa_differs = serializers.BooleanField(help_text="True if the SOA has another primary or hostmaster.")


class NameServerSets(V2View):
    @api_operation("listNameServerSets", page_of(NameServerSetSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List sets of name servers.

        Lists panel-wide sets and the sets of teams that the token can see. Needs the permission `read`.
        """
        access.require(self.actor, Permission.READ)
        return page_by_id(request, template_access.sets_visible_to(self.actor), _sets_json)

    @api_operation("createNameServerSet", {201: NameServerSetSerializer}, request=NameServerSetSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Create a set of name servers.

        Saves the set as version 1. Needs the `templates` right over the team's zones, or over all zones for a
        panel-wide set.
        """
        now = timezone.now()
        access.require(self.actor, Permission.READ)
        values = read(NameServerSetSerializer, request.data)
        template = edit_template.create_template(
            head=edit_template.Head(values["name"], team_of_body(values["team"]), values["description"]),
            kind=TemplateKind.SERVERS,
            content=_content(values),
            by=self.actor,
            now=now,
        )
        if values["default"]:
            edit_template.set_default(template=template, is_default=True, by=self.actor, now=now)
            template.is_default = True
        return answer_with_tag(set_json(template), 201, Location=f"{request.path}/{template.pk}")


class OneNameServerSet(V2View):
    @api_operation("getNameServerSet", NameServerSetSerializer)
    def get(self, request: Request, set_id: int) -> HttpResponse:
        """Read a set of name servers.

        Returns the set's name servers, SOA values and version. Needs the permission `read`.
        """
        return answer_with_tag(set_json(_door(request, set_id)))

    @api_operation("changeNameServerSet", NameServerSetSerializer, request=NameServerSetSerializer)
    def patch(self, request: Request, set_id: int) -> HttpResponse:
        """Change a set of name servers.

        Fields that the request body omits stay unchanged. New name servers, SOA values or TTLs make a new version. This
        does not change any zone; use `createTemplateRun` to update zones. Needs the `templates` right.
        """
        template, now = _door(request, set_id), timezone.now()
        patch = read(NameServerSetSerializer, request.data, partial=True)
        with conditional_write(request, f"template/{set_id}", lambda: set_json(_door(request, set_id))):
            team = team_of_body(patch["team"]) if "team" in patch else template.team
            head = edit_template.Head(
                patch.get("name", template.name), team, patch.get("description", template.description)
            )
            edit_template.change_template(template=template, head=head, by=self.actor, now=now)
            if patch.keys() & {"servers", "primary", "hostmaster", "ttl"}:
                content = _content(_members(_says(template)) | patch)
                edit_template.publish_version(
                    template=template, content=content, seen=template.version, by=self.actor, now=now
                )
            if "default" in patch:
                edit_template.set_default(template=template, is_default=patch["default"], by=self.actor, now=now)
        return answer_with_tag(set_json(_door(request, set_id)))

    @api_operation("deleteNameServerSet", {204: None})
    def delete(self, request: Request, set_id: int) -> HttpResponse:
        """Delete a set of name servers.

        Zones keep their name servers, but no longer follow the set. Needs the `templates` right.
        """
        template = _door(request, set_id)
        with conditional_write(request, f"template/{set_id}", lambda: set_json(_door(request, set_id))):
            edit_template.delete_template(template=template, by=self.actor, now=timezone.now())
        return no_content()


class ZoneNameServers(V2View):
    @api_operation("getZoneNameServers", FollowedSetSerializer)
    def get(self, request: Request, zone_name: str) -> HttpResponse:
        """Read the set of name servers of a zone.

        Returns the set that the zone follows, and the differences between zone and set. To remove the differences, use
        `applyTemplate` with the id of the set. Needs the `read` right.
        """
        zone = access.zone_for_reading(self.actor, zone_name)
        return answer_with_tag(_followed_json(set_of(zone, self.actor)))


def set_json(template: ZoneTemplate) -> dict[str, Any]:
    """Return the JSON form of a name server set, read with one query."""
    return _set_json(template, _says(template))


def _set_json(template: ZoneTemplate, says: Servers) -> dict[str, Any]:
    return row_json(NameServerSetSerializer, template, default=template.is_default, **_members(says))


def _members(says: Servers) -> dict[str, Any]:
    stored = says.to_json()
    return {"servers": stored.pop("hosts"), **stored}


def _sets_json(rows: Sequence[ZoneTemplate]) -> list[dict[str, Any]]:
    return [_set_json(template, says) for template, says in newest_sets(rows)]


def _says(template: ZoneTemplate) -> Servers:
    found = newest_set(template)
    if found is None:
        raise TemplateUnknown
    return found.servers


def _followed_json(followed: FollowedSet | None) -> dict[str, Any]:
    return {
        "set": None if followed is None else followed.link.template_id,
        "version": None if followed is None else followed.link.version,
        "more": list(followed.more) if followed else [],
        "fewer": list(followed.fewer) if followed else [],
        "soa_differs": followed is not None and followed.soa_differs,
    }


def _door(request: Request, set_id: int) -> ZoneTemplate:
    actor = actor_in(request)
    access.require(actor, Permission.READ)
    return template_access.set_for(actor, set_id)


def _content(values: Mapping[str, Any]) -> edit_template.Text:
    """Return the content of a set's version. Raise TemplateRefused with pointers for invalid values."""
    hosts, faults = [], {}
    for index, each in enumerate(values["servers"]):
        try:
            hosts.append(server_set_text.read_host(each["name"], each.get("addresses", ()), each.get("nodes", ())))
        except ValueError as exc:
            faults[f"servers/{index}"] = [str(exc)]
    named = {}
    for member, text in (("primary", values["primary"]), ("hostmaster", mailbox_text(values["hostmaster"]))):
        try:
            named[member] = server_set_text.read_name(text) if text else ""
        except ValueError as exc:
            faults[member] = [str(exc)]
    if faults:
        raise TemplateRefused(faults)
    says = Servers(tuple(hosts), named["primary"], named["hostmaster"], values["ttl"])
    try:
        return server_set_text.content_of(says, values.get("note", ""))
    except TemplateRefused as exc:
        fields = {"servers" if name == "hosts" else name: found for name, found in exc.fields.items()}
        raise TemplateRefused(fields) from exc


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
