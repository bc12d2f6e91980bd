"""What each role may do at least: the one place that decides it. `actors` adds what teams and grants give."""

from enum import StrEnum

from dnspanel.accounts.models import Role
from dnspanel.texts import gettext_noop


class Permission(StrEnum):
    """One thing a person may be allowed to do; the value is how a page names it."""

    READ = gettext_noop("see zones")
    FLEET = gettext_noop("see nodes")
    EDIT = gettext_noop("edit, publish, create and delete zones")
    NODES = gettext_noop("enroll and change nodes")
    PEOPLE = gettext_noop("invite people and change roles")
    AUDIT = gettext_noop("read the audit log")
    SECRETS = gettext_noop("read the secrets of one's own TSIG keys again")
    # A second pair of eyes is a person's: a token approves only where somebody gave it this.
    APPROVE = gettext_noop("approve and decline requests by a token")


# Each includes the one before it.
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
    """Whether the first role may less than the other."""
    return UPWARDS.index(Role(role)) < UPWARDS.index(Role(other))


def powers_of(role: str) -> frozenset[Permission]:
    """What of a role is power over others' things; what one may read of one's own is no measure of it."""
    return PERMISSIONS[role] - {Permission.SECRETS}
