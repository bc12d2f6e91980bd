"""Query the SOA of each zone at secondaries: soon after a publication, and otherwise at long intervals.

Only an answer proves that a secondary is in sync. After a transfer, the secondary has the zone, but might not serve it.
Because a serial proves nothing about other records, some of them are also queried, at longer intervals (`samples`).
"""

import logging
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import dns.message
import dns.rdatatype

from dnspanel.pasted_certificates import fingerprints_of
from dnspanel.secondaries import members, record, samples, udp_exchange
from dnspanel.secondaries.exchange_tls import exchange_over_tls
from dnspanel.secondaries.models import Member, Secondary
from dnspanel.secondaries.notices import Exchange, Sent
from dnspanel.secondaries.secondary_keys import key_of
from dnspanel.secondaries.server_addresses import host_and_port
from dnspanel.texts import gettext

logger = logging.getLogger(__name__)

AT_ONCE = 500
# Every zone is queried this often without publications, or less often if the rate limit does not allow it.
ROUND = timedelta(hours=1)
# A zone that is behind is queried again after a quarter of the time that it has been behind, within these bounds.
SOONEST, LATEST = timedelta(seconds=1), timedelta(minutes=5)
# The pause after a query without an answer, unless the zone was just published.
AFTER_SILENCE = timedelta(seconds=60)
# If a secondary is still behind this long after it answered NOTIFY, it is notified again. It may have failed to fetch
# the zone, and would try again only after the retry time of its SOA, an hour later.
STILL_BEHIND_AFTER = timedelta(seconds=15)
# The largest number of zones in sync whose answers are compared in one call. Each zone is compared once in the time
# below, or sooner after a transfer or while it differs.
COMPARED_AT_ONCE = 10
COMPARED_EVERY, COMPARED_AGAIN = timedelta(days=1), timedelta(hours=1)
# A zone that differed is compared again this long after a transfer.
AFTER_DIFFERENCE = timedelta(minutes=5)
_SECONDS = 2.0
_LABEL = "abcdefghijklmnopqrstuvwxyz0123456789_"


def secondaries_with_due(*, now: datetime) -> list[int]:
    """Return the ids of active secondaries with a zone that is due for a query."""
    due = Member.objects.filter(secondary__active=True, question_at__lte=now, until=None)
    return sorted(due.order_by().values_list("secondary", flat=True).distinct())


def ask_due(*, secondary_id: int, clock: Callable[[], datetime], send: Exchange | None = None) -> Sent:
    """Query the SOAs of at most AT_ONCE due zones, and record the answers. Return the counts of both.

    Queue another NOTIFY for zones that are still behind, and compare the answers for some of the zones in sync.
    """
    now = clock()
    secondary = Secondary.objects.filter(pk=secondary_id, active=True).first()
    due = Member.objects.filter(secondary=secondary_id, until=None, question_at__lte=now).order_by("question_at", "pk")
    waiting = list(due.select_related("zone")[:AT_ONCE])
    if secondary is None or not waiting:
        return Sent()
    questions = [udp_exchange.soa_question(member.zone_name) for member in waiting]
    address, key = _address_of(secondary, now), key_of(secondary)
    answers = (send or _exchange_of(secondary))(questions, address=address, key=key, seconds=_SECONDS)
    answered_at = clock()
    silent: dict[tuple[str, datetime], list[int]] = {}
    untold: list[int] = []
    next_round = answered_at + _round_of(secondary)
    answered = 0
    for member, answer in zip(waiting, answers, strict=True):
        serial = _serial_in(answer.message)
        if answer.message is not None:
            answered += 1
        if serial is None:
            error = answer.error or gettext("The server doesn’t have the zone.")
            silent.setdefault((error, _after_silence(secondary, member, answered_at)), []).append(member.pk)
        else:
            next_at = next_round if member.zone and member.zone.serial == serial else _again(member, answered_at)
            if member.difference:
                next_at = min(next_at, answered_at + AFTER_DIFFERENCE)
            record.note_serial(member_id=member.pk, serial=serial, asked_at=now, next_at=next_at, now=answered_at)
            if _is_to_be_told_again(member, serial, answered_at):
                untold.append(member.pk)
    for (error, next_at), ids in silent.items():
        record.note_no_serial(member_ids=ids, error=error, asked_at=now, next_at=next_at)
    if untold:
        record.note_untold(member_ids=untold, now=answered_at)
    record.note_silence(secondary_id=secondary.pk, is_silent=not answered, now=answered_at)
    in_sync = [
        member
        for member, answer in zip(waiting, answers, strict=True)
        if member.zone and _serial_in(answer.message) == member.zone.serial and _is_to_be_compared(member, answered_at)
    ]
    _compare(secondary, _longest_ago(in_sync), address, send or _exchange_of(secondary), clock)
    return Sent(len(waiting), answered)


