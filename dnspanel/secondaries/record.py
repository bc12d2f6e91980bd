"""Record transfers, answers to NOTIFY and queries, comparisons, and refused requests of secondaries. Verbs.

Frequent refusals are counted and written together.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from django.db import transaction
from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce

from dnspanel.accounts.audit import audit
from dnspanel.secondaries.models import KeyTransfer, Member, NoticeAddress, Secondary
from dnspanel.secondaries.signals import moves_read
from dnspanel.texts import shortened

# A secondary that is refused all day appears in the audit log this often.
AUDITED_EVERY = timedelta(hours=1)
TOLD_AGAIN_AFTER = timedelta(seconds=10)
# A stranger who knows a key's name must not keep the database busy. The first refusals are written immediately, later
# ones are counted and written this often.
_AT_ONCE = 20
_EVERY = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class CompletedTransfer:
    """A completed transfer: the serial that the secondary got, AXFR or IXFR, the size, and whether TLS was used."""

    serial: int
    how: str
    bytes: int
    over_tls: bool = False


def note_transfer(*, secondary_id: int, zone_id: int, carried: CompletedTransfer, now: datetime) -> None:
    """Record the transfer in the zone's row. With the zone's current serial, the zone is in sync, and NOTIFY ends."""
    member = Member.objects.filter(secondary=secondary_id, zone=zone_id, until=None)
    member.update(
        transferred_at=now,
        transferred_serial=carried.serial,
        transferred_how=carried.how,
        transferred_bytes=carried.bytes,
        transferred_over_tls=carried.over_tls,
        refused_at=None,
        refused_reason="",
    )
    member.filter(zone__serial=carried.serial).update(behind_since=None, notify_at=None, attempts=0)


def note_key_transfer(*, zone_id: int, now: datetime) -> None:
    """Record that a token's key was used to transfer this signed zone."""
    row = KeyTransfer(zone_id=zone_id, at=now)
    KeyTransfer.objects.bulk_create([row], update_conflicts=True, unique_fields=["zone"], update_fields=["at"])


def note_catalog(*, secondary_id: int, serial: int) -> None:
    """Record that the secondary has fetched its catalog at this serial.

    Zones that are moving to another catalog can then be added there.
    """
    Secondary.objects.filter(pk=secondary_id).exclude(catalog_fetched=serial).update(catalog_fetched=serial)
    if Member.objects.filter(secondary=secondary_id, coo_since__isnull=False).exists():
        transaction.on_commit(lambda: moves_read.send_robust(sender=Member), robust=True)


def note_not_now(*, secondary_id: int, zone_id: int, now: datetime) -> None:
    """Queue another NOTIFY after TOLD_AGAIN_AFTER, because the secondary couldn't transfer the zone now."""
    member = Member.objects.filter(secondary=secondary_id, zone=zone_id, until=None)
    member.update(notify_at=now + TOLD_AGAIN_AFTER, attempts=0)


def note_refusal(*, secondary_id: int, reason: str, address: str, now: datetime, zone_name: str | None = None) -> None:
    """Count a refusal with its reason, for the secondary and for its zone `zone_name`, if given.

    Frequent refusals are written together, and audited at most once an hour.
    """
    count = _refusals.take(secondary_id, now)
    if not count:
        return
    with transaction.atomic():
        secondary = Secondary.objects.filter(pk=secondary_id)
        secondary.update(
            refusals=F("refusals") + count, refused_at=now, refused_from=address, refused_reason=shortened(reason, 500)
        )
        if zone_name is not None:
            Member.objects.filter(secondary=secondary_id, zone_name=zone_name, until=None).update(
                refused_at=now, refused_reason=shortened(reason, 500)
            )
        due = Q(refusal_audited_at=None) | Q(refusal_audited_at__lte=now - AUDITED_EVERY)
        if secondary.filter(due).update(refusal_audited_at=now):
            name, refusals = secondary.values_list("name", "refusals").get()
            audit.record(
                action="secondary.refused",
                by=None,
                now=now,
                target=name,
                secondary=secondary_id,
                why=shortened(reason, 500),
                refusals=refusals,
            )


def note_answered(*, member_ids: list[int], sent_at: datetime, now: datetime) -> None:
    """Record that the secondary answered NOTIFY for these zones. NOTIFY queued after `sent_at` stays queued."""
    members = Member.objects.filter(pk__in=member_ids)
    members.update(notified_at=now, notify_error="")
    members.filter(notify_at__lte=sent_at).update(notify_at=None, attempts=0)


