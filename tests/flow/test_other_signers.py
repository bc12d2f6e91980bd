"""Two providers sign one zone, each with separate keys (RFC 8901). Both providers' answers validate.

The other provider is a PowerDNS that is independent of the panel.
"""

import sys
import time
from collections.abc import Sequence

import pytest

from dnspanel.demo.stack import Stack
from tests.flow.test_rollovers import Watch
from tests.oracle.powerdns import Place, native
from tests.stack import Answer, ask, run_inside, wait_until_in_sync
from tests.unbound import unbound

pytestmark = pytest.mark.flow

ZONE = "both.test."
TTL = 2
SIGNAL = "_dsboot.shop.test._signal.ns1."  # RFC 9615
RRSETS = [
    ("", "SOA", "ns1.both.test. hostmaster.both.test. 1 10800 3600 604800 2"),
    ("", "NS", "ns1.both.test."),
    ("ns1.", "A", "192.0.2.53"),
    ("www.", "A", "192.0.2.1"),
    ("*.wild.", "TXT", '"wild"'),
    (SIGNAL, "CDS", f"1 13 2 {'ab' * 32}"),
]


def other_provider(place: Place, ours: Sequence[str], zone: str = ZONE) -> str:
    """Load the zone at the other provider, which adds its own key and the panel's DNSKEYs. Return its DNSKEY."""
    lines = [f"{label}{zone} 2 IN {type} {text}\n" for label, type, text in RRSETS]
    place.load_zone(zone, "".join([*lines, *(f"{zone} 2 IN DNSKEY {each}\n" for each in ours)]))
    place.pdnsutil("secure-zone", zone.rstrip("."))
    [line] = [line for line in place.pdnsutil("show-zone", zone.rstrip(".")).splitlines() if " IN DNSKEY " in line]
    return line.rpartition(" DNSKEY ")[2].partition(";")[0].strip()


def without_spaces(answer: Answer) -> set[str]:
    """Return the answer's keys without the spaces that dnspython inserts into Base64."""
    return {" ".join(text.split()[:3]) + " " + "".join(text.split()[3:]) for text in answer.rdata}


def test_what_two_signers_answer_validates_by_both(stack: Stack) -> None:
    [ours] = run_inside(stack, "other_signers.create", ZONE, RRSETS)
    with native().place("other-signer") as place:
        theirs = other_provider(place, [ours])
        run_inside(stack, "other_signers.add", ZONE, theirs)
        wait_until_in_sync(stack)
        with place.server(direct_dnskey="yes") as port:
            for node in stack.nodes:
                assert without_spaces(ask(node, ZONE, "DNSKEY")) == {ours, theirs}
                assert without_spaces(ask(node, ZONE, "CDNSKEY")) == {ours, theirs}
                assert len(ask(node, ZONE, "CDS").rdata) == 2
                assert len(ask(node, SIGNAL + ZONE, "CDS").rdata) == 1
            anchors = [f"{ZONE} DNSKEY {each}" for each in (ours, theirs)]
            for ports in ([*(node.dns_port for node in stack.nodes), port], [port], [stack.nodes[0].dns_port]):
                with unbound({ZONE: ports}, anchors) as resolver:
                    for number in range(40):
                        for name, type in (("www.", "A"), (f"x{number}.wild.", "TXT"), (f"no{number}.", "A")):
                            assert resolver.ask(name + ZONE, type).is_secure
                    assert resolver.ask(SIGNAL + ZONE, "CDS").is_secure
                    assert resolver.bogus == []


def test_our_zone_signing_key_rolls_beside_the_other_signer(stack: Stack) -> None:
    """Follows the documented manual steps. A validator that caches and asks both providers sees no bogus answer."""
    zone = "rolled.test."
    run_inside(stack, "other_signers.create", zone, RRSETS)
    ours: list[str] = run_inside(stack, "other_signers.step", zone, "split")
    with native().place("rolling-signer") as place:
        theirs = other_provider(place, ours, zone)
        run_inside(stack, "other_signers.add", zone, theirs)
        wait_until_in_sync(stack)
        with place.server(direct_dnskey="yes", cache_ttl=1, query_cache_ttl=1) as port:
            anchors = [f"{zone} DNSKEY {each}" for each in (*ours, theirs) if each.startswith("257 ")]
            assert len(anchors) == 2
            with unbound({zone: [*(node.dns_port for node in stack.nodes), port]}, anchors) as resolver:
                with Watch(resolver, zone, has_parent=False) as watch:
                    for step in ("publish", "sign", "remove"):
                        ours = run_inside(stack, "other_signers.step", zone, step)
                        wait_until_in_sync(stack)
                        # Give the other provider the panel's keys, because it does not remove old ones.
                        place.pdnsutil("replace-rrset", zone.rstrip("."), "@", "DNSKEY", "2", *ours)
                        time.sleep(2 * TTL + 1)  # its cache and Unbound's
                        for node in stack.nodes:
                            assert without_spaces(ask(node, zone, "DNSKEY")) == {*ours, theirs}
                bogus = resolver.bogus
    seen = watch.replies
    sys.stdout.write(f"{sum(seen.values())} answers, {len(bogus)} bogus\n")
    assert bogus == []
    assert sum(seen.values()) > 200
    assert all(is_secure for _, is_secure in seen), seen
