"""The proof of a zone's names by a transfer from a real PowerDNS, with readable and unreadable rows."""

import random
import re
from collections.abc import Iterator

import pytest

from replication import stats, verify_names
from replication.codec import keys, values
from replication.codec.schema import Dbi
from replication.dns import names, rdata, rdtypes
from replication.errors import NotServed
from replication.verify_names import prove_names
from replication.verify_transfer import Transfers
from replication.wire.operations import Op, OpKind, ZoneMark
from tests.ports import free_port
from tests.replication.agent.servers import Pdns, pdns_of_panel
from tests.replication.panel import Panel, csk, records, small_zone

ZONE = "example.test."
HOSTS = [records(ZONE, f"h{number}", "A", 60, "192.0.2.9") for number in range(150)]
GOOD = {
    rdtypes.A: "192.0.2.1",
    rdtypes.AAAA: "2001:db8::1",
    rdtypes.CNAME: "a.b.test.",
    rdtypes.MX: "10 mx.b.test.",
    rdtypes.NS: "ns.b.test.",
    rdtypes.PTR: "p.b.test.",
    rdtypes.SRV: "1 2 443 s.b.test.",
    rdtypes.TXT: '"hello"',
    rdtypes.CAA: '0 issue "x"',
    rdtypes.CERT: "1 2 3 AQID",
}
UNREADABLE = records(ZONE, "cert", "CERT", 60, "0 0 0 AQID")


@pytest.fixture
def served() -> Iterator[tuple[Panel, Pdns]]:
    """Run a canary's pdns_server, which serves a panel's own store and allows transfers from its own machine."""
    with pdns_of_panel(caches=False) as both:
        yield both


def is_transferred(port: int, zone: str = ZONE) -> bool:
    with Transfers("127.0.0.1", port, seconds=2) as transfers:
        return transfers.is_complete(names.to_wire(zone))


def prove(panel: Panel, pdns: Pdns, zone_id: int = 1) -> int:
    """Prove all names of a zone. Return the number of questions that were needed."""
    before = stats.OWN_QUESTIONS.value
    found = [key for key, _ in panel.store.rows(zone_id).raw()]
    prove_names(panel.store, found, "127.0.0.1", pdns.port, seconds=2, may_transfer=True)
    return stats.OWN_QUESTIONS.value - before


def put_unchecked(panel: Panel, rows: list[tuple[str, int, bytes]]) -> list[bytes]:
    """Put a row with this unchecked rdata at `odd` in each zone. Return the keys of the rows."""
    found, ops, marks = [], [], []
    for zone, type, wire in rows:
        zone_id, _ = panel.zones[zone]
        found.append(keys.record_key(zone_id, keys.relative_key(f"odd.{zone}", zone), type))
        ops.append(Op(OpKind.PUT, Dbi.RECORDS, found[-1], values.encode_rrset([wire], 60, auth=True)))
        marks.append(ZoneMark(zone_id, zone, 1))
    panel.seal(ops, marks)
    return found


