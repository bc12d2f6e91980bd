"""What merging and replacing do to a zone that exists."""

from dnspanel.transfer.documents import ParsedZone, ReadyRRset
from dnspanel.transfer.models import Action
from dnspanel.transfer.zone_changes import changes_of, rrset_of, tally
from replication.codec.keys import relative_key
from replication.dns import rdata, rdtypes
from replication.dns.rrset import RRset, make

ZONE = "example.test."
SOA = "ns1.example.net. hostmaster.example.net. {} 10800 3600 604800 3600"


def rr(name: str, type: int, *texts: str, ttl: int = 300) -> RRset:
    return make(name, type, ttl, texts)


def parsed(*rrsets: RRset, made: frozenset[int] = frozenset()) -> ParsedZone:
    ready = [
        ReadyRRset(
            r.name, relative_key(r.name, ZONE), r.type, r.ttl, r.rdata, tuple(rdata.to_wire(r.type, t) for t in r.rdata)
        )
        for r in rrsets
    ]
    return ParsedZone(ZONE, 1, ready, made=made)


def by_key(*rrsets: RRset) -> dict[tuple[str, int], RRset]:
    return {(r.name, r.type): r for r in rrsets}


OLD_SOA = rr(ZONE, rdtypes.SOA, SOA.format(5))
NEW_SOA = rr(ZONE, rdtypes.SOA, SOA.format(9))
OTHER_SOA = rr(ZONE, rdtypes.SOA, SOA.format(9).replace("10800", "7200"))
NS = rr(ZONE, rdtypes.NS, "ns1.example.net.")
WWW = rr("www.example.test.", rdtypes.A, "192.0.2.1")
WWW_2 = rr("www.example.test.", rdtypes.A, "192.0.2.2")
MAIL = rr("mail.example.test.", rdtypes.A, "192.0.2.9")
CURRENT = by_key(OLD_SOA, NS, WWW, MAIL)


def test_the_same_content_changes_nothing_whatever_the_serial() -> None:
    for action in (Action.MERGE, Action.REPLACE):
        assert changes_of(action=action, parsed=parsed(NEW_SOA, NS, WWW, MAIL), current=CURRENT) == {}


def test_a_merge_keeps_what_the_source_does_not_have() -> None:
    changes = changes_of(action=Action.MERGE, parsed=parsed(OTHER_SOA, NS, WWW_2), current=CURRENT)
    assert changes == {(WWW.name, rdtypes.A): WWW_2}
    assert tally(changes, CURRENT) == (0, 1, 0)


def test_a_replace_removes_it_and_takes_the_soa() -> None:
    new = rr("new.example.test.", rdtypes.A, "192.0.2.3")
    changes = changes_of(action=Action.REPLACE, parsed=parsed(OTHER_SOA, NS, WWW_2, new), current=CURRENT)
    assert changes == {
        (ZONE, rdtypes.SOA): OTHER_SOA,
        (WWW.name, rdtypes.A): WWW_2,
        (new.name, rdtypes.A): new,
        (MAIL.name, rdtypes.A): None,
    }
    assert tally(changes, CURRENT) == (1, 2, 1)


def test_apex_records_made_for_want_of_any_never_replace_the_zones_own() -> None:
    ours = rr(ZONE, rdtypes.NS, "ns1.ours.test.")
    made = frozenset((rdtypes.SOA, rdtypes.NS))
    for action in (Action.MERGE, Action.REPLACE):
        changes = changes_of(action=action, parsed=parsed(OTHER_SOA, ours, WWW, MAIL, made=made), current=CURRENT)
        assert changes == {}


def test_a_ready_rrset_becomes_the_same_rrset() -> None:
    assert [rrset_of(ready) for ready in parsed(WWW).rrsets] == [WWW]
