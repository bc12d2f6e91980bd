"""API resources for producer catalogs (RFC 9432), their members and their groups."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Right
from dnspanel.api.v2.http.etag import conditional_write, tag_of
from dnspanel.api.v2.http.pages import each_as, page_by_id
from dnspanel.api.v2.http.view import V2View, actor_in, answer, api_operation, form_id_of, no_content
from dnspanel.api.v2.resources.publishing import TERMS, terms_of_query
from dnspanel.api.v2.resources.zones import chosen_team
from dnspanel.api.v2.schema.fields import PAGED, Integer, OptionalText, Shape, Text, ZoneName, page_of, read
from dnspanel.api.v2.schema.query_parameters import DRY_RUN
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.catalogs import access, producer
from dnspanel.catalogs.models import Produced, Producer
from dnspanel.catalogs.ours import ProducerRow, member_row, rows_of_ours
from dnspanel.secondaries.set_up_secondaries import MOST_GROUPS
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel
from dnspanel.zones.publishing import edit
from dnspanel.zones.rights.access import require_right


class CatalogGroupsSerializer(Shape):
    """The groups of a producer catalog."""

    group_tags = serializers.ListField(
        child=Text(max_length=60),
        max_length=MOST_GROUPS,
        default=list,
        help_text="Tags: a member is in the group of its first tag in this list (RFC 9432, section 4.3.2).",
    )


class NewProducedCatalogSerializer(CatalogGroupsSerializer):
    """A producer catalog to create."""

    name = ZoneName()
    team = Integer(default=None, allow_null=True, help_text="Id of the catalog's team.")


class ProducedCatalogSerializer(CatalogGroupsSerializer):
    """A producer catalog and its state."""

    id = serializers.IntegerField(read_only=True, help_text="Id of the catalog zone.")
    name = serializers.CharField(read_only=True)
    serial = serializers.IntegerField(read_only=True)
    members = serializers.IntegerField(read_only=True)
    in_trash = serializers.IntegerField(
        read_only=True, help_text="Zones in the trash that become members again if restored."
    )
    coming = serializers.IntegerField(
        read_only=True, help_text="Members that are listed as soon as their old catalog has named this one."
    )
    leaving = serializers.IntegerField(
        read_only=True,
        help_text="Zones that moved to another produced catalog. For an hour this catalog still lists them and names "
        "the new one.",
    )
    in_step = serializers.BooleanField(read_only=True, help_text="True if the catalog lists all current members.")
    created_at = serializers.DateTimeField(read_only=True)
    changed_at = serializers.DateTimeField(read_only=True)


class CatalogMemberSerializer(serializers.Serializer):
    """A member of a producer catalog."""

    zone = serializers.CharField()
    label = serializers.CharField(
        help_text="Label of the member's record. It changes each time the zone is added again."
    )
    group = serializers.CharField(help_text="Empty: no group.")
    in_trash = serializers.BooleanField(help_text="Whether the zone is in the trash.")


class CatalogPutInSerializer(Shape):
    """Zones to add to a producer catalog."""

    zones = serializers.ListField(child=ZoneName(), max_length=producer.MOST_MEMBERS, default=list)
    tag = OptionalText(max_length=60, help_text="Tag of zones to add.")
    team = Integer(default=None, allow_null=True, help_text="Team whose zones to add.")


class CatalogTakeOutSerializer(Shape):
    """Zones to remove from a producer catalog."""

    zones = serializers.ListField(child=ZoneName(), min_length=1, max_length=producer.MOST_MEMBERS)


class CatalogMovesSerializer(serializers.Serializer):
    """The number of zones that were added to or removed from a catalog."""

    moved = serializers.IntegerField(help_text="Number of zones that were added or removed.")


class ProducedCatalogs(V2View):
    @api_operation("listProducedCatalogs", page_of(ProducedCatalogSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List producer catalogs.

        A producer catalog is a catalog zone of this panel. It lists the zones that other servers should transfer. Only
        catalogs that the token can read are listed.
        """
        return page_by_id(request, access.producers_visible_to(self.actor), _catalogs_json)

    @api_operation(
        "createProducedCatalog", {201: ProducedCatalogSerializer}, DRY_RUN, request=NewProducedCatalogSerializer
    )
    def post(self, request: Request) -> HttpResponse:
        """Create a producer catalog.

        Creates a catalog zone without members. Nodes do not serve the catalog zone. Secondaries, and clients with a
        TSIG key, can transfer it like any zone. Needs the `create-zone` right.
        """
        values = read(NewProducedCatalogSerializer, request.data)
        zone = producer.create_catalog(
            name=values["name"],
            team=chosen_team(self.actor, values["team"]),
            group_tags=values["group_tags"],
            acting=Acting(self.actor, Channel.API, timezone.now(), form_id=form_id_of(request)),
        )
        return _answer_catalog(self.actor, zone.name, 201, Location=f"{request.path}/{zone.name}")


