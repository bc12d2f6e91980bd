"""API resources to list, create and delete approval rules and freezes.

Callers need the `govern` right over the zones of a rule or freeze.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, person_form
from dnspanel.accounts.models import Role, Team
from dnspanel.accounts.rights.known_people import teams_known_to
from dnspanel.accounts.tokens.tokens import tokens_visible_to
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write
from dnspanel.api.v2.http.pages import cut, page_answer, page_request
from dnspanel.api.v2.http.problems import bad_value
from dnspanel.api.v2.http.view import V2View, api_operation, no_content
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.fields import (
    PAGED,
    Choice,
    Id,
    Integer,
    Moment,
    OptionalText,
    RecordType,
    Shape,
    Text,
    ZoneName,
    page_of,
    read,
)
from dnspanel.api.v2.schema.query_parameters import IF_MATCH
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.database.field_copies import copy_fields
from dnspanel.field_faults import NOT_FOUND
from dnspanel.zones.governance import publish_rules
from dnspanel.zones.governance.publish_guards import approvers_text
from dnspanel.zones.governance.ticket_patterns import LONGEST as LONGEST_TICKET
from dnspanel.zones.models import ApprovalRule, Freeze, ZoneRule
from dnspanel.zones.rights import access
from replication.dns import rdtypes


class ScopedSerializer(Shape):
    """The zones of a rule: one zone, zones with a tag, zones of a team, or all zones (no `zone`, `tag` or `team`)."""

    zone = ZoneName(
        allow_null=True,
        default=None,
        help_text="The only zone. If `zone` and `team` are null and `tag` is empty, all zones.",
    )
    tag = OptionalText(max_length=40, help_text="Tag of the zones; empty: none.")
    team = Id(allow_null=True, default=None, help_text="Id of the zones' team; null: none.")
    reason = Text(max_length=publish_rules.LONGEST_REASON, help_text="Reason, shown to people whose change is held.")


class NewApprovalRuleSerializer(ScopedSerializer):
    """An approval rule to create: the changes that need approval, and the approvers."""

    needed = Integer(default=1, min_value=0, max_value=publish_rules.MOST_APPROVERS, help_text="Number of approvals.")
    types = serializers.ListField(
        child=RecordType(), default=list, max_length=100, help_text="Record types; empty: any change."
    )
    min_changes = Integer(
        default=1,
        min_value=1,
        max_value=publish_rules.MOST_CHANGES,
        help_text="Least number of changed RRsets in a zone that needs approval.",
    )
    approver_team = Id(allow_null=True, default=None, help_text="Id of the approvers' team; null: any team.")
    approver_role = Choice(choices=[("", ""), *Role.choices], default="", help_text="Lowest role of approvers.")
    tokens = serializers.ListField(
        child=Id(), default=list, max_length=publish_rules.MOST_TOKENS, help_text="Ids of tokens that need no approval."
    )
    ticket = OptionalText(max_length=LONGEST_TICKET, help_text="Ticket in reasons: `OPS-#`.")
    ticket_link = OptionalText(
        max_length=publish_rules.LONGEST_LINK, help_text="URL of a ticket; `{ticket}` stands for the ticket."
    )


class ApprovalRuleSerializer(NewApprovalRuleSerializer):
    """An approval rule, with its approvers and its author."""

    id = serializers.IntegerField()
    approvers = serializers.CharField(help_text="Possible approvers, in words.")
    placed_by = ActorSerializer(allow_null=True)
    placed_at = serializers.DateTimeField()


class NewFreezeSerializer(ScopedSerializer):
    """A freeze to create: a period in which nothing is published."""

    starts_at = Moment(help_text="Beginning of the freeze.")
    ends_at = Moment(help_text="End of the freeze.")
    repeats = OptionalText(
        max_length=200,
        help_text="An RFC 5545 rule of FREQ (DAILY, WEEKLY, MONTHLY), INTERVAL, BYDAY, BYMONTHDAY, UNTIL. Empty: once.",
    )
    time_zone = Text(default="UTC", max_length=64, help_text="Time zone of the repetitions.")


class FreezeSerializer(NewFreezeSerializer):
    """A freeze: a period in which nothing is published."""

    id = serializers.IntegerField()
    placed_by = ActorSerializer(allow_null=True)
    placed_at = serializers.DateTimeField()


class ApprovalRules(V2View):
    @api_operation("listApprovalRules", page_of(ApprovalRuleSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List approval rules.

        Lists rules for zones that the token can govern, newest first.
        """
        return page_of_rules(request, publish_rules.approval_rules(self.actor), _rule)

    @api_operation("createApprovalRule", {201: ApprovalRuleSerializer}, request=NewApprovalRuleSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Create an approval rule.

        From then on, matching changes to the rule's zones need an approved request, a ticket in their reason, or both,
        in every part of the panel. Needs the right `govern`.
        """
        values = read(NewApprovalRuleSerializer, request.data)
        tokens = list(tokens_visible_to(self.actor).filter(pk__in=values["tokens"]))
        if len(tokens) != len(set(values["tokens"])):
            missing = min(set(values["tokens"]) - {token.pk for token in tokens})
            raise bad_value(
                "/tokens", f"There is no token {missing} that you can see. `GET /tokens` lists tokens.", NOT_FOUND
            )
        rule = publish_rules.add_approval_rule(
            scope=scope_in(self.actor, values),
            terms=copy_fields(
                publish_rules.ApprovalTerms,
                values,
                team=_team(self.actor, values["approver_team"], "approver_team"),
                role=values["approver_role"],
                tokens=tokens,
            ),
            reason=values["reason"],
            author=self.actor,
            now=timezone.now(),
        )
        return answer_with_tag(_rule(rule), 201, Location=f"{request.path}/{rule.pk}")


class OneApprovalRule(V2View):
    @api_operation("getApprovalRule", ApprovalRuleSerializer)
    def get(self, request: Request, rule_id: int) -> HttpResponse:
        """Read an approval rule.

        Returns the zones and changes that need approval, and the approvers. Needs the `govern` right.
        """
        return answer_with_tag(_rule(_rule_of(self.actor, rule_id)))

    @api_operation("deleteApprovalRule", {204: None}, IF_MATCH)
    def delete(self, request: Request, rule_id: int) -> HttpResponse:
        """Delete an approval rule.

        Changes to the rule's zones no longer need approval under this rule. Needs the `govern` right.
        """
        _rule_of(self.actor, rule_id)
        with conditional_write(request, f"approval-rule/{rule_id}", lambda: _rule(_rule_of(self.actor, rule_id))):
            publish_rules.lift_approval_rule(rule_id=rule_id, author=self.actor, now=timezone.now())
        return no_content()


class Freezes(V2View):
    @api_operation("listFreezes", page_of(FreezeSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List freezes.

        Lists freezes of zones that the token can govern, newest first.
        """
        return page_of_rules(request, publish_rules.freezes(self.actor), _freeze)

    @api_operation("createFreeze", {201: FreezeSerializer}, request=NewFreezeSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Freeze zones for a time.

        During a freeze, changes to the frozen zones cannot be published from any part of the panel. Maintenance of
        DNSSEC keys and signatures continues. Needs the `govern` right.
        """
        values = read(NewFreezeSerializer, request.data)
        freeze = publish_rules.add_freeze(
            scope=scope_in(self.actor, values),
            times=publish_rules.FreezeTimes(
                values["starts_at"], values["ends_at"], values["repeats"], values["time_zone"]
            ),
            reason=values["reason"],
            author=self.actor,
            now=timezone.now(),
        )
        return answer_with_tag(_freeze(freeze), 201, Location=f"{request.path}/{freeze.pk}")


class OneFreeze(V2View):
    @api_operation("getFreeze", FreezeSerializer)
    def get(self, request: Request, freeze_id: int) -> HttpResponse:
        """Read a freeze.

        Returns the freeze's zones and times. Needs the `govern` right.
        """
        return answer_with_tag(_freeze(_freeze_of(self.actor, freeze_id)))

    @api_operation("deleteFreeze", {204: None}, IF_MATCH)
    def delete(self, request: Request, freeze_id: int) -> HttpResponse:
        """Delete a freeze.

        The frozen zones can be changed again at once. Needs the `govern` right.
        """
        _freeze_of(self.actor, freeze_id)
        with conditional_write(request, f"freeze/{freeze_id}", lambda: _freeze(_freeze_of(self.actor, freeze_id))):
            publish_rules.lift_freeze(freeze_id=freeze_id, author=self.actor, now=timezone.now())
        return no_content()


def _rule_of(actor: Actor, rule_id: int) -> ApprovalRule:
    return publish_rules.rule_with_id(publish_rules.approval_rules(actor), rule_id)


def _freeze_of(actor: Actor, freeze_id: int) -> Freeze:
    return publish_rules.rule_with_id(publish_rules.freezes(actor), freeze_id)


def page_of_rules(
    request: Request, rules: Iterable[publish_rules.AnyRule], json: Callable[[publish_rules.AnyRule], dict[str, Any]]
) -> HttpResponse:
    """Return the response with a page of these rules, newest first. The rules must already be in memory."""
    page = page_request(request, int)
    rows, more = cut([rule for rule in rules if not page.after or rule.pk < page.after[0]], page.limit)
    return page_answer(request, [json(rule) for rule in rows], (rows[-1].pk,) if more else None)


def scope_in(actor: Actor, values: Mapping[str, Any]) -> publish_rules.Scope:
    """Return the zones that the rule in the body applies to.

    Raise Unknown for an unknown zone, and Problem for a team that the actor can't see.
    """
    zone = None if values["zone"] is None else access.zone_for_reading(actor, values["zone"])
    return publish_rules.Scope(zone, values["tag"].strip().lower(), _team(actor, values["team"], "team"))


def _team(actor: Actor, team_id: int | None, field: str) -> Team | None:
    if team_id is None:
        return None
    found = teams_known_to(actor).filter(pk=team_id).first()
    if found is None:
        detail = f"There is no team {team_id} that you can see. `GET /teams` lists teams."
        raise bad_value(f"/{field}", detail, NOT_FOUND)
    return found


def _rule(rule: ApprovalRule) -> dict[str, Any]:
    return row_json(
        ApprovalRuleSerializer,
        rule,
        **scope_json(rule),
        types=[rdtypes.type_to_text(type_) for type_ in rule.types],
        approvers=approvers_text(rule),
        tokens=sorted(token.pk for token in rule.tokens.all()),
    )


def _freeze(freeze: Freeze) -> dict[str, Any]:
    return row_json(FreezeSerializer, freeze, **scope_json(freeze))


def scope_json(rule: ZoneRule) -> dict[str, Any]:
    """Return the members that all kinds of rules share and that aren't attributes of the rule."""
    return {"zone": rule.zone.name if rule.zone else None, "placed_by": person_form(rule.placed_by)}
