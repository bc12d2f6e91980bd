"""Collect a team's policies: signing, initial name servers and records, publishing rules, and the second factor."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from django.db.models import Q

from dnspanel.accounts.models import SecondFactorRule, Team, User
from dnspanel.transfer.zone_templates.access import templates_visible_to
from dnspanel.zones import models
from dnspanel.zones.governance.publish_rules import Scope, may_govern

Rule = TypeVar("Rule", models.ApprovalRule, models.Freeze, models.PublishHook)
_EVERY_ZONE = Q(zone=None, tag="", team=None)


@dataclass(frozen=True, slots=True)
class TeamPolicies:
    """A team's policies, and the panel-wide policies that also apply to the team."""

    signing: models.DnssecPolicy | None
    is_signing_own: bool  # False: the default policy of all zones
    sets: tuple[models.ZoneTemplate, ...]
    templates: tuple[models.ZoneTemplate, ...]
    approvals: tuple[models.ApprovalRule, ...]
    freezes: tuple[models.Freeze, ...]
    hooks: tuple[models.PublishHook, ...]
    second_factor: SecondFactorRule | None
    may_govern: bool


def policies_of_team(team: Team, reader: User, now: datetime) -> TeamPolicies:
    """Return the team's policies and the panel-wide policies that apply to the team, in seven queries.

    Rules for single zones and tags, ended freezes, and templates that the reader can't see are not included.
    """
    attached = models.PolicyAttachment.objects.filter(team=team).select_related("policy").first()
    default = None if attached else models.DnssecPolicy.objects.filter(is_default=True).first()
    templates = templates_visible_to(reader).filter(
        Q(team=team) | Q(team=None, kind=models.TemplateKind.SERVERS, is_default=True)
    )
    of_kind: dict[bool, list[models.ZoneTemplate]] = {True: [], False: []}
    for template in templates:
        of_kind[template.kind == models.TemplateKind.SERVERS].append(template)
    return TeamPolicies(
        attached.policy if attached else default,
        attached is not None,
        _sets(of_kind[True]),
        tuple(of_kind[False]),
        _about(models.ApprovalRule, team),
        tuple(each for each in _about(models.Freeze, team) if each.repeats or each.ends_at > now),
        _about(models.PublishHook, team),
        SecondFactorRule.objects.filter(team=team).first(),
        may_govern(reader, Scope(team=team)),
    )


def _sets(found: list[models.ZoneTemplate]) -> tuple[models.ZoneTemplate, ...]:
    """Return the team's sets of name servers. Include the panel-wide default only if the team has no default."""
    has_own = any(each.is_default and each.team_id is not None for each in found)
    return tuple(each for each in found if each.team_id is not None or not has_own)


def _about(model: type[Rule], team: Team) -> tuple[Rule, ...]:
    rules = model._default_manager.filter(_EVERY_ZONE | Q(team=team))
    return tuple(rules.select_related("zone", "team").order_by("pk"))
