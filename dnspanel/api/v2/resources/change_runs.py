"""Resources for change runs, which make the same change in many zones: dry run, run and undo."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Permission
from dnspanel.api.v2.http.etag import conditional_write, tag_of
from dnspanel.api.v2.http.pages import each_as, page_by_id
from dnspanel.api.v2.http.problems import faults_at
from dnspanel.api.v2.http.view import V2View, answer, api_operation, form_id_of, no_content, query_parameter
from dnspanel.api.v2.resources.many_zones import marks_in, refuse_members, selection_in
from dnspanel.api.v2.resources.run_progress import RunProgress, run_json, what_stays
from dnspanel.api.v2.schema.field_faults import NOT_TOGETHER
from dnspanel.api.v2.schema.fields import (
    PAGED,
    Choice,
    Flag,
    Id,
    OptionalText,
    Shape,
    Text,
    ZoneName,
    choice_parameter,
    page_of,
    read,
)
from dnspanel.api.v2.schema.many_serializers import DELETE, MEMBERS_OF_ZONES, RESTORE, SET_TEAM, ZonesActSerializer
from dnspanel.api.v2.schema.zone_serializers import MOST_REASON
from dnspanel.field_faults import NOT_FOUND
from dnspanel.zones.dnssec.policy_queries import policy_for
from dnspanel.zones.errors import ChangeRunUnknown, PolicyUnknown
from dnspanel.zones.models import ChangeRun, ChangeRunZone, ZoneAct
from dnspanel.zones.rights import access
from dnspanel.zones.runs import change_run_queries, change_runs
from dnspanel.zones.runs.change_runs import Alike
from dnspanel.zones.search.terms import LONGEST_SEARCH

SET_POLICY = "set-policy"
_MEMBERS = {**MEMBERS_OF_ZONES, SET_POLICY: ({"policy"}, set[str]()), RESTORE: (set[str](), set[str]())}
_OUTCOMES = [str(outcome) for outcome in change_run_queries.Outcome]
_OPS: Mapping[str, str] = {ZoneAct.TEAM: SET_TEAM, ZoneAct.POLICY: SET_POLICY}  # other names are equal


class RunActSerializer(ZonesActSerializer):
    """The change to make in each zone."""

    op = Choice(choices=list(_MEMBERS), help_text="Change to make in each zone.")
    policy = Id(required=False, allow_null=True, help_text="For set-policy: the zone's own DNSSEC policy; null: none.")


class ChangeRunSerializer(RunProgress):
    """A run that changes zones: its action, its progress and its outcomes."""

    q = Text(
        required=False,
        max_length=LONGEST_SEARCH,
        allow_blank=True,
        help_text="Search, as in the panel's list of zones, or for `restore` as in the trash; empty: all zones. A dry "
        "run needs this or `zones`.",
    )
    zones = serializers.ListField(child=ZoneName(), required=False, min_length=1, max_length=change_runs.MOST_NAMED)
    act = RunActSerializer(required=False)
    reason = OptionalText(max_length=MOST_REASON, help_text="Reason of a deletion or restoration, for a dry run.")
    dry_run = serializers.BooleanField(read_only=True, help_text="True: the run changes nothing.")
    dry_run_of = Id(
        required=False,
        allow_null=True,
        help_text="Id of the dry run to carry out. Without this and `undo_of`, a dry run starts.",
    )
    undo_of = Id(required=False, allow_null=True, help_text="Id of the run to undo. Later changes by others stay.")
    confirm = Flag(default=False, write_only=True, help_text="With `dry_run_of`: confirms deleting many zones.")
    counts = serializers.DictField(
        child=serializers.IntegerField(), read_only=True, help_text=f"Zone counts by outcome: {', '.join(_OUTCOMES)}."
    )

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        links = [name for name in ("dry_run_of", "undo_of") if data.get(name) is not None]
        named = [name for name in ("q", "zones", "act") if name in data]
        if links and (named or links[1:]):
            message = "Send only `dry_run_of` or `undo_of`: the act and the zones come from that run."
            raise serializers.ValidationError({links[0]: [message]}, NOT_TOGETHER)
        if not links and "act" not in data:
            raise serializers.ValidationError({"act": ["`act` is required: what to do with the zones."]}, "required")
        return data


class ChangeRunZoneSerializer(Shape):
    """The outcome of a run in one zone."""

    zone = serializers.CharField()
    outcome = serializers.ChoiceField(choices=[(outcome, outcome) for outcome in _OUTCOMES])
    message = serializers.CharField(help_text="Reason, if the zone was refused or left unchanged.")


class ChangeRuns(V2View):
    @api_operation("listChangeRuns", page_of(ChangeRunSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List runs that change zones.

        The newest run comes first. A token sees the runs that it started. Needs the permission `read`.
        """
        access.require(self.actor, Permission.READ)
        runs = change_run_queries.runs_visible_to(self.actor)
        return page_by_id(request, runs, each_as(change_run_json), newest_first=True)

    @api_operation("createChangeRun", {202: ChangeRunSerializer}, request=ChangeRunSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Start a run that changes zones.

        Starts one of three runs: a dry run of one action on any number of zones, the real run after a dry run
        (`dry_run_of`), or the undo of a run (`undo_of`). A real run changes the zones that its dry run found. Changes
        are published in several publications. Needs the permission `read`, and the right for the action in each zone.
        Zones that the run rejects are listed with the reason. Read the run until its state is `done`.
        """
        form_id = form_id_of(request)
        access.require(self.actor, Permission.READ)
        run = _begin_run(read(ChangeRunSerializer, request.data), self.actor, form_id)
        headers = {"ETag": tag_of(what_stays(run)), "Location": f"{request.path}/{run.pk}"}
        return answer(change_run_json(run), 202, headers=headers)


class OneChangeRun(V2View):
    @api_operation("getChangeRun", ChangeRunSerializer)
    def get(self, request: Request, change_run_id: int) -> HttpResponse:
        """Read a run that changes zones.

        Returns the run's state, its progress and the number of zones with each outcome. A token sees the runs that it
        started.
        """
        run = change_run_queries.run_for(self.actor, change_run_id)
        return answer(change_run_json(run), headers={"ETag": tag_of(what_stays(run))})

    @api_operation("cancelChangeRun", {204: None})
    def delete(self, request: Request, change_run_id: int) -> HttpResponse:
        """Cancel a run that changes zones.

        Stops an unfinished run. Changes that the run has already published remain. To undo them, start a run with
        `undo_of`.
        """
        run = change_run_queries.run_for(self.actor, change_run_id)
        with conditional_write(
            request,
            f"change-run/{change_run_id}",
            lambda: what_stays(change_run_queries.run_for(self.actor, change_run_id)),
        ):
            change_runs.cancel_run(run=run, by=self.actor, now=timezone.now())
        return no_content()


class ChangeRunZones(V2View):
    @api_operation(
        "listChangeRunZones",
        page_of(ChangeRunZoneSerializer),
        *PAGED,
        query_parameter("outcome", "Zones with this outcome.", enum=_OUTCOMES),
    )
    def get(self, request: Request, change_run_id: int) -> HttpResponse:
        """List the zones of a run that changes zones.

        Lists all zones that the run changes and the first 1,000 zones that it rejects, each with its outcome.
        """
        run = change_run_queries.run_for(self.actor, change_run_id)
        found = ChangeRunZone.objects.filter(run=run)
        if outcome := choice_parameter(request.query_params, "outcome", _OUTCOMES):
            found = found.filter(outcome=outcome)
        return page_by_id(request, found, each_as(_zone_json))


def change_run_json(run: ChangeRun) -> dict[str, Any]:
    """Return the JSON form of a change run."""
    act: dict[str, Any] = {"op": _OPS.get(run.act, run.act)}
    if run.act in (ZoneAct.ADD_TAGS, ZoneAct.REMOVE_TAGS):
        act["tags"] = run.tags
    elif run.act == ZoneAct.TEAM:
        act["team"] = run.team_id
    elif run.act == ZoneAct.POLICY:
        act["policy"] = run.policy_id
    value = run_json(ChangeRunSerializer, run, zones=run.names, act=act)
    del value["q" if run.names else "zones"]
    return value


def _begin_run(body: Mapping[str, Any], actor: Actor, form_id: UUID | None) -> ChangeRun:
    now = timezone.now()
    if body.get("dry_run_of") is not None:
        return change_runs.start_run(
            dry_run=_run_in_body(body, "dry_run_of", actor),
            by=actor,
            now=now,
            confirmed=body["confirm"],
            form_id=form_id,
        )
    if body.get("undo_of") is not None:
        return change_runs.undo_run(run=_run_in_body(body, "undo_of", actor), by=actor, now=now, form_id=form_id)
    refuse_members(body["act"], _MEMBERS)
    selection = selection_in(body)
    return change_runs.create_run(
        alike=_alike(body, actor), by=actor, now=now, search=selection.search, names=selection.names, form_id=form_id
    )


def _run_in_body(body: Mapping[str, Any], name: str, actor: Actor) -> ChangeRun:
    with faults_at(f"/{name}", NOT_FOUND, ChangeRunUnknown):
        return change_run_queries.run_for(actor, body[name])


def _alike(body: Mapping[str, Any], actor: Actor) -> Alike:
    act = body["act"]
    if act["op"] == DELETE:
        return Alike(ZoneAct.DELETE, reason=body["reason"])
    if act["op"] == RESTORE:
        return Alike(ZoneAct.RESTORE, reason=body["reason"])
    if act["op"] == SET_POLICY:
        with faults_at("/act/policy", NOT_FOUND, PolicyUnknown):
            return Alike(ZoneAct.POLICY, policy=None if act["policy"] is None else policy_for(actor, act["policy"]))
    marks = marks_in(act, actor)
    if act["op"] == SET_TEAM:
        return Alike(ZoneAct.TEAM, team=marks.team)
    return Alike(ZoneAct(act["op"]), marks.add or marks.remove)


def _zone_json(row: ChangeRunZone) -> dict[str, Any]:
    return {"zone": row.zone_name, "outcome": row.outcome, "message": row.message}
