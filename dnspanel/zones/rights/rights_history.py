"""Find a person's rights over a zone at an earlier time, as far as the audit log shows them.

Only current rights are stored, but the audit log has every change to them. If nothing has changed since that time, the
rights were the same as now. Otherwise the changes show what may have been different.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from dnspanel.accounts.actors.actors import Actor, Permission
from dnspanel.accounts.models import AuditEntry, Membership, User
from dnspanel.texts import gettext, ngettext
from dnspanel.zones.models import Zone

MOST = 20  # actions in the result
_MOST_TEAMS = 1_000  # that the person joined or left since then
_OF_ACCOUNT = ("person.role", "person.close", "person.open", "person.join", "person.service", "person.change")
_OF_MEMBER = ("team.add", "team.change", "team.remove")
_OF_GRANT = ("grant.give", "grant.take")


@dataclass(frozen=True, slots=True)
class Since:
    """Changes since `at` that may have affected a person's rights. `acts` is only for readers of the audit log."""

    at: datetime
    too_young: str  # a message if the account or the zone did not exist then
    count: int  # number of actions, up to MOST + 1
    acts: tuple[AuditEntry, ...]

    @property
    def is_certain(self) -> bool:
        """True if the person certainly had the same rights at that time."""
        return not self.too_young and not self.count

    @property
    def words(self) -> str:
        """A message about how certain it is that the rights were the same."""
        if self.too_young:
            return self.too_young
        if not self.count:
            return gettext("The result was the same then. No relevant role, team, grant or setting has changed since.")
        if self.count > MOST:
            return gettext(
                "The result might have been different then. More than {most} relevant rights changes have been "
                "made since."
            ).format(most=MOST)
        return ngettext(
            "The result might have been different then. {count} relevant rights change has been made since.",
            "The result might have been different then. {count} relevant rights changes have been made since.",
            self.count,
        ).format(count=self.count)


def rights_since(*, reader: Actor, person: User, zone: Zone, at: datetime) -> Since:
    """Return changes since `at` that may have affected the person's rights over the zone, newest first.

    Makes up to three queries.
    """
    then = AuditEntry.objects.filter(at__gte=at)
    name = person.username
    of_teams = Q(action__in=_OF_MEMBER, details__person=name) | Q(
        action="team.delete", details__members__contains=[name]
    )
    teams = {
        *Membership.objects.filter(user=person).values_list("team__name", flat=True),
        *then.filter(of_teams).order_by().values_list("target", flat=True).distinct()[:_MOST_TEAMS],
    }
    # Deleted teams count too: zones and grants may have belonged to them.
    concerning = of_teams | Q(action="team.delete") | Q(action="team.rename", target__in=teams)
    concerning |= Q(action__in=_OF_ACCOUNT, target=name) | Q(action="zone.settings", target=zone.name)
    concerning |= Q(action__in=_OF_GRANT, target__in=[name, *(f"team {team}" for team in teams)])
    if person.own_role_id is not None:
        concerning |= Q(action="role.change", details__role=person.own_role_id)
    found = list(then.filter(concerning).select_related("user", "token").order_by("-pk")[: MOST + 1])
    named = found[:MOST] if Permission.AUDIT in reader.permissions else []
    return Since(at, _too_young(person, zone, at), len(found), tuple(named))


def _too_young(person: User, zone: Zone, at: datetime) -> str:
    if person.date_joined > at:
        return gettext("{name} didn’t have an account then.").format(name=person.username)
    if zone.created_at > at:
        return gettext("This zone didn’t exist then, but another zone with the same name might have existed.")
    return ""
