"""Errors about rights over zones and about locks."""

from typing import TYPE_CHECKING

from dnspanel.accounts.actors.actors import Permission, Right
from dnspanel.accounts.errors import NotFound
from dnspanel.texts import gettext, gettext_noop
from dnspanel.zones.errors.zone import ZoneError
from replication.dns import rdata

if TYPE_CHECKING:
    from dnspanel.zones.models import Lock


class Forbidden(ZoneError):
    """The person lacks a permission."""

    def __init__(self, permission: Permission, reason: str = "") -> None:
        self.permission = permission
        super().__init__(
            reason or gettext("You don’t have permission to {value}.").format(value=gettext(permission.value))
        )


_ACTS = {
    Right.READ: gettext_noop("You don’t have permission to view {what}."),
    Right.ADD: gettext_noop("You don’t have permission to add {what}."),
    Right.CHANGE: gettext_noop("You don’t have permission to change {what}."),
    Right.REMOVE: gettext_noop("You don’t have permission to delete {what}."),
    Right.CREATE_ZONE: gettext_noop("You don’t have permission to create the zone {what}."),
    Right.DELETE_ZONE: gettext_noop("You don’t have permission to delete or restore the zone {what}."),
    Right.SETTINGS: gettext_noop("You don’t have permission to change the settings for the zone {what}."),
    Right.DNSSEC: gettext_noop("You don’t have permission to sign {what} or change its keys."),
    Right.TEMPLATES: gettext_noop("You don’t have permission to create or change the template {what}."),
    Right.EXPORT_KEYS: gettext_noop("You don’t have permission to read the private keys for the zone {what}."),
    Right.GOVERN: gettext_noop("You don’t have permission to change or bypass the approval rules for {what}."),
}


class RightMissing(Forbidden):
    """A person or token lacks a right over a zone, or over one of its RRsets."""

    def __init__(self, right: Right, zone_name: str, name: str = "", type: int = 0) -> None:
        self.right, self.zone_name, self.name, self.type = right, zone_name, name, type
        what = zone_name.rstrip(".")
        if name:
            what = gettext("{type} {name} in {zone}").format(type=rdata.type_to_text(type), name=name, zone=what)
        super().__init__(Permission.EDIT, gettext(_ACTS[right]).format(what=what))


class Locked(RightMissing):
    """A lock protects the zone or one of its RRsets from everyone except the lock's manager."""

    def __init__(self, zone_name: str, lock: "Lock", name: str = "", type: int = 0) -> None:
        super().__init__(Right.CHANGE, zone_name, name, type)
        self.lock = lock
        what = f"{rdata.type_to_text(type)} {name}" if name else zone_name
        message = (
            gettext("{what} is locked: {reason}. Only {manager} is allowed to change {what}.")
            if lock.manager
            else gettext("{what} is locked: {reason}.")
        )
        self.args = (message.format(what=what.rstrip("."), reason=lock.reason.rstrip("."), manager=lock.manager),)


class Transferred(RightMissing):
    """The zone is transferred from another primary, so it can't be changed here."""

    def __init__(self, zone_name: str, transferred_from: str) -> None:
        super().__init__(Right.CHANGE, zone_name)
        self.args = (transferred_reason(zone_name, transferred_from),)


class FollowsMembers(RightMissing):
    """The zone is a producer catalog, which people can't edit."""

    def __init__(self, zone_name: str) -> None:
        super().__init__(Right.CHANGE, zone_name)
        self.args = (producer_reason(zone_name),)


def producer_reason(zone_name: str) -> str:
    """Return a message that explains why a producer catalog can't be edited."""
    return gettext("{name} is a catalog, which only changes when you add or remove members.").format(
        name=zone_name.rstrip(".")
    )


def unserved_reason(zone_name: str) -> str:
    """Return a message that explains why a transferred zone isn't served."""
    return gettext("{name} isn’t served because it has expired or hasn’t been transferred yet.").format(name=zone_name)


def transferred_reason(zone_name: str, transferred_from: str) -> str:
    """Return a message that explains why a transferred zone can't be changed here."""
    return gettext("{name} is transferred from {primaries}. Change it on the primary.").format(
        name=zone_name.rstrip("."), primaries=transferred_from
    )


class LockRefused(ZoneError):
    """A lock has an invalid field, or already exists. `field` is the name of the field."""

    def __init__(self, field: str, reason: str) -> None:
        self.field = field
        super().__init__(reason)


class LockUnknown(ZoneError, NotFound):
    """The zone does not have this lock, or no longer has it."""

    def __init__(self, zone_name: str) -> None:
        super().__init__(gettext("The lock in {zone_name} no longer exists.").format(zone_name=zone_name))
