"""Determine the actor of a request and the actor's rights. An actor is a user, or a token that acts for one.

A user has the rights that the user's role, teams and grants give. A token has a right only if its owner has it now and
the token's scope contains it.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from django.contrib.auth.models import AnonymousUser

from dnspanel.accounts.actors.grants import EVERY_RIGHT, Grant, Right
from dnspanel.accounts.actors.roles import PERMISSIONS, Permission
from dnspanel.accounts.models import GrantRow, Membership, Role, Team, Token, User

ROLE_RIGHTS = {
    Role.READER: frozenset({Right.READ}),
    Role.EDITOR: EVERY_RIGHT,
    Role.ADMINISTRATOR: frozenset(Right),
}


@dataclass(frozen=True, slots=True)
class Actor:
    """A user and the user's rights. `token` and `scope` are None unless a token acts for the user.

    `teams` are the teams that give rights beyond the user's role.
    """

    user: User
    permissions: frozenset[Permission]
    grants: tuple[Grant, ...]
    token: Token | None = None
    scope: tuple[Grant, ...] | None = None
    teams: tuple[Team, ...] = ()

    @property
    def layers(self) -> tuple[tuple[Grant, ...], ...]:
        """The user's grants, then the token's scope if a token acts. An action needs the right in every layer."""
        return (self.grants,) if self.scope is None else (self.grants, self.scope)

    def may(self, right: Right, *, zone_id: int, tags: Collection[str], team_id: int | None) -> bool:
        """Return True if the actor has the right over this zone, for at least one name and type."""
        return all(
            any(right in grant.rights and grant.covers_zone(zone_id, tags, team_id) for grant in layer)
            for layer in self.layers
        )

    def may_everywhere(self, right: Right) -> bool:
        """Return True if the actor has the right over all zones, names and types."""
        return all(
            any(right in grant.rights and grant.everywhere and not grant.is_limited for grant in layer)
            for layer in self.layers
        )

    def may_somewhere(self, right: Right) -> bool:
        """Return True if every layer grants the right over some zone. The layers can cover different zones."""
        return all(any(right in grant.rights for grant in layer) for layer in self.layers)


# The subject of an access check: a person with or without a session, or a token.
Person = User | AnonymousUser | Actor
# The author of a publication. None is the panel, which has all rights over records. It only bypasses approval rules,
# freezes, locks and publish hooks if it names the `SystemRight` for the action.
Author = User | Actor | None


class SystemRight(StrEnum):
    """A reason for the panel to change zones without a user.

    All reasons except CATALOG skip approval rules, freezes, locks and publish hooks. Changes from a consumer catalog
    follow the same rules as a user's changes.
    """

    SIGNING = "signing"  # keys, signatures and rollovers: they change no content, and must not wait
    SIGNALLING = "signalling"  # records for parents that look up the keys (RFC 9615)
    TRANSFER = "transfer"  # changes from a primary, after a person who passed the rules chose the primary
    EXPIRY = "expiry"  # removing a zone from the nodes when its primaries don't respond within the SOA's expire time
    MEMBERS = "members"  # the panel's catalogs list their members, which passed the rules themselves
    REPAIR = "repair"  # reverting publications that failed on nodes, and decisions about a lost history
    SAMPLES = "samples"  # the sample zones of a demonstration
    CATALOG = "catalog"  # zones that a consumed catalog adds and removes

    @property
    def passes_rules(self) -> bool:
        """True if the action skips approval rules, freezes, locks and publish hooks."""
        return self is not SystemRight.CATALOG


def passes_rules(under: SystemRight | None) -> bool:
    """Return True if the action has a system right that skips approval rules, freezes, locks and publish hooks."""
    return under is not None and under.passes_rules


def actor_of(person: Person) -> Actor | None:
    """Return the actor for this user, or None for anonymous users and closed accounts. Return an actor unchanged.

    The first call for a `User` object queries the rights and caches the actor on the object until the role changes.
    """
    if isinstance(person, Actor):
        return person
    if not isinstance(person, User) or not person.is_active:
        return None
    role, known = getattr(person, "_actor", ("", None))
    if known is None or role != (person.role, person.own_role_id):
        known = _actor(person)
        person._actor = (person.role, person.own_role_id), known  # type: ignore[attr-defined]
    return known


def as_if_open(user: User) -> Actor:
    """Return the actor for this user, even if the account is closed."""
    return _actor(user)


def actor_of_token(token: Token) -> Actor | None:
    """Return the actor for a token, or None if the owner's account is closed. The caller must verify the token."""
    person = actor_of(token.owner)
    if person is None:
        return None
    allowed = person.permissions & frozenset(map(Permission, token.permissions))
    scope = tuple(Grant.from_json(each) for each in token.scope)
    if any(Right.READ in grant.rights for grant in scope):
        allowed |= person.permissions & {Permission.READ}
    if any(grant.rights - {Right.READ} for grant in scope):
        allowed |= person.permissions & {Permission.EDIT}
    return Actor(token.owner, allowed, person.grants, token, scope, person.teams)


