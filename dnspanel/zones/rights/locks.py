"""Lock content, such as a Terraform token's records, so that only the lock's manager can change it. Verbs.

A lock covers a whole zone, a name, or an RRset, and has a reason. People who can change the zone's settings add and
remove locks, so a lock never blocks permanently. Locks protect against mistakes. Removals are audited.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from dnspanel.accounts.actors.actors import Author, Right, token_of, user_of
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Token, User
from dnspanel.texts import gettext
from dnspanel.zones.errors import LockRefused, Unknown
from dnspanel.zones.models import Lock, Zone
from dnspanel.zones.rights import access
from dnspanel.zones.rights.lock_rules import lock_in, locks_of
from dnspanel.zones.store.find_zones import lock_zones
from replication.dns import names, rdata, rdtypes

# Per zone. For more, lock the whole zone, or grant narrower rights.
MOST = 100
LONGEST_REASON = 200
# Records that the panel generates for any author. People never write them.
_UNLOCKABLE = frozenset({rdtypes.RRSIG, rdtypes.NSEC, rdtypes.NSEC3})


@dataclass(frozen=True, slots=True)
class Manager:
    """The person or token that a lock doesn't block. If both are None, the lock blocks everyone."""

    person: User | None = None
    token: Token | None = None


NO_MANAGER = Manager()


def manager_of(author: Author) -> Manager:
    """Return the author as a lock's manager: the author's token if there is one, or else the person."""
    return Manager(user_of(author), token_of(author))


def add_lock(  # noqa: PLR0913  # the fields of a lock
    *, zone: Zone, name: str, type: int | None, reason: str, manager: Manager, author: Author, now: datetime
) -> Lock:
    """Lock a zone (no name), a name (no type) or an RRset. The lock also blocks other people's existing drafts.

    Raise RightMissing if the author isn't allowed to change the zone's settings, and Unknown for a deleted zone. Raise
    LockRefused for an existing lock, too many locks, a name outside the zone, a bad type, or a bad reason.
    """
    reason = " ".join(reason.split())
    if not reason or len(reason) > LONGEST_REASON:
        raise LockRefused(
            "reason",
            gettext("Enter a reason of up to {longest_reason} characters. Other people can read it.").format(
                longest_reason=LONGEST_REASON
            ),
        )
    if name and not names.is_within(name, zone.name):
        raise LockRefused("name", gettext("{name} is not in {name2}").format(name=name, name2=zone.name))
    if type is not None and not name:
        raise LockRefused("type", gettext("Enter the name for this record type."))
    if type in _UNLOCKABLE:
        raise LockRefused(
            "type",
            gettext("The panel generates {type_to_text} records, so you can’t lock this type.").format(
                type_to_text=rdata.type_to_text(type or 0)
            ),
        )
    with transaction.atomic():
        found = _lock_zone(zone, author)
        existing = locks_of(found)
        if any((lock.name, lock.type) == (name, type) for lock in existing):
            raise LockRefused("name", gettext("A lock for this name and type already exists. Delete it first."))
        if len(existing) >= MOST:
            raise LockRefused("name", gettext("A zone can have at most {most} locks.").format(most=MOST))
        lock = Lock.objects.create(
            zone=found,
            name=name,
            type=type,
            reason=reason,
            person=manager.person,
            token=manager.token,
            placed_by=user_of(author),
            placed_at=now,
        )
        Zone.objects.filter(pk=found.pk).update(has_locks=True)
        _record("zone.lock", lock, author, now)
    zone.has_locks = True
    return lock


def lift_lock(*, zone: Zone, lock_id: int, author: Author, now: datetime) -> None:
    """Remove the lock. Raise LockUnknown, Unknown for a deleted zone, or RightMissing if the author lacks SETTINGS."""
    with transaction.atomic():
        found = _lock_zone(zone, author)
        lock = lock_in(found, lock_id)
        _record("zone.unlock", lock, author, now)
        lock.delete()
        zone.has_locks = Lock.objects.filter(zone=found).exists()
        Zone.objects.filter(pk=found.pk).update(has_locks=zone.has_locks)


def _lock_zone(zone: Zone, author: Author) -> Zone:
    """Lock and return the zone's row. Raise Unknown if it was deleted, or RightMissing if the author lacks SETTINGS."""
    found = next(iter(lock_zones([zone.pk])), None)
    if found is None:
        raise Unknown(zone.name)
    access.require_right(author, found, Right.SETTINGS)
    return found


def _record(action: str, lock: Lock, author: Author, now: datetime) -> None:
    audit.record(
        action=action,
        by=author,
        now=now,
        target=lock.zone.name,
        what=lock.what,
        reason=lock.reason,
        manager=lock.manager,
    )