def broken_rows() -> Iterator[tuple[int, bytes]]:
    chance = random.Random(4)
    for type, text in GOOD.items():
        good = rdata.to_wire(type, text)
        yield from ((type, wire) for wire in (good[:-1], good[: len(good) // 2], good + b"\0", good + b"abc"))
        yield from ((type, wire) for wire in (b"", b"\0", b"\x09", b"\xff\xff\xff", b"\xc0", b"\xc0\x0c", bytes(300)))
        yield from ((type, chance.randbytes(chance.randrange(1, 24))) for _ in range(8))


def test_one_transfer_proves_all_names_of_a_zone(served: tuple[Panel, Pdns]) -> None:
    panel, pdns = served
    panel.create(small_zone(ZONE, *HOSTS))
    pdns.start()
    assert is_transferred(pdns.port)
    assert prove(panel, pdns) == 1


def test_several_zones_come_over_one_connection(served: tuple[Panel, Pdns]) -> None:
    panel, pdns = served
    others = [
        small_zone(f"z{n}.test.", *(records(f"z{n}.test.", f"h{m}", "A", 60, "192.0.2.9") for m in range(20)))
        for n in range(30)
    ]
    panel.create(*others)
    pdns.start()
    found = [key for zone_id in range(1, 31) for key, _ in panel.store.rows(zone_id).raw()]
    before = stats.OWN_QUESTIONS.value
    prove_names(panel.store, found, "127.0.0.1", pdns.port, seconds=2, may_transfer=True)
    assert stats.OWN_QUESTIONS.value - before == 30


@pytest.mark.parametrize("kind", ["signed", "computed"])
def test_zones_that_powerdns_signs_or_computes_are_not_transferred(served: tuple[Panel, Pdns], kind: str) -> None:
    panel, pdns = served
    computed = [records(ZONE, "c", "ALIAS", 60, "a.test.")] if kind == "computed" else []
    panel.create(small_zone(ZONE, *HOSTS, *computed))
    if kind == "signed":
        panel.attach(ZONE, keys_=[csk(ZONE)])
    pdns.start()
    assert prove(panel, pdns) >= len(HOSTS)


def test_rows_of_rare_types_are_asked_for_beside_a_transfer(served: tuple[Panel, Pdns]) -> None:
    panel, pdns = served
    panel.create(small_zone(ZONE, *HOSTS, records(ZONE, "other", "CAA", 60, '0 issue "ca.test"')))
    pdns.start()
    assert prove(panel, pdns) == 2


def test_a_zone_of_many_messages_is_transferred_to_its_end(served: tuple[Panel, Pdns]) -> None:
    panel, pdns = served
    panel.create(small_zone(ZONE, *(records(ZONE, f"t{n}", "TXT", 60, f'"{"x" * 250}"') for n in range(1_000))))
    pdns.start()
    assert prove(panel, pdns) == 1


@pytest.mark.parametrize("type", [rdtypes.A, rdtypes.CNAME, rdtypes.TXT], ids=rdata.type_to_text)
def test_an_unreadable_row_is_found_by_its_name(served: tuple[Panel, Pdns], type: int) -> None:
    panel, pdns = served
    panel.create(small_zone(ZONE, *HOSTS))
    put_unchecked(panel, [(ZONE, type, b"\xff\xff\xff")])
    pdns.start()
    assert not is_transferred(pdns.port)
    with pytest.raises(NotServed) as raised:
        prove(panel, pdns)
    assert (raised.value.question, raised.value.found) == (f"odd.{ZONE} {rdata.type_to_text(type)}", "SERVFAIL")


def test_a_zone_is_transferred_exactly_if_each_of_its_names_is_answered(served: tuple[Panel, Pdns]) -> None:
    """PowerDNS can read about a third of 190 broken rows of frequent and rare types."""
    panel, pdns = served
    rows = [(f"z{number}.test.", type, wire) for number, (type, wire) in enumerate(broken_rows())]
    panel.create(*(small_zone(zone) for zone, _, _ in rows))
    found = put_unchecked(panel, rows)
    pdns.start()
    outcomes = set()
    for (zone, type, wire), key in zip(rows, found, strict=True):
        try:
            prove_names(panel.store, [key], "127.0.0.1", pdns.port, seconds=2)
            is_answered = True
        except NotServed as exc:
            is_answered = exc.found != "SERVFAIL"
        assert is_transferred(pdns.port, zone) == is_answered, (zone, type, wire)
        outcomes.add((type, is_answered))
    assert {type for type, _ in outcomes} == {type for type, is_answered in outcomes if not is_answered}
    assert len({type for type, is_answered in outcomes if is_answered}) > 5


def test_an_old_unreadable_row_does_not_keep_other_names_from_their_proof(served: tuple[Panel, Pdns]) -> None:
    panel, pdns = served
    panel.create(small_zone(ZONE, *HOSTS))
    found = [key for key, _ in panel.store.rows(1).raw()]
    put_unchecked(panel, [(ZONE, rdtypes.A, b"\x09")])
    pdns.start()
    prove_names(panel.store, found, "127.0.0.1", pdns.port, seconds=2, may_transfer=True)


def test_few_names_of_a_large_zone_are_asked_for(served: tuple[Panel, Pdns], monkeypatch: pytest.MonkeyPatch) -> None:
    panel, pdns = served
    monkeypatch.setattr(verify_names, "MOST_ROWS_PER_NAME", 1)
    panel.create(small_zone(ZONE, *HOSTS))
    found = [key for key, _ in panel.store.rows(1).raw()]
    pdns.start()
    before = stats.OWN_QUESTIONS.value
    prove_names(panel.store, found[:120], "127.0.0.1", pdns.port, seconds=2, may_transfer=True)
    assert stats.OWN_QUESTIONS.value - before >= 120


def test_each_name_is_asked_for_where_transfers_are_refused(served: tuple[Panel, Pdns]) -> None:
    panel, pdns = served
    panel.create(small_zone(ZONE, *HOSTS, UNREADABLE))
    conf = pdns.directory / "pdns.conf"
    conf.write_text(re.sub("(?m)^allow-axfr-ips=.*$", "allow-axfr-ips=192.0.2.1", conf.read_text()))
    pdns.start()
    assert not is_transferred(pdns.port)
    with pytest.raises(NotServed, match=r"cert\.example\.test\. CERT"):
        prove(panel, pdns)


def test_a_transfer_without_a_server_fails() -> None:
    assert not is_transferred(free_port())
