"""Encode the reply to a message in wire format, truncated if it exceeds a size. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

import dns.edns
import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset

from replication.dns import rdata
from replication.dns.rrset import RRset

PAYLOAD = 1232  # the size that UDP carries without fragments

_TRUNCATED = 0x02  # in the third byte of a message


@dataclass(frozen=True, slots=True)
class Reply:
    rcode: dns.rcode.Rcode
    answer: tuple[dns.rrset.RRset, ...] = ()
    authority: tuple[dns.rrset.RRset, ...] = ()
    additional: tuple[dns.rrset.RRset, ...] = ()
    reason: str = ""
    is_authoritative: bool = False
    is_referral: bool = False
    is_truncated: bool = False


def render_reply(query: dns.message.Message, reply: Reply, size: int) -> bytes:
    """Encode the reply as an unsigned message of at most `size` bytes. Truncate a larger reply."""
    response = dns.message.make_response(query, our_payload=PAYLOAD)
    if query.edns >= 0:
        if query.ednsflags & dns.flags.DO:  # RFC 3225 section 3
            response.want_dnssec()
        if reply.reason:
            # RFC 8914: dig and kdig show this text, which saves people a long search.
            option = dns.edns.EDEOption(dns.edns.EDECode.PROHIBITED, reply.reason[:200])
            response.use_edns(ednsflags=response.ednsflags, payload=PAYLOAD, options=[option])
    response.set_rcode(reply.rcode)
    if reply.is_authoritative:
        response.flags |= dns.flags.AA
    if reply.is_truncated:
        response.flags |= dns.flags.TC
    response.answer = list(reply.answer)
    response.authority = list(reply.authority)
    response.additional = list(reply.additional)
    try:
        return response.to_wire(max_size=size)
    except dns.exception.TooBig:
        wire = bytearray(response.to_wire(max_size=size, prefer_truncation=True))
    if reply.is_referral:  # useless without its glue (RFC 9471 section 3)
        wire[2] |= _TRUNCATED
    return bytes(wire)


def rrsets_for_reply(rrsets: Iterable[RRset]) -> tuple[dns.rrset.RRset, ...]:
    """Convert the served records of RRsets to dnspython objects for a message."""
    return tuple(map(_rrset_for_reply, rrsets))


def _rrset_for_reply(rrset: RRset) -> dns.rrset.RRset:
    found = dns.rrset.RRset(dns.name.from_text(rrset.name), dns.rdataclass.IN, dns.rdatatype.RdataType.make(rrset.type))
    for text in rrset.served:
        wire = rdata.to_wire(rrset.type, text)
        found.add(dns.rdata.from_wire(dns.rdataclass.IN, found.rdtype, wire, 0, len(wire)), rrset.ttl)
    return found
