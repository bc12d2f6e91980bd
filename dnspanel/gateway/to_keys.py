"""Transfer zones to clients that authenticate with TSIG: keys of tokens, and keys that API v1 set for a zone.

Each transfer contains only what its key is allowed to read.
"""

import logging
from collections.abc import Iterator
from datetime import datetime

import dns.message
import dns.rcode

from dnspanel.accounts.actors.actors import Actor
from dnspanel.gateway import to_secondaries
from dnspanel.gateway.errors import MessageRefused
from dnspanel.secondaries import record
from dnspanel.secondaries.access import reason_against
from dnspanel.zones.dnssec.queries import loaded_signing_of
from dnspanel.zones.models import TsigAct
from dnspanel.zones.rights import access, tsig_permissions

logger = logging.getLogger(__name__)


def messages(
    actor: Actor, message: dns.message.Message, *, name: str, key: str, address: str, now: datetime
) -> Iterator[bytes]:
    """Yield the messages that answer an AXFR or IXFR query over TCP, without TSIG. Omit records hidden from the key.

    Record the transfer if the zone is signed. `key` is the key's name for the log. Raise Unknown if the key can't read
    the zone, and MessageRefused if the zone can't be transferred now.
    """
    actor = tsig_permissions.actor_for(actor, name, TsigAct.TRANSFER)
    zone = access.zone_for_reading(actor, name)
    if reason := reason_against(zone):
        raise MessageRefused(dns.rcode.REFUSED, reason)
    sees = access.visibility_of(actor, zone)
    since = to_secondaries.serial_known(message)
    with to_secondaries.turn_for(zone), to_secondaries.transfer_of_zone(zone, since, sees) as transfer:
        yield from to_secondaries.wires(transfer, message, name=zone.name, over_tcp=True)
        how, serial = transfer.how, transfer.serial
    if how and loaded_signing_of(zone).is_signed:
        record.note_key_transfer(zone_id=zone.pk, now=now)
    logger.info("transferred zone=%s key=%s to=%s how=%s serial=%d", name, key, address, how or "unchanged", serial)
