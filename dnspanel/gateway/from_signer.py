"""Get answers from ring 0 that only PowerDNS can compute: for signed zones, ALIAS and LUA.

The panel never uses private keys itself (docs/adr/0022). Ring 0 receives every publication first. The gateway queries
ring 0 only after ring 0 has proved the zone's newest publication, so a client reads its own writes.
"""

import threading

import dns.message
import dns.rcode

from dnspanel.fleet.models import Node
from dnspanel.fleet.reads.queries import head
from dnspanel.gateway.errors import MessageRefused
from dnspanel.gateway.signed_transfers import patiently
from dnspanel.secondaries.signed_zones import signer
from dnspanel.texts import gettext
from dnspanel.zones.models import Zone
from replication.errors import NotServed
from replication.verify import ask

SECONDS = 2.0  # the longest time that ring 0 may be silent
# Each question occupies a thread of the gateway, which must answer others too while ring 0 is silent.
_at_once = threading.BoundedSemaphore(4)


def answer_by_signer(zone: Zone, name: str, type: int, *, dnssec: bool) -> dns.message.Message:
    """Return the answer of ring 0's PowerDNS, signed if `dnssec` is True. Raise MessageRefused if it fails."""
    node = patiently(lambda: _ready_signer(zone))
    if not _at_once.acquire(timeout=SECONDS):
        raise _failure(zone, gettext("too many queries are waiting for the canary"))
    try:
        found = ask(str(node.dns_address), node.dns_port, name, type, SECONDS, dnssec=dnssec)
    except NotServed as exc:
        raise _failure(zone, str(exc)) from exc
    finally:
        _at_once.release()
    if found.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN, dns.rcode.YXDOMAIN):
        raise _failure(zone, dns.rcode.to_text(found.rcode()))
    return found


def _ready_signer(zone: Zone) -> Node:
    node = signer()
    if node is None:
        raise _failure(zone, gettext("the panel doesn’t have a canary"))
    if node.epoch != head().epoch or node.acked < zone.sequence:
        raise _failure(zone, gettext("the canary hasn’t confirmed the newest change yet"))
    return node


def _failure(zone: Zone, reason: str) -> MessageRefused:
    text = gettext("PowerDNS can’t currently create this answer for {name}: {reason}")
    return MessageRefused(dns.rcode.SERVFAIL, text.format(name=zone.name, reason=reason))
