"""API resources to list, create, read, change, clone and delete zones, and to restore them from the trash."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Right, actor_form
from dnspanel.accounts.models import Team
from dnspanel.api.v2.http.accepted import answer_publication, moved_by
from dnspanel.api.v2.http.etag import condition_in, fresh_enough, require, zone_tag
from dnspanel.api.v2.http.fault_texts import quote_text
from dnspanel.api.v2.http.pages import cut, page_answer, page_request
from dnspanel.api.v2.http.problems import Problem, bad_value, violations_at
from dnspanel.api.v2.http.representation import time_json, trash_url, zone_url
from dnspanel.api.v2.http.view import V2View, actor_in, answer, api_operation, form_id_of, query_parameter
from dnspanel.api.v2.resources.new_zone import chosen_server_set, host_of, hosts, mailbox_in, new_rrsets
from dnspanel.api.v2.resources.publishing import TERMS, terms_of_query
from dnspanel.api.v2.schema.fields import PAGED, id_parameter, page_of, read, search_parameter, text_parameter
from dnspanel.api.v2.schema.parsing import Faults
from dnspanel.api.v2.schema.publication_serializers import WrittenSerializer, ZoneWrittenSerializer
from dnspanel.api.v2.schema.query_parameters import CHANGING, DRY_RUN, IF_CHANGED, IF_MATCH, WRITING, Q
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.api.v2.schema.zone_serializers import (
    ClonesSerializer,
    DeletionsSerializer,
    NewZoneSerializer,
    TrashedZoneSerializer,
    ZonePatchSerializer,
    ZoneSerializer,
)
from dnspanel.database.statement_time import searching_for
from dnspanel.field_faults import NOT_FOUND
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import RuleViolations
from dnspanel.zones.lists import queries
from dnspanel.zones.log.history import tokens_of_publications
from dnspanel.zones.models import Channel, Publication, Zone, gone_at
from dnspanel.zones.publishing import clone, edit
from dnspanel.zones.rights import access
from dnspanel.zones.search.terms import Filter, parse
from dnspanel.zones.search.zone_conditions import looks_inside, refuse_too_general
from dnspanel.zones.search.zones_by_name import zones_fitting
from dnspanel.zones.settings.settings_of_zone import change_default_ttl, change_settings, teams_to_choose_from
from replication.dns import names
from replication.errors import BadName

_COLUMNS = (
    "name",
    "revision",
    "serial",
    "rrset_count",
    "tags",
    "team_id",
    "default_ttl",
    "changed_at",
    "changed_by__username",
    "sequence",
)


class ZoneList(V2View):
    @api_operation(
        "listZones",
        {200: page_of(ZoneSerializer)},
        *PAGED,
        Q,
        query_parameter("tag", "Only zones with this tag."),
        query_parameter("team", "Only zones of the team with this id.", int),
    )
    def get(self, request: Request) -> HttpResponse:
        """List zones.

        Lists all zones that the token can read, sorted by name. `q` accepts words and the filters of the search. The
        name of a zone must contain every word. With filters for RRsets, a page can have fewer items than `limit` even
        if more zones follow, so read pages until `next` is null.
        """
        requested = page_request(request, str)
        with searching_for(search := search_parameter(request)):
            refuse_too_general(parse(search))
            after = requested.after[0] if requested.after else ""
            zones = _filter_zones(request, zones_to_search(self.actor, search)).values_list(*_COLUMNS)
            found = zones_fitting(zones, parse(search), now=timezone.now(), after=after, limit=requested.limit + 1)
            rows, more = cut(found.rows, requested.limit)
        behind = rows[-1][0] if more else found.looked_to
        return page_answer(request, _rows_json(rows, self.actor), (behind,) if behind else None)

    @api_operation(
        "createZone", {202: ZoneWrittenSerializer, 201: ZoneWrittenSerializer}, *WRITING, request=NewZoneSerializer
    )
    def post(self, request: Request) -> HttpResponse:
        """Create a zone.

        Creates the zone and publishes it as revision 1. Needs the `create-zone` right. Without `rrsets`, the zone has
        an SOA record and NS records. The NS records come from `nameservers`, from a set of name servers, or from the
        panel's default.

        If a record is rejected, the zone is not created. A zone with more than 2,000 RRsets takes several publications,
        which are listed in `publications`. Name servers answer with the first publications before the last one arrives.
        """
        rrsets, body = new_rrsets(request)
        try:
            publication = edit.create_zone(
                zone=edit.NewZone(body["name"], rrsets),
                acting=Acting(self.actor, Channel.API, timezone.now(), body.get("reason", ""), form_id_of(request)),
                apex=edit.Apex(
                    nameservers=hosts(body, "nameservers"),
                    hostmaster=host_of(mailbox_in(body), "/hostmaster"),
                    server_set=chosen_server_set(self.actor, body),
                ),
                team=chosen_team(self.actor, body.get("team")),
            )
        except RuleViolations as exc:
            places = {(rrset.name, rrset.type): f"/rrsets/{place}" for place, rrset in enumerate(rrsets or ())}
            raise violations_at(exc, lambda violation: places.get((violation.name, violation.type), "")) from exc
        return _zone_written(request, publication, names.parse(body["name"]), 201)


class ZoneDetail(V2View):
    @api_operation("getZone", {200: ZoneSerializer}, IF_CHANGED)
    def get(self, request: Request, zone_name: str) -> HttpResponse:
        """Read a zone.

        Returns the zone's settings, serial and revision, without RRsets. Needs the `read` right. The `ETag` changes
        with each revision and with each change to a setting.
        """
        zone_body = zone_json(access.zone_for_reading(self.actor, zone_name), self.actor)
        return fresh_enough(request, zone_body["etag"]) or answer(zone_body, headers={"ETag": zone_body["etag"]})

    @api_operation("changeZone", {200: ZoneSerializer}, IF_MATCH, DRY_RUN, request=ZonePatchSerializer)
    def patch(self, request: Request, zone_name: str) -> HttpResponse:
        """Change a zone's tags, team or default TTL.

        Fields that the request body omits stay unchanged. Needs the `settings` right. Nothing is published, because
        name servers do not use these settings.
        """
        zone = access.zone_for(self.actor, zone_name, Right.SETTINGS)
        body = read(ZonePatchSerializer, request.data)
        with transaction.atomic():
            current = (
                Zone.objects.select_for_update(of=("self",), no_key=True).select_related("changed_by").get(pk=zone.pk)
            )
            require(
                condition_in(request), _tag(current), theirs=partial(zone_json, current, self.actor), mine=request.data
            )
            team = chosen_team(self.actor, body["team"], current.team_id) if "team" in body else current.team
            tags = body.get("tags", current.tags)
            if "default_ttl" in body:
                change_default_ttl(zone=current, ttl=body["default_ttl"], author=self.actor, now=timezone.now())
            change_settings(zone=current, tags=tags, team=team, author=self.actor, now=timezone.now())
        return answer(zone_json(current, self.actor), headers={"ETag": _tag(current)})

    @api_operation("deleteZone", {202: WrittenSerializer, 200: WrittenSerializer}, *CHANGING, *TERMS[:2])
    def delete(self, request: Request, zone_name: str) -> HttpResponse:
        """Delete a zone.

        Moves the zone to the trash for 30 days. Nodes no longer answer for the zone. Needs the `delete-zone` right. Use
        `restoreZone` to restore the zone.

        A token that deletes more than 25 zones and more than 1 % of all zones within ten minutes needs `confirm`. This
        does not apply to tokens that are allowed to delete many zones. To delete several zones in one publication, use
        `deleteZones`.
        """
        terms = terms_of_query(request)
        zone = access.zone_for(self.actor, zone_name, Right.DELETE_ZONE)
        condition = condition_in(request)
        require(condition, _tag(zone), theirs=partial(zone_json, zone, self.actor))
        publication = edit.delete_zone(
            zone=zone,
            acting=Acting(self.actor, Channel.API, timezone.now(), terms.reason, form_id_of(request)),
            at_revision=zone.revision if condition.match else None,
            confirmed=terms.confirm,
        )
        return answer_publication(request, publication, {"zones": moved_by(publication, self.actor), "warnings": []})


class ZoneClones(V2View):
    # Unconditional: the source is read in one snapshot and stays unchanged.
    @api_operation("cloneZone", {202: WrittenSerializer, 201: WrittenSerializer}, *WRITING, request=ClonesSerializer)
    def post(self, request: Request, zone_name: str) -> HttpResponse:
        """Clone a zone.

        Creates one or more zones with the published RRsets of the source zone, including comments and disabled values.
        All new zones are created in one publication. If one fails, no zone is created. Names within the source zone
        become names within the new zone, also in record values. DNSSEC keys, signatures and DS records are not copied.

        Needs the `read` right for the whole zone, and `create-zone`.
        """
        source = access.zone_for_reading(self.actor, zone_name)
        body = read(ClonesSerializer, request.data)
        publication = clone.clone_zone(
            source=source,
            zone_names=_new_names(body["names"]),
            acting=Acting(self.actor, Channel.API, timezone.now(), body.get("reason", ""), form_id_of(request)),
            team=chosen_team(self.actor, body.get("team")),
            with_tags=body["tags"],
        )
        return answer_publication(
            request, publication, {"zones": moved_by(publication, self.actor), "warnings": []}, status=201
        )


def _new_names(typed: Sequence[str]) -> list[str]:
    """Return the names in canonical form. Raise Problem with a pointer to each invalid or repeated name."""
    faults, found = Faults(), list[str]()
    for index, text in enumerate(typed):
        name = _canonical(text)
        if name is None:
            faults.at(f"/names/{index}", f"{quote_text(typed[index])} is not a valid zone name.", "bad-name")
        elif name in found:
            faults.at(f"/names/{index}", "The name is listed twice.", "twice")
        else:
            found.append(name)
    faults.refuse()
    return found


class Deletions(V2View):
    # Unconditional: each zone can have `at_revision` instead.
    @api_operation(
        "deleteZones", {202: WrittenSerializer, 200: WrittenSerializer}, *WRITING, request=DeletionsSerializer
    )
    def post(self, request: Request) -> HttpResponse:
        """Delete zones.

        Moves all named zones to the trash in one publication. If any zone fails, no zone is deleted. Needs the right
        `delete-zone` for each zone. Before the first deletion, the panel checks whether the number of zones needs
        `confirm`.
        """
        body = read(DeletionsSerializer, request.data)
        publication = edit.delete_zones(
            zones=_zones_to_delete(self.actor, body["zones"]),
            acting=Acting(self.actor, Channel.API, timezone.now(), body["reason"], form_id_of(request)),
            confirmed=body["confirm"],
        )
        return answer_publication(request, publication, {"zones": moved_by(publication, self.actor), "warnings": []})


def _zones_to_delete(actor: Actor, named: Sequence[Mapping[str, Any]]) -> list[edit.ZoneToDelete]:
    """Return the zones that the request lists, loaded with one query.

    Raise Problem with a pointer to each name that is unknown or listed twice.
    """
    canonical = [_canonical(each["zone"]) for each in named]
    found = {zone.name: zone for zone in access.zones_visible_to(actor).filter(name__in=filter(None, canonical))}
    faults = Faults()
    for index, name in enumerate(canonical):
        if name is None or name not in found:
            faults.at(f"/zones/{index}/zone", f"Zone not found: {named[index]['zone']}", "not-found")
        elif name in canonical[:index]:
            faults.at(f"/zones/{index}/zone", "The zone is listed twice.", "twice")
    faults.refuse()
    return [
        edit.ZoneToDelete(found[name], each.get("at_revision"))
        for name, each in zip(canonical, named, strict=True)
        if name is not None
    ]


def _canonical(text: str) -> str | None:
    try:
        return names.parse(text)
    except BadName:
        return None


class TrashList(V2View):
    @api_operation(
        "listDeletedZones",
        {200: page_of(TrashedZoneSerializer)},
        query_parameter("q", "Search, as in the search box of the panel's trash."),
        *PAGED,
    )
    def get(self, request: Request) -> HttpResponse:
        """List deleted zones.

        Lists the zones in the trash that the token can read, most recently deleted first. Each zone includes the time
        of its permanent deletion.
        """
        requested, search = page_request(request, str), search_parameter(request)
        after = requested.after[0] if requested.after else ""
        with searching_for(search):
            page = queries.trash_page(user=self.actor, search=search, after=after, limit=requested.limit)
        items = [_trashed_json(row) for row in page.rows]
        return page_answer(request, items, (page.next_after,) if page.next_after else None)


class TrashRestore(V2View):
    # Unconditional: a zone in the trash does not change.
    @api_operation(
        "restoreZone", {202: ZoneWrittenSerializer, 200: ZoneWrittenSerializer}, *WRITING, TERMS[0], request=None
    )
    def post(self, request: Request, zone_id: int) -> HttpResponse:
        """Restore a zone.

        Restores a zone from the trash with its RRsets, settings and keys, and with a higher serial, in one publication.
        Needs the `delete-zone` right.
        """
        if zone_id >= 2**31:
            raise Problem("not-found", "The trash has no zone with this id.")
        zone = access.trashed_zone_for_restoring(self.actor, zone_id)
        publication = edit.restore_zone(
            zone=zone,
            author=self.actor,
            channel=Channel.API,
            now=timezone.now(),
            reason=terms_of_query(request).reason,
            form_id=form_id_of(request),
        )
        return _zone_written(request, publication, zone.name, 200)


def zones_to_search(actor: Actor, search: str) -> QuerySet[Zone]:
    """Select the zones that the actor is allowed to search.

    In other zones, a match could reveal records or an owner to an actor who isn't allowed to see them.
    """
    parsed = parse(search)
    visible = access.zones_seen_by(actor) if looks_inside(parsed) else access.zones_visible_to(actor)
    if any(term.filter is Filter.OWNER for term in parsed.terms) and not access.may_know_author(actor):
        return visible.none()
    return visible


def zone_json(zone: Zone, actor: Actor) -> dict[str, Any]:
    """Return the JSON form of a zone. This needs at most one query.

    `zone.changed_by` must be loaded. The result omits this user if the actor isn't allowed to see authors.
    """
    changed_by = zone.changed_by.username if zone.changed_by else None
    return _rows_json(
        [
            (
                zone.name,
                zone.revision,
                zone.serial,
                zone.rrset_count,
                zone.tags,
                zone.team_id,
                zone.default_ttl,
                zone.changed_at,
                changed_by,
                zone.sequence,
            )
        ],
        actor,
    )[0]


def _rows_json(rows: Sequence[Any], actor: Actor) -> list[dict[str, Any]]:
    """Return the JSON form of zones. Include each zone's last author if the actor is allowed to see authors."""
    if not access.may_know_author(actor):
        return [_row_json(row, None) for row in rows]
    tokens = tokens_of_publications([row[-1] for row in rows])
    return [_row_json(row, actor_form(row[-2], tokens.get(row[-1]))) for row in rows]


