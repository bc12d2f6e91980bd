"""A repair makes one zone equal to the panel's zone, and leaves everything else unchanged."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import pytest

from replication.codec import keys
from replication.codec.schema import Dbi
from replication.dns import rdtypes
from replication.errors import BadSegment, Gap, WrongCluster
from replication.store.file_row import ROW_KEY
from replication.store.own_commits import newest_commit, note_commit
from replication.store.repair_zone import Repaired, repair_header, seal_repair
from replication.store.store import Store
from replication.store.zone_digests import Running, put_digest, running_digest
from replication.wire.operations import Op, OpKind, ZoneMark
from replication.wire.position import Position
from replication.wire.segment import SegmentHeader, open_segment, seal
from tests.replication.panel import (
    CLUSTER,
    EPOCH,
    MAP_SIZE,
    PUBLIC_KEYS,
    SIGNING_KEY,
    TIME_NS,
    Panel,
    records,
    small_zone,
)

ZONE = "example.test."


@dataclass
class Pair:
    """A panel with three zones, and a node with the same zones."""

    panel: Panel
    node: Store

    @property
    def zone_id(self) -> int:
        return self.panel.zones[ZONE][0]

    def position(self) -> Position:
        return Position(EPOCH, self.panel.sequence)

    def sealed(self, mark: ZoneMark, *, position: Position | None = None) -> bytes:
        return seal_repair(
            repair_header(
                schema=self.node.schema,
                cluster=CLUSTER,
                position=position or self.position(),
                time_ns=TIME_NS,
                digests=self.panel.store.digests(),
            ),
            mark=mark,
            records=self.panel.store.rows(mark.zone_id).raw(),
            key=SIGNING_KEY,
        )

    def repair(self, zone: str = ZONE, zone_id: int | None = None, *, gone: bool = False) -> Repaired:
        mark = ZoneMark(zone_id or self.panel.zones[zone][0], zone, None if gone else self.panel.serial(zone))
        return self.node.repair(open_segment(self.sealed(mark), PUBLIC_KEYS))

    def put(self, dbi: Dbi, key: bytes, body: bytes) -> None:
        """Write a row as another program would."""
        database = self.node._records if dbi is Dbi.RECORDS else self.node._main
        with database.env.begin(write=True) as txn:
            value = body if self.node.schema.dbi(dbi).dupsort else self.node.schema.wrap(body, 99, 99)
            txn.put(key, value, db=database.tables[dbi])

    def delete(self, dbi: Dbi, key: bytes, body: bytes = b"") -> None:
        database = self.node._records if dbi is Dbi.RECORDS else self.node._main
        with database.env.begin(write=True) as txn:
            assert txn.delete(key, body, db=database.tables[dbi])

    def is_equal(self) -> bool:
        """Return True if all rows of PowerDNS's tables are equal, apart from their headers."""
        return self.contents(self.node) == self.contents(self.panel.store)

    def contents(self, store: Store) -> dict[tuple[Dbi, bytes], list[bytes]]:
        found: dict[tuple[Dbi, bytes], list[bytes]] = {}
        for dbi in store.schema.all_dbis:
            database = store._records if dbi is Dbi.RECORDS else store._main
            with database.env.begin() as txn, txn.cursor(db=database.tables[dbi]) as cursor:
                for key, value in cursor:
                    plain = bytes(value) if store.schema.dbi(dbi).dupsort else store.schema.unwrap(bytes(value))
                    found.setdefault((dbi, bytes(key)), []).append(plain)
        found["digests", b""] = [*store.digests()]  # type: ignore[index]
        return found


@pytest.fixture(params=[4, 5, 6])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    (tmp_path / "panel").mkdir()
    panel = Panel(tmp_path / "panel", request.param)
    panel.create(small_zone(ZONE), small_zone("before.test."), small_zone("second.test."))
    panel.change(ZONE, records(ZONE, "a.b", "TXT", 60, '"text"'))
    with Store.open(tmp_path / "node.lmdb", request.param, MAP_SIZE, cluster=CLUSTER, sync=False) as node:
        for sealed in panel.segments:
            node.apply(open_segment(sealed, PUBLIC_KEYS))
        yield Pair(panel, node)
    panel.close()


def key_of(pair: Pair, name: bytes, type: int) -> bytes:
    return keys.record_key(pair.zone_id, name, type)


def test_a_zone_that_is_as_it_should_be_is_left_alone(pair: Pair) -> None:
    repaired = pair.repair()
    assert (repaired.rows, repaired.differences, repaired.keys) == (0, (), ())
    assert not pair.node.has_foreign_commit()
    assert pair.is_equal()


