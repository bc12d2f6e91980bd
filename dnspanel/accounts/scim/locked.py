"""Lock SCIM directories, and check which users a directory is allowed to change."""

from collections.abc import Mapping
from typing import Any

from allauth.mfa.models import Authenticator

from dnspanel.accounts.errors import AddressKept, DirectoryUnknown, OutOfReach
from dnspanel.accounts.models import GrantRow, Membership, Role, ScimDirectory, ScimPerson, User
from dnspanel.database.first_rows import first_or


def locked_directory(directory: ScimDirectory) -> ScimDirectory:
    """Lock and return the current row of the directory. Raise DirectoryUnknown if it was deleted."""
    return first_or(ScimDirectory.objects.select_for_update(of=("self",)).filter(pk=directory.pk), DirectoryUnknown)


def refuse_out_of_reach(person: ScimPerson) -> None:
    """Raise OutOfReach for an administrator whose role didn't come from the directory's rules."""
    if person.user.role == Role.ADMINISTRATOR and person.given.get("role") is None:
        raise OutOfReach(person.user.username)


def refuse_new_address(person: ScimPerson) -> None:
    """Raise AddressKept if the account has rights that no rule gave, or can sign in without a provider.

    Control over the email address can give access to the account, through a provider that links by email address or
    through a password reset.
    """
    user = person.user
    passkeys = Authenticator.objects.filter(user=user, type=Authenticator.Type.WEBAUTHN)
    gifts = [person.given, *user.provider_links.values_list("given", flat=True)]
    signs_in_here = user.has_password or passkeys.exists()
    if signs_in_here or _has_role_of_its_own(user, gifts) or _has_rights_of_its_own(user, gifts):
        raise AddressKept(user.username)


def _has_role_of_its_own(user: User, gifts: list[Mapping[str, Any]]) -> bool:
    """Return True if the account has a role that no rule gave, or would get such a role back."""
    before = [given["role"] for given in gifts if given.get("role") is not None]
    if before:
        return any(role != Role.MEMBER for role in before)
    return user.role != Role.MEMBER or user.own_role_id is not None


def _has_rights_of_its_own(user: User, gifts: list[Mapping[str, Any]]) -> bool:
    """Return True if the account has a grant, or a team membership that no rule gave."""
    given = {int(pk) for each in gifts for pk, role in each.get("teams", {}).items() if role is None}
    others = Membership.objects.filter(user=user).exclude(team_id__in=given)
    return others.exists() or GrantRow.objects.filter(user=user).exists()
