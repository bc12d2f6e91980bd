"""What each role may do: the one place that decides it."""

from enum import StrEnum

from django.contrib.auth.models import AnonymousUser

from dnspanel.accounts.models import Role, User


class Permission(StrEnum):
    """One thing a person may be allowed to do; the value is how a page names it."""

    READ = "see zones and nodes"
    EDIT = "edit, publish, create and delete zones"
    NODES = "enroll and change nodes"
    PEOPLE = "invite people and change roles"


PERMISSIONS: dict[str, frozenset[Permission]] = {
    Role.READER: frozenset({Permission.READ}),
    Role.EDITOR: frozenset({Permission.READ, Permission.EDIT}),
    Role.ADMINISTRATOR: frozenset(Permission),
}


def can(user: User | AnonymousUser, permission: Permission) -> bool:
    """Whether this person may do this; nobody without an active account may do anything."""
    if not isinstance(user, User) or not user.is_active:
        return False
    return permission in PERMISSIONS[user.role]
