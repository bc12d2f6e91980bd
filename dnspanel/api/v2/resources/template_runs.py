"""API resources for template runs. A run updates zones to a template's newest version. A dry run previews this."""

from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Permission
from dnspanel.api.v2.http.etag import conditional_write, tag_of
from dnspanel.api.v2.http.pages import each_as, page_by_id
from dnspanel.api.v2.http.problems import faults_at
from dnspanel.api.v2.http.view import V2View, answer, api_operation, form_id_of, no_content, query_parameter
from dnspanel.api.v2.resources.run_progress import RunProgress, run_json, what_stays
from dnspanel.api.v2.schema.field_faults import NOT_TOGETHER
from dnspanel.api.v2.schema.fields import PAGED, Flag, Id, Members, Text, choice_parameter, page_of, read
from dnspanel.field_faults import NOT_FOUND
from dnspanel.transfer.zone_templates import runs
from dnspanel.transfer.zone_templates.access import template_for
from dnspanel.transfer.zone_templates.compare_template import Outcome
from dnspanel.zones.errors import TemplateRunUnknown, TemplateUnknown
from dnspanel.zones.models import TemplateRun, TemplateRunZone
from dnspanel.zones.rights import access
from dnspanel.zones.settings.template_text import LONGEST_VALUE, MOST_VARIABLES

_OUTCOMES = [str(outcome) for outcome in Outcome]


class TemplateRunSerializer(RunProgress):
    """A run that applies a template to the zones that follow it, or to the zones of a search."""

    template = Id(required=False, help_text="Id of the template.")
    version = serializers.IntegerField(read_only=True)
    dry_run = serializers.BooleanField(read_only=True, help_text="True: the run changes nothing.")
    dry_run_of = Id(
        required=False,
        allow_null=True,
        help_text="Id of the dry run to carry out, in the same zones. Without it, a dry run starts.",
    )
    q = Text(
        default=None,
        allow_null=True,
        allow_blank=True,
        max_length=200,
        help_text="Search, as in the panel's search box; empty: all zones; null: the zones that follow the template.",
    )
    values = Members(
        most=MOST_VARIABLES,
        child=Text(allow_blank=True, max_length=LONGEST_VALUE),
        default=dict,
        help_text="Values by variable, for zones that the search finds.",
    )
    keep = Flag(default=False, help_text="Let the zones that the search finds follow the template.")
    overwrite = Flag(default=False, help_text="With `dry_run_of`: overwrite records that were edited by hand.")
    counts = serializers.DictField(
        child=serializers.IntegerField(), read_only=True, help_text=f"Zone counts by outcome: {', '.join(_OUTCOMES)}."
    )

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        carries_out = data.get("dry_run_of") is not None
        named = {name for name in ("template", "q", "values", "keep") if data.get(name) not in (None, {}, False)}
        if carries_out and named:
            message = "This run takes the options of the dry run: leave `template`, `q`, `values` and `keep` out."
            raise serializers.ValidationError({"dry_run_of": [message]}, NOT_TOGETHER)
        if not carries_out and "template" not in data:
            raise serializers.ValidationError(
                {"template": ["`template` is required: the id of a template."]}, "required"
            )
        if not carries_out and data["overwrite"]:
            message = "A dry run overwrites nothing. Send `overwrite` together with `dry_run_of`."
            raise serializers.ValidationError({"overwrite": [message]}, NOT_TOGETHER)
        return data


class TemplateRunZoneSerializer(serializers.Serializer):
    """The outcome of a template run in one zone."""

    zone = serializers.CharField()
    outcome = serializers.ChoiceField(choices=[(outcome, outcome) for outcome in _OUTCOMES])
    message = serializers.CharField(help_text="Reason, if the zone was refused or left unchanged.")


class TemplateRuns(V2View):
    @api_operation("listTemplateRuns", page_of(TemplateRunSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List template runs.

        The newest run comes first. A token sees the runs that it started. Needs the permission `read`.
        """
        access.require(self.actor, Permission.READ)
        return page_by_id(request, runs.runs_visible_to(self.actor), each_as(template_run_json), newest_first=True)

    @api_operation("createTemplateRun", {202: TemplateRunSerializer}, request=TemplateRunSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Start a template run.

        Starts a dry run over the zones that follow the template or that a search finds, or the real run after a dry run
        (`dry_run_of`). The run publishes its changes in several publications. Needs the permission `read`, and the
        rights `add`, `change` or `remove` in each zone. Records that were edited by hand stay, unless the run
        overwrites them. Zones that the run refuses are listed with the reason. Read the run until its state is `done`.
        """
        now, form_id = timezone.now(), form_id_of(request)
        access.require(self.actor, Permission.READ)
        values = read(TemplateRunSerializer, request.data)
        with (
            faults_at("/dry_run_of", NOT_FOUND, TemplateRunUnknown),
            faults_at("/template", NOT_FOUND, TemplateUnknown),
        ):
            if (dry := values.get("dry_run_of")) is not None:
                dry_run = runs.run_for(self.actor, dry)
                run = runs.start_run(
                    dry_run=dry_run, by=self.actor, now=now, overwrite=values["overwrite"], form_id=form_id
                )
            else:
                run = runs.create_run(
                    template=template_for(self.actor, values["template"]),
                    by=self.actor,
                    now=now,
                    search=values["q"],
                    values=values["values"],
                    keep=values["keep"],
                    form_id=form_id,
                )
        headers = {"ETag": tag_of(what_stays(run)), "Location": f"{request.path}/{run.pk}"}
        return answer(template_run_json(run), 202, headers=headers)


class OneTemplateRun(V2View):
    @api_operation("getTemplateRun", TemplateRunSerializer)
    def get(self, request: Request, template_run_id: int) -> HttpResponse:
        """Read a template run.

        Returns the run's state, its progress and the number of zones with each outcome. A token sees the runs that it
        started.
        """
        run = runs.run_for(self.actor, template_run_id)
        return answer(template_run_json(run), headers={"ETag": tag_of(what_stays(run))})

    @api_operation("cancelTemplateRun", {204: None})
    def delete(self, request: Request, template_run_id: int) -> HttpResponse:
        """Cancel a template run.

        Stops an unfinished run. Changes that the run has already published stay.
        """
        run = runs.run_for(self.actor, template_run_id)
        with conditional_write(
            request, f"template-run/{template_run_id}", lambda: what_stays(runs.run_for(self.actor, template_run_id))
        ):
            runs.cancel_run(run=run, by=self.actor, now=timezone.now())
        return no_content()


class TemplateRunZones(V2View):
    @api_operation(
        "listTemplateRunZones",
        page_of(TemplateRunZoneSerializer),
        *PAGED,
        query_parameter("outcome", "Zones with this outcome.", enum=_OUTCOMES),
    )
    def get(self, request: Request, template_run_id: int) -> HttpResponse:
        """List the zones of a template run.

        Returns the outcome of the run in each zone. Lists the first 200 zones that change, and the first 1,000 zones
        that have conflicts or were refused. The counts of the run include all zones.
        """
        run = runs.run_for(self.actor, template_run_id)
        found = TemplateRunZone.objects.filter(run=run)
        if outcome := choice_parameter(request.query_params, "outcome", _OUTCOMES):
            found = found.filter(outcome=outcome)
        return page_by_id(request, found, each_as(_zone_json))


def template_run_json(run: TemplateRun) -> dict[str, Any]:
    """Return the JSON form of a template run."""
    return run_json(TemplateRunSerializer, run)


def _zone_json(row: TemplateRunZone) -> dict[str, Any]:
    return {"zone": row.zone_name, "outcome": row.outcome, "message": row.message}
