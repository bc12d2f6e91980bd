"""Define permissions, rights and grants, and determine the rights of an actor: a user, or a token that acts for one.

A user has the rights that the user's role, teams and grants give. A token has a right only if its owner has it now and
the token's scope contains it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.contrib.auth.models import AnonymousUser

from dnspanel.accounts.actors import name_patterns
from dnspanel.accounts.models import GrantRow, Membership, Role, Team, Token, User
from dnspanel.texts import gettext_noop


class Right(StrEnum):
    """A kind of action on a zone. The value is its name on pages and in the API."""

    READ = "read"  # see the zone and its content
    ADD = "add"  # publish a new RRset
    CHANGE = "change"  # publish other values, TTL or comment of an RRset
    REMOVE = "remove"  # publish the removal of an RRset
    CREATE_ZONE = "create-zone"
    DELETE_ZONE = "delete-zone"  # delete the zone, and restore it from the trash
    SETTINGS = "settings"  # tags, team, metadata
    DNSSEC = "dnssec"  # sign, unsign, create and retire keys
    TEMPLATES = "templates"  # create, change and delete templates of these teams, or panel-wide ones
    EXPORT_KEYS = "export-keys"  # read private DNSSEC keys, which allows forging the zone
    GOVERN = "govern"  # set the zone's approval rules and freezes, and bypass them


RECORD_RIGHTS = frozenset({Right.ADD, Right.CHANGE, Right.REMOVE})
# The rights that "everything" includes. Exporting keys and bypassing approval must be granted by name.
EVERY_RIGHT = frozenset(Right) - {Right.EXPORT_KEYS, Right.GOVERN}


@dataclass(frozen=True, slots=True)
class Grant:
    """Rights over all zones, or over zones selected by id, tag or team.

    `names` (see `name_patterns`) and `types` limit which RRsets can be changed, and which a token can read. An empty
    limit allows all. The limits don't apply to rights over whole zones, such as DELETE_ZONE and SETTINGS. CREATE_ZONE
    has no effect in a grant with limits, because a new zone can contain any name.
    """

    rights: frozenset[Right]
    everywhere: bool = False
    zones: frozenset[int] = frozenset()
    tags: frozenset[str] = frozenset()
    teams: frozenset[int] = frozenset()
    names: tuple[str, ...] = ()
    types: frozenset[int] = frozenset()

    @property
    def is_limited(self) -> bool:
        """True if the grant is limited to some names or types."""
        return bool(self.names or self.types)

    def covers_zone(self, zone_id: int, tags: Collection[str], team_id: int | None) -> bool:
        """Return True if the grant covers the zone with this id, these tags and this team."""
        return (
            self.everywhere
            or zone_id in self.zones
            or (team_id is not None and team_id in self.teams)
            or not self.tags.isdisjoint(tags)
        )

    def covers_rrset(self, zone_name: str, name: str, type: int) -> bool:
        """Return True if the grant's limits on names and types allow this RRset."""
        if self.types and type not in self.types:
            return False
        return not self.names or name_patterns.compile_patterns(self.names).fit(name, zone_name)

    def to_json(self) -> dict[str, Any]:
        """Return the grant as a JSON object, as the database stores it."""
        return {
            "rights": sorted(self.rights),
            "everywhere": self.everywhere,
            "zones": sorted(self.zones),
            "tags": sorted(self.tags),
            "teams": sorted(self.teams),
            "names": list(self.names),
            "types": sorted(self.types),
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> "Grant":
        """Create a grant from a JSON object that `to_json` returned."""
        return cls(
            rights=frozenset(map(Right, obj["rights"])),
            everywhere=obj["everywhere"],
            zones=frozenset(obj["zones"]),
            tags=frozenset(obj["tags"]),
            teams=frozenset(obj["teams"]),
            names=tuple(obj["names"]),
            types=frozenset(obj["types"]),
        )


def is_part(grant: Grant, other: Grant) -> bool:
    """Return True if `other` includes everything that `grant` gives.

    Only the fields are compared, so the result can be False although both grants select the same zones.
    """
    return (
        grant.rights <= other.rights
        and (other.everywhere or (not grant.everywhere and grant.zones <= other.zones))
        and (other.everywhere or (grant.tags <= other.tags and grant.teams <= other.teams))
        and (not other.names or (bool(grant.names) and set(grant.names) <= set(other.names)))
        and (not other.types or (bool(grant.types) and grant.types <= other.types))
    )


class Permission(StrEnum):
    """An action that a user can be allowed to perform. The value is its description on pages."""

    READ = gettext_noop("see zones")
    FLEET = gettext_noop("see nodes")
    EDIT = gettext_noop("edit, publish, create and delete zones")
    NODES = gettext_noop("enroll and change nodes")
    PEOPLE = gettext_noop("invite people and change roles")
    AUDIT = gettext_noop("read the audit log")
    SECRETS = gettext_noop("reveal TSIG key secrets again (own keys only)")
    LUA = gettext_noop("publish LUA records, which run code on nodes")
    # Approval is meant for a second person, so a token needs this permission to approve.
    APPROVE = gettext_noop("approve and decline requests with a token")


# Each role includes the permissions of the role before it.
UPWARDS = (Role.MEMBER, Role.READER, Role.EDITOR, Role.ADMINISTRATOR)
PERMISSIONS: dict[str, frozenset[Permission]] = {
    Role.MEMBER: frozenset(),
    Role.READER: frozenset({Permission.READ, Permission.FLEET}),
    Role.EDITOR: frozenset(
        {Permission.READ, Permission.FLEET, Permission.EDIT, Permission.SECRETS, Permission.APPROVE}
    ),
    Role.ADMINISTRATOR: frozenset(Permission),
}


def is_below(role: str, other: str) -> bool:
    """Return True if the first role has fewer rights than the other."""
    return UPWARDS.index(Role(role)) < UPWARDS.index(Role(other))


def powers_of(role: str) -> frozenset[Permission]:
    """Return the role's permissions that affect other users: all except SECRETS, which covers a user's own secrets."""
    return PERMISSIONS[role] - {Permission.SECRETS}


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


ACTOR_KINDS = ("user", "token", "system", "anonymous")


def actor_form(
    username: str | None, token: Token | Mapping[str, Any] | None = None, *, is_anonymous: bool = False
) -> dict[str, Any]:
    """Return the JSON form of an actor: a user, a user's token, the panel, or an anonymous visitor.

    The API, webhooks and publish hooks share this form:
    {"kind": "token", "user": "alice", "token": {"id": 7, "prefix": "dnsp_x1y2", "purpose": "platform"}}

    If `username` and `token` are empty, the actor is an anonymous visitor if `is_anonymous` is set, or else the panel.
    `token` can also be a dict that `token_form` returned.
    """
    if token is not None:
        kind = "token"
    elif username:
        kind = "user"
    else:
        kind = "anonymous" if is_anonymous else "system"
    return {"kind": kind, "user": username or None, "token": token_form(token) if isinstance(token, Token) else token}


def actor_form_of(author: Author) -> dict[str, Any]:
    """Return the JSON form of an author: a user, a token or the panel itself."""
    user = user_of(author)
    return actor_form(user.username if user else None, token_of(author))


def person_form(user: User | None) -> dict[str, Any] | None:
    """Return the JSON form of a user, or None if `user` is None."""
    return None if user is None else actor_form(user.username)


def token_form(token: Token) -> dict[str, Any]:
    """Return the JSON form of a token, without its secret."""
    return token_form_of(token.pk, token.prefix, token.purpose)


def token_form_of(id: int, prefix: str, purpose: str) -> dict[str, Any]:
    """Return the JSON form of a token. Used by callers that have only these columns and no `Token` object."""
    return {"id": id, "prefix": prefix, "purpose": purpose}
