"""The gateway's logic without its sockets: answer each DNS message."""

import logging
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import dns.edns
import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset
import dns.update
import psycopg
from django.db import DatabaseError, InterfaceError

from dnspanel.accounts.tokens.token_terms import request_limits
from dnspanel.database.database_away import note
from dnspanel.fleet.reads.canary import wait_for_canary
from dnspanel.gateway import (
    address_acl,
    lookup,
    notify_in,
    seen_updates,
    to_keys,
    to_secondaries,
    tsig_signatures,
    zone_questions,
)
from dnspanel.gateway.errors import GatewayError, MessageRefused, TsigRefused
from dnspanel.gateway.gateway_tls import OverTls
from dnspanel.gateway.rate_limits import Rates
from dnspanel.gateway.reply import PAYLOAD, Reply, render_reply, rrsets_for_reply
from dnspanel.gateway.update import name_of, read_update
from dnspanel.secondaries import record
from dnspanel.texts import gettext, gettext_noop
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import PublishingOnHold, TakenBack, Unknown, ZoneError, unserved_reason
from dnspanel.zones.models import Channel, Publication, TsigAct
from dnspanel.zones.publishing import zone_patches
from dnspanel.zones.publishing.failed import raise_if_taken_back
from dnspanel.zones.rights import access, tsig_permissions
from replication.dns import rdtypes
from replication.errors import ReplicationError

logger = logging.getLogger(__name__)

HEADER_SIZE = 12
# No client proves its identity in a network that zones are open to, so each address has this limit.
QUESTIONS_PER_SECOND, QUESTIONS_BURST = 20, 100
ONLY_APEX = gettext_noop("without a TSIG key for the zone, only SOA and NS queries are answered")
_TRANSFERS = frozenset({dns.rdatatype.AXFR, dns.rdatatype.IXFR})
_rates = Rates()


@dataclass(frozen=True, slots=True)
class Query:
    wire: bytes
    message: dns.message.Message
    signed: tsig_signatures.Signature | None
    address: str
    over_tcp: bool
    now: datetime
    tls: OverTls | None = None  # None: TCP without TLS, or UDP

    @property
    def key(self) -> str:
        """The name of the message's TSIG key for the log, or "none" if the message is unsigned."""
        return "none" if self.signed is None else self.signed.key_name


def answers(
    wire: bytes, *, address: str, over_tcp: bool, now: datetime, tls: OverTls | None = None
) -> Generator[bytes, None, None]:
    """Yield the replies to a message: several for a zone transfer, otherwise one.

    A message that is itself a reply, or is too short for a header, gets no reply.
    """
    if len(wire) < HEADER_SIZE or wire[2] & 0x80:  # QR: two servers that answer answers would never stop
        return
    try:
        message = dns.message.from_wire(wire, keyring=False, one_rr_per_rrset=True)
        signed = tsig_signatures.verify(message, wire, address=address, now=now)
    except TsigRefused as refusal:
        logger.info("refused from=%s: %s", address, refusal)
        if notify_in.is_notice(message):
            notify_in.note_refused(notify_in.row_for(message), address=address, now=now)
        if refusal.secondary_id is not None:
            record.note_refusal(secondary_id=refusal.secondary_id, reason=f"{refusal}.", address=address, now=now)
        bare = render_reply(message, Reply(dns.rcode.NOTAUTH), HEADER_SIZE + PAYLOAD)
        yield tsig_signatures.sign_refusal(bare, refusal, now)
        return
    except (dns.exception.DNSException, ValueError, OverflowError):
        yield _without_content(wire, dns.rcode.FORMERR)
        return
    except (DatabaseError, InterfaceError) as exc:
        note(f"a message from {address}", exc)
        yield _without_content(wire, dns.rcode.SERVFAIL)
        return
    yield from _answers_to(Query(wire, message, signed, address, over_tcp, now, tls))


