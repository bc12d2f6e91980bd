"""The running digests of zones equal the sums of the zones' rows at every commit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from replication.codec import keys
from replication.errors import BadBytes
from replication.store.store import Store
from replication.store.zone_digests import (
    Changes,
    Running,
    decode_running,
    is_complete,
    mark_unknown,
    put_digest,
    running_digest,
    unhashed_since,
)
from replication.wire.operations import digest_bytes
from tests.replication.panel import Panel, records, small_zone, zone_digest

ZONE = "example.test."


@pytest.fixture(params=[4, 5, 6])
def panel(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Panel]:
    (tmp_path / "panel").mkdir()
    panel = Panel(tmp_path / "panel", request.param)
    yield panel
    panel.close()


def running(store: Store, zone_id: int) -> Running | None:
    with store._records.env.begin() as txn:
        return running_digest(txn, store._records, zone_id)


def known(store: Store) -> dict[int, bytes]:
    """Return the digest of every zone in the table, empty if it is unknown."""
    with store._records.env.begin() as txn, txn.cursor(db=store._records.zones) as cursor:
        return {int.from_bytes(key, "big"): bytes(value) for key, value in cursor}


def test_every_value_is_read_as_it_was_written() -> None:
    for value in (Running(), Running(5), Running(2**128 - 1), Running(is_known=False), Running(7, is_known=False)):
        found = decode_running(value.encode())
        assert (found.total, found.is_known) == (value.total, value.is_known)
    assert Running(is_known=False).encode() == b""
    assert Running(2**128 + 3).total == 3


@pytest.mark.parametrize("value", [b"\1", bytes(15), b"\2" + bytes(16), bytes(18)])
def test_bytes_that_are_no_digest_are_refused(value: bytes) -> None:
    with pytest.raises(BadBytes):
        decode_running(value)


def test_after_any_edit_the_digest_of_each_zone_is_that_of_its_rows(panel: Panel) -> None:
    panel.create(small_zone(ZONE), small_zone("second.test."))
    panel.change(ZONE, records(ZONE, "a.b.c", "AAAA", 60, "2001:db8::1"))
    panel.change(ZONE, ("www.example.test.", 1), records(ZONE, "sub", "NS", 60, "ns.sub"))
    panel.create(*(small_zone(f"z{number}.test.") for number in range(40)))
    assert known(panel.store) == {zone_id: zone_digest(panel.store, zone_id) for zone_id, _ in panel.zones.values()}


def test_a_deleted_zone_has_no_digest_any_more(panel: Panel) -> None:
    panel.create(small_zone(ZONE), small_zone("second.test."))
    panel.delete(ZONE)
    assert known(panel.store) == {2: zone_digest(panel.store, 2)}


def test_rows_packed_beforehand_leave_the_digest_open_and_edits_add_to_what_is_unknown(panel: Panel) -> None:
    panel.create_packed(small_zone(ZONE), small_zone("second.test."))
    assert known(panel.store) == {1: b"", 2: b""}
    before = int.from_bytes(zone_digest(panel.store, 1), "big")
    panel.change(ZONE, records(ZONE, "more", "A", 60, "192.0.2.7"))
    after = int.from_bytes(zone_digest(panel.store, 1), "big")
    found = running(panel.store, 1)
    assert found is not None
    assert not found.is_known
    assert digest_bytes(before + found.total) == digest_bytes(after)


def test_a_new_file_knows_all_of_its_zones_and_an_older_one_does_not(panel: Panel) -> None:
    table = panel.store._records
    with table.env.begin(write=True) as txn:
        assert is_complete(txn, table)
        txn.delete(b"complete", db=table.own)
    panel.create(small_zone(ZONE))
    found = running(panel.store, 1)
    assert found is not None
    assert not found.is_known  # the rows that were there before are unknown


def test_marking_zones_as_unknown_says_so_to_whoever_is_reading_them(panel: Panel) -> None:
    panel.create(small_zone(ZONE), small_zone("second.test."))
    table = panel.store._records
    with table.env.begin(write=True) as txn:
        before = unhashed_since(txn, table)
        mark_unknown(txn, table, [2, 1])
        assert unhashed_since(txn, table) != before
    assert known(panel.store) == {1: b"", 2: b""}
    with table.env.begin(write=True) as txn:
        put_digest(txn, table, 2, None)
        put_digest(txn, table, 1, Running(9))
    assert known(panel.store) == {1: digest_bytes(9)}
    with table.env.begin(write=True) as txn:
        put_digest(txn, table, 1, None)
    assert known(panel.store) == {}


def test_a_deletion_that_met_other_rows_than_were_written_leaves_its_trace(panel: Panel) -> None:
    """Otherwise the file's digest would be wrong, and no zone would show the cause."""
    panel.create(small_zone(ZONE))
    table = panel.store._records
    with table.env.begin(write=True) as txn:
        txn.delete(keys.record_key(1, b"www\0", 1), db=table.tables[0])
    changes = Changes(table)
    changes.add(keys.zone_prefix(1), -5)
    changes.remove(keys.zone_prefix(1))
    with table.env.begin() as txn:
        [(zone, value, _)], unhashed = changes.rows(txn)
    assert (zone, unhashed) == (keys.zone_prefix(1), [])
    assert value is not None
