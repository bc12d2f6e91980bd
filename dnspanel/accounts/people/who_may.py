"""Query the users and tokens with rights over one zone. `explain_rights` explains these rights."""

from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from dnspanel.accounts.actors.actors import ROLE_RIGHTS, Actor, Permission
from dnspanel.accounts.actors.explain_rights import Subject
from dnspanel.accounts.models import GrantRow, Membership, Token, User
from dnspanel.accounts.tokens.tokens import alive_tokens, tokens_visible_to


def people_visible_to(actor: Actor) -> QuerySet[User]:
    """Return a query for the users that this actor is allowed to see.

    An actor who manages users sees everyone. Other actors see themselves and their teams' members.
    """
    if Permission.PEOPLE in actor.permissions:
        return User.objects.all()
    teams = Membership.objects.filter(user=actor.user).values("team")
    mates = Membership.objects.filter(team__in=teams, user=OuterRef("pk"))
    return User.objects.filter(Q(pk=actor.user.pk) | Q(Exists(mates)))


def people_with_rights(actor: Actor, subject: Subject) -> QuerySet[User]:
    """Return a query for open accounts, sorted by name, that the actor can see and that have rights over the zone."""
    giving = GrantRow.objects.filter(reduce(or_, (Q(grant__contains=place) for place in _places(subject))))
    of_person = giving.filter(user=OuterRef("pk"))
    of_team = giving.filter(team__memberships__user=OuterRef("pk"))
    in_team = Membership.objects.filter(team=subject.team_id, user=OuterRef("pk"))
    having = (
        Q(role__in=ROLE_RIGHTS)
        | Q(own_role__rights__len__gt=0)
        | Q(Exists(of_person))
        | Q(Exists(of_team))
        | Q(Exists(in_team))
    )
    return people_visible_to(actor).filter(having, is_active=True).order_by("username")


def tokens_with_rights(actor: Actor, subject: Subject, now: datetime) -> QuerySet[Token]:
    """Return a query for valid tokens that are visible to the actor and cover the zone, newest first.

    `explain_rights` checks whether the owner still has the rights in the scope.
    """
    reaching = reduce(or_, (Q(scope__contains=[place]) for place in _places(subject)))
    alive = alive_tokens(now).filter(owner__is_active=True)
    return tokens_visible_to(actor).filter(reaching, pk__in=alive.values("pk")).order_by("-pk")


def _places(subject: Subject) -> list[dict[str, Any]]:
    """Return JSON fragments for a containment query. A grant over the zone contains at least one of them."""
    places: list[dict[str, Any]] = [{"everywhere": True}, {"zones": [subject.zone_id]}]
    places += [{"tags": [tag]} for tag in subject.tags]
    if subject.team_id is not None:
        places.append({"teams": [subject.team_id]})
    return places