def _is_to_be_compared(member: Member, now: datetime) -> bool:
    """Return True if the zone is due for a comparison.

    Zones are compared once a day. A zone with a known difference is compared every time, and a zone that was
    transferred again at most once an hour. Catalogs are skipped, because a secondary doesn't have to answer queries
    about them.
    """
    if member.zone is None or member.zone.is_catalog:
        return False
    if member.compared_at is None or now - member.compared_at >= COMPARED_EVERY:
        return True
    is_new = member.transferred_at is not None and member.transferred_at > member.compared_at
    return bool(member.difference) or (is_new and now - member.compared_at >= COMPARED_AGAIN)


def _longest_ago(members_: Sequence[Member]) -> list[Member]:
    first = sorted(members_, key=lambda each: (each.compared_at is not None, each.compared_at or each.since))
    return first[:COMPARED_AT_ONCE]


def _compare(
    secondary: Secondary, chosen: Sequence[Member], address: str, send: Exchange, clock: Callable[[], datetime]
) -> None:
    """Compare the secondary's answers about these zones with the zones' content, and record conclusive results."""
    key = key_of(secondary)
    for member in chosen:
        if member.zone is None:
            continue
        place = "".join(secrets.choice(_LABEL) for _ in range(2))
        found = samples.difference_of(
            member.zone, lambda messages: send(messages, address=address, key=key, seconds=_SECONDS), place=place
        )
        if found is None:
            continue
        if found:
            logger.warning("secondary=%s zone=%s differs: %s", secondary.name, member.zone_name, found)
        record.note_comparison(member_id=member.pk, difference=found, now=clock())


def _exchange_of(secondary: Secondary) -> Exchange:
    """Return the function that queries the secondary: over UDP, or over TLS if the secondary has a TLS port."""
    if secondary.tls_port is None:
        return udp_exchange.exchange
    port, certificates = secondary.tls_port, fingerprints_of(secondary.certificate)

    def over_tls(messages: Sequence[dns.message.Message], *, address: str, **how: Any) -> list[udp_exchange.Answer]:
        at = host_and_port(address)[0], port
        return exchange_over_tls(messages, address=at, certificates=certificates, **how)

    return over_tls


def _address_of(secondary: Secondary, now: datetime) -> str:
    """Return the secondary's first address. While the secondary is silent, return each of its addresses in turn."""
    turn = int(now.timestamp() / AFTER_SILENCE.total_seconds()) if secondary.silent_since else 0
    return secondary.addresses[turn % len(secondary.addresses)]


def _serial_in(message: dns.message.Message | None) -> int | None:
    """Return the serial of the SOA in an answer, or None if the answer doesn't contain the SOA."""
    for rrset in message.answer if message is not None else ():
        if rrset.rdtype == dns.rdatatype.SOA and message is not None and rrset.name == message.question[0].name:
            return int(rrset[0].serial)
    return None


def _again(member: Member, now: datetime) -> datetime:
    lasting = now - member.behind_since if member.behind_since else timedelta(0)
    return now + min(max(lasting / 4, SOONEST), LATEST)


def _is_to_be_told_again(member: Member, serial: int, now: datetime) -> bool:
    if member.zone is None or member.zone.serial == serial or member.notify_at is not None:
        return False
    return member.notified_at is None or now - member.notified_at >= STILL_BEHIND_AFTER


def _after_silence(secondary: Secondary, member: Member, now: datetime) -> datetime:
    """Return the time of the next query after a missing answer: soon if the zone was just published or transferred.

    A server that loads a zone can be silent for a moment. A server that has been silent for long gets the normal pause,
    because queries to it occupy threads that other servers need.
    """
    since = max((at for at in (member.behind_since, member.transferred_at) if at is not None), default=None)
    is_away = secondary.silent_since is not None and now - secondary.silent_since >= AFTER_SILENCE
    if is_away or since is None or member.zone is None or member.served_serial == member.zone.serial:
        return now + AFTER_SILENCE
    # In whole seconds, so that the zones of one publication are written together.
    return now + min(max(timedelta(seconds=(now - since) // timedelta(seconds=4)), SOONEST), AFTER_SILENCE)


def _round_of(secondary: Secondary) -> timedelta:
    """Return the pause before the next query for a zone in sync."""
    count = Member.objects.filter(secondary=secondary, until=None).count()
    return max(ROUND, timedelta(seconds=count / members.PER_SECOND))