def _answers_to(query: Query) -> Iterator[bytes]:
    signer = None if query.signed is None else tsig_signatures.Signer(query.signed)
    try:
        if _is_transfer(query):
            yield from (_sign_wire(wire, signer, query.now) for wire in _transfer(query))
            return
        reply = _reply(query)
    except (GatewayError, ZoneError, ReplicationError) as exc:
        reply = _refusal(exc)
    except (DatabaseError, InterfaceError, psycopg.Error) as exc:
        note(f"a message from {query.address}", exc)
        reply = Reply(dns.rcode.SERVFAIL)
    if reply.reason:
        logger.info(
            "refused key=%s from=%s %s: %s", query.key, query.address, dns.rcode.to_text(reply.rcode), reply.reason
        )
    size = _size_for(query) - (signer.room if signer else 0)
    yield _sign_wire(render_reply(query.message, reply, size), signer, query.now)


def _refusal(exc: Exception) -> Reply:
    if isinstance(exc, MessageRefused):
        return Reply(exc.rcode, reason=str(exc))
    if isinstance(exc, Unknown):
        return Reply(dns.rcode.NOTAUTH, reason=str(exc))
    if isinstance(exc, PublishingOnHold):  # not this client's mistake, and only temporary
        return Reply(dns.rcode.SERVFAIL, reason=str(exc))
    return Reply(dns.rcode.REFUSED, reason=str(exc))


def _reply(query: Query) -> Reply:
    message = query.message
    if message.edns > 0:
        return Reply(dns.rcode.BADVERS)
    if isinstance(message, dns.update.UpdateMessage):
        return _update(query, message)
    if message.opcode() == dns.opcode.QUERY:
        return _lookup(query)
    if notify_in.is_notice(message):
        signed_for = query.signed.row if isinstance(query.signed, tsig_signatures.SignedByPrimary) else None
        notify_in.take_notice(message, address=query.address, signed_for=signed_for, now=query.now)
        return Reply(dns.rcode.NOERROR)
    return Reply(dns.rcode.NOTIMP)


def _update(query: Query, message: dns.update.UpdateMessage) -> Reply:
    """Publish the update as one publication, because an update is atomic (RFC 2136, section 3.4.2.7).

    A retransmission is answered by `_answer_again` and changes nothing. If the first answer was SERVFAIL, or wasn't
    stored because the process was killed, a retransmission is processed again. Even then, its changes are never
    published twice.
    """
    signed = _signature_of(query)
    id = seen_updates.id_of(signed, message.id)
    before = seen_updates.take(id=id, time_signed=signed.tsig.time_signed, now=query.now)
    if before is not None and before.rcode is not None:
        return _answer_again(id, dns.rcode.Rcode.make(before.rcode))
    try:
        reply = _carry_out(query, message, signed, id)
    except (GatewayError, ZoneError, ReplicationError) as exc:
        reply = _refusal(exc)
    if reply.rcode != dns.rcode.SERVFAIL:  # a retry may succeed
        seen_updates.note_answer(id=id, rcode=int(reply.rcode))
    return reply


def _answer_again(id: UUID, rcode: dns.rcode.Rcode) -> Reply:
    """Return the answer to a retransmission: the first answer, or a refusal if the publication has been reverted."""
    publication = Publication.objects.filter(form_id=id).first()
    try:
        if publication is not None:
            raise_if_taken_back(publication)
    except TakenBack as exc:
        return _refusal(exc)
    return Reply(rcode)


def _carry_out(query: Query, message: dns.update.UpdateMessage, signed: tsig_signatures.Signed, id: UUID) -> Reply:
    update = read_update(message)
    actor = tsig_permissions.actor_for(signed.actor, update.zone_name, TsigAct.UPDATE)
    zone = access.zone_for_editing(actor, update.zone_name)
    outcome = zone_patches.publish_patches(
        patches=[zone_patches.Patch(zone, update.decide, update.names)],
        acting=Acting(actor, Channel.DYNAMIC_UPDATE, query.now, form_id=id),
        in_pieces=False,
    )
    if outcome.publication is not None:
        # RFC 2136 has no rcode for "saved, but not in sync yet". NOERROR is the last answer that the client gets.
        wait_for_canary(outcome.publication)
    sequence = outcome.publication.sequence if outcome.publication else None
    logger.info(
        "updated zone=%s key=%s from=%s acts=%d sequence=%s",
        zone.name,
        query.key,
        query.address,
        len(update.acts),
        sequence or "unchanged",
    )
    return Reply(dns.rcode.NOERROR)


