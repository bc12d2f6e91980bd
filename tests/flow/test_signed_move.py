"""A signed zone moves from another operator's PowerDNS to the panel's nodes with its keys. Validation never fails."""

import shutil
import tempfile
import time
from pathlib import Path

import dns.message
import dns.query
import pytest

from dnspanel.demo.stack import Stack
from tests.flow.test_rollovers import Watch
from tests.oracle.powerdns import Unavailable, native
from tests.stack import ask, wait_until_in_sync
from tests.unbound import unbound

pytestmark = pytest.mark.flow

ZONE = "moving.test."
TTL = 2
TEXT = f"""$TTL {TTL}
@ SOA ns1.{ZONE} hostmaster.{ZONE} 2026112501 10800 3600 604800 {TTL}
@ NS ns1
ns1 A 192.0.2.53
www A 192.0.2.1
n1 A 192.0.2.2
alias CNAME www
*.wild TXT "wild"
"""


@pytest.mark.sample(1, reason="denials of zones that move with their keys")
@pytest.mark.parametrize("nsec3", ["", "1 0 0 -"], ids=["nsec", "nsec3"])
def test_an_imported_signed_zone_goes_on_without_a_gap(stack: Stack, nsec3: str) -> None:
    """Unbound's only trust anchor is the old server's key. It asks the old server and the nodes in turn, from before
    the import.
    """
    try:
        powerdns = native()
    except Unavailable as exc:
        pytest.skip(str(exc))
    zone = f"{'hashed' if nsec3 else 'plain'}.{ZONE}"
    ports = [node.dns_port for node in stack.nodes]
    with powerdns.place(zone) as old, tempfile.TemporaryDirectory() as folder:
        old.load_zone(zone, TEXT.replace(ZONE, zone))
        old.pdnsutil("secure-zone", zone.rstrip("."))
        if nsec3:
            old.pdnsutil("set-nsec3", zone.rstrip("."), nsec3)
        old.pdnsutil("rectify-zone", zone.rstrip("."))
        with old.server() as old_port:
            [dnskey] = _dnskeys(old_port, zone)
            anchors = [f"{zone} DNSKEY {dnskey}"]
            with (
                unbound({zone: [old_port, *ports]}, anchors) as resolver,
                Watch(resolver, zone, has_parent=False) as watch,
            ):
                Path(folder).chmod(0o755)
                copies = [Path(shutil.copy(path, folder)) for path in (old.database, old.shard)]
                for path in copies:
                    path.chmod(0o644)
                stack.manage("import", "--format", "powerdns-lmdb", *map(str, copies), "--yes")
                wait_until_in_sync(stack)
                time.sleep(2 * TTL)  # caches query both sides
                assert resolver.bogus == []
        # The old server is gone, so uncached answers come from the panel's nodes.
        with unbound({zone: ports}, anchors) as after:
            for label, type in (("www.", "A"), ("alias.", "A"), ("x.wild.", "TXT"), ("", "DNSKEY"), ("nothing.", "A")):
                assert after.ask(label + zone, type).is_secure, (label, after.bogus)
    assert sum(watch.replies.values()) > 100
    assert {(rcode, is_secure) for rcode, is_secure in watch.replies} <= {("NOERROR", True), ("NXDOMAIN", True)}
    for node in stack.nodes:
        assert ["".join(text.split()) for text in ask(node, zone, "DNSKEY").rdata] == ["".join(dnskey.split())]


def _dnskeys(port: int, zone: str) -> list[str]:
    answer = dns.query.udp(dns.message.make_query(zone, "DNSKEY"), "127.0.0.1", port=port, timeout=5)
    return [str(each) for rrset in answer.answer for each in rrset]
