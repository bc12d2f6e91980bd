"""Quotas: how much one person or one team may have, so that no one uses up the room and time of all.

A quota is stored in the row of its person or team; otherwise the settings apply. People who look after all zones
(editors and administrators) have no limit on zones, RRsets and imports, unless they have a quota of their own. Nothing
that exists is taken away: a quota only refuses additions beyond it.

Verbs that add things count under a lock, so that two requests at once do not both pass. They count no further than the
quota, so that counting costs no more than the quota allows.
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
# These protect the workers from any one person, administrators included.
_FOR_EVERYBODY = frozenset((Kind.OPERATIONS, Kind.DRAFTS, Kind.TOKENS))
_LOOKS_AFTER_ALL = frozenset((Role.EDITOR, Role.ADMINISTRATOR))


@dataclass(frozen=True, slots=True)
class Holder:
    """A person, or a team (`team` is its name then), and how much they may have of each kind (None: any amount)."""

    pk: int
    team: str
    limits: Mapping[Kind, int | None]

    @property
    def lock_key(self) -> int:
        """Second half of the lock under which what this holder has is counted."""
        return 2 * self.pk + bool(self.team)


@dataclass(frozen=True, slots=True)
class Usage:
    """The amount that a holder has of one kind. `used`: None if there is a limit and nothing to count."""

    kind: Kind
    limit: int | None
    used: int | None

    @property
    def is_near(self) -> bool:
        """Whether little is left."""
        return self.used is not None and self.limit is not None and self.used * 100 >= NEAR_PERCENT * self.limit

    @property
    def percent(self) -> int:
        """How much of the quota is used, at most 100."""
        if self.used is None or self.limit is None:
            return 0
        return min(100, self.used * 100 // self.limit) if self.limit else 100

    @property
    def message(self) -> str:
        """The message for a person near the quota."""
        limit, used = self.limit or 0, self.used or 0
        left = max(0, limit - used)
        if self.kind is Kind.BYTES:
            message = (
                gettext("{used} of {limit}: room for {left} is left.")
                if left
                else gettext("{used} of {limit}: there is no room for more.")
            )
        elif left:
            message = gettext("{used} of {limit}: {left} more can be added.")
        else:
            message = gettext("{used} of {limit}: nothing more can be added.")
        return message.format(
            used=round_amount(self.kind, used),
            limit=describe_amount(self.kind, limit),
            left=round_amount(self.kind, left),
        )


def limits_by_settings(of: User | Team) -> dict[Kind, int | None]:
    """Return the quotas of the settings, for people and teams without quotas of their own."""
    if isinstance(of, Team):
        return dict(settings.TEAM_QUOTAS)
    looks_after_all = of.role in _LOOKS_AFTER_ALL
    return {
        kind: None if looks_after_all and kind not in _FOR_EVERYBODY else amount
        for kind, amount in settings.PERSON_QUOTAS.items()
    }


def holder_of(of: User | Team) -> Holder:
    """Return the person or team as a holder."""
    return Holder(of.pk, of.name if isinstance(of, Team) else "", limits_by_settings(of) | quotas_from_json(of.quotas))


def holders_for(author: Author) -> tuple[Holder, ...]:
    """Return the person and the teams whose quotas apply to them as a member. Empty for the panel itself."""
    user = user_of(author)
    if user is None or author is None:
        return ()
    actor = actor_of(author)
    teams = () if actor is None else actor.teams
    return (holder_of(user), *map(holder_of, teams))


def members_bound_by(team_id: int) -> dict[str, Any]:
    """Return a lookup of the people who count for the team: those who see zones only through teams."""
    return {"memberships__team": team_id, "role__in": [role for role in Role if role not in _LOOKS_AFTER_ALL]}


def refuse_beyond(
    holders: Iterable[Holder],
    kind: Kind,
    *,
    added: int,
    count: Callable[[Holder, int], int],
    refusal: Callable[[str], Exception],
) -> None:
    """Raise `refusal` if a holder would exceed their quota. Otherwise lock the quota until the commit.

    `count` returns how many the holder has, counted up to a bound. Holders without a quota are not counted.
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
    """How many more a holder may have of one kind, and the quota; others cannot add until the transaction ends."""

    limit: int
    left: int


def room_beyond(holder: Holder, kind: Kind, *, count: Callable[[Holder, int], int]) -> Room | None:
    """Return the holder's remaining room, or None without a quota. `count` is that of `refuse_beyond`."""
    limit = holder.limits[kind]
    if limit is None:
        return None
    lock_until_commit(Lock.QUOTA, holder.lock_key)
    return Room(limit, limit - count(holder, limit + 1))


def refusal_message(holder: Holder, kind: Kind, *, limit: int, used: int, added: int) -> str:
    """Return a message with the quota's holder, its use, and the person who can change it."""
    if holder.team:
        message = (
            gettext(
                "The team {team} may have {limit} and has {used} or more; this would add {added}. An administrator can "
                "allow more."
            )
            if used > limit
            else gettext(
                "The team {team} may have {limit} and has {used}; this would add {added}. An administrator can "
                "allow more."
            )
        )
    else:
        message = (
            gettext(
                "You may have {limit} and have {used} or more; this would add {added}. An administrator can allow more."
            )
            if used > limit
            else gettext(
                "You may have {limit} and have {used}; this would add {added}. An administrator can allow more."
            )
        )
    return message.format(
        team=holder.team,
        limit=describe_amount(kind, limit),
        used=round_amount(kind, used),
        added=round_amount(kind, added),
    )


def quotas_from_json(stored: Mapping[str, Any]) -> dict[Kind, int | None]:
    """Read the quotas of a person or a team from its row."""
    return {Kind(kind): amount for kind, amount in stored.items()}
