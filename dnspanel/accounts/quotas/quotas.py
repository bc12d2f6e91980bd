"""Quotas: limits per user or team, so that no one can use up shared resources.

A quota is stored in the user's or team's row. If none is stored, the panel's settings apply. Editors and administrators
manage all zones. They have no limit on zones, RRsets, imports and bytes, unless their own row has a quota. Existing
objects are never deleted; a quota only blocks new ones.

Functions that add objects count the existing ones under a lock, so that simultaneous requests can't exceed the quota
together. Counting stops at the quota, which also limits its cost.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from dnspanel.accounts.actors.actors import Author, actor_of, user_of
from dnspanel.accounts.models import Role, Team, User
from dnspanel.accounts.quotas.quota_amounts import Kind, describe_amount, round_amount
from dnspanel.advisory_locks import Lock, lock_until_commit
from dnspanel.texts import gettext

NEAR_PERCENT = 80
# These quotas protect the workers from any single person, including administrators.
_FOR_EVERYBODY = frozenset((Kind.OPERATIONS, Kind.DRAFTS, Kind.TOKENS))
_LOOKS_AFTER_ALL = frozenset((Role.EDITOR, Role.ADMINISTRATOR))


@dataclass(frozen=True, slots=True)
class Holder:
    """A user or team with its limits by kind (None: unlimited). `team` is the team's name, or empty for a user."""

    pk: int
    team: str
    limits: Mapping[Kind, int | None]

    @property
    def lock_key(self) -> int:
        """The second part of the advisory lock's key. The lock is held while this holder's objects are counted."""
        return 2 * self.pk + bool(self.team)


@dataclass(frozen=True, slots=True)
class Usage:
    """A holder's use of one quota. `used` is None if the quota isn't a total, such as RRsets per zone."""

    kind: Kind
    limit: int | None
    used: int | None

    @property
    def is_near(self) -> bool:
        """True if at least NEAR_PERCENT of the quota is used."""
        return self.used is not None and self.limit is not None and self.used * 100 >= NEAR_PERCENT * self.limit

    @property
    def percent(self) -> int:
        """The used share of the quota in percent, at most 100. It is 0 if `used` or `limit` is None."""
        if self.used is None or self.limit is None:
            return 0
        return min(100, self.used * 100 // self.limit) if self.limit else 100

    @property
    def message(self) -> str:
        """A message about the remaining amount, for holders who are near the quota."""
        limit, used = self.limit or 0, self.used or 0
        left = max(0, limit - used)
        message = gettext("{used} of {limit} used. The limit has been reached.")
        if left:
            message = gettext("{used} of {limit} used, {left} left.")
        return message.format(
            used=round_amount(self.kind, used),
            limit=describe_amount(self.kind, limit),
            left=round_amount(self.kind, left),
        )


def limits_by_settings(of: User | Team) -> dict[Kind, int | None]:
    """Return the limits from the panel's settings for this user or team."""
    if isinstance(of, Team):
        return dict(settings.TEAM_QUOTAS)
    looks_after_all = of.role in _LOOKS_AFTER_ALL
    return {
        kind: None if looks_after_all and kind not in _FOR_EVERYBODY else amount
        for kind, amount in settings.PERSON_QUOTAS.items()
    }


def holder_of(of: User | Team) -> Holder:
    """Return the user or team with its limits. Limits in its own row override those in the settings."""
    return Holder(of.pk, of.name if isinstance(of, Team) else "", limits_by_settings(of) | quotas_from_json(of.quotas))


def holders_for(author: Author) -> tuple[Holder, ...]:
    """Return the holders whose quotas apply to the author: the user and the user's teams. Return () for the panel.

    A team counts only if it gives the user rights beyond the user's role.
    """
    user = user_of(author)
    if user is None or author is None:
        return ()
    actor = actor_of(author)
    teams = () if actor is None else actor.teams
    return (holder_of(user), *map(holder_of, teams))


def members_bound_by(team_id: int) -> dict[str, Any]:
    """Return a User filter for the members that a team's quotas limit: neither editors nor administrators."""
    return {"memberships__team": team_id, "role__in": [role for role in Role if role not in _LOOKS_AFTER_ALL]}


def refuse_beyond(
    holders: Iterable[Holder],
    kind: Kind,
    *,
    added: int,
    count: Callable[[Holder, int], int],
    refusal: Callable[[str], Exception],
) -> None:
    """Lock the holders' quotas until the commit, and raise `refusal(message)` if the addition would exceed one of them.

    `count` returns the holder's number of objects, and stops counting at the given maximum. Holders without a limit
    aren't counted.
    """
    for holder in holders:
        limit = holder.limits[kind]
        if limit is None:
            continue
        lock_until_commit(Lock.QUOTA, holder.lock_key)
        used = count(holder, limit + 1)
        if used + added > limit:
            raise refusal(refusal_message(holder, kind, limit=limit, used=used, added=added))


@dataclass(slots=True)
class Room:
    """A holder's quota of one kind and the amount left (negative if exceeded), locked until the transaction ends."""

    limit: int
    left: int


def room_beyond(holder: Holder, kind: Kind, *, count: Callable[[Holder, int], int]) -> Room | None:
    """Lock the holder's quota and return the amount left, or None if unlimited. `count` works as in `refuse_beyond`."""
    limit = holder.limits[kind]
    if limit is None:
        return None
    lock_until_commit(Lock.QUOTA, holder.lock_key)
    return Room(limit, limit - count(holder, limit + 1))


def refusal_message(holder: Holder, kind: Kind, *, limit: int, used: int, added: int) -> str:
    """Return an error message with the holder, the limit, the current use, and a hint to ask an administrator."""
    if holder.team:
        message = (
            gettext(
                "Quota for team {team} exceeded: limit {limit}, used at least {used}, requested {added}. An "
                "administrator can raise the limit."
            )
            if used > limit
            else gettext(
                "Quota for team {team} exceeded: limit {limit}, used {used}, requested {added}. An administrator "
                "can raise the limit."
            )
        )
    else:
        message = (
            gettext(
                "Quota exceeded: limit {limit}, used at least {used}, requested {added}. An administrator can "
                "raise your limit."
            )
            if used > limit
            else gettext(
                "Quota exceeded: limit {limit}, used {used}, requested {added}. An administrator can raise your limit."
            )
        )
    return message.format(
        team=holder.team,
        limit=describe_amount(kind, limit),
        used=round_amount(kind, used),
        added=round_amount(kind, added),
    )


def quotas_from_json(stored: Mapping[str, Any]) -> dict[Kind, int | None]:
    """Return the quotas of a user or team from the JSON in its row."""
    return {Kind(kind): amount for kind, amount in stored.items()}