def _row_json(row: Any, changed_by: dict[str, Any] | None) -> dict[str, Any]:
    name, revision, serial, rrset_count, tags, team, default_ttl, changed_at, _, sequence = row
    return {
        "name": name,
        "revision": revision,
        "serial": serial,
        "rrset_count": rrset_count,
        "tags": tags,
        "team": team,
        "default_ttl": default_ttl,
        "changed_at": time_json(changed_at),
        "changed_by": changed_by,
        "sequence": sequence,
        "url": zone_url(name),
        "etag": zone_tag(revision, tags, team, default_ttl),
    }


def _tag(zone: Zone) -> str:
    return zone_tag(zone.revision, zone.tags, zone.team_id, zone.default_ttl)


def _trashed_json(row: queries.ZoneRow) -> dict[str, Any]:
    assert row.deleted_at is not None
    return row_json(TrashedZoneSerializer, row, gone_at=time_json(gone_at(row.deleted_at)), url=trash_url(row.id))


def _filter_zones(request: Request, zones: QuerySet[Zone]) -> QuerySet[Zone]:
    if tag := text_parameter(request.query_params, "tag"):
        zones = zones.filter(access.has_any_tag([tag.lower()]))
    if (team := id_parameter(request.query_params, "team")) is not None:
        zones = zones.filter(team=team)
    return zones


