"""Simulate an LDAP sign-in: show the server's result and the effect of the rules, without changing anything."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.models import OwnRole, ProviderLink, Role, SignInProvider, Team, User
from dnspanel.accounts.providers.ldap.visit import Entry, is_closed, visiting
from dnspanel.accounts.providers.links import rules_of
from dnspanel.accounts.providers.provider_identity import Identity, Outcome, outcome_of
from dnspanel.accounts.rights.grant_edit import require_all_rights

MOST_LISTED = 200


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a simulated sign-in. `account` is the account that is already linked to the user, or None."""

    entry: Entry
    identity: Identity
    is_closed: bool
    account: User | None
    role: str  # as text; empty: unchanged
    teams: Sequence[tuple[str, str]]  # name, and the person's role in it

    @property
    def groups(self) -> list[str]:
        """The user's groups by name and by distinguished name, at most MOST_LISTED."""
        return sorted(self.identity.groups)[:MOST_LISTED]

    @property
    def more_groups(self) -> int:
        return max(0, len(self.identity.groups) - MOST_LISTED)


def try_person(*, provider: SignInProvider, typed: str, by: Author, now: datetime) -> Trial | None:
    """Simulate a sign-in with this name. Return None if the server doesn't find a user.

    Raise ProviderAway if the server fails, SignInRefused if its result is unusable, and AllRightsNeeded for a token
    without all rights.
    """
    require_all_rights(by)
    with visiting(provider) as visit:
        entry = visit.find_by_name(typed.strip())
        if entry is None:
            return None
        identity = visit.identity(entry)
    link = ProviderLink.objects.filter(provider=provider, subject=identity.subject).select_related("user").first()
    outcome = outcome_of(rules_of(provider), identity.groups)
    named = dict(Team.objects.filter(pk__in=outcome.teams).values_list("pk", "name"))
    return Trial(
        entry=entry,
        identity=identity,
        is_closed=is_closed(entry, now),
        account=link.user if link else None,
        role=_role(outcome),
        teams=sorted((named[pk], role) for pk, role in outcome.teams.items() if pk in named),
    )


def _role(outcome: Outcome) -> str:
    own = OwnRole.objects.filter(pk=outcome.own_role).first() if outcome.own_role is not None else None
    return own.name if own else Role(outcome.role).label if outcome.role else ""