def note_unanswered(*, member_ids: list[int], error: str, sent_at: datetime, next_at: datetime | None) -> None:
    """Record that the secondary didn't answer NOTIFY for these zones, and the time of the next attempt.

    If `next_at` is None, the next attempt is after the next publication. Zones whose NOTIFY was queued after `sent_at`
    stay unchanged.
    """
    waiting = Member.objects.filter(pk__in=member_ids, notify_at__lte=sent_at)
    waiting.update(notify_at=next_at, attempts=F("attempts") + 1, notify_error=shortened(error, 200))


def note_address(*, row_id: int, error: str, sent_at: datetime, next_at: datetime | None, now: datetime) -> None:
    """Record the result of NOTIFY to a zone's address. `error` is empty if the address answered.

    `next_at` is the time of the next attempt. If it is None, NOTIFY isn't attempted again. NOTIFY queued after
    `sent_at` stays queued.
    """
    row = NoticeAddress.objects.filter(pk=row_id)
    row.update(notify_error=shortened(error, 200), **({} if error else {"notified_at": now}))
    attempts = F("attempts") + 1 if error else Value(0)
    row.filter(notify_at__lte=sent_at).update(notify_at=next_at, attempts=attempts)


def note_catalog_notified(*, secondary_id: int, sent_at: datetime, next_at: datetime | None, attempts: int) -> None:
    """Record the attempts and the next attempt (None: none) of the catalog's NOTIFY, unless queued after `sent_at`."""
    waiting = Secondary.objects.filter(pk=secondary_id, catalog_notify_at__lte=sent_at)
    waiting.update(catalog_notify_at=next_at, catalog_attempts=attempts)


def note_serial(*, member_id: int, serial: int, asked_at: datetime, next_at: datetime, now: datetime) -> None:
    """Record the serial in the secondary's answer. The zone is behind unless its current serial is the same.

    A query that was queued after `asked_at` stays queued.
    """
    member = Member.objects.filter(pk=member_id)
    member.update(served_serial=serial, served_at=now, question_error="")
    member.filter(question_at__lte=asked_at).update(question_at=next_at)
    member.filter(zone__serial=serial).update(behind_since=None)
    member.exclude(zone__serial=serial).update(behind_since=Coalesce("behind_since", Value(now)))


def note_comparison(*, member_id: int, difference: str, now: datetime) -> None:
    """Record the difference between the secondary's answers and the zone. "" means no difference."""
    since = Coalesce("differs_since", Value(now)) if difference else None
    Member.objects.filter(pk=member_id).update(
        compared_at=now, difference=shortened(difference, 500), differs_since=since
    )


def note_no_serial(*, member_ids: list[int], error: str, asked_at: datetime, next_at: datetime) -> None:
    """Record that the secondary didn't answer with a serial. Queries queued after `asked_at` stay queued."""
    members = Member.objects.filter(pk__in=member_ids)
    members.update(question_error=shortened(error, 200))
    members.filter(question_at__lte=asked_at).update(question_at=next_at)


def note_untold(*, member_ids: list[int], now: datetime) -> None:
    """Queue NOTIFY for these zones, unless it is already queued."""
    Member.objects.filter(pk__in=member_ids, notify_at=None).update(notify_at=now, attempts=0)


def note_silence(*, secondary_id: int, is_silent: bool, now: datetime) -> None:
    """Record that the secondary is silent, or that it answers again. The start of a silence isn't overwritten."""
    secondary = Secondary.objects.filter(pk=secondary_id)
    if is_silent:
        secondary.filter(silent_since=None).update(silent_since=now)
    else:
        secondary.exclude(silent_since=None).update(silent_since=None)


class _Refusals:
    """Counters of unwritten refusals, one per secondary."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: dict[int, tuple[int, int, datetime]] = {}  # count, writes left without a pause, last write

    def take(self, secondary_id: int, now: datetime) -> int:
        """Count a refusal. Return the number of refusals to write now, or 0 if a later call will write them."""
        with self._lock:
            count, left, written = self._waiting.get(secondary_id, (0, _AT_ONCE, now))
            if now - written >= _EVERY:
                left = min(_AT_ONCE, left + int((now - written) / _EVERY))
            count += 1
            if left <= 0 and now - written < _EVERY:
                self._waiting[secondary_id] = count, left, written
                return 0
            self._waiting[secondary_id] = 0, left - 1, now
            return count


_refusals = _Refusals()