def chosen_team(actor: Actor, team_id: int | None, present: int | None = None) -> Team | None:
    """Return the team with this id, or None if `team_id` is None. Raise Problem if the actor can't choose the team.

    The team with the id `present` can always be chosen.
    """
    if team_id is None:
        return None
    if team_id == present:
        return Team.objects.get(pk=team_id)
    found = next((team for team in teams_to_choose_from(actor) if team.pk == team_id), None)
    # A person who can create zones in a team cannot always move zones into the team.
    if found is None and actor.may(Right.CREATE_ZONE, zone_id=0, tags=(), team_id=team_id):
        found = Team.objects.filter(pk=team_id).first()
    if found is None:
        detail = f"There is no team {team_id} to which you can give a zone. `GET /teams` lists teams."
        raise bad_value("/team", detail, NOT_FOUND)
    return found


def _zone_written(request: Request, publication: Publication, name: str, status: int) -> HttpResponse:
    """Return the response after a zone was created or restored: the publication, the zone and the zone's URL.

    Raise Problem (404) if the zone has been deleted again since then.
    """
    actor = actor_in(request)
    zone = Zone.objects.select_related("changed_by").filter(name=name, deleted_at=None).first()
    if zone is None:
        raise Problem("not-found", f"{name} has been deleted again.")
    body = {"zones": moved_by(publication, actor), "warnings": [], "zone": zone_json(zone, actor)}
    headers = {"Location": zone_url(name), "ETag": _tag(zone)}
    return answer_publication(request, publication, body, status=status, headers=headers)
