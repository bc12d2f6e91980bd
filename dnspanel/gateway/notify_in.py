"""Accept NOTIFY from primaries outside the panel (RFC 1996), and refresh the transferred zone immediately.

A NOTIFY is accepted from the address of one of the zone's primaries, or if it is signed with the key of the zone's
primaries. A forged NOTIFY is harmless, because the panel only queries the SOA, at most once per second and zone. Other
clients get the same refusal for existing and unknown zones.
"""

import logging
from datetime import datetime
from ipaddress import ip_address

import dns.message
import dns.opcode
import dns.rcode
import dns.rdataclass
import dns.rdatatype

from dnspanel.gateway.errors import MessageRefused
from dnspanel.gateway.rate_limits import Rates
from dnspanel.primaries import set_up_primaries
from dnspanel.primaries.models import TransferredZone
from dnspanel.texts import gettext
from replication.dns import names
from replication.errors import BadName
from replication.wire.protocol import split_resolver

# The most refused NOTIFYs that are stored in a second, for all zones together, because anyone can send them.
NOTED_PER_SECOND, NOTED_BURST = 10, 50

logger = logging.getLogger(__name__)
_noted = Rates(most_keys=1)


def is_notice(message: dns.message.Message) -> bool:
    """Return True if the message is a NOTIFY."""
    return message.opcode() == dns.opcode.NOTIFY


def row_for(message: dns.message.Message) -> TransferredZone | None:
    """Return the transferred zone that a NOTIFY is about, or None if the panel doesn't transfer such a zone."""
    if len(message.question) != 1 or message.question[0].rdclass != dns.rdataclass.IN:
        return None
    try:
        name = names.from_wire(message.question[0].name.to_wire() or b"")
    except BadName:
        return None
    rows = TransferredZone.objects.select_related("zone").filter(zone__name=name, zone__deleted_at=None)
    return rows.exclude(zone__transferred_from="").first()


def take_notice(
    message: dns.message.Message, *, address: str, signed_for: TransferredZone | None, now: datetime
) -> None:
    """Schedule an immediate refresh of the zone. Raise MessageRefused if the NOTIFY isn't acceptable.

    Refused NOTIFYs for a transferred zone are counted. If the message was signed with the key of a zone's primaries,
    `signed_for` is that zone with its primaries.
    """
    if len(message.question) != 1 or message.question[0].rdtype != dns.rdatatype.SOA:
        raise MessageRefused(dns.rcode.FORMERR, gettext("a NOTIFY must contain one SOA question"))
    row = signed_for or row_for(message)
    if row is None or not (signed_for or _is_primary(row, address)):
        note_refused(row, address=address, now=now)
        raise MessageRefused(dns.rcode.REFUSED, gettext("NOTIFY is only accepted from the zone’s primaries"))
    set_up_primaries.note_notice(row=row, now=now)
    logger.info("noticed zone=%s from=%s signed=%s", row.zone.name, address, signed_for is not None)


def note_refused(row: TransferredZone | None, *, address: str, now: datetime) -> None:
    """Count a refused NOTIFY for its zone, unless all zones together exceed NOTED_PER_SECOND refusals."""
    if row is not None and _noted.allows("", now=now.timestamp(), per_second=NOTED_PER_SECOND, burst=NOTED_BURST):
        set_up_primaries.note_refused_notice(row=row, address=address, now=now)


def _is_primary(row: TransferredZone, address: str) -> bool:
    sender = ip_address(address)
    return any(ip_address(split_resolver(each)[0]) == sender for each in row.addresses)
