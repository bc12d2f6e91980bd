"""Convert a provider's claims to an identity, and apply the provider's rules to its groups. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dnspanel.accounts.actors.actors import UPWARDS
from dnspanel.accounts.errors import SignInRefused
from dnspanel.accounts.models import Role
from dnspanel.accounts.texts.canonical import canonical_mail
from dnspanel.texts import gettext

MOST_RULES = 500
LONGEST_GROUP = 300
_MOST_GROUPS = 5_000
_LONGEST_MAIL = 254


@dataclass(frozen=True, slots=True)
class Identity:
    """A user as described by the provider. `mail` is canonical, or empty if the provider sent no valid address."""

    subject: str
    mail: str
    mail_is_verified: bool
    username: str
    first_name: str
    last_name: str
    groups: frozenset[str]

    @property
    def domain(self) -> str:
        return self.mail.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that gives members of a group a role: panel-wide, in a team, or a custom role (`own_role`)."""

    group: str
    role: str
    team: int | None = None  # id of the team
    own_role: int | None = None  # id of the custom role

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Rule":
        return cls(str(value["group"]), str(value["role"]), value.get("team"), value.get("own_role"))

    def to_json(self) -> dict[str, Any]:
        return {"group": self.group, "role": self.role, "team": self.team, "own_role": self.own_role}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The panel-wide role and the team roles that rules give. `role` is None if no rule gives panel-wide roles."""

    role: str | None = None
    teams: Mapping[int, str] = field(default_factory=dict)  # id of the team → role in it
    has_matched: bool = False
    own_role: int | None = None  # for the role member


def identity_of(claims: Mapping[str, Any], *, group_claim: str, trusts_mail: bool) -> Identity:
    """Return the identity in a provider's claims. Raise SignInRefused if there are too many groups.

    If `trusts_mail` is True, an address counts as verified unless the claims deny it.
    """
    mail = canonical_mail(_text(claims, "email")) or ""
    if len(mail) > _LONGEST_MAIL:
        mail = ""
    claimed = claims.get("email_verified", trusts_mail)
    return Identity(
        subject=str(claims["sub"]),
        mail=mail,
        mail_is_verified=bool(mail) and (claimed is True or claimed == "true"),
        username=_text(claims, "preferred_username"),
        first_name=_text(claims, "given_name")[:150],
        last_name=_text(claims, "family_name")[:150],
        groups=frozenset(_groups(claims, group_claim)),
    )


def outcome_of(rules: Sequence[Rule], groups: Iterable[str]) -> Outcome:
    """Return the roles that the rules give to a user in these groups.

    The highest panel-wide role wins. If there are rules for panel-wide roles but none matches, the role is MEMBER. A
    custom role applies only if the panel-wide role is MEMBER. If several custom roles match, the first one applies.
    """
    mine = set(groups)
    matched = [rule for rule in rules if rule.group in mine]
    role = None
    if any(rule.team is None for rule in rules):
        role = highest([rule.role for rule in matched if rule.team is None])
    teams: dict[int, str] = {}
    for rule in matched:
        if rule.team is not None:
            teams[rule.team] = highest([rule.role, teams.get(rule.team, Role.READER)])
    own = [rule.own_role for rule in matched if rule.own_role is not None] if role == Role.MEMBER else []
    return Outcome(role, teams, bool(matched), own[0] if own else None)


def highest(roles: Iterable[str]) -> str:
    """Return the highest of these roles, or MEMBER if `roles` is empty."""
    return max((Role(role) for role in roles), key=UPWARDS.index, default=Role.MEMBER)


def _groups(claims: Mapping[str, Any], claim: str) -> Iterable[str]:
    """Return the groups at a claim or path (`realm_access.roles`). Raise SignInRefused if there are too many."""
    # Microsoft omits the groups if there are too many. Treating that as no groups would remove all roles.
    names = claims.get("_claim_names")
    if claim not in claims and isinstance(names, dict) and claim in names:
        raise SignInRefused(
            "groups", gettext("You’re in too many groups, so the provider couldn’t send all of them in the token.")
        )
    value: Any = claims.get(claim)
    if value is None:
        value = claims
        for part in claim.split("."):
            value = value.get(part) if isinstance(value, dict) else None
    listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    if len(listed) > _MOST_GROUPS:
        raise SignInRefused(
            "groups", gettext("The provider sent more than {most_groups:,} groups.").format(most_groups=_MOST_GROUPS)
        )
    return [group for group in listed if isinstance(group, str) and len(group) <= LONGEST_GROUP]


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    return "".join(filter(str.isprintable, value[:500])).strip() if isinstance(value, str) else ""
