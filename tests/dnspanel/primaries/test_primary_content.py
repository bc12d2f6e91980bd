"""Tests of the content that a primary sends: all of it is accepted, or none."""

from collections.abc import Sequence

import pytest

from dnspanel.primaries.errors import TransferFailed
from dnspanel.primaries.primary_content import DoesNotFit, read_all, read_changes, touched_names
from dnspanel.transfer.sources.over_dns.dns_wire import Record
from dnspanel.transfer.sources.over_dns.ixfr_in import Increment
from replication.dns import rdata, rdtypes
from replication.dns.rrset import Key, RRset, make

ZONE = "a.test."
SOA = "ns.a.test. h.a.test. {} 3600 600 86400 60"


def record(name: str, type: str, text: str, ttl: int = 60) -> Record:
    number = rdata.type_from_text(type)
    return Record(name, number, ttl, rdata.to_wire(number, text))


def soa(serial: int) -> Record:
    return record(ZONE, "SOA", SOA.format(serial))


WWW = record("www.a.test.", "A", "192.0.2.1")
HERE: dict[Key, RRset] = {
    (ZONE, rdtypes.SOA): make(ZONE, rdtypes.SOA, 60, [SOA.format(1)]),
    ("www.a.test.", rdtypes.A): make("www.a.test.", rdtypes.A, 60, ["192.0.2.1"]),
}


def changed(gone: Sequence[Record], come: Sequence[Record]) -> Increment:
    return Increment(soa(2), [(list(gone), list(come))])


def test_steps_follow_each_other() -> None:
    second = record("www.a.test.", "A", "192.0.2.2")
    increment = Increment(soa(3), [([WWW], [second]), ([second], [WWW, second])])
    arrived = read_changes(ZONE, increment, HERE)
    assert arrived.changes[("www.a.test.", rdtypes.A)] == make("www.a.test.", rdtypes.A, 60, ["192.0.2.1", "192.0.2.2"])
    assert arrived.soa.rdata == (SOA.format(3),)


@pytest.mark.parametrize(
    "increment",
    [
        changed([record("www.a.test.", "A", "192.0.2.9")], []),
        changed([], [WWW]),
        changed([], [record("www.a.test.", "A", "192.0.2.2", ttl=61)]),
        changed([], [record("www.a.test.", "DNSKEY", "257 3 13 AAAA")]),
    ],
    ids=["gone-before", "there-before", "two-ttls", "signed"],
)
def test_what_is_not_of_this_zone_as_it_stands_does_not_fit(increment: Increment) -> None:
    with pytest.raises(DoesNotFit):
        read_changes(ZONE, increment, HERE)


def test_a_record_outside_of_the_zone_refuses_all_of_it() -> None:
    outside = record("www.b.test.", "A", "192.0.2.1")
    with pytest.raises(TransferFailed, match="outside the zone") as refused:
        touched_names(ZONE, changed([], [outside]))
    assert refused.value.is_refused
    with pytest.raises(TransferFailed, match="outside the zone"):
        read_all(ZONE, [soa(2), outside], HERE)


@pytest.mark.django_db
def test_a_broken_rule_refuses_all_of_it() -> None:
    alias = record("www.a.test.", "CNAME", "b.test.")
    with pytest.raises(TransferFailed, match="can’t be served"):
        read_all(ZONE, [soa(2), record(ZONE, "NS", "ns.b.test."), WWW, alias], HERE)


@pytest.mark.django_db
@pytest.mark.parametrize(("type", "text"), [("CAA", '0 issue ""'), ("CERT", "0 0 0 AQID"), ("APL", "3:/0")])
def test_a_value_that_nodes_cannot_read_back_is_named(type: str, text: str) -> None:
    """Regression test: such a value made its name SERVFAIL, and the canary took the zone back again and again."""
    with pytest.raises(TransferFailed, match=r"can’t be served: .*SERVFAIL") as refused:
        read_all(ZONE, [soa(2), record(ZONE, "NS", "ns.b.test."), WWW, record("x.a.test.", type, text)], HERE)
    assert refused.value.is_refused
    assert f"{type} x: " in str(refused.value)
