"""API resource to set tags or the team of many zones, or to delete them. A search or a list selects the zones."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework.request import Request

from dnspanel import rehearsal
from dnspanel.accounts.actors.actors import Actor
from dnspanel.accounts.models import Team
from dnspanel.api.v2.http.accepted import answer_publication, moved_by
from dnspanel.api.v2.http.dry_run import is_dry_run, reasons_in
from dnspanel.api.v2.http.etag import condition_in, require, tag_of
from dnspanel.api.v2.http.problems import Problem, bad_value
from dnspanel.api.v2.http.view import V2View, actor_in, answer, api_operation
from dnspanel.api.v2.resources.many_rrsets import EXAMPLES, MOST_NAMED, refuse_members, search_in
from dnspanel.api.v2.schema import many_serializers
from dnspanel.api.v2.schema.field_faults import NOT_TOGETHER
from dnspanel.api.v2.schema.fields import read
from dnspanel.api.v2.schema.query_parameters import CHANGING
from dnspanel.database.statement_time import searching_for
from dnspanel.field_faults import NOT_FOUND
from dnspanel.zones.errors import SettingsRefused
from dnspanel.zones.lists.selection import TooMany
from dnspanel.zones.models import Channel
from dnspanel.zones.publishing import many_settings
from dnspanel.zones.publishing.many_settings import Marks, ZoneSelection, ZonesOutcome, marks_of
from dnspanel.zones.settings.settings_of_zone import teams_to_choose_from


class ManyZones(V2View):
    conditional = True

    @api_operation(
        "actOnZones",
        {
            202: many_serializers.ManyZonesWrittenSerializer,
            200: PolymorphicProxySerializer(
                "ManyZonesWrittenOrPreview",
                [many_serializers.ManyZonesWrittenSerializer, many_serializers.ManyZonesPreviewSerializer],
                None,
            ),
        },
        *CHANGING,
        request=many_serializers.ManyZonesSerializer,
    )
    def post(self, request: Request) -> HttpResponse:
        """Change or delete many zones.

        Applies one action to all zones that a search finds, or to the listed zones. Changing tags or the team needs the
        right `settings` and publishes nothing. Deleting needs the `delete-zone` right, takes at most 1,000 zones and
        makes one publication.

        Zones that the token is not allowed to change, or that someone else is changing at that moment, stay unchanged
        and are listed in `outcome`. With `dry_run` nothing is changed. The `ETag` of a dry run can be sent as
        `If-Match`.
        """
        body = read(many_serializers.ManyZonesSerializer, request.data)
        refuse_members(body["act"], many_serializers.MEMBERS_OF_ZONES)
        deletes = body["act"]["op"] == many_serializers.DELETE
        marks = Marks() if deletes else marks_in(body["act"], self.actor)
        preview = _preview(selection_in(body), None if deletes else marks, self.actor)
        counts = _outcome_json(preview)
        tag = tag_of([[zone.pk, zone.revision, zone.tags, zone.team_id] for zone in preview.changed])
        require(condition_in(request), tag, theirs=counts, mine=request.data)
        if is_dry_run(request):
            if deletes:
                _delete(request, preview, body)  # the dry run rolls it back
            examples = [zone.name for zone in preview.changed[:EXAMPLES]]
            reasons = reasons_in(rehearsal.under_way())
            return answer({**counts, "examples": examples, "reasons": reasons}, headers={"ETag": tag})
        if deletes:
            return _delete(request, preview, body)
        done = many_settings.change_marks(zones=preview.changed, marks=marks, author=self.actor, now=timezone.now())
        return answer_publication(
            request, None, {"zones": [], "warnings": [], "outcome": _outcome_json(_both(preview, done))}
        )


def _delete(request: Request, preview: ZonesOutcome, body: Mapping[str, Any]) -> HttpResponse:
    actor = actor_in(request)
    publication, done = many_settings.delete_found(
        zones=preview.changed,
        author=actor,
        channel=Channel.API,
        now=timezone.now(),
        reason=body["reason"],
        confirmed=body["confirm"],
    )
    zones = moved_by(publication, actor) if publication else []
    outcome = _outcome_json(_both(preview, done))
    return answer_publication(request, publication, {"zones": zones, "warnings": [], "outcome": outcome})


def _both(preview: ZonesOutcome, done: ZonesOutcome) -> ZonesOutcome:
    """Return the outcome of the write, plus the zones that the preview refused or left unchanged."""
    refused = {zone.pk: (zone, reason) for zone, reason in [*preview.refused, *done.refused]}
    return ZonesOutcome(done.changed, preview.unchanged + done.unchanged, list(refused.values()))


def _preview(selection: ZoneSelection, marks: Marks | None, actor: Actor) -> ZonesOutcome:
    """Return the outcome of setting `marks`, or of a deletion if None. Raise Problem if too many zones match."""
    try:
        with searching_for(selection.search):
            if marks is None:
                return many_settings.preview_deletion(selection=selection, author=actor)
            return many_settings.preview_marks(selection=selection, marks=marks, author=actor)
    except TooMany as exc:
        most = many_settings.MOST_DELETED if marks is None else many_settings.MOST_ZONES
        raise Problem("too-large", f"More than {most} zones match. Narrow the search.") from exc


def selection_in(body: Mapping[str, Any]) -> ZoneSelection:
    """Return the zones that the body selects. Raise Problem unless the body has exactly one of `q` and `zones`."""
    if ("q" in body) == ("zones" in body):
        raise bad_value("/q", "Send either `q` or `zones`.", NOT_TOGETHER if "q" in body else "required")
    return ZoneSelection(tuple(body["zones"])) if "zones" in body else ZoneSelection(search=search_in(body["q"]))


def marks_in(act: Mapping[str, Any], actor: Actor) -> Marks:
    """Return the tags or the team that the action sets. Raise Problem if they are invalid."""
    try:
        if act["op"] == many_serializers.ADD_TAGS:
            return marks_of(add=act["tags"])
        if act["op"] == many_serializers.REMOVE_TAGS:
            return marks_of(remove=act["tags"])
    except SettingsRefused as exc:
        raise bad_value("/act/tags", str(exc)) from exc
    return Marks(moves=True, team=_team(act["team"], actor))


def _team(team_id: int | None, actor: Actor) -> Team | None:
    if team_id is None:
        return None
    found = next((team for team in teams_to_choose_from(actor) if team.pk == team_id), None)
    if found is None:
        detail = f"There is no team {team_id} to which you can give a zone. `GET /teams` lists teams."
        raise bad_value("/act/team", detail, NOT_FOUND)
    return found


def _outcome_json(outcome: ZonesOutcome) -> dict[str, Any]:
    return {
        "changed": len(outcome.changed),
        "changed_rrsets": outcome.rrsets,
        "unchanged": outcome.unchanged,
        "refused": len(outcome.refused),
        "refusals": [{"zone": zone.name, "reason": reason} for zone, reason in outcome.refused[:MOST_NAMED]],
    }
