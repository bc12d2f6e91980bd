"""Transfer zones without a key, if the zones are open to the client's network."""

import logging
from collections.abc import Iterator
from datetime import datetime

import dns.message
import dns.rcode
import dns.rdatatype

from dnspanel.gateway import to_secondaries
from dnspanel.gateway.errors import MessageRefused
from dnspanel.gateway.rate_limits import Rates
from dnspanel.secondaries import access
from dnspanel.secondaries.errors import TransferRefused
from dnspanel.texts import gettext

# No client proves its identity here, so each address has this limit.
PER_SECOND, BURST = 2, 60

logger = logging.getLogger(__name__)
_rates = Rates()


def messages(
    message: dns.message.Message, *, name: str, over_tcp: bool, address: str, now: datetime
) -> Iterator[bytes]:
    """Yield a transfer's messages, or only the SOA for an IXFR over UDP. Raise MessageRefused if not allowed now."""
    if not over_tcp and message.question[0].rdtype != dns.rdatatype.IXFR:
        raise MessageRefused(dns.rcode.REFUSED, gettext("zone transfers require TCP"))
    try:
        zone = access.zone_open_to(name, address)
    except TransferRefused as exc:
        raise MessageRefused(dns.rcode.REFUSED, str(exc)) from exc
    if not _rates.allows(address, now=now.timestamp(), per_second=PER_SECOND, burst=BURST):
        raise MessageRefused(dns.rcode.REFUSED, gettext("too many transfers without a TSIG key"))
    since = to_secondaries.serial_known(message)
    with to_secondaries.turn_for(zone), to_secondaries.transfer_of_zone(zone, since) as transfer:
        yield from to_secondaries.wires(transfer, message, name=name, over_tcp=over_tcp)
        how, serial = transfer.how, transfer.serial
    logger.info("transferred zone=%s without a key to=%s how=%s serial=%d", name, address, how or "unchanged", serial)