def _lookup(query: Query) -> Reply:
    """Answer from the secondary's catalog or a zone that the client can read, or else with `_answer_discovery`.

    Raise MessageRefused if the message doesn't have one question of an answerable type, exceeds a rate limit, or can't
    be answered now.
    """
    message = query.message
    if len(message.question) != 1:  # RFC 9619
        raise MessageRefused(dns.rcode.FORMERR, gettext("the message must have exactly one question"))
    question = message.question[0]
    type_ = int(question.rdtype)
    if question.rdclass != dns.rdataclass.IN or (_is_of_messages(type_) and type_ != lookup.ANY):
        raise MessageRefused(dns.rcode.REFUSED, gettext(ONLY_APEX))
    name = name_of(question.name)
    if isinstance(query.signed, tsig_signatures.SignedBySecondary) and type_ == rdtypes.SOA:
        catalog = to_secondaries.apex_of_catalog(query.signed.secondary, name)
        if catalog is not None:
            return Reply(dns.rcode.NOERROR, rrsets_for_reply([catalog]), is_authoritative=True)
    reading = zone_questions.reading_of(zone_questions.Asker(query.signed, query.address, query.tls), name, type_)
    if reading is not None:
        _count_question(query)
        wants_signatures = message.edns >= 0 and bool(message.ednsflags & dns.flags.DO)
        reply = reading.reply(dnssec=wants_signatures, over_tcp=query.over_tcp)
        if reply is not None:
            return reply
    return _answer_discovery(name, type_)


def _answer_discovery(name: str, type_: int) -> Reply:
    """Answer an SOA or NS query from the closest zone's apex, or with the zone's SOA in the authority section.

    Raise MessageRefused for other types, if no zone contains the name, or if the closest zone can't be transferred.
    """
    if type_ not in (rdtypes.SOA, rdtypes.NS):
        raise MessageRefused(dns.rcode.REFUSED, gettext(ONLY_APEX))
    zone = zone_questions.zone_around(name)
    apex = {} if zone is None else zone_questions.apex_of(zone)
    if zone is None or rdtypes.SOA not in apex:
        raise MessageRefused(dns.rcode.REFUSED, gettext("{name} isn’t in any zone in this panel").format(name=name))
    if not zone.is_transferable:
        raise MessageRefused(dns.rcode.REFUSED, unserved_reason(zone.name))
    found = apex.get(type_) if name == zone.name else None
    if found is not None:
        return Reply(dns.rcode.NOERROR, rrsets_for_reply([found]), is_authoritative=True)
    return Reply(dns.rcode.NOERROR, (), rrsets_for_reply([apex[rdtypes.SOA]]), is_authoritative=True)


def _is_of_messages(type_: int) -> bool:
    """Return True if the type occurs only in DNS messages and never as a zone's record (RFC 6895 section 3.1)."""
    return type_ == 0 or dns.rdatatype.is_metatype(dns.rdatatype.RdataType.make(type_))


def _is_transfer(query: Query) -> bool:
    message = query.message
    is_query = message.opcode() == dns.opcode.QUERY and len(message.question) == 1
    return is_query and message.edns <= 0 and message.question[0].rdtype in _TRANSFERS


