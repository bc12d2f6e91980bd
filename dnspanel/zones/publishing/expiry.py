"""Set times at which RRsets are removed, and remove due RRsets. Verbs.

A removal time belongs to the published name and type, not to the RRset's content: an edit, an import or a draft does
not change it. It is deleted together with the RRset, so that a new RRset with the same name and type is not removed.
While the zone is in the trash, nothing is removed.
"""

import logging
from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime, timedelta

from django.db import transaction
from django.db.models import F, Q

from dnspanel.accounts.actors.actors import Actor, Author, Person, actor_of, actor_of_token, token_of, user_of
from dnspanel.accounts.audit import audit
from dnspanel.texts import gettext
from dnspanel.zones import errors
from dnspanel.zones.acting import Acting
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.models import Channel, Expiry, Zone
from dnspanel.zones.publishing.zone_patches import patch_of_steps, publish_patches, remove_rrset
from dnspanel.zones.rights import access
from dnspanel.zones.store.find_zones import lock_zones
from dnspanel.zones.store.store_rrsets import rrsets_at_names
from replication.codec.keys import relative_key
from replication.dns import rdata, rdtypes
from replication.dns.rrset import Change, Key

LONGEST = timedelta(days=3653)
# A rule that rejects a removal now can allow it later.
TRIED_AGAIN_AFTER = timedelta(hours=1)
MOST_REMOVED = 200  # per turn

logger = logging.getLogger(__name__)


class _ChangedMeanwhile(Exception):
    """The removal time was changed or deleted after it was read."""


def set_expiry(*, zone: Zone, key: Key, remove_at: datetime, author: Author, now: datetime) -> Expiry:
    """Set the time when a published RRset is removed in the author's name. Replace an earlier time.

    Record the time in the audit log. Raise Unknown for a deleted zone, and RightMissing if the author is not allowed to
    remove the RRset. Raise ExpiryRefused if the RRset doesn't exist or is the zone's SOA, or if the time is in the past
    or more than LONGEST ahead.
    """
    name, type_ = key
    if key == (zone.name, rdtypes.SOA):
        raise errors.ExpiryRefused(gettext("A zone’s SOA record can’t expire."))
    with transaction.atomic():
        before = _lock_zone_of(zone, key, author)
        if not now < remove_at <= now + LONGEST:
            raise errors.ExpiryRefused(gettext("Enter a time within the next ten years."))
        owner_key = relative_key(name, zone.name)
        expiry = Expiry(zone=zone, owner_key=owner_key, type=type_, name=name, remove_at=remove_at, set_at=now)
        expiry.set_by, expiry.token = user_of(author), token_of(author)
        expiry.by_token = expiry.token is not None
        if before is not None:
            before.delete()
        expiry.save()
        _record(zone, key, before, expiry, author, now)
    return expiry


def cancel_expiry(*, zone: Zone, key: Key, author: Author, now: datetime) -> None:
    """Cancel the removal of a published RRset, if one is set. Raise the errors of `set_expiry` for zone and RRset."""
    with transaction.atomic():
        before = _lock_zone_of(zone, key, author)
        if before is not None:
            before.delete()
            _record(zone, key, before, None, author, now)


def expiry_of(zone: Zone, key: Key) -> Expiry | None:
    """Return this RRset's removal time, or None if none is set."""
    return next(iter(expiries_at(zone, [key[0]], type=key[1]).values()), None)


def expiries_at(zone: Zone, owner_names: Collection[str], *, type: int | None = None) -> dict[Key, Expiry]:
    """Return the removal times of RRsets at these names (and of `type`, if given). Needs at most one query."""
    if not owner_names:
        return {}
    keys = {relative_key(name, zone.name) for name in owner_names}
    found = Expiry.objects.filter(zone=zone, owner_key__in=keys).select_related("set_by", "token")
    found = found if type is None else found.filter(type=type)
    return {(expiry.name, expiry.type): expiry for expiry in found}


def expiring(
    person: Person, *, until: datetime | None, limit: int, after: tuple[datetime, int] | None = None
) -> list[Expiry]:
    """Return at most `limit` removals due by `until` (None: at any time), in zones that the person can see.

    Overdue removals come first. `after` is the time and id of the last removal on the previous page. The caller must
    hide RRsets that the person isn't allowed to see in such a zone (`visibility_of`). Needs one query.
    """
    visible = access.zones_visible_to(person)
    found = Expiry.objects.filter(zone__in=visible.values("pk")).select_related("zone", "set_by", "token")
    if until is not None:
        found = found.filter(remove_at__lte=until)
    if after is not None:
        at, pk = after
        found = found.filter(remove_at__gte=at).exclude(remove_at=at, pk__lte=pk)
    return list(found.order_by("remove_at", "pk")[:limit])


def remove_due(*, now: datetime, most: int = MOST_REMOVED) -> int:
    """Remove at most `most` due RRsets with the rights of the people who set the times. Return their number.

    Removals that one person or token set on the same day share a publication. If it is rejected, each zone is tried
    separately, and then each RRset, except if the deletion guard stops the zone. The reason is stored with each
    rejected removal, which is retried after TRIED_AGAIN_AFTER. While publishing is on hold, all removals wait.
    """
    untried = Q(tried_at=None) | Q(tried_at__lte=now - TRIED_AGAIN_AFTER)
    due = Expiry.objects.filter(untried, remove_at__lte=now, zone__deleted_at=None)
    due = due.select_related("zone", "set_by", "token__owner").order_by(
        F("tried_at").asc(nulls_first=True), "remove_at"
    )
    groups: dict[tuple[int | None, int | None, date], list[Expiry]] = {}
    for expiry in due[:most]:
        groups.setdefault((expiry.set_by_id, expiry.token_id, _utc(expiry.set_at).date()), []).append(expiry)
    count = 0
    try:
        for group in groups.values():
            count += _remove(group, now)
    except errors.PublishingOnHold as hold:
        logger.warning("expired RRsets wait: %s", hold)
    return count


