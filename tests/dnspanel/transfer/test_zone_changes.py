"""Changes to an existing zone by a union, by replacing RRsets and by replacing the zone."""

from dnspanel.transfer.documents import ParsedZone, ReadyRRset
from dnspanel.transfer.models import CHANGING_ACTIONS, Action
from dnspanel.transfer.zone_changes import changes_of, clashes_of, rrset_of, tally, values_removed
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
            r.name,
            relative_key(r.name, ZONE),
            r.type,
            r.ttl,
            r.rdata,
            tuple(rdata.to_wire(r.type, t) for t in r.rdata),
            r.disabled,
            r.comment,
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
    for action in CHANGING_ACTIONS:
        assert changes_of(action=action, parsed=parsed(NEW_SOA, NS, WWW, MAIL), current=CURRENT) == {}


def test_replacing_rrsets_keeps_those_that_the_source_does_not_have() -> None:
    changes = changes_of(action=Action.RRSETS, parsed=parsed(OTHER_SOA, NS, WWW_2), current=CURRENT)
    assert changes == {(WWW.name, rdtypes.A): WWW_2}
    assert tally(changes, CURRENT) == (0, 1, 0)
    assert values_removed(changes, CURRENT) == 1


def test_a_union_adds_values_and_removes_none() -> None:
    """Previously this action, then named merge, removed the first address although it promised to keep it."""
    new = rr("new.example.test.", rdtypes.A, "192.0.2.3")
    theirs = RRset(WWW.name, rdtypes.A, 60, ("192.0.2.2", "192.0.2.3"), ("192.0.2.3",), "theirs")
    changes = changes_of(action=Action.UNION, parsed=parsed(OTHER_SOA, theirs, new), current=CURRENT)
    both = make(WWW.name, rdtypes.A, 300, ("192.0.2.1", "192.0.2.2", "192.0.2.3"), ("192.0.2.3",), "theirs")
    assert changes == {(WWW.name, rdtypes.A): both, (new.name, rdtypes.A): new}
    assert values_removed(changes, CURRENT) == 0


def test_a_union_with_less_changes_nothing() -> None:
    ours = by_key(make(WWW.name, rdtypes.A, 60, ("192.0.2.1", "192.0.2.2"), ("192.0.2.1",), "ours"))
    assert changes_of(action=Action.UNION, parsed=parsed(WWW_2), current=ours) == {}


def test_what_can_have_one_value_only_makes_no_union() -> None:
    ours = rr("shop.example.test.", rdtypes.CNAME, "a.example.net.")
    theirs = rr("shop.example.test.", rdtypes.CNAME, "b.example.net.")
    source, current = parsed(theirs), by_key(ours)
    assert changes_of(action=Action.UNION, parsed=source, current=current) == {}
    assert list(clashes_of(action=Action.UNION, parsed=source, current=current)) == [
        "CNAME shop.example.test. can only have one value, but the zone has a.example.net. and the source has"
        " b.example.net."
    ]
    assert list(clashes_of(action=Action.RRSETS, parsed=source, current=current)) == []
    assert list(clashes_of(action=Action.UNION, parsed=parsed(ours), current=current)) == []


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
    assert values_removed(changes, CURRENT) == 2  # values of www and mail; the SOA only gets a new serial


def test_apex_records_made_for_want_of_any_never_replace_the_zones_own() -> None:
    ours = rr(ZONE, rdtypes.NS, "ns1.ours.test.")
    made = frozenset((rdtypes.SOA, rdtypes.NS))
    for action in CHANGING_ACTIONS:
        changes = changes_of(action=action, parsed=parsed(OTHER_SOA, ours, WWW, MAIL, made=made), current=CURRENT)
        assert changes == {}


def test_a_ready_rrset_becomes_the_same_rrset() -> None:
    assert [rrset_of(ready) for ready in parsed(WWW).rrsets] == [WWW]