def _transfer(query: Query) -> Iterator[bytes]:
    """Yield the messages of a transfer to a secondary, key or network. Raise MessageRefused or Unknown if refused."""
    question = query.message.question[0]
    if isinstance(query.signed, tsig_signatures.SignedBySecondary):
        yield from _transfer_to_secondary(query, query.signed)
        return
    if query.signed is None and question.rdclass == dns.rdataclass.IN:
        yield from address_acl.messages(
            query.message, name=name_of(question.name), over_tcp=query.over_tcp, address=query.address, now=query.now
        )
        return
    if not query.over_tcp or question.rdclass != dns.rdataclass.IN:
        raise MessageRefused(dns.rcode.REFUSED, gettext("zone transfers require TCP"))
    signed = _signature_of(query)
    id = seen_updates.id_of(signed, query.message.id)
    if seen_updates.take(id=id, time_signed=signed.tsig.time_signed, now=query.now) is not None:
        raise MessageRefused(dns.rcode.REFUSED, gettext("this message has already been accepted, so sign a new one"))
    yield from to_keys.messages(
        signed.actor, query.message, name=name_of(question.name), key=query.key, address=query.address, now=query.now
    )


def _transfer_to_secondary(query: Query, signed: tsig_signatures.SignedBySecondary) -> Iterator[bytes]:
    """Yield a transfer's messages. Raise MessageRefused if not allowed, or for a replay over TCP, which is recorded."""
    question, secondary = query.message.question[0], signed.secondary
    if question.rdclass != dns.rdataclass.IN:
        raise MessageRefused(dns.rcode.REFUSED, gettext("only class IN is supported"))
    id = seen_updates.id_of(signed, query.message.id)
    if query.over_tcp and seen_updates.take(id=id, time_signed=signed.tsig.time_signed, now=query.now) is not None:
        reason = gettext("this message has already been accepted, so sign a new one")
        record.note_refusal(
            secondary_id=secondary.pk,
            reason=gettext("Replayed message: {reason}.").format(reason=reason),
            address=query.address,
            now=query.now,
        )
        raise MessageRefused(dns.rcode.REFUSED, reason)
    yield from to_secondaries.messages(
        secondary,
        query.message,
        name=name_of(question.name),
        over_tcp=query.over_tcp,
        tls=query.tls,
        address=query.address,
        now=query.now,
    )


def _signature_of(query: Query) -> tsig_signatures.Signed:
    """Return the message's signature.

    Raise MessageRefused if the message is unsigned, signed by a secondary's or primary's key, or over the rate limit.
    """
    if isinstance(query.signed, tsig_signatures.SignedBySecondary):
        raise MessageRefused(dns.rcode.REFUSED, gettext("a secondary’s key can only be used for transfers"))
    if not isinstance(query.signed, tsig_signatures.Signed):
        raise MessageRefused(dns.rcode.REFUSED, gettext("a TSIG key is required"))
    _count(query.signed, query.now)
    return query.signed


def _count(signed: tsig_signatures.Signed, now: datetime) -> None:
    """Raise MessageRefused if the key has sent more messages in a minute than its token allows."""
    for key, limit in request_limits(signed.token).items():
        if not _rates.allows(key, now=now.timestamp(), per_second=limit / 60, burst=limit):
            raise MessageRefused(
                dns.rcode.REFUSED, gettext("more than {limit} messages per minute").format(limit=limit)
            )


def _count_question(query: Query) -> None:
    """Raise MessageRefused if a token's key, or the address of an unsigned query, exceeds its rate of queries."""
    if isinstance(query.signed, tsig_signatures.Signed):
        _count(query.signed, query.now)
    elif query.signed is None:
        clock = query.now.timestamp()
        if not _rates.allows(query.address, now=clock, per_second=QUESTIONS_PER_SECOND, burst=QUESTIONS_BURST):
            raise MessageRefused(dns.rcode.REFUSED, gettext("too many queries without a TSIG key"))


# first and last byte


def _sign_wire(wire: bytes, signer: tsig_signatures.Signer | None, now: datetime) -> bytes:
    return wire if signer is None else signer.sign(wire, now)


def _size_for(query: Query) -> int:
    if query.over_tcp:
        return 65535
    return min(max(query.message.payload, 512), PAYLOAD) if query.message.edns >= 0 else 512


def _without_content(wire: bytes, rcode: dns.rcode.Rcode) -> bytes:
    """Return an answer that consists only of a header, because the rest of the message isn't trustworthy."""
    opcode_and_rd = wire[2] & 0x79
    return wire[:2] + bytes((0x80 | opcode_and_rd, int(rcode))) + bytes(8)