def _remove(expiries: Sequence[Expiry], now: datetime) -> int:
    """Remove RRsets and return their number. If rejected, retry by zone, then by RRset unless the guard stops it."""
    try:
        _publish(expiries, now)
        return len(expiries)
    except errors.PublishingOnHold:
        raise
    except (errors.ZoneError, _ChangedMeanwhile) as refusal:
        parts = _by_zone(expiries)
        if len(parts) == 1 and isinstance(refusal, errors.GuardHolds):
            parts = {}  # one by one, the removals would bypass the guard
        elif len(parts) == 1 and len(expiries) > 1:
            parts = {expiry.pk: [expiry] for expiry in expiries}
        if len(parts) > 1:
            return sum(_remove(part, now) for part in parts.values())
        if not isinstance(refusal, (errors.Unknown, _ChangedMeanwhile)):
            for expiry in expiries:
                _keep(expiry, refusal, now)
        return 0


def _by_zone(expiries: Sequence[Expiry]) -> dict[int, list[Expiry]]:
    parts: dict[int, list[Expiry]] = {}
    for expiry in expiries:
        parts.setdefault(expiry.zone_id, []).append(expiry)
    return parts


def _publish(expiries: Sequence[Expiry], now: datetime) -> None:
    first = expiries[0]
    author = _author_of(first)

    def refuse_changed() -> None:
        # The zones are locked, as in `set_expiry`. A changed time has a new id.
        if Expiry.objects.filter(pk__in=[expiry.pk for expiry in expiries]).count() != len(expiries):
            raise _ChangedMeanwhile

    publish_patches(
        patches=[
            patch_of_steps(of_zone[0].zone, [((each.name, each.type), remove_rrset) for each in of_zone])
            for of_zone in _by_zone(expiries).values()
        ],
        acting=Acting(
            author,
            Channel.SYSTEM,
            now,
            panel_reasons.EXPIRED_RECORDS.format(username=author.user.username, day=f"{_utc(first.set_at):%Y-%m-%d}"),
        ),
        confirmed=False,
        in_transaction=refuse_changed,
        in_pieces=False,
    )


def _author_of(expiry: Expiry) -> Actor:
    """Return the person or token that set the removal time, with current rights.

    Raise ExpiryRefused if the account is closed or the token is revoked.
    """
    if expiry.by_token and (expiry.token is None or expiry.token.revoked_at is not None):
        raise errors.ExpiryRefused(gettext("The token that set the expiry was revoked."))
    actor = None
    if expiry.token is not None:
        actor = actor_of_token(expiry.token)
    elif expiry.set_by is not None:
        actor = actor_of(expiry.set_by)
    if actor is None:
        raise errors.ExpiryRefused(gettext("The account that set the expiry is closed."))
    return actor


def _keep(expiry: Expiry, refusal: Exception, now: datetime) -> None:
    reason = str(refusal)
    governed = isinstance(refusal, errors.ApprovalNeeded | errors.Frozen | errors.HookRefused)
    if isinstance(refusal, errors.RightMissing) and not governed and expiry.set_by is not None:
        reason = gettext("{username} is no longer allowed to delete the record.").format(
            username=expiry.set_by.username
        )
    logger.warning("%s %s stays though it expired: %s", expiry.name, rdata.type_to_text(expiry.type), reason)
    Expiry.objects.filter(pk=expiry.pk).update(refusal=reason, tried_at=now)


def _lock_zone_of(zone: Zone, key: Key, author: Author) -> Expiry | None:
    """Lock the zone and return the RRset's removal time, or None. Raise `set_expiry`'s errors for zone and RRset."""
    name, type_ = key
    if not lock_zones([zone.pk]):
        raise errors.Unknown(zone.name)
    rrset = rrsets_at_names({zone.pk: (zone.name, [name])})[zone.pk].get(key)
    if rrset is None:
        raise errors.ExpiryRefused(
            gettext("{name} doesn’t have a published {type_to_text} record.").format(
                name=name, type_to_text=rdata.type_to_text(type_)
            )
        )
    access.refuse_changes(author, zone, [Change(name, type_, rrset, None)])
    return expiry_of(zone, key)


def _record(zone: Zone, key: Key, before: Expiry | None, after: Expiry | None, author: Author, now: datetime) -> None:
    audit.record(
        action="zone.expiry",
        by=author,
        now=now,
        target=zone.name,
        rrset=f"{key[0]} {rdata.type_to_text(key[1])}",
        remove_at=_text(after),
        remove_at_before=_text(before),
    )


def _text(expiry: Expiry | None) -> str:
    return "" if expiry is None else f"{_utc(expiry.remove_at):%Y-%m-%dT%H:%M:%SZ}"


def _utc(at: datetime) -> datetime:
    return at.astimezone(UTC)
