"""API resources for DNSSEC policy runs. A run signs zones as their policies define. A dry run previews the changes."""

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
from dnspanel.api.v2.schema.fields import PAGED, Id, OptionalText, choice_parameter, page_of, read
from dnspanel.field_faults import NOT_FOUND
from dnspanel.zones.dnssec.policy import Act
from dnspanel.zones.dnssec.policy_queries import policy_for
from dnspanel.zones.errors import PolicyUnknown, RunUnknown
from dnspanel.zones.models import PolicyRun, PolicyRunZone
from dnspanel.zones.rights import access
from dnspanel.zones.runs import policy_runs

_ACTS = [str(act) for act in Act]


class PolicyRunSerializer(RunProgress):
    """A run that applies DNSSEC policies to the zones of one policy or of a search."""

    dry_run = serializers.BooleanField(
        read_only=True, help_text="True: the run only counts and lists changes. Always true without `dry_run_of`."
    )
    dry_run_of = Id(
        required=False,
        allow_null=True,
        help_text="Id of the dry run to carry out, in the same zones; refused if policies changed after it.",
    )
    policy = Id(default=None, allow_null=True, help_text="Only zones of this policy; null: all zones.")
    q = OptionalText(max_length=200, help_text="Search, as in the panel; empty: all zones.")
    counts = serializers.DictField(
        child=serializers.IntegerField(), read_only=True, help_text=f"Number of zones by act: {', '.join(_ACTS)}."
    )

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if data.get("dry_run_of") is not None and (data["policy"] or data["q"]):
            message = "This run takes the zones of the dry run: leave `policy` and `q` out."
            raise serializers.ValidationError({"dry_run_of": [message]}, NOT_TOGETHER)
        return data


class PolicyRunZoneSerializer(serializers.Serializer):
    """The outcome of a policy run in one zone."""

    zone = serializers.CharField()
    act = serializers.ChoiceField(choices=[(act, act) for act in _ACTS])
    message = serializers.CharField(help_text="Reason, in words.")


class PolicyRuns(V2View):
    @api_operation("listPolicyRuns", page_of(PolicyRunSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List runs of DNSSEC policies.

        The newest run comes first. A token sees the runs that it started. A token with the right `dnssec` for all zones
        sees all runs. Needs the permission `read`.
        """
        access.require(self.actor, Permission.READ)
        return page_by_id(request, policy_runs.runs_visible_to(self.actor), each_as(policy_run_json), newest_first=True)

    @api_operation("createPolicyRun", {202: PolicyRunSerializer}, request=PolicyRunSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Start a run of DNSSEC policies.

        Starts a dry run over the zones of a policy or of a search, or the real run after a dry run (`dry_run_of`). The
        run signs zones and sets the policy's NSEC or NSEC3 and CDS, in several publications. Needs the permission
        `read`, and the `dnssec` right for at least one zone.

        If a signed zone needs other keys, the run starts a rollover only if the policy is `automatic`; otherwise, it
        only lists the zone. Zones that the run refuses, such as those in which you lack the `dnssec` right, are
        listed with the reason. Read the run until its state is `done`.
        """
        now, form_id = timezone.now(), form_id_of(request)
        access.require(self.actor, Permission.READ)
        values = read(PolicyRunSerializer, request.data)
        with faults_at("/dry_run_of", NOT_FOUND, RunUnknown), faults_at("/policy", NOT_FOUND, PolicyUnknown):
            if (dry := values.get("dry_run_of")) is not None:
                dry_run = policy_runs.run_for(self.actor, dry)
                run = policy_runs.start_run(dry_run=dry_run, by=self.actor, now=now, form_id=form_id)
            else:
                policy = None if values["policy"] is None else policy_for(self.actor, values["policy"])
                run = policy_runs.create_run(
                    by=self.actor, now=now, policy=policy, search=values["q"].strip(), form_id=form_id
                )
        headers = {"ETag": tag_of(what_stays(run)), "Location": f"{request.path}/{run.pk}"}
        return answer(policy_run_json(run), 202, headers=headers)


class OnePolicyRun(V2View):
    @api_operation("getPolicyRun", PolicyRunSerializer)
    def get(self, request: Request, run_id: int) -> HttpResponse:
        """Read a run of DNSSEC policies.

        Returns the run's state, its progress and the number of zones for each action (`act`). A token sees the same
        runs as in `listPolicyRuns`.
        """
        run = policy_runs.run_for(self.actor, run_id)
        return answer(policy_run_json(run), headers={"ETag": tag_of(what_stays(run))})

    @api_operation("cancelPolicyRun", {204: None})
    def delete(self, request: Request, run_id: int) -> HttpResponse:
        """Cancel a run of DNSSEC policies.

        Stops an unfinished run. Changes that the run has already published stay.
        """
        run = policy_runs.run_for(self.actor, run_id)
        with conditional_write(
            request, f"policy-run/{run_id}", lambda: what_stays(policy_runs.run_for(self.actor, run_id))
        ):
            policy_runs.cancel_run(run=run, by=self.actor, now=timezone.now())
        return no_content()


class PolicyRunZones(V2View):
    @api_operation(
        "listPolicyRunZones",
        page_of(PolicyRunZoneSerializer),
        *PAGED,
        query_parameter("act", "Zones with this act.", enum=_ACTS),
    )
    def get(self, request: Request, run_id: int) -> HttpResponse:
        """List the zones of a run of DNSSEC policies.

        Returns the outcome of the run in each zone. Lists the first 100 zones for each action (`act`), and the first
        1,000 zones that were refused or need a rollover. The counts of the run include all zones.
        """
        run = policy_runs.run_for(self.actor, run_id)
        found = PolicyRunZone.objects.filter(run=run)
        if act := choice_parameter(request.query_params, "act", _ACTS):
            found = found.filter(act=act)
        return page_by_id(request, found, each_as(_zone_json))


def policy_run_json(run: PolicyRun) -> dict[str, Any]:
    """Return the JSON form of a policy run."""
    return run_json(PolicyRunSerializer, run)


def _zone_json(row: PolicyRunZone) -> dict[str, Any]:
    return {"zone": row.zone_name, "act": row.act, "message": row.message}
