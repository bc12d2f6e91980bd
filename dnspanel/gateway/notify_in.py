"""NOTIFY from primaries elsewhere (RFC 1996): a zone that is transferred in is asked for at once.

It is taken from the address of one of the zone's primaries, or signed by the key that the zone has. All that it
brings about is a question for the SOA, one a second for a zone at most, so that a forged one does no harm. To
everybody else the same is answered, whether there is such a zone or not.
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
from dnspanel.gateway.limits import Rates
from dnspanel.primaries import set_up
from dnspanel.primaries.models import TransferredZone
from dnspanel.texts import gettext
from replication.dns import names
from replication.errors import BadName
from replication.wire.protocol import split_resolver

# So many refused ones are written down in a second, of all zones together: anybody can send them.
NOTED_PER_SECOND, NOTED_BURST = 10, 50

logger = logging.getLogger(__name__)
_noted = Rates(most_keys=1)


def is_notice(message: dns.message.Message) -> bool:
    """Whether the message is a NOTIFY."""
    return message.opcode() == dns.opcode.NOTIFY


def row_for(message: dns.message.Message) -> TransferredZone | None:
    """Where the zone comes from that the NOTIFY is about; None where its primary is this panel, or there is none."""
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
    """The zone is due at once; raises MessageRefused, and then that is counted where the zone is one of ours.

    `signed_for`: where the zone comes from, if the key of its primaries signed the message.
    """
    if len(message.question) != 1 or message.question[0].rdtype != dns.rdatatype.SOA:
        raise MessageRefused(dns.rcode.FORMERR, gettext("a NOTIFY is about the SOA of one zone"))
    row = signed_for or row_for(message)
    if row is None or not (signed_for or _is_primary(row, address)):
        note_refused(row, address=address, now=now)
        raise MessageRefused(dns.rcode.REFUSED, gettext("NOTIFY is taken from a zone's primaries alone"))
    set_up.note_notice(row=row, now=now)
    logger.info("noticed zone=%s from=%s signed=%s", row.zone.name, address, signed_for is not None)


def note_refused(row: TransferredZone | None, *, address: str, now: datetime) -> None:
    """It is counted with the zone that somebody else sent a NOTIFY, within the rate of all zones."""
    if row is not None and _noted.allows("", now=now.timestamp(), per_second=NOTED_PER_SECOND, burst=NOTED_BURST):
        set_up.note_refused_notice(row=row, address=address, now=now)


def _is_primary(row: TransferredZone, address: str) -> bool:
    sender = ip_address(address)
    return any(ip_address(split_resolver(each)[0]) == sender for each in row.addresses)