def test_altered_missing_and_added_records_are_told_and_put_right(pair: Pair) -> None:
    pair.put(Dbi.RECORDS, key_of(pair, b"www\0", rdtypes.A), b"\4\0\xc0\0\2\x63\x2c\1\0\0\1\0\0")
    pair.delete(Dbi.RECORDS, key_of(pair, b"ns1\0", rdtypes.A))
    pair.put(Dbi.RECORDS, key_of(pair, b"zzz\0", rdtypes.A), b"\4\0\xc0\0\2\x63\x2c\1\0\0\1\0\0")
    repaired = pair.repair()
    assert repaired.differences == (
        "ns1.example.test. A was missing",
        "www.example.test. A was not what the panel wrote",
        "zzz.example.test. A was there, though nobody published it",
    )
    assert repaired.rows == 3
    assert set(repaired.keys) == {key_of(pair, name, rdtypes.A) for name in (b"ns1\0", b"www\0", b"zzz\0")}
    assert pair.is_equal()


def test_other_zones_rows_are_not_touched(pair: Pair) -> None:
    other = keys.record_key(pair.panel.zones["second.test."][0], b"www\0", rdtypes.A)
    pair.put(Dbi.RECORDS, other, b"wrong")
    pair.put(Dbi.RECORDS, key_of(pair, b"www\0", rdtypes.A), b"wrong")
    assert pair.repair().rows == 1
    assert not pair.is_equal()
    assert pair.repair("second.test.").rows == 1
    assert pair.is_equal()


def test_a_zone_that_was_deleted_by_hand_comes_back(pair: Pair) -> None:
    for dbi, key, body in pair.node.schema.zone_rows(pair.zone_id, ZONE):
        pair.delete(dbi, key, body if pair.node.schema.dbi(dbi).dupsort else b"")
    for key, _ in list(pair.node.rows(pair.zone_id).raw()):
        pair.delete(Dbi.RECORDS, key)
    repaired = pair.repair()
    assert "its entry in the list of zones was missing or altered" in repaired.differences
    assert pair.is_equal()


def test_a_foreign_zone_is_removed_with_its_metadata_and_keys(pair: Pair) -> None:
    foreign = 2**31 if pair.node.schema.number == 4 else 77
    for dbi, key, body in pair.node.schema.zone_rows(foreign, "foreign.test."):
        pair.put(dbi, key, body)
    for dbi in (Dbi.METADATA, Dbi.KEYDATA):
        pair.put(dbi, pair.node.schema.row_id_key(5), b"an object")
        key, body = pair.node.schema.index_row("foreign.test.", 5)
        pair.put(Dbi(dbi + 1), key, body)
    pair.put(Dbi.RECORDS, keys.record_key(foreign, keys.APEX, rdtypes.SOA), b"wrong")
    repaired = pair.repair("foreign.test.", foreign, gone=True)
    assert {"metadata had been added", "a DNSSEC key had been added", "foreign.test. led to it"} <= set(
        repaired.differences
    )
    assert pair.is_equal()


def test_metadata_of_a_zone_of_ours_goes_and_the_zone_stays(pair: Pair) -> None:
    pair.put(Dbi.METADATA, pair.node.schema.row_id_key(5), b"an object")
    key, body = pair.node.schema.index_row(ZONE, 5)
    pair.put(Dbi.METADATA_INDEX, key, body)
    assert pair.repair().differences == ("metadata had been added",)
    assert pair.is_equal()


def test_a_zone_made_anew_by_hand_under_our_name_goes_and_ours_comes_back(pair: Pair) -> None:
    for dbi, key, body in pair.node.schema.zone_rows(pair.zone_id, ZONE):
        pair.delete(dbi, key, body if pair.node.schema.dbi(dbi).dupsort else b"")
    for dbi, key, body in pair.node.schema.zone_rows(2**31, ZONE):
        pair.put(dbi, key, body)
    pair.repair(ZONE, 2**31, gone=True)
    assert pair.node.zone_id(ZONE) is None
    pair.repair()
    assert pair.node.zone_id(ZONE) == pair.zone_id
    assert pair.is_equal()


def test_the_digest_goes_right_again_where_a_segment_met_altered_rows(pair: Pair) -> None:
    """A large segment commits in parts. Each part's digest includes the rows that were really found."""
    table = pair.node._records
    with table.env.begin(write=True) as txn:
        row = table.row(txn)
        assert row is not None
        running = running_digest(txn, table, pair.zone_id)
        assert running is not None
        put_digest(txn, table, pair.zone_id, Running(running.total + 5))
        txn.put(ROW_KEY, replace(row, digest=(row.digest + 5) % 2**128).encode(), db=table.own)
    assert pair.node.digests() != pair.panel.store.digests()
    assert pair.repair().rows == 0
    assert pair.is_equal()


