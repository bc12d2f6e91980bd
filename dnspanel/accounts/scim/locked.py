"""One write of a directory after the other, and whom a directory may change at all."""

from collections.abc import Mapping
from typing import Any

from allauth.mfa.models import Authenticator

from dnspanel.accounts.errors import AddressKept, DirectoryUnknown, OutOfReach
from dnspanel.accounts.models import GrantRow, Membership, Role, ScimDirectory, ScimPerson, User


def locked_directory(directory: ScimDirectory) -> ScimDirectory:
    """The directory as it is now; its other writes wait until the transaction ends. Raises DirectoryUnknown."""
    row = ScimDirectory.objects.select_for_update(of=("self",)).filter(pk=directory.pk).first()
    if row is None:
        raise DirectoryUnknown
    return row


def refuse_out_of_reach(person: ScimPerson) -> None:
    """Raise OutOfReach for an administrator whom the directory's rules did not make one: nobody acts above themself."""
    if person.user.role == Role.ADMINISTRATOR and person.given.get("role") is None:
        raise OutOfReach(person.user.username)


def refuse_new_address(person: ScimPerson) -> None:
    """Raise AddressKept for an account that is more than rules made it, or that is signed in to here.

    Whoever has the address opens the account: by a provider that links by mail, or by a forgotten password.
    """
    user = person.user
    passkeys = Authenticator.objects.filter(user=user, type=Authenticator.Type.WEBAUTHN)
    gifts = [person.given, *user.provider_links.values_list("given", flat=True)]
    signs_in_here = user.has_password or passkeys.exists()
    if signs_in_here or _has_role_of_its_own(user, gifts) or _has_rights_of_its_own(user, gifts):
        raise AddressKept(user.username)


def _has_role_of_its_own(user: User, gifts: list[Mapping[str, Any]]) -> bool:
    """Return whether somebody gave the account a role, which it has, or has again once no rule decides."""
    before = [given["role"] for given in gifts if given.get("role") is not None]
    if before:
        return any(role != Role.MEMBER for role in before)
    return user.role != Role.MEMBER or user.own_role_id is not None


def _has_rights_of_its_own(user: User, gifts: list[Mapping[str, Any]]) -> bool:
    """Return whether somebody gave the account a grant, or made it a member of a team."""
    given = {int(pk) for each in gifts for pk, role in each.get("teams", {}).items() if role is None}
    others = Membership.objects.filter(user=user).exclude(team_id__in=given)
    return others.exists() or GrantRow.objects.filter(user=user).exists()
