"""Rights to see, create and change templates.

A panel-wide template is visible to everyone who sees zones. A team's template is visible to people who see all zones or
some zones of that team. People with the right TEMPLATES for all zones can change every template. People with the right
for a team's zones can change the team's templates. Everyone who sees a template can use it in zones whose records they
are allowed to change.
"""

from django.db.models import Q, QuerySet

from dnspanel.accounts.actors.actors import Author, Permission, Person, Right, actor_of, can
from dnspanel.accounts.models import Team
from dnspanel.database.first_rows import first_or
from dnspanel.texts import gettext, gettext_noop
from dnspanel.zones.errors import Forbidden, TemplateUnknown
from dnspanel.zones.models import TemplateKind, ZoneTemplate

_OF_PANEL = gettext_noop(
    "You need the right to manage templates in all zones to create or edit templates for the whole panel."
)


def templates_visible_to(person: Person) -> "QuerySet[ZoneTemplate]":
    """Return the templates that this person is allowed to see, sorted by name."""
    templates = ZoneTemplate.objects.select_related("team").order_by("name", "pk")
    actor = actor_of(person)
    if actor is None or not can(person, Permission.READ):
        return templates.none()
    for layer in actor.layers:
        reading = [grant for grant in layer if Right.READ in grant.rights]
        if not any(grant.everywhere for grant in reading):
            teams = frozenset[int]().union(*(grant.teams for grant in reading))
            templates = templates.filter(Q(team=None) | Q(team__in=teams))
    return templates


def template_for(person: Person, template_id: int) -> ZoneTemplate:
    """Return the template with this id. Raise TemplateUnknown if it does not exist or the person can't see it."""
    return first_or(templates_visible_to(person).filter(pk=template_id), TemplateUnknown)


def sets_visible_to(person: Person) -> "QuerySet[ZoneTemplate]":
    """Return the sets of name servers that this person is allowed to see, sorted by name."""
    return templates_visible_to(person).filter(kind=TemplateKind.SERVERS)


def set_for(person: Person, set_id: int) -> ZoneTemplate:
    """Return this set of name servers. Raise TemplateUnknown if it isn't visible or is a template of another kind."""
    return first_or(sets_visible_to(person).filter(pk=set_id), TemplateUnknown)


def may_change_in(person: Person, team_id: int | None) -> bool:
    """Return True if the person is allowed to create and change the team's templates. None means the whole panel."""
    actor = actor_of(person)
    return actor is not None and all(
        any(
            Right.TEMPLATES in grant.rights and not grant.is_limited and (grant.everywhere or team_id in grant.teams)
            for grant in layer
        )
        for layer in actor.layers
    )


def require_change_in(author: Author, team: Team | None) -> None:
    """Raise Forbidden unless the author is allowed to create and change this team's templates.

    If the team is None, check panel-wide templates. The panel itself (author None) is always allowed.
    """
    if author is not None and not may_change_in(author, None if team is None else team.pk):
        message = (
            gettext(_OF_PANEL)
            if team is None
            else gettext("You don’t have permission to create or edit templates for team {name}.").format(
                name=team.name
            )
        )
        raise Forbidden(Permission.EDIT, message)


def teams_to_choose_from(author: Person) -> list[Team]:
    """Return the teams that this person is allowed to create templates for, sorted by name."""
    return [team for team in Team.objects.order_by("name") if may_change_in(author, team.pk)]


def may_make_templates(person: Person) -> bool:
    """Return True if this person is allowed to create templates, either panel-wide or for a team."""
    actor = actor_of(person)
    if actor is None or not actor.may_somewhere(Right.TEMPLATES):
        return False
    return may_change_in(person, None) or bool(teams_to_choose_from(person))
