"""The only doors to a zone for a face: each one checks what the person may do."""

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from dnspanel.accounts.models import User
from dnspanel.accounts.roles import Permission, can
from dnspanel.zones.errors import Forbidden as Forbidden
from dnspanel.zones.errors import Unknown as Unknown
from dnspanel.zones.models import Zone
from replication import names
from replication.errors import BadName

Person = User | AnonymousUser


def zones_visible_to(user: Person) -> QuerySet[Zone]:
    """The zones this person may know about, without those in the trash."""
    return _readable(user).filter(deleted_at=None)


def trash_visible_to(user: Person) -> QuerySet[Zone]:
    """The deleted zones this person may know about."""
    return _readable(user).exclude(deleted_at=None)


def zone_for_reading(user: Person, name: str) -> Zone:
    """The zone of this name; raises Unknown."""
    try:
        canonical = names.parse(name)
    except BadName as exc:
        raise Unknown(name) from exc
    zone = zones_visible_to(user).select_related("changed_by").filter(name=canonical).first()
    if zone is None:
        raise Unknown(canonical)
    return zone


def zone_for_editing(user: Person, name: str) -> Zone:
    """The zone of this name, to change it; raises Unknown, or Forbidden to a person who may only read it."""
    zone = zone_for_reading(user, name)
    require(user, Permission.EDIT)
    return zone


def trashed_zone_for_restoring(user: Person, zone_id: int) -> Zone:
    """The deleted zone with this id, to bring it back; raises Unknown or Forbidden."""
    zone = trash_visible_to(user).filter(pk=zone_id).first()
    if zone is None:
        raise Unknown(str(zone_id))
    require(user, Permission.EDIT)
    return zone


def require(user: Person, permission: Permission) -> None:
    """Raise Forbidden unless the person has this permission."""
    if not can(user, permission):
        raise Forbidden(permission)


def may_edit(user: Person) -> bool:
    """Whether this person may change zones at all."""
    return can(user, Permission.EDIT)


def _readable(user: Person) -> QuerySet[Zone]:
    return Zone.objects.all() if can(user, Permission.READ) else Zone.objects.none()