class OneProducedCatalog(V2View):
    @api_operation("getProducedCatalog", ProducedCatalogSerializer)
    def get(self, request: Request, zone_name: str) -> HttpResponse:
        """Read a producer catalog.

        Returns the catalog's serial, groups and number of members. Needs the `read` right.
        """
        return _answer_catalog(self.actor, zone_name)

    @api_operation("changeProducedCatalog", ProducedCatalogSerializer, request=CatalogGroupsSerializer)
    def patch(self, request: Request, zone_name: str) -> HttpResponse:
        """Change a producer catalog.

        Sets the tags that become groups in the catalog (RFC 9432). Needs the `settings` right.
        """
        actor, catalog = _to_change(request, zone_name)
        values = read(CatalogGroupsSerializer, request.data, partial=True)
        with _guard_write(request, catalog):
            if "group_tags" in values:
                producer.set_groups(
                    catalog=catalog.zone, group_tags=values["group_tags"], author=actor, now=timezone.now()
                )
        return _answer_catalog(actor, zone_name)

    @api_operation("deleteProducedCatalog", {204: None}, DRY_RUN, *TERMS[:2])
    def delete(self, request: Request, zone_name: str) -> HttpResponse:
        """Delete a producer catalog.

        Moves the catalog to the trash for 30 days. The member zones stay, and become members again if the catalog is
        restored. The deletion counts toward the limit on zones that a person can delete within ten minutes. Needs the
        right `delete-zone`.
        """
        terms = terms_of_query(request)
        catalog = access.producer_for(self.actor, zone_name)
        require_right(self.actor, catalog.zone, Right.DELETE_ZONE)
        with _guard_write(request, catalog):
            edit.delete_zone(
                zone=catalog.zone,
                acting=Acting(self.actor, Channel.API, timezone.now(), terms.reason, form_id_of(request)),
                confirmed=terms.confirm,
            )
        return no_content()


class CatalogMembers(V2View):
    @api_operation("listCatalogMembers", page_of(CatalogMemberSerializer), *PAGED)
    def get(self, request: Request, zone_name: str) -> HttpResponse:
        """List the members of a producer catalog.

        Lists zones that the token can read, each with its label and group in the catalog. Zones in the trash are
        marked.
        """
        catalog = access.producer_for(self.actor, zone_name)

        def member_json(produced: Produced) -> dict[str, Any]:
            row = member_row(catalog, produced)
            in_trash = row.zone.deleted_at is not None
            return {"zone": row.zone.name, "label": produced.label, "group": row.group, "in_trash": in_trash}

        return page_by_id(request, access.produced_visible_to(self.actor, catalog), each_as(member_json))


class CatalogPutIn(V2View):
    # Unconditional: zones that are already members stay unchanged.
    @api_operation("addCatalogMembers", {202: CatalogMovesSerializer}, request=CatalogPutInSerializer)
    def post(self, request: Request, zone_name: str) -> HttpResponse:
        """Add zones to a producer catalog.

        Adds the named zones, and zones with the given tag or of the given team. A named zone whose settings the token
        cannot change is refused; zones of the tag or the team are skipped instead. Zones that get the tag later are not
        added. The catalog lists the new members within seconds. Needs the `settings` right for the catalog.

        A zone that moves from another catalog keeps its label. For an hour the old catalog points to the new one. The
        new catalog lists the zone after a minute.
        """
        actor, catalog = _to_change(request, zone_name)
        chosen = producer.Chosen(**read(CatalogPutInSerializer, request.data))
        moved = producer.put_in(catalog=catalog.zone, chosen=chosen, author=actor, now=timezone.now())
        return answer({"moved": moved}, 202, headers={"Location": _members_url(request)})


class CatalogTakeOut(V2View):
    @api_operation("removeCatalogMembers", {202: CatalogMovesSerializer}, request=CatalogTakeOutSerializer)
    def post(self, request: Request, zone_name: str) -> HttpResponse:
        """Remove zones from a producer catalog.

        Within seconds the catalog no longer lists the given zones, and servers that consume the catalog stop serving
        these zones. Needs the `settings` right for the catalog.
        """
        actor, catalog = _to_change(request, zone_name)
        zones = read(CatalogTakeOutSerializer, request.data)["zones"]
        moved = producer.take_out(catalog=catalog.zone, zones=zones, author=actor, now=timezone.now())
        return answer({"moved": moved}, 202, headers={"Location": _members_url(request)})


def _members_url(request: Request) -> str:
    """Return the URL of the catalog's member list, which shows a change before the catalog zone does."""
    return f"{request.path.rpartition('/')[0]}/members"


def _catalogs_json(producers: Sequence[Producer]) -> list[dict[str, Any]]:
    return [_json(row) for row in rows_of_ours(producers)]


def _json(row: ProducerRow) -> dict[str, Any]:
    counts = {name: getattr(row, name) for name in ("members", "in_trash", "coming", "leaving")}
    return row_json(ProducedCatalogSerializer, row.zone, **_set(row.producer), **counts, in_step=row.is_followed)


def _set(catalog: Producer) -> dict[str, Any]:
    """Return the settings that the ETag covers. Members are not covered, because they change without a request."""
    return {"group_tags": list(catalog.group_tags)}


def _to_change(request: Request, zone_name: str) -> tuple[Actor, Producer]:
    actor = actor_in(request)
    catalog = access.producer_for(actor, zone_name)
    require_right(actor, catalog.zone, Right.SETTINGS)
    return actor, catalog


def _guard_write(request: Request, catalog: Producer) -> AbstractContextManager[None]:
    return conditional_write(request, f"produced/{catalog.pk}", lambda: _set(Producer.objects.get(pk=catalog.pk)))


def _answer_catalog(actor: Actor, zone_name: str, status: int = 200, **headers: str) -> HttpResponse:
    catalog = access.producer_for(actor, zone_name)
    [row] = rows_of_ours([catalog])
    return answer(_json(row), status, headers={"ETag": tag_of(_set(catalog)), **headers})
