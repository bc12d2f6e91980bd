"""The names to query after a push, and the answers of a PowerDNS that cannot read a row."""

import pytest

from replication import stats, verify_names
from replication.codec import keys
from replication.dns import rdtypes
from replication.errors import NotServed
from replication.verify_names import ChangedNames, prove_names
from tests.ports import free_port
from tests.replication.agent.servers import Pdns
from tests.replication.panel import Panel, records, small_zone
from tests.replication.test_verify import served as served

ZONE = "example.test."
CAA = 257


def key(owner: str, type: int, zone_id: int = 1) -> bytes:
    return keys.record_key(zone_id, keys.relative_key(f"{owner}.{ZONE}" if owner else ZONE, ZONE), type)


def owners(found: ChangedNames, most_plain: int = verify_names.MOST_PLAIN) -> list[tuple[str, int]]:
    decoded = (keys.decode_record_key(each) for each in found.selection(most_plain))
    return [(keys.name_from_relative_key(rel, ZONE).removesuffix(ZONE).rstrip("."), type) for _, rel, type in decoded]


def test_each_name_is_asked_for_once() -> None:
    found = ChangedNames()
    found.extend([key("", rdtypes.SOA), key("a", rdtypes.A), key("a", CAA), key("a", CAA + 1), key("b", 1)])
    found.extend([key("b", rdtypes.TXT), key("c", rdtypes.NSEC3)])
    assert sorted(owners(found)) == [("", rdtypes.SOA), ("a", CAA), ("b", rdtypes.TXT)]


def test_many_plain_names_are_left_to_the_sample_and_of_others_all_are_asked_for() -> None:
    found, more = ChangedNames(), ChangedNames()
    found.extend([key(f"h{number:05}", rdtypes.A) for number in range(3_000)])
    more.extend([key(f"c{number:05}", CAA) for number in range(500)])
    found.add(more)
    assert len(owners(found, 3_000)) == 3_500
    assert {type for _, type in owners(found, 2_999)} == {CAA}
    assert len(owners(found, 2_999)) == 500


def test_more_plain_names_than_are_kept_are_left_to_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_names, "MOST_PLAIN", 100)
    found = ChangedNames()
    found.extend([key(f"h{number:05}", rdtypes.A) for number in range(1_000)])
    assert owners(found, 1_000) == []


def all_keys(panel: Panel) -> list[bytes]:
    return [key for key, _ in panel.store.rows(1).raw()]


def prove(panel: Panel, pdns: Pdns, *, known: frozenset[str] = frozenset()) -> None:
    prove_names(panel.store, all_keys(panel), "127.0.0.1", pdns.port, seconds=2, known=known)


def test_one_unreadable_row_among_many_is_found_by_its_name(served: tuple[Panel, Pdns]) -> None:
    # The fault was hidden in a zone of 155 RRsets: 64 of them were queried, and `www` was SERVFAIL "on 4/4 nodes".
    panel, pdns = served
    hosts = [records(ZONE, f"h{number}", "A", 60, "192.0.2.9") for number in range(150)]
    panel.create(small_zone(ZONE, *hosts, records(ZONE, "www", "CERT", 60, "0 0 0 AQID")))
    pdns.start()
    with pytest.raises(NotServed) as raised:
        prove(panel, pdns)
    assert (raised.value.question.split(" ")[0], raised.value.found) == ("www.example.test.", "SERVFAIL")


def test_rows_that_are_computed_signed_or_below_a_delegation_are_no_trouble(served: tuple[Panel, Pdns]) -> None:
    panel, pdns = served
    panel.create(
        small_zone(
            ZONE,
            records(ZONE, "computed", "LUA", 60, 'A "nonsense("'),
            records(ZONE, "other", "ALIAS", 60, "nowhere.invalid."),
            records(ZONE, "sub", "NS", 60, "ns.sub"),
            records(ZONE, "ns.sub", "A", 60, "192.0.2.9"),
            records(ZONE, "*.wild", "TXT", 60, '"x"'),
            records(ZONE, "a.b.c", "SRV", 60, "1 2 443 www"),
            records(ZONE, "odd\\032name", "A", 60, "192.0.2.10"),
        )
    )
    pdns.start()
    prove(panel, pdns)


def test_names_that_are_known_to_be_answered_are_not_asked_for(served: tuple[Panel, Pdns]) -> None:
    panel, pdns = served
    panel.create(small_zone(ZONE))
    pdns.start()
    before = stats.OWN_QUESTIONS.value
    prove(panel, pdns, known=frozenset({ZONE, "ns1.example.test."}))
    assert stats.OWN_QUESTIONS.value - before == 1


def test_silence_is_an_error_within_its_time(panel: Panel) -> None:
    panel.create(small_zone(ZONE))
    with pytest.raises(NotServed, match="none"):
        prove_names(panel.store, all_keys(panel), "127.0.0.1", free_port(), seconds=0.3)


def test_a_zone_that_is_not_served_is_not_asked_for(panel: Panel) -> None:
    panel.create(small_zone(ZONE))
    prove_names(panel.store, [key("www", rdtypes.A, zone_id=9)], "127.0.0.1", free_port(), seconds=0.3)
