"""A check reads every row, and names exactly the zones that differ from what we wrote."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from replication.codec import keys
from replication.codec.schema import Dbi
from replication.dns import rdtypes
from replication.store import checking_records, checking_zone_list
from replication.store.check_state import (
    ALTERED,
    EMPTIED,
    FOREIGN,
    FOREIGN_RECORDS,
    LISTED_WRONG,
    NOT_LISTED,
    UNREADABLE,
    CheckState,
    DivergedZone,
)
from replication.store.checking import Check
from replication.store.checking_records import RecordsCheck, _Unknown
from replication.store.file_row import ROW_KEY
from replication.store.store import Store
from replication.store.zone_digests import COMPLETE_KEY, Running, mark_unknown, running_digest, unhashed_since
from replication.wire.segment import open_segment
from tests.replication.panel import CLUSTER, MAP_SIZE, PUBLIC_KEYS, Panel, records, small_zone, zone_digest
from tests.replication.store.test_repair_zone import Pair

ZONE = "example.test."


@pytest.fixture(params=[4, 5, 6])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    """Create a panel with some zones, and a node that has the same zones and has checked them once."""
    (tmp_path / "panel").mkdir()
    panel = Panel(tmp_path / "panel", request.param)
    panel.create(small_zone(ZONE), small_zone("before.test."), small_zone("second.test."))
    panel.create(*(small_zone(f"z{number}.test.") for number in range(30)))
    panel.change(ZONE, records(ZONE, "a.b", "TXT", 60, '"text"'))
    with Store.open(tmp_path / "node.lmdb", request.param, MAP_SIZE, cluster=CLUSTER, sync=False) as node:
        for sealed in panel.segments:
            node.apply(open_segment(sealed, PUBLIC_KEYS))
        assert diverged(node) == []
        yield Pair(panel, node)
    panel.close()


def checked(store: Store) -> Check:
    check = store.check()
    for _ in check.everything():
        pass
    assert check.is_done
    assert check.share == 1.0
    return check


def diverged(store: Store) -> list[DivergedZone]:
    return sorted(checked(store).diverged.values())


def www(pair: Pair) -> bytes:
    return keys.record_key(pair.zone_id, b"www\0", rdtypes.A)


def zone_rows(pair: Pair, zone_id: int, name: str) -> list[tuple[Dbi, bytes, bytes]]:
    return pair.node.schema.zone_rows(zone_id, name)


def delete_zone_row(pair: Pair, dbi: Dbi) -> None:
    row = next(row for row in zone_rows(pair, pair.zone_id, ZONE) if row[0] is dbi)
    pair.delete(dbi, row[1], row[2] if pair.node.schema.dbi(dbi).dupsort else b"")


def test_an_altered_record_names_its_zone(pair: Pair) -> None:
    pair.put(Dbi.RECORDS, www(pair), b"wrong")
    assert diverged(pair.node) == [DivergedZone(pair.zone_id, ZONE, ALTERED)]


def test_a_lost_and_an_added_record_name_their_zones(pair: Pair) -> None:
    pair.delete(Dbi.RECORDS, www(pair))
    second = pair.panel.zones["second.test."][0]
    pair.put(Dbi.RECORDS, keys.record_key(second, b"zzz\0", rdtypes.A), b"more")
    assert diverged(pair.node) == [
        DivergedZone(pair.zone_id, ZONE, ALTERED),
        DivergedZone(second, "second.test.", ALTERED),
    ]


def test_a_zone_that_lost_every_record_says_so(pair: Pair) -> None:
    for key, _ in list(pair.node.rows(pair.zone_id).raw()):
        pair.delete(Dbi.RECORDS, key)
    assert diverged(pair.node) == [DivergedZone(pair.zone_id, ZONE, EMPTIED)]


def test_a_value_whose_header_is_damaged_cannot_be_read(pair: Pair) -> None:
    if not pair.node.schema.has_header:
        pytest.skip("schema 4 has no header")
    table = pair.node._records
    with table.env.begin(write=True) as txn:
        value = bytearray(txn.get(www(pair), db=table.tables[Dbi.RECORDS]))
        value[17] ^= 0x01  # the flag that marks a deletion: PowerDNS treats the row as absent
        txn.put(www(pair), bytes(value), db=table.tables[Dbi.RECORDS])
    assert diverged(pair.node) == [DivergedZone(pair.zone_id, ZONE, UNREADABLE)]


@pytest.mark.parametrize("dbi", [Dbi.DOMAINS, Dbi.DOMAINS_INDEX])
def test_a_zone_that_is_not_listed_any_more_is_named(pair: Pair, dbi: Dbi) -> None:
    delete_zone_row(pair, dbi)
    (zone,) = diverged(pair.node)
    assert zone.zone_id == pair.zone_id
    assert zone.reason == (NOT_LISTED if dbi is Dbi.DOMAINS else LISTED_WRONG)


def test_a_zone_deleted_with_everything_is_named_once(pair: Pair) -> None:
    delete_zone_row(pair, Dbi.DOMAINS)
    delete_zone_row(pair, Dbi.DOMAINS_INDEX)
    for key, _ in list(pair.node.rows(pair.zone_id).raw()):
        pair.delete(Dbi.RECORDS, key)
    (zone,) = diverged(pair.node)
    assert (zone.zone_id, zone.reason) == (pair.zone_id, f"{EMPTIED}; {NOT_LISTED}")


def test_an_altered_zone_object_is_named(pair: Pair) -> None:
    (dbi, key, body), _ = zone_rows(pair, pair.zone_id, ZONE)
    pair.put(dbi, key, body[:-9] + bytes((body[-9] ^ 1,)) + body[-8:])
    (zone,) = diverged(pair.node)
    assert (zone.zone_id, zone.reason) == (pair.zone_id, LISTED_WRONG)


def test_a_foreign_zone_is_told_from_ours(pair: Pair) -> None:
    for row in zone_rows(pair, 2**31, "foreign.test."):
        pair.put(*row)
    assert diverged(pair.node) == [DivergedZone(2**31, "foreign.test.", FOREIGN)]
    pair.put(Dbi.RECORDS, keys.record_key(2**31, keys.APEX, rdtypes.SOA), b"x")
    assert diverged(pair.node) == [DivergedZone(2**31, "foreign.test.", f"{FOREIGN_RECORDS}; {FOREIGN}")]


def test_a_name_that_leads_to_another_zone_or_to_none_is_told(pair: Pair) -> None:
    pair.put(*zone_rows(pair, pair.zone_id, "alias.test.")[1])
    assert [zone[:2] for zone in diverged(pair.node)] == [(0, "alias.test.")]
    pair.put(*zone_rows(pair, 4711, "nowhere.test.")[1])
    assert [zone[:2] for zone in diverged(pair.node)] == [(0, "alias.test."), (4711, "nowhere.test.")]


def test_metadata_and_keys_are_told_as_their_zones_fault(pair: Pair) -> None:
    for index in (Dbi.METADATA_INDEX, Dbi.KEYDATA_INDEX):
        pair.put(index, *pair.node.schema.index_row(ZONE, 1))
    pair.put(Dbi.TSIG_INDEX, *pair.node.schema.index_row("key.test.", 1))
    found = diverged(pair.node)
    assert [(zone.zone_id, zone.name) for zone in found] == [(0, "key.test."), (pair.zone_id, ZONE)]
    assert found[1].reason == "metadata was added on the server; a DNSSEC key was added on the server"


def test_digests_that_nobody_knew_are_filled_in(pair: Pair) -> None:
    pair.panel.create_packed(small_zone("packed.test."), small_zone("packed2.test."))
    pair.panel.change("packed.test.", records("packed.test.", "more", "A", 60, "192.0.2.9"))
    for sealed in pair.panel.segments[-2:]:
        pair.node.apply(open_segment(sealed, PUBLIC_KEYS))
    assert diverged(pair.node) == []
    with pair.node._records.env.begin() as txn:
        for zone in ("packed.test.", "packed2.test."):
            zone_id = pair.panel.zones[zone][0]
            found = running_digest(txn, pair.node._records, zone_id)
            assert found is not None
            assert found.is_known
            assert found.encode() == zone_digest(pair.node, zone_id)


def test_an_edit_while_rows_are_read_is_counted_when_the_digest_is_filled_in(pair: Pair) -> None:
    table = pair.node._records
    with table.env.begin(write=True) as txn:
        mark_unknown(txn, table, [zone_id for zone_id, _ in pair.panel.zones.values()])
    check = pair.node.check()
    steps = check.everything()
    walk = check._of_records._some_zones
    edits = iter([pair.panel.change(ZONE, records(ZONE, "while", "A", 60, "192.0.2.9"))])

    def walk_and_edit(txn: object, first: int):  # type: ignore[no-untyped-def]
        after = yield from walk(txn, first)
        for sealed in edits:
            pair.node.apply(open_segment(sealed, PUBLIC_KEYS))
        return after

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RecordsCheck, "_some_zones", lambda self, txn, first: walk_and_edit(txn, first))
        for _ in steps:
            pass
    assert diverged(pair.node) == []
    with table.env.begin() as txn:
        found = running_digest(txn, table, pair.zone_id)
    assert found is not None
    assert found.encode() == zone_digest(pair.node, pair.zone_id)


def test_a_snapshot_installed_while_rows_are_read_forbids_to_fill_in_what_was_read(pair: Pair) -> None:
    table = pair.node._records
    with table.env.begin(write=True) as txn:
        mark_unknown(txn, table, [pair.zone_id])
    check = RecordsCheck(CheckState(pair.node.schema, pair.node._main, table, pair.node._lock, pair.node._opener))
    with table.env.begin() as txn:
        mark = unhashed_since(txn, table)
        for _ in check.zone(txn, pair.zone_id):
            pass
    check._unknown.append(_Unknown(pair.zone_id, 12345, 0))
    with table.env.begin(write=True) as txn:
        mark_unknown(txn, table, [pair.zone_id])
    check._fill(mark)
    with table.env.begin() as txn:
        found = running_digest(txn, table, pair.zone_id)
    assert found is not None
    assert not found.is_known


def test_the_zones_of_an_older_release_are_adopted(pair: Pair) -> None:
    table = pair.node._records
    with table.env.begin(write=True) as txn:
        txn.drop(table.zones, delete=False)
        txn.delete(COMPLETE_KEY, db=table.own)
    assert diverged(pair.node) == []
    for row in zone_rows(pair, 2**31, "foreign.test."):
        pair.put(*row)
    assert [zone.reason for zone in diverged(pair.node)] == [FOREIGN]


@pytest.mark.parametrize("which", ["_main", "_records"])
def test_a_digest_of_a_file_that_drifted_is_put_right(pair: Pair, which: str) -> None:
    expected = pair.node.digests()
    database = getattr(pair.node, which)
    with database.env.begin(write=True) as txn:
        row = database.row(txn)
        txn.put(ROW_KEY, replace(row, digest=row.digest + 1).encode(), db=database.own)
    assert pair.node.digests() != expected
    assert diverged(pair.node) == []
    assert pair.node.digests() == expected


def test_a_digest_is_left_alone_while_anything_else_is_wrong(pair: Pair) -> None:
    database = pair.node._records
    with database.env.begin(write=True) as txn:
        row = database.row(txn)
        assert row is not None
        txn.put(ROW_KEY, replace(row, digest=row.digest + 1).encode(), db=database.own)
    drifted = pair.node.digests()
    pair.put(Dbi.RECORDS, www(pair), b"wrong")
    assert len(diverged(pair.node)) == 1
    assert pair.node.digests() == drifted


def test_a_foreign_commit_is_covered_by_a_check_that_began_after_it(pair: Pair) -> None:
    pair.put(Dbi.RECORDS, www(pair), b"wrong")
    assert pair.node.has_foreign_commit()
    steps = pair.node.check().everything()
    next(steps)
    pair.put(Dbi.RECORDS, www(pair), b"again")
    for _ in steps:
        pass
    assert pair.node.has_foreign_commit()
    diverged(pair.node)
    assert not pair.node.has_foreign_commit()


def test_some_zones_alone_are_looked_at_with_the_same_eyes(pair: Pair) -> None:
    second = pair.panel.zones["second.test."][0]
    pair.put(Dbi.RECORDS, www(pair), b"wrong")
    delete_zone_row(pair, Dbi.DOMAINS)
    check = pair.node.check()
    for _ in check.zones([pair.zone_id, second, 999]):
        pass
    assert check.is_done
    assert {zone_id: zone.reason for zone_id, zone in check.diverged.items()} == {
        pair.zone_id: f"{ALTERED}; {NOT_LISTED}"
    }


def test_a_check_waits_for_a_segment_that_is_half_applied(pair: Pair) -> None:
    database = pair.node._records
    with database.env.begin(write=True) as txn:
        row = database.row(txn)
        assert row is not None
        txn.put(ROW_KEY, replace(row, begun=row.begun + 1).encode(), db=database.own)
    check = pair.node.check()
    for _ in check.everything():
        pass
    assert not check.is_done
    assert check.diverged == {}


def test_large_files_are_read_in_many_short_transactions(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in (checking_records, checking_zone_list):
        monkeypatch.setattr(part, "ROWS_AT_ONCE", 7)
        monkeypatch.setattr(part, "ZONES_PER_STEP", 2)
    monkeypatch.setattr(checking_records, "ROWS_PER_STEP", 3)
    begun: list[int] = []
    walk: Callable[..., object] = RecordsCheck._some_zones
    monkeypatch.setattr(
        RecordsCheck, "_some_zones", lambda self, txn, first: begun.append(first) or walk(self, txn, first)
    )
    pair.put(Dbi.RECORDS, www(pair), b"wrong")
    last = pair.panel.zones["z29.test."][0]
    pair.put(Dbi.RECORDS, keys.record_key(last, b"www\0", rdtypes.A), b"wrong")
    pair.put(*zone_rows(pair, 4711, "nowhere.test.")[1])
    assert [zone.zone_id for zone in diverged(pair.node)] == [pair.zone_id, last, 4711]
    assert len(begun) > 10


def test_running_totals_of_zones_add_up_to_the_digest_of_the_file(pair: Pair) -> None:
    with pair.node._records.env.begin() as txn, txn.cursor(db=pair.node._records.zones) as cursor:
        total = sum(int.from_bytes(value, "big") for value in cursor.iternext(keys=False))
    assert Running(total).encode() == pair.node.digests()[1]
