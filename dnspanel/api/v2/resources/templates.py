"""API resources for templates (zone records with variables) and their versions. Templates can be applied to zones."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel import rehearsal
from dnspanel.accounts.actors.actors import Actor, Permission, person_form
from dnspanel.accounts.models import Team
from dnspanel.api.v2.http.accepted import answer_outcome
from dnspanel.api.v2.http.dry_run import plans_answer
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write
from dnspanel.api.v2.http.pages import cut, each_as, page_answer, page_by_id, page_request
from dnspanel.api.v2.http.problems import bad_value, faults_at
from dnspanel.api.v2.http.representation import change_json
from dnspanel.api.v2.http.view import V2View, actor_in, api_operation, form_id_of, no_content
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.fields import PAGED, Choice, Flag, Id, Members, OptionalText, Shape, Text, page_of, read
from dnspanel.api.v2.schema.publication_serializers import LOST, WrittenSerializer
from dnspanel.api.v2.schema.query_parameters import WRITING
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.api.v2.schema.zone_serializers import ChangeSerializer, PlansSerializer, TermsSerializer
from dnspanel.database.first_rows import first_or
from dnspanel.field_faults import NOT_FOUND, not_found
from dnspanel.transfer.zone_templates import access as template_access
from dnspanel.transfer.zone_templates import edit_template, use
from dnspanel.transfer.zone_templates.compare_template import Act, Step
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import TemplateRefused
from dnspanel.zones.models import Channel, TemplateKind, TemplateVersion, ZoneTemplate
from dnspanel.zones.rights import access
from dnspanel.zones.settings.template_text import (
    LONGEST_LABEL,
    LONGEST_TEXT,
    LONGEST_VALUE,
    MOST_VARIABLES,
    Variable,
    VariableKind,
    is_name,
)
from replication.dns import names
from replication.errors import BadName, NameOutside


class TemplateVariableSerializer(Shape):
    """A variable in the text of a template."""

    name = Text(max_length=32)
    label = OptionalText(max_length=LONGEST_LABEL, help_text="Label for people.")
    kind = Choice(choices=[(str(kind), str(kind)) for kind in VariableKind])
    default = OptionalText(max_length=LONGEST_VALUE, help_text="Default value; empty: a value is required.")

    def validate_name(self, value: str) -> str:
        if not is_name(value):
            raise serializers.ValidationError("Use a-z, 0-9 and _, and begin with a letter.")
        return value


class TemplateVersionSerializer(Shape):
    """A version of a template, as lines of a zone file with `{{ variables }}`."""

    number = serializers.IntegerField(read_only=True)
    text = Text(max_length=LONGEST_TEXT)
    variables = TemplateVariableSerializer(many=True, default=list, max_length=MOST_VARIABLES)
    note = OptionalText(max_length=edit_template.LONGEST_NOTE)
    actor = ActorSerializer(allow_null=True)
    at = serializers.DateTimeField(read_only=True, help_text="Time of the publication.")


class TemplateSerializer(Shape):
    """A template.

    `version` is the number of its newest version.
    """

    id = serializers.IntegerField(read_only=True)
    name = Text(max_length=edit_template.LONGEST_NAME)
    kind = serializers.ChoiceField(choices=TemplateKind.choices, read_only=True, help_text="Purpose.")
    team = Id(default=None, allow_null=True, help_text="Id of the team; null: panel-wide.")
    description = OptionalText(max_length=edit_template.LONGEST_NOTE)
    version = serializers.IntegerField(read_only=True)
    created_at = serializers.DateTimeField(read_only=True)
    changed_at = serializers.DateTimeField(read_only=True)


class NewTemplateSerializer(Shape):
    """A template with its first version."""

    name = Text(max_length=edit_template.LONGEST_NAME)
    kind = Choice(choices=TemplateKind.choices, default=TemplateKind.ZONE, help_text="Purpose.")
    team = Id(default=None, allow_null=True, help_text="Id of the team; null: panel-wide.")
    description = OptionalText(max_length=edit_template.LONGEST_NOTE)
    text = Text(max_length=LONGEST_TEXT)
    variables = TemplateVariableSerializer(many=True, default=list, max_length=MOST_VARIABLES)


class TemplateUseSerializer(TermsSerializer):
    """The template to apply, and the values of its variables."""

    template = Id(help_text="Id of the template or of the set of name servers.")
    version = Id(default=None, allow_null=True, help_text="null: the newest.")
    values = Members(
        most=MOST_VARIABLES,
        child=Text(allow_blank=True, max_length=LONGEST_VALUE),
        default=dict,
        help_text="Values by variable.",
    )
    name = Text(default="@", max_length=1100, help_text="Owner name for a snippet; `@` is the zone itself.")
    overwrite = Flag(default=False, help_text="Overwrite conflicting records.")
    keep = Flag(default=None, allow_null=True, help_text="True: the zone follows the template; null: no change.")


class TemplateStepSerializer(ChangeSerializer):
    """The change that a template makes to an RRset.

    An RRset with a conflict stays unchanged unless the request overwrites it.
    """

    act = serializers.ChoiceField(
        choices=[(str(act), str(act)) for act in Act if act is not Act.SAME], help_text="Effect on the RRset."
    )
    message = serializers.CharField(help_text="Reason of the conflict.")


class TemplateStepsSerializer(PlansSerializer):
    """A preview of applying a template, with the template's changes, including conflicts."""

    steps = TemplateStepSerializer(many=True)


