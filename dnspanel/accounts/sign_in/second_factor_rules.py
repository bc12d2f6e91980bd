"""Require a second factor for all users with a role or in a team. Verbs.

The grace period starts when the rule is created, or when the account is created if that is later. A user who gets the
role or joins the team later doesn't get a new grace period.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from allauth.mfa.models import Authenticator
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Membership, OwnRole, SecondFactorRule, Team, User
from dnspanel.accounts.rights.grant_edit import require_all_rights

MOST_GRACE = 90  # days
MOST_LISTED = 100
_OWN = "own:"  # in `User.role_key`


@dataclass(frozen=True, slots=True)
class Late:
    """A user who must set up a second factor, and the deadline."""

    person: User
    due: datetime


def rules() -> list[SecondFactorRule]:
    """Return all rules. Uses one query."""
    return list(SecondFactorRule.objects.select_related("team").order_by("team__name", "role"))


def second_factor_due(user: User) -> datetime | None:
    """Return the user's deadline for setting up a second factor, or None if the user has one or doesn't need one.

    If there are no rules, this needs only one query.
    """
    found = rules()
    if not found or user.is_service:
        return None
    teams: set[int] = set()
    if any(rule.team_id for rule in found):
        teams = set(Membership.objects.filter(user=user).values_list("team_id", flat=True))
    due = _due(user, teams, found)
    if due is None or _authenticators().filter(user=user).exists():
        return None
    return due


def people_without(found: Collection[SecondFactorRule]) -> list[Late]:
    """Return at most MOST_LISTED users (lowest ids) who lack a required second factor, earliest deadline first."""
    keys = [rule.role for rule in found if rule.role]
    own = [int(key.removeprefix(_OWN)) for key in keys if key.startswith(_OWN)]
    teams = [rule.team_id for rule in found if rule.team_id]
    people = (
        User.objects.filter(is_active=True, is_service=False)
        .filter(Q(role__in=keys, own_role=None) | Q(own_role__in=own) | Q(memberships__team__in=teams))
        .filter(~Exists(_authenticators().filter(user=OuterRef("pk"))))
        .prefetch_related("memberships")
        .order_by("pk")
        .distinct()[:MOST_LISTED]
    )
    late = []
    for person in people:
        due = _due(person, {membership.team_id for membership in person.memberships.all()}, found)
        if due is not None:
            late.append(Late(person, due))
    return sorted(late, key=lambda each: each.due)


def set_rules(*, roles: Collection[str], teams: Collection[Team], grace: int, by: Author, now: datetime) -> None:
    """Replace the rules. All users with one of these roles, or in one of these teams, need a second factor.

    Each role is a `User.role_key`. The grace period is in days. A rule that stays keeps its start, even if its grace
    period changes. Each change is written to the audit log. Raise AllRightsNeeded for a token without all rights,
    because a token that only manages users could exempt administrators.
    """
    require_all_rights(by)
    with transaction.atomic(durable=True):
        before = {
            (rule.role, rule.team_id): rule for rule in SecondFactorRule.objects.select_for_update().order_by("pk")
        }
        names = {team.pk: team.name for team in teams}
        own = {f"{_OWN}{role.pk}": role.name for role in OwnRole.objects.all()}
        chosen: list[tuple[str | None, int | None]] = [(role, None) for role in roles]
        chosen += [(None, team.pk) for team in teams]
        for (role, team_id), rule in before.items():
            if (role, team_id) not in chosen:
                target = _target(own.get(role or "", role), rule.team.name if rule.team else "")
                rule.delete()
                audit.record(action="second-factor.rule-end", by=by, now=now, target=target)
        for role, team_id in chosen:
            old = before.get((role, team_id))
            if old is not None and old.grace_days == grace:
                continue
            target = _target(own.get(role or "", role), names.get(team_id or 0, ""))
            if old is None:
                SecondFactorRule.objects.create(role=role, team_id=team_id, since=now, grace_days=grace)
                audit.record(action="second-factor.rule", by=by, now=now, target=target, grace_days=grace)
            else:
                SecondFactorRule.objects.filter(pk=old.pk).update(grace_days=grace)
                audit.record(
                    action="second-factor.rule",
                    by=by,
                    now=now,
                    target=target,
                    grace_days=grace,
                    grace_days_before=old.grace_days,
                )


def _target(role: str | None, team: str) -> str:
    return f"role {role}" if role else f"team {team}"


def _due(user: User, teams: Collection[int], found: Collection[SecondFactorRule]) -> datetime | None:
    """Return the earliest deadline of the rules that apply to the user, or None if no rule applies."""
    about = [rule for rule in found if rule.role == user.role_key or rule.team_id in teams]
    times = [max(rule.since, user.date_joined) + timedelta(days=rule.grace_days) for rule in about]
    return min(times, default=None)


def _authenticators() -> "QuerySet[Authenticator]":
    found: QuerySet[Authenticator] = Authenticator.objects.exclude(type=Authenticator.Type.RECOVERY_CODES)
    return found
