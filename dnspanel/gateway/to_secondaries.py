"""Transfer zones to secondaries, and record each transfer."""

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime

import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

from dnspanel.gateway import axfr_out, ixfr_out, signed_transfers
from dnspanel.gateway.errors import MessageRefused
from dnspanel.gateway.gateway_tls import OverTls
from dnspanel.secondaries import access, queries, record, secondary_catalog
from dnspanel.secondaries.errors import TransferRefused
from dnspanel.secondaries.models import Secondary
from dnspanel.texts import gettext
from dnspanel.zones.dnssec.queries import loaded_signing_of, signing_of
from dnspanel.zones.models import Zone
from dnspanel.zones.rights.access import Visibility
from replication.dns.rrset import RRset

logger = logging.getLogger(__name__)

# Zones with fewer RRsets are sent in milliseconds and don't have to wait for a place.
SMALL = 2_000


def serial_known(message: dns.message.Message) -> int | None:
    """Return the serial in the client's IXFR request, or None for AXFR and for an IXFR without a serial."""
    if message.question[0].rdtype != dns.rdatatype.IXFR:
        return None
    for rrset in message.authority:
        if rrset.rdtype == dns.rdatatype.SOA and rrset.name == message.question[0].name:
            return int(rrset[0].serial)
    return None


def messages(  # noqa: PLR0913  # the parts of a question from a server
    secondary: Secondary,
    message: dns.message.Message,
    *,
    name: str,
    over_tcp: bool,
    tls: OverTls | None,
    address: str,
    now: datetime,
) -> Iterator[bytes]:
    """Yield the messages of the transfer, without TSIG. Raise MessageRefused if the transfer isn't possible now.

    Over UDP, an AXFR is refused, and the reply to an IXFR is only the SOA, so that the client repeats the request over
    TCP (RFC 1995, section 2). If the secondary isn't allowed to transfer the zone, the refusal is recorded. If the zone
    can't be sent now, another NOTIFY is queued. A finished transfer over TCP, full or incremental, is recorded after
    the end of the transaction in which the zone was read.
    """
    since = serial_known(message)
    try:
        access.require_transport(secondary, over_tls=tls is not None, certificate=tls.certificate if tls else "")
        of_catalog = secondary_catalog.is_catalog_of(secondary, name) and secondary.active
        zone = None if of_catalog else access.zone_to_transfer(secondary, name)
    except TransferRefused as exc:
        record.note_refusal(secondary_id=secondary.pk, reason=str(exc), address=address, now=now, zone_name=name)
        raise MessageRefused(dns.rcode.REFUSED, str(exc)) from exc
    if not over_tcp and message.question[0].rdtype != dns.rdatatype.IXFR:
        raise MessageRefused(dns.rcode.REFUSED, gettext("zone transfers require TCP"))
    sent, count = 0, 0
    try:
        with turn_for(zone), _transfer_of(secondary, zone, since) as transfer:
            for wire in wires(transfer, message, name=name, over_tcp=over_tcp):
                yield wire
                sent, count = sent + len(wire), count + 1
            how, serial = transfer.how, transfer.serial
    except MessageRefused:  # queue another NOTIFY, so that the client does not wait for its SOA's retry time
        if zone is not None:
            record.note_not_now(secondary_id=secondary.pk, zone_id=zone.pk, now=now)
        raise
    if over_tcp and of_catalog:
        record.note_catalog(secondary_id=secondary.pk, serial=serial)
    if over_tcp and how and zone is not None:
        carried = record.CompletedTransfer(serial, how, sent, over_tls=tls is not None)
        record.note_transfer(secondary_id=secondary.pk, zone_id=zone.pk, carried=carried, now=now)
    logger.info(
        "transferred zone=%s secondary=%s to=%s how=%s over=%s since=%s serial=%d messages=%d bytes=%d",
        name,
        secondary.name,
        address,
        how or "unchanged",
        ("tcp" if over_tcp else "udp") if tls is None else "tls",
        since,
        serial,
        count,
        sent,
    )


def wires(transfer: ixfr_out.Transfer, message: dns.message.Message, *, name: str, over_tcp: bool) -> Iterator[bytes]:
    """Yield the messages that answer `message` with the transfer, without TSIG. Over UDP, they contain only the SOA."""
    records = transfer.records if over_tcp else [next(iter(transfer.records))]
    return axfr_out.pack_messages(records, name, id=message.id, qtype=int(message.question[0].rdtype))


def apex_of_catalog(secondary: Secondary, name: str) -> RRset | None:
    """Return the SOA of the secondary's own catalog zone, or None if `name` isn't that zone."""
    if not secondary_catalog.is_catalog_of(secondary, name):
        return None
    return secondary_catalog.soa_of(secondary, secondary.catalog_serial)


@contextmanager
def transfer_of_zone(zone: Zone, since: int | None, sees: Visibility | None = None) -> Iterator[ixfr_out.Transfer]:
    """Yield the transfer of a zone or of its visible part, signed if the nodes sign the zone.

    All transfers of zones use this function. Raise MessageRefused if signing isn't possible, for example if the client
    can read only a part of a signed zone. Raise Unknown for a deleted zone.
    """
    if not loaded_signing_of(zone).is_signed:
        with ixfr_out.transfer_of(zone, since=since, sees=sees) as transfer:
            # A zone that was signed after it was loaded has the same serial. Without signatures, its copy would stay
            # bogus at the client.
            if not signing_of(zone).is_signed:
                yield transfer
                return
    if sees is not None:
        reason = gettext(
            "{name} is signed, but this key can only access part of the zone, and partial transfers can’t be signed."
        )
        raise MessageRefused(dns.rcode.REFUSED, reason.format(name=zone.name))
    with signed_transfers.transfer_of(zone, since=since) as transfer:
        yield transfer


def turn_for(zone: Zone | None) -> AbstractContextManager[None]:
    """Return a context manager that occupies one of the transfer slots, unless the zone is small or a catalog."""
    return axfr_out.a_turn() if zone is not None and zone.rrset_count > SMALL else nullcontext()


def _transfer_of(
    secondary: Secondary, zone: Zone | None, since: int | None
) -> AbstractContextManager[ixfr_out.Transfer]:
    """Return the transfer of a zone, or of the catalog if `zone` is None, as a context manager.

    The transfer is incremental if the client's serial `since` is given and allows this. If the secondary has answered
    with records that differ from the zone's, send the whole zone, because an incremental transfer would not correct
    them.
    """
    if zone is None:
        return ixfr_out.transfer_of_catalog(secondary, since=since)
    if since is not None and since != zone.serial and queries.gets_all_of(secondary, zone):
        since = None
    return transfer_of_zone(zone, since)