def can(person: Person, permission: Permission) -> bool:
    """Return True if this user has the permission. Closed accounts and anonymous users have no permissions."""
    actor = actor_of(person)
    return actor is not None and permission in actor.permissions


def user_of(author: Author) -> User | None:
    """Return the author's user, or None for the panel itself."""
    return author.user if isinstance(author, Actor) else author


def token_of(author: Author) -> Token | None:
    """Return the token that acts for an author, or None if the author acts without one."""
    return author.token if isinstance(author, Actor) else None


def _actor(user: User) -> Actor:
    memberships = _memberships(user)
    grants = [*_by_role(user), *map(_by_team, memberships), *_by_grant(user)]
    permissions = permissions_by_role(user)
    rights = frozenset[Right]().union(*(grant.rights for grant in grants))
    if Right.READ in rights:  # a rule may name these people as approvers, so their tokens can get the permission
        permissions |= {Permission.READ, Permission.APPROVE}
    if rights - {Right.READ}:
        permissions |= {Permission.EDIT}
    if Right.SETTINGS in rights:  # only people with this right can have TSIG keys
        permissions |= {Permission.SECRETS}
    return Actor(user, permissions, tuple(grants), teams=tuple(membership.team for membership in memberships))


def permissions_by_role(user: User) -> frozenset[Permission]:
    """Return the permissions that the user's role grants, plus those of a custom role."""
    own = user.own_role
    return PERMISSIONS[user.role] | (frozenset(map(Permission, own.permissions)) if own is not None else frozenset())


def rights_by_role(user: User) -> frozenset[Right]:
    """Return the rights over all zones that the user's role grants, plus those of a custom role."""
    own = user.own_role
    return ROLE_RIGHTS.get(Role(user.role), frozenset()) | (
        frozenset(map(Right, own.rights)) if own is not None else frozenset()
    )


def _by_role(user: User) -> Iterable[Grant]:
    rights = rights_by_role(user)
    return (Grant(rights, everywhere=True),) if rights else ()


def _memberships(user: User) -> list[Membership]:
    if user.role in {Role.EDITOR, Role.ADMINISTRATOR}:  # they have all rights, so no query is needed
        return []
    return list(Membership.objects.filter(user=user).select_related("team").order_by("team_id"))


def _by_team(membership: Membership) -> Grant:
    return Grant(ROLE_RIGHTS[Role(membership.role)], teams=frozenset({membership.team_id}))


def _by_grant(user: User) -> Iterable[Grant]:
    if user.role in {Role.EDITOR, Role.ADMINISTRATOR}:
        return
    rows = GrantRow.objects.filter(user=user) | GrantRow.objects.filter(team__memberships__user=user)
    yield from (Grant.from_json(row.grant) for row in rows.distinct())
