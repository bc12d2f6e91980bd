"""Find the lock that blocks a change. Most zones have no locks and need no query."""

from collections.abc import Iterable, Sequence

from dnspanel.accounts.actors.actors import Author, token_of, user_of
from dnspanel.zones.errors import Locked, LockUnknown
from dnspanel.zones.models import Lock, Zone
from dnspanel.zones.values import soa
from replication.dns import names
from replication.dns.rrset import Change, Key


def locks_of(zone: Zone) -> Sequence[Lock]:
    """Return the zone's locks, sorted by name and type. Locks of the whole zone come first. Needs at most one query."""
    if not zone.has_locks:
        return ()
    return tuple(Lock.objects.filter(zone=zone).select_related("person", "token").order_by("name", "type", "pk"))


def lock_in(zone: Zone, lock_id: int) -> Lock:
    """Return the zone's lock with this id. Raise LockUnknown if the zone doesn't have it."""
    found = next((lock for lock in locks_of(zone) if lock.pk == lock_id), None)
    if found is None:
        raise LockUnknown(zone.name)
    return found


def locks_against(author: Author, zone: Zone) -> Sequence[Lock]:
    """Return the zone's locks that block this author. The panel itself (None) is blocked by every lock."""
    return tuple(lock for lock in locks_of(zone) if not is_managed_by(lock, author))


def refuse_locked(author: Author, zone: Zone, changes: Iterable[Change] | None) -> None:
    """Raise Locked for the first change that a lock blocks. If `changes` is None, any lock blocks the author.

    An SOA change is not checked if only the serial changes. Locks that the author manages don't count.
    """
    if not (locks := locks_against(author, zone)):
        return
    if changes is None:
        raise Locked(zone.name, locks[0])
    for change in changes:
        if soa.same(change.before, change.after):
            continue
        if lock := lock_of(locks, change.name, change.type):
            raise Locked(zone.name, lock, change.name, change.type)


def lock_against_taking(author: Author, zone: Zone, name: str) -> Lock | None:
    """Return the lock in `zone` that blocks the author from creating a zone with this name, or None.

    `zone` is the new zone's parent zone. The new zone would answer for all names at and below its apex. It is therefore
    blocked by a lock of the whole parent zone, or of a name at or below the new apex. A lock of all types at a name at
    or above the new apex blocks it too.
    """
    return next(
        (
            lock
            for lock in locks_against(author, zone)
            if not lock.name
            or names.is_within(lock.name, name)
            or (lock.type is None and names.is_within(name, lock.name))
        ),
        None,
    )


def kept_from(author: Author, zone: Zone, keys: Iterable[Key]) -> set[Key]:
    """Return the keys of the RRsets that a lock blocks for the author."""
    locks = locks_against(author, zone)
    return {key for key in keys if lock_of(locks, *key)} if locks else set()


def lock_of(locks: Iterable[Lock], name: str, type: int) -> Lock | None:
    """Return the first lock that covers the RRset, or None if none does."""
    return next((lock for lock in locks if lock.name in ("", name) and lock.type in (None, type)), None)


def is_managed_by(lock: Lock, author: Author) -> bool:
    """Return True if this author manages the lock. A person's lock is not managed by the person's tokens."""
    token, user = token_of(author), user_of(author)
    if token is not None:
        return lock.token_id == token.pk
    return user is not None and lock.token_id is None and lock.person_id == user.pk
