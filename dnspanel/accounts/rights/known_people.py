"""Select the users and teams that a user can choose from, for example as recipients of a draft."""

from django.db.models import QuerySet

from dnspanel.accounts.actors.actors import Actor, Right, actor_of
from dnspanel.accounts.models import Team, User


def people_known_to(sharer: User | Actor) -> QuerySet[User]:
    """Select other open accounts: all if the sharer sees all zones, otherwise only members of the sharer's teams."""
    people = User.objects.filter(is_active=True).exclude(pk=_user(sharer).pk).order_by("username")
    return (
        people if _knows_everybody(sharer) else people.filter(memberships__team__in=teams_known_to(sharer)).distinct()
    )


def teams_known_to(sharer: User | Actor) -> QuerySet[Team]:
    """Select teams to share with: all if the sharer sees all zones, otherwise only the sharer's own teams."""
    teams = Team.objects.order_by("name")
    return teams if _knows_everybody(sharer) else teams.filter(memberships__user=_user(sharer))


def _knows_everybody(sharer: User | Actor) -> bool:
    actor = actor_of(sharer)
    return actor is not None and actor.may_everywhere(Right.READ)


def _user(sharer: User | Actor) -> User:
    return sharer.user if isinstance(sharer, Actor) else sharer
