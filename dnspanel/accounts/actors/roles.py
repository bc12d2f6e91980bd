"""Define the permissions and rights of each role. `actors` adds the rights that teams and grants give."""

from enum import StrEnum

from dnspanel.accounts.models import Role
from dnspanel.texts import gettext_noop


class Permission(StrEnum):
    """An action that a user can be allowed to perform. The value is its description on pages."""

    READ = gettext_noop("see zones")
    FLEET = gettext_noop("see nodes")
    EDIT = gettext_noop("edit, publish, create and delete zones")
    NODES = gettext_noop("enroll and change nodes")
    PEOPLE = gettext_noop("invite people and change roles")
    AUDIT = gettext_noop("read the audit log")
    SECRETS = gettext_noop("reveal TSIG key secrets again (own keys only)")
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