def test_many_differences_are_written_in_bounded_transactions(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replication.store.repair_zone.LONGEST_CHANGE", 3)
    monkeypatch.setattr("replication.store.repair_zone._ROWS_AT_ONCE", 2)
    for number in range(20):
        pair.put(Dbi.RECORDS, key_of(pair, b"w%02d\0" % number, rdtypes.A), b"wrong")
    assert pair.repair().rows == 20
    assert pair.is_equal()


def test_repeating_does_no_harm(pair: Pair) -> None:
    pair.put(Dbi.RECORDS, key_of(pair, b"www\0", rdtypes.A), b"wrong")
    assert pair.repair().rows == 1
    assert pair.repair().rows == 0


def test_the_commits_of_a_repair_are_ours(pair: Pair) -> None:
    pair.put(Dbi.RECORDS, key_of(pair, b"www\0", rdtypes.A), b"wrong")
    table = pair.node._records
    with table.env.begin(write=True) as txn:
        note_commit(txn, table, checked=newest_commit(table))
    pair.repair()
    assert not pair.node.has_foreign_commit()


def test_a_repair_for_another_position_is_refused_with_ours(pair: Pair) -> None:
    mark = ZoneMark(pair.zone_id, ZONE, 1)
    sealed = pair.sealed(mark, position=Position(EPOCH, pair.panel.sequence - 1))
    with pytest.raises(Gap) as refused:
        pair.node.repair(open_segment(sealed, PUBLIC_KEYS))
    assert refused.value.have == pair.position()


def test_a_repair_of_another_cluster_is_refused(pair: Pair, tmp_path: Path) -> None:
    with (
        Store.open(tmp_path / "other.lmdb", pair.node.schema.number, MAP_SIZE, cluster=uuid4()) as other,
        pytest.raises(WrongCluster),
    ):
        other.repair(open_segment(pair.sealed(ZoneMark(pair.zone_id, ZONE, 1)), PUBLIC_KEYS))


def test_a_repair_is_no_push_and_a_push_no_repair(pair: Pair) -> None:
    with pytest.raises(BadSegment, match="moves nothing"):
        pair.node.apply(open_segment(pair.sealed(ZoneMark(pair.zone_id, ZONE, 1)), PUBLIC_KEYS))
    with pytest.raises(BadSegment, match="does not repair"):
        pair.node.repair(open_segment(pair.panel.segments[-1], PUBLIC_KEYS))


def _sealed_ops(pair: Pair, ops: list[Op], zone_id: int) -> bytes:
    return seal(
        SegmentHeader(
            schema=pair.node.schema.number,
            cluster=CLUSTER,
            epoch=EPOCH,
            first=2,
            last=2,
            time_ns=TIME_NS,
            digest_main=bytes(16),
            digest_records=bytes(16),
        ),
        marks=[ZoneMark(zone_id, ZONE, 1)],
        ops=ops,
        key=SIGNING_KEY,
        is_repair=True,
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda zone_id: (zone_id, [Op(OpKind.PUT, Dbi.RECORDS, keys.record_key(zone_id + 1, keys.APEX, 1), b"x")]),
        lambda zone_id: (zone_id, [Op(OpKind.DELETE_PREFIX, Dbi.RECORDS, keys.zone_prefix(zone_id + 1))]),
        lambda zone_id: (zone_id, [Op(OpKind.DELETE, Dbi.RECORDS, keys.record_key(zone_id, keys.APEX, 1))]),
        lambda _: (keys.MAX_ZONE_ID, []),
        lambda _: (keys.GUARD_ZONE_ID, []),
    ],
)
def test_a_repair_touches_its_own_zone_alone(pair: Pair, make: Callable[[int], tuple[int, list[Op]]]) -> None:
    before = pair.contents(pair.node)
    zone_id, ops = make(pair.zone_id)
    with pytest.raises(BadSegment):
        pair.node.repair(open_segment(_sealed_ops(pair, ops, zone_id), PUBLIC_KEYS))
    assert pair.contents(pair.node) == before


def test_a_repair_has_one_zone_and_one_sequence(pair: Pair) -> None:
    for first, marks in ((1, [ZoneMark(1, ZONE, 1)]), (2, [])):
        with pytest.raises(BadSegment):
            seal(
                SegmentHeader(
                    schema=4,
                    cluster=CLUSTER,
                    epoch=EPOCH,
                    first=first,
                    last=2,
                    time_ns=TIME_NS,
                    digest_main=bytes(16),
                    digest_records=bytes(16),
                ),
                marks=marks,
                ops=[],
                key=SIGNING_KEY,
                is_repair=True,
            )