class TemplateAppliedSerializer(WrittenSerializer):
    """The result of applying a template, with the template's changes, including conflicts."""

    steps = TemplateStepSerializer(many=True, required=False, help_text=LOST)


class Templates(V2View):
    @api_operation("listTemplates", page_of(TemplateSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List templates.

        Lists panel-wide templates and the templates of teams that the token can see. Needs the permission `read`.
        """
        access.require(self.actor, Permission.READ)
        return page_by_id(request, template_access.templates_visible_to(self.actor), each_as(template_json))

    @api_operation("createTemplate", {201: TemplateSerializer}, request=NewTemplateSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Create a template.

        Saves the template as version 1. Needs the `templates` right over the team's zones, or over all zones for a
        panel-wide template. Errors in the text include the line and column.
        """
        access.require(self.actor, Permission.READ)
        values = read(NewTemplateSerializer, request.data)
        template = edit_template.create_template(
            head=edit_template.Head(values["name"], team_of_body(values["team"]), values["description"]),
            kind=values["kind"],
            content=_content(values),
            by=self.actor,
            now=timezone.now(),
        )
        return answer_with_tag(template_json(template), 201, Location=f"{request.path}/{template.pk}")


class OneTemplate(V2View):
    @api_operation("getTemplate", TemplateSerializer)
    def get(self, request: Request, template_id: int) -> HttpResponse:
        """Read a template.

        Returns the template's name, its team and the number of its newest version. Use `getTemplateVersion` to read the
        text. Needs the permission `read`.
        """
        return answer_with_tag(template_json(_door(request, template_id)))

    @api_operation("changeTemplate", TemplateSerializer, request=TemplateSerializer)
    def patch(self, request: Request, template_id: int) -> HttpResponse:
        """Change a template's name, description or team.

        Fields that the request body omits stay unchanged. To change the text, create a new version with
        `createTemplateVersion`. Needs the `templates` right.
        """
        template = _door(request, template_id)
        patch = read(TemplateSerializer, request.data, partial=True)
        team = team_of_body(patch["team"]) if "team" in patch else template.team
        with conditional_write(request, f"template/{template_id}", lambda: template_json(_door(request, template_id))):
            head = edit_template.Head(
                patch.get("name", template.name), team, patch.get("description", template.description)
            )
            edit_template.change_template(template=template, head=head, by=self.actor, now=timezone.now())
        return answer_with_tag(template_json(_door(request, template_id)))

    @api_operation("deleteTemplate", {204: None})
    def delete(self, request: Request, template_id: int) -> HttpResponse:
        """Delete a template.

        Zones keep the template's records, but no longer follow the template. Needs the `templates` right.
        """
        template = _door(request, template_id)
        with conditional_write(request, f"template/{template_id}", lambda: template_json(_door(request, template_id))):
            edit_template.delete_template(template=template, by=self.actor, now=timezone.now())
        return no_content()


class TemplateVersions(V2View):
    # Unconditional: a new version has its own number and never replaces another version.
    @api_operation("listTemplateVersions", page_of(TemplateVersionSerializer), *PAGED)
    def get(self, request: Request, template_id: int) -> HttpResponse:
        """List the versions of a template.

        Lists the versions with text and variables, oldest first. Needs the permission `read`.
        """
        page, template = page_request(request, int), _door(request, template_id)
        found = TemplateVersion.objects.filter(template=template, number__gt=page.after[0] if page.after else 0)
        rows, more = cut(list(found.select_related("author").order_by("number")[: page.limit + 1]), page.limit)
        return page_answer(request, [version_json(row) for row in rows], (rows[-1].number,) if more else None)

    @api_operation("createTemplateVersion", {201: TemplateVersionSerializer}, request=TemplateVersionSerializer)
    def post(self, request: Request, template_id: int) -> HttpResponse:
        """Publish a new version of a template.

        This does not change any zone; use `createTemplateRun` to update zones. If the text equals the newest version,
        no version is created and the response contains the newest version. Needs the `templates` right.
        """
        template = _door(request, template_id)
        values = read(TemplateVersionSerializer, request.data)
        version = edit_template.publish_version(
            template=template, content=_content(values), seen=template.version, by=self.actor, now=timezone.now()
        )
        return answer_with_tag(version_json(version), 201, Location=f"{request.path}/{version.number}")


class OneTemplateVersion(V2View):
    @api_operation("getTemplateVersion", TemplateVersionSerializer)
    def get(self, request: Request, template_id: int, number: int) -> HttpResponse:
        """Read a version of a template.

        Returns the version's text, variables and author. Needs the permission `read`.
        """
        return answer_with_tag(version_json(use.using(_door(request, template_id), {}, number).version))


class ZoneTemplateUse(V2View):
    # Unconditional: publishing fails if the zone has a newer revision than the proposal.
    @api_operation(
        "applyTemplate",
        {
            202: TemplateAppliedSerializer,
            200: PolymorphicProxySerializer(
                "AppliedOrSteps", [TemplateAppliedSerializer, TemplateStepsSerializer], None
            ),
        },
        *WRITING,
        request=TemplateUseSerializer,
    )
    def post(self, request: Request, zone_name: str) -> HttpResponse:
        """Apply a template to a zone.

        Publishes the template's records in the zone as one revision. Needs the rights `add`, `change` or `remove`.
        Records from other sources, and template records that someone has edited, are conflicts. They stay unchanged
        unless `overwrite` is true. A snippet adds its records at one name.
        """
        now = timezone.now()
        zone = access.zone_for_editing(self.actor, zone_name)
        body = read(TemplateUseSerializer, request.data)
        using = _using(self.actor, body)
        proposal = use.propose(use=using, zone=zone, author=self.actor, name=_name(body, zone.name), drafted=False)
        if proposal.faults:
            raise TemplateRefused(
                {f"values/{each.variable}" if each.variable else "template": [str(each)] for each in proposal.faults}
            )
        changing = [step for step in proposal.steps if step.changes]
        steps = [step_json(step) for step in changing]
        taken = [step for step in changing if body["overwrite"] or step.act is not Act.CONFLICT]
        outcome = use.publish_steps(
            use=using,
            zone=zone,
            steps=taken,
            acting=Acting(self.actor, Channel.API, now, body.get("reason", ""), form_id_of(request)),
            keep=body["keep"],
            accept_warnings=body.get("accept_warnings", True),
            confirmed=body.get("confirm", False),
        )
        if (rehearsed := rehearsal.under_way()) is not None:
            return plans_answer(request, rehearsed, {"steps": steps})
        return answer_outcome(request, outcome, extensions={"steps": steps})


def template_json(template: ZoneTemplate) -> dict[str, Any]:
    """Return the JSON form of a template."""
    return row_json(TemplateSerializer, template)


def version_json(version: TemplateVersion) -> dict[str, Any]:
    """Return the JSON form of a template version."""
    return row_json(TemplateVersionSerializer, version, actor=person_form(version.author))


def step_json(step: Step) -> dict[str, Any]:
    """Return the JSON form of a change that a template makes."""
    return {**change_json(step.change), "act": str(step.act), "message": step.message}


def _door(request: Request, template_id: int) -> ZoneTemplate:
    actor = actor_in(request)
    access.require(actor, Permission.READ)
    return template_access.template_for(actor, template_id)


def team_of_body(team_id: int | None) -> Team | None:
    """Return the team with this id, or None if `team_id` is None. Raise TemplateRefused if the team is unknown."""
    if team_id is None:
        return None
    return first_or(
        Team.objects.filter(pk=team_id),
        lambda: TemplateRefused({"team": [not_found(f"There is no team {team_id}. `GET /teams` lists teams.")]}),
    )


def _content(values: Mapping[str, Any]) -> edit_template.Text:
    variables = [
        Variable(each["name"], each["label"], VariableKind(each["kind"]), each["default"])
        for each in values["variables"]
    ]
    return edit_template.Text(values["text"], variables, values.get("note", ""))


def _using(actor: Actor, body: Mapping[str, Any]) -> use.Using:
    found = template_access.templates_visible_to(actor).filter(pk=body["template"]).first()
    if found is None:
        raise bad_value(
            "/template", f"There is no template {body['template']}. `GET /templates` lists templates.", NOT_FOUND
        )
    if body["version"] is not None and body["version"] > found.version:
        raise bad_value("/version", f"The newest version of the template is {found.version}.", "out-of-range")
    return use.using(found, body["values"], body["version"])


def _name(body: Mapping[str, Any], zone_name: str) -> str:
    with faults_at("/name", "bad-name", BadName):
        name = names.parse(body["name"], zone_name)
    if not names.is_within(name, zone_name):
        raise bad_value("/name", str(NameOutside(text=name, zone_name=zone_name)), "bad-name")
    return name
