"""Send queued NOTIFY messages (RFC 1996), with increasing pauses between attempts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import dns.message

from dnspanel.database.prepared_statements import prepared_cursor
from dnspanel.secondaries import record, udp_exchange
from dnspanel.secondaries.models import Member, NoticeAddress, Secondary
from dnspanel.secondaries.secondary_catalog import catalog_name, soa_of
from dnspanel.secondaries.secondary_keys import key_of
from dnspanel.zones.store.store_rrsets import rrsets_at_names
from replication.dns import rdtypes

# The pauses before the second attempt, the third and so on. After the last, the SOA refresh finds the change.
WAITS = tuple(timedelta(seconds=s) for s in (2, 5, 15, 60, 300, 900))
AT_ONCE = 500
_SECONDS = 2.0
# A silent address takes _SECONDS.
MOST_ADDRESSES_AT_ONCE = 4

# The publisher runs this query after each publication. Django would take ten times as long to build the query.
_IS_SOMEBODY_TOLD = """
SELECT EXISTS (SELECT FROM secondaries_secondary WHERE active) OR EXISTS (SELECT FROM secondaries_noticeaddress)"""

Exchange = Callable[..., list[udp_exchange.Answer]]


@dataclass(frozen=True, slots=True)
class Sent:
    sent: int = 0
    answered: int = 0


def is_somebody_told() -> bool:
    """Return True if any secondary or address gets NOTIFY for any zone. PostgreSQL plans the query only once."""
    with prepared_cursor() as cursor:
        cursor.execute(_IS_SOMEBODY_TOLD)
        return bool(cursor.fetchone()[0])


def secondaries_with_due(*, now: datetime) -> list[int]:
    """Return the ids of active secondaries with due NOTIFY messages."""
    active = Secondary.objects.filter(active=True)
    due = set(active.filter(catalog_notify_at__lte=now).values_list("pk", flat=True))
    waiting = Member.objects.filter(secondary__in=active, notify_at__lte=now, until=None)
    due.update(waiting.order_by().values_list("secondary", flat=True).distinct())
    return sorted(due)


def send_due(*, secondary_id: int, clock: Callable[[], datetime], send: Exchange = udp_exchange.exchange) -> Sent:
    """Send due NOTIFY for the catalog and at most AT_ONCE zones, and record the answers. Return the counts for zones.

    1. Read the queued messages.
    2. Send them, outside any transaction.
    3. Record the answers. After a crash before this step, the messages are sent again.
    """
    now = clock()
    secondary = Secondary.objects.filter(pk=secondary_id, active=True).first()
    if secondary is None:
        return Sent()
    if secondary.catalog_notify_at is not None and secondary.catalog_notify_at <= now:
        _notify_catalog(secondary, now, send)
    due = Member.objects.filter(secondary=secondary_id, until=None, notify_at__lte=now).select_related("zone")
    waiting = list(due.order_by("notify_at", "pk")[:AT_ONCE])
    if not waiting:
        return Sent()
    answered, failed = _notify(secondary, waiting, send)
    record.note_answered(member_ids=[member.pk for member in answered], sent_at=now, now=clock())
    for (error, attempts), members in failed.items():
        next_at = clock() + WAITS[attempts] if attempts < len(WAITS) else None
        record.note_unanswered(member_ids=[member.pk for member in members], error=error, sent_at=now, next_at=next_at)
    return Sent(len(waiting), len(answered))


def send_to_addresses(*, clock: Callable[[], datetime], send: Exchange = udp_exchange.exchange) -> Sent:
    """Send at most AT_ONCE due NOTIFY, unsigned, to zones' addresses. Record the results like `send_due`.

    At most MOST_ADDRESSES_AT_ONCE addresses are notified in one call, because a silent address takes seconds.
    """
    now = clock()
    waiting = NoticeAddress.objects.filter(notify_at__lte=now).select_related("zone").order_by("notify_at", "pk")
    by_address: dict[str, list[NoticeAddress]] = {}
    for row in waiting[:AT_ONCE]:
        by_address.setdefault(row.address, []).append(row)
    sent, answered_count = 0, 0
    for address, rows in list(by_address.items())[:MOST_ADDRESSES_AT_ONCE]:
        messages = _messages([(row.zone_id, row.zone.name) for row in rows])
        for row, answer in zip(rows, send(messages, address=address, key=None, seconds=_SECONDS), strict=True):
            at = clock()
            next_at = at + WAITS[row.attempts] if answer.error and row.attempts < len(WAITS) else None
            record.note_address(row_id=row.pk, error=answer.error, sent_at=now, next_at=next_at, now=at)
            answered_count += not answer.error
        sent += len(rows)
    return Sent(sent, answered_count)


def _notify(
    secondary: Secondary, waiting: Sequence[Member], send: Exchange
) -> tuple[list[Member], dict[tuple[str, int], list[Member]]]:
    """Send NOTIFY. Return the answered members, and the others as {(error, earlier attempts): members}."""
    messages = _messages([(member.zone_id, member.zone_name) for member in waiting])
    # Each attempt uses the next address of a server with several addresses.
    address = secondary.addresses[waiting[0].attempts % len(secondary.addresses)]
    answers = send(messages, address=address, key=key_of(secondary), seconds=_SECONDS)
    answered: list[Member] = []
    failed: dict[tuple[str, int], list[Member]] = {}
    for member, answer in zip(waiting, answers, strict=True):
        if answer.error:
            failed.setdefault((answer.error, member.attempts), []).append(member)
        else:
            answered.append(member)
    return answered, failed


def _messages(zones: Sequence[tuple[int | None, str]]) -> list[dns.message.Message]:
    """Return a NOTIFY with the current SOA for each of these zones (id, name). Makes one database query."""
    at_apexes = rrsets_at_names({zone_id: (name, {name}) for zone_id, name in zones if zone_id is not None})
    return [
        udp_exchange.notify_message(name, at_apexes.get(zone_id or 0, {}).get((name, rdtypes.SOA)))
        for zone_id, name in zones
    ]


def _notify_catalog(secondary: Secondary, now: datetime, send: Exchange) -> None:
    attempts = secondary.catalog_attempts
    address = secondary.addresses[attempts % len(secondary.addresses)]
    message = udp_exchange.notify_message(catalog_name(secondary), soa_of(secondary, secondary.catalog_serial))
    (answer,) = send([message], address=address, key=key_of(secondary), seconds=_SECONDS)
    if answer.error and attempts < len(WAITS):
        next_at: datetime | None = now + WAITS[attempts]
    else:
        next_at = None
    record.note_catalog_notified(
        secondary_id=secondary.pk, sent_at=now, next_at=next_at, attempts=attempts + 1 if answer.error else 0
    )
