"""List the rights of people and tokens in a zone, with their sources. People hidden from the reader are omitted."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from dnspanel.accounts.actors.actors import Actor, Permission, Right
from dnspanel.accounts.actors.explain_rights import (
    Reason,
    Subject,
    reasons_of_people,
    reasons_over,
    rights_over,
    scope_of,
)
from dnspanel.accounts.models import Token, User
from dnspanel.accounts.people.who_may import people_with_rights, tokens_with_rights
from dnspanel.zones.models import Zone
from dnspanel.zones.rights.tsig_permissions import rights_by_key


@dataclass(frozen=True, slots=True)
class RightsHere:
    """The rights over the zone from one source (`reason`), within the limits of the source's grant."""

    rights: frozenset[Right]
    reason: Reason


@dataclass(frozen=True, slots=True)
class PersonHere:
    person: User
    by: tuple[RightsHere, ...]


@dataclass(frozen=True, slots=True)
class TokenHere:
    """A token with rights over the zone, within its owner's rights. If `by` is empty, the token has no rights."""

    token: Token
    by: tuple[RightsHere, ...]


def subject_of(zone: Zone, name: str = "", type: int = 0) -> Subject:
    """Return the zone, or an RRset in it, as the subject for explaining rights."""
    return Subject(zone_id=zone.pk, zone_name=zone.name, tags=zone.tags, team_id=zone.team_id, name=name, type=type)


def people_here(
    actor: Actor, zone: Zone, *, after: str = "", limit: int, name: str = "", type: int = 0
) -> list[PersonHere]:
    """Return people with rights over the zone, sorted by username, beginning after `after`. Needs at most four queries.

    A token that isn't allowed to see people sees only its owner. If name and type are given, each result has only the
    person's rights over this RRset, possibly none.
    """
    subject = subject_of(zone, name, type)
    found = people_with_rights(actor, subject).filter(username__gt=after)
    if _is_narrow(actor):
        found = found.filter(pk=actor.user.pk)
    listed = list(found[:limit])
    reasons = reasons_of_people(listed)
    return [PersonHere(person, _of_person(reasons[person.pk], subject)) for person in listed]


def tokens_here(actor: Actor, zone: Zone, *, now: datetime, before: int | None = None, limit: int) -> list[TokenHere]:
    """Return tokens with rights over the zone, newest first, with ids below `before`. Needs at most five queries.

    A token that isn't allowed to see people sees only itself.
    """
    subject = subject_of(zone)
    found = tokens_with_rights(actor, subject, now)
    if _is_narrow(actor) and actor.token is not None:
        found = found.filter(pk=actor.token.pk)
    if before is not None:
        found = found.filter(pk__lt=before)
    listed = list(found[:limit])
    owners = reasons_of_people(list({token.owner_id: token.owner for token in listed}.values()))
    named = rights_by_key(zone) if any(token.needs_permission for token in listed) else {}
    return [TokenHere(token, _of_token(token, owners[token.owner_id], named, subject)) for token in listed]


def _is_narrow(actor: Actor) -> bool:
    return actor.token is not None and Permission.PEOPLE not in actor.permissions


def _of_person(reasons: tuple[Reason, ...], subject: Subject) -> tuple[RightsHere, ...]:
    found = ((rights_over(reason, subject), reason) for reason in reasons_over(reasons, subject))
    return tuple(RightsHere(rights, reason) for rights, reason in found if rights - {Right.CREATE_ZONE})


def _of_token(
    token: Token, by_owner: tuple[Reason, ...], named: Mapping[str, frozenset[Right]], subject: Subject
) -> tuple[RightsHere, ...]:
    allowed = frozenset[Right]().union(*(reason.grant.rights for reason in reasons_over(by_owner, subject)))
    if token.needs_permission:
        allowed &= named.get(token.tsig_name or "", frozenset())
    return tuple(
        RightsHere(reason.grant.rights & allowed, reason)
        for reason in reasons_over(scope_of(token), subject)
        if reason.grant.rights & allowed - {Right.CREATE_ZONE}
    )
