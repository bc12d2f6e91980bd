"""The questions to PowerDNS, and the detection of wrong answers, against a real PowerDNS."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication import verify
from replication.codec import keys
from replication.dns import rdtypes
from replication.errors import NotServed
from replication.store.applying import POSITION_ZONE
from replication.verify import EvenSample, Expectation, expectations
from replication.wire.operations import ZoneMark
from tests.ports import free_port
from tests.replication.agent.servers import Pdns, pdns_of_panel
from tests.replication.panel import Panel, records, small_zone

ZONE = "example.test."


@pytest.fixture
def served() -> Iterator[tuple[Panel, Pdns]]:
    """Run a pdns_server that serves a panel's own store."""
    with pdns_of_panel() as both:
        yield both


def expected_of(panel: Panel, *questions: tuple[str, str, int]) -> list[Expectation]:
    """Return the expectations for these questions (zone, relative key as text, type)."""
    found = [keys.record_key(panel.zones[zone][0], rel.encode(), type) for zone, rel, type in questions]
    return list(expectations(panel.store, [], found))


def check(pdns: Pdns, expected: list[Expectation]) -> None:
    verify.verify(expected, "127.0.0.1", pdns.port, seconds=2)


def test_what_was_published_is_what_is_answered(served: tuple[Panel, Pdns]) -> None:
    panel, pdns = served
    large = [f'"{number:03}{"x" * 200}"' for number in range(100)]
    panel.create(
        small_zone(
            ZONE,
            records(ZONE, "*", "TXT", 60, '"wild"'),
            records(ZONE, "mail", "MX", 60, "10 mx1", "20 mx2.elsewhere.test."),
            records(ZONE, "alias", "CNAME", 60, "www"),
            records(ZONE, "large", "TXT", 60, *large),
            records(ZONE, "a.b.c", "SRV", 60, "1 2 443 www"),
            records(ZONE, "sub", "NS", 60, "ns.sub", "ns.elsewhere.test."),
            records(ZONE, "sub", "DS", 60, "1 13 2 " + "ab" * 32),
            records(ZONE, "ns.sub", "A", 60, "192.0.2.9"),
            records(ZONE, "odd\\032name", "A", 60, "192.0.2.10"),
        )
    )
    pdns.start()
    marks = [ZoneMark(1, ZONE, 1), ZoneMark(9, "never.test.", None)]
    found = list(expectations(panel.store, marks, (key for key, _ in panel.store.rows(1).raw())))
    questions = {str(expectation) for expectation in found}
    check(pdns, [*found, position_expectation(panel.store.position())])
    for question in ("*.example.test. TXT", "large.example.test. TXT", "sub.example.test. DS", "never.test. SOA"):
        assert question in questions
    for question in ("sub.example.test. NS", "ns.sub.example.test. A"):
        assert question not in questions, "without authority PowerDNS does not answer from the row"


def position_expectation(position: object) -> Expectation:
    """Return the expectation that the position zone answers with this position."""
    text = str(position).encode("ascii")
    return Expectation(POSITION_ZONE, rdtypes.TXT, 0, frozenset((bytes((len(text),)) + text,)))


def test_each_wrong_answer_is_described(served: tuple[Panel, Pdns]) -> None:
    panel, pdns = served
    panel.create(small_zone(ZONE, records(ZONE, "sub", "NS", 60, "ns.elsewhere.test.")))
    pdns.start()
    one = frozenset((b"\xc0\0\2\1",))
    wrong = {
        Expectation("www.example.test.", rdtypes.A, 300, frozenset((b"\xc0\0\2\2",))): "other records: 192.0.2.1",
        Expectation("www.example.test.", rdtypes.A, 301, one): "TTL 300 instead of 301",
        Expectation("www.example.test.", rdtypes.A): "1 records",
        Expectation("nothing.example.test.", rdtypes.A, 300, one): "NXDOMAIN",
        Expectation("www.example.test.", rdtypes.AAAA, 300, one): "no such RRset",
        Expectation("elsewhere.test.", rdtypes.A, 300, one): "REFUSED",
        Expectation(ZONE, rdtypes.SOA): "1 records",
    }
    for expectation, reason in wrong.items():
        with pytest.raises(NotServed) as raised:
            check(pdns, [expectation])
        assert raised.value.found == reason
        assert raised.value.question == str(expectation)


def test_silence_is_an_error_within_its_time() -> None:
    with pytest.raises(NotServed, match="none"):
        verify.verify([Expectation(ZONE, rdtypes.SOA)], "127.0.0.1", free_port(), seconds=0.2)
    with pytest.raises(NotServed, match="none"):
        verify.ask("127.0.0.1", free_port(), ZONE, rdtypes.SOA, 0.2)


def test_names_inside_another_served_zone_are_answered_from_that_zone(served: tuple[Panel, Pdns]) -> None:
    """Previously, a parent zone's record that no node answered with was shown as "everywhere"."""
    panel, pdns = served
    hidden = [records(ZONE, owner, "A", 60, "192.0.2.99") for owner in ("www.sub", "sub", "none.sub")]
    ds = records(ZONE, "sub", "DS", 60, "1 13 2 " + "ab" * 32)
    inside = small_zone("sub.example.test.", records("sub.example.test.", "computed", "LUA", 60, "A \"'192.0.2.1'\""))
    panel.create(small_zone(ZONE, *hidden, ds, records(ZONE, "computed.sub", "A", 60, "192.0.2.99")), inside)
    pdns.start()
    questions = ("sub\0www\0", "sub\0", "sub\0none\0", "sub\0computed\0", "www\0")
    found = expected_of(panel, *((ZONE, rel, rdtypes.A) for rel in questions), (ZONE, "sub\0", rdtypes.DS))
    assert [(str(e), len(e.rdata)) for e in found] == [
        ("www.sub.example.test. A (answered by zone sub.example.test.)", 1),
        ("sub.example.test. A (answered by zone sub.example.test.)", 0),
        ("www.example.test. A", 1),
    ], "what the zone inside does not have, computes, or leaves to the zone above is not compared"
    check(pdns, found)
    ours = replace(found[0], rdata=frozenset({bytes((192, 0, 2, 99))}))
    with pytest.raises(NotServed, match=r"answered by zone sub\.example\.test\."):
        check(pdns, [ours])


def test_a_deleted_rrset_is_expected_to_be_gone_unless_a_wildcard_may_answer(panel: Panel) -> None:
    panel.create(small_zone(ZONE), small_zone("wild.test.", records("wild.test.", "*", "A", 60, "192.0.2.1")))
    assert expected_of(panel, (ZONE, "gone\0", rdtypes.A)) == [Expectation("gone.example.test.", rdtypes.A)]
    assert expected_of(panel, ("wild.test.", "gone\0", rdtypes.A)) == []
    # At a name that exists, no wildcard answers.
    assert expected_of(panel, ("wild.test.", "www\0", rdtypes.AAAA)) == [Expectation("www.wild.test.", rdtypes.AAAA)]


@pytest.mark.parametrize("type", ["ALIAS", "LUA"])
def test_what_powerdns_computes_is_not_compared(panel: Panel, type: str) -> None:
    rdata = "www" if type == "ALIAS" else "A \"'192.0.2.1'\""
    item = records(ZONE, "computed", type, 60, rdata)
    panel.create(small_zone(ZONE, item))
    assert expected_of(panel, (ZONE, "computed\0", item.type)) == []


def test_a_zone_is_compared_once(panel: Panel) -> None:
    panel.create(small_zone(ZONE))
    soa = keys.record_key(1, keys.APEX, rdtypes.SOA)
    assert [str(e) for e in expectations(panel.store, [ZoneMark(1, ZONE, 1)], [soa])] == ["example.test. SOA"]


@pytest.mark.parametrize("length", [0, 1, 5, 8, 9, 17, 100, 1000])
def test_a_sample_is_bounded_and_evenly_spread(length: int) -> None:
    sample: EvenSample[int] = EvenSample(8)
    for item in range(length):
        sample.add(item)
    assert len(sample.items) == min(length, len(sample.items)) <= 8
    assert len(sample.items) >= min(length, 4)
    assert sample.items == sorted(set(sample.items))
    if length > 8:
        gaps = {after - before for before, after in zip(sample.items, sample.items[1:], strict=False)}
        assert len(gaps) == 1, "evenly spread"
        assert sample.items[-1] >= length / 2


@given(st.lists(st.integers(0, 40), max_size=30))
def test_a_sample_of_many_at_once_is_that_of_one_after_the_other(sizes: list[int]) -> None:
    single: EvenSample[int] = EvenSample(8)
    many: EvenSample[int] = EvenSample(8)
    offered = 0
    for size in sizes:
        items = range(offered, offered + size)
        offered += size
        many.extend(items)
        for item in items:
            single.add(item)
    assert many.items == single.items
    assert len(many.items) <= 8
    assert len(many.items) >= min(offered, 4)
