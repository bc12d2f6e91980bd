"""The store on real LMDB files: its contents after any history, including crashes.

Tests `store.digest_delta` and `store.zone_rows` too.
"""

import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import lmdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replication.codec import keys, values
from replication.codec.schema import Dbi
from replication.compile import compile_zone
from replication.dns import rdtypes
from replication.errors import BadBytes, BadSegment, Busy, Diverged, Gap, MapFull, WrongCluster, WrongEpoch
from replication.store import applying, mapped, prepared_write
from replication.store.applying import ZONE_ROWS_IN_ONE, _Writer
from replication.store.opening import OWN_DBI
from replication.store.own_commits import COMMITS_KEY
from replication.store.store import Store
from replication.wire.operations import Op, OpKind, ZoneMark, digest_bytes, record_puts, row_digest
from replication.wire.position import Position
from replication.wire.segment import PackedPuts, SegmentHeader, open_segment, pack_puts, seal
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
    zone_digest,
)

ZONE = "example.test."
OTHER = UUID("f0000000-0000-4000-8000-00000000000f")
Dump = dict[str, dict[bytes, list[bytes]]]


@pytest.fixture
def node_path(tmp_path: Path) -> Path:
    directory = tmp_path / "node"
    directory.mkdir()
    return directory / "pdns.lmdb"


def open_node(path: Path, schema: int = 4, *, map_size: int = MAP_SIZE) -> Store:
    return Store.open(path, schema, map_size, cluster=CLUSTER)


def apply(store: Store, *segments: bytes) -> None:
    for sealed in segments:
        store.apply(open_segment(sealed, PUBLIC_KEYS))


def dump(path: Path) -> Dump:
    """Return the contents of both files as LMDB reads them, without the number of commits."""
    found: Dump = {}
    for suffix in ("", "-0"):
        with lmdb.open(f"{path}{suffix}", subdir=False, max_dbs=128, readonly=True, lock=True) as env:
            with env.begin() as txn:
                tables = [key for key, _ in txn.cursor()]
            for table in tables:
                handle = env.open_db(table, create=False)
                rows: dict[bytes, list[bytes]] = {}
                with env.begin() as txn, txn.cursor(db=handle) as cursor:
                    for key, value in cursor:
                        rows.setdefault(key, []).append(value)
                found[f"{suffix}/{table.decode()}"] = rows
        found[f"{suffix}/dnspanel"].pop(COMMITS_KEY, None)
    return found


def history(panel: Panel) -> list[bytes]:
    """Return segments with all kinds of changes: new, changed, deleted, recreated and many zones."""
    panel.create(small_zone(ZONE), small_zone("second.test."))
    panel.change(ZONE, records(ZONE, "a.b.c", "AAAA", 60, "2001:db8::1"))
    panel.change(ZONE, ("www.example.test.", rdtypes.A), records(ZONE, "sub", "NS", 60, "ns.sub"))
    panel.delete("second.test.")
    panel.create(small_zone("second.test.", serial=7))
    panel.create(*(small_zone(f"z{number}.test.") for number in range(40)))
    panel.change_all(
        {f"z{number}.test.": [records(f"z{number}.test.", "x", "A", 60, "192.0.2.9")] for number in range(40)}
    )
    panel.delete(*(f"z{number}.test." for number in range(0, 40, 2)))
    panel.create_packed(*(small_zone(f"p{number}.test.") for number in range(30)))
    panel.change("p3.test.", records("p3.test.", "x", "A", 60, "192.0.2.9"), ("www.p3.test.", rdtypes.A))
    return panel.segments


# --- files


@pytest.mark.parametrize("schema", [4, 5, 6])
def test_new_files_are_what_powerdns_expects(node_path: Path, schema: int) -> None:
    open_node(node_path, schema).close()
    tables = dump(node_path)
    version = tables["/pdns"][b"schemaversion"][0]
    assert version == (b"\4\0\0\0" if schema == 4 else bytes(24 + 3) + bytes((schema,)))
    assert tables["/pdns"][b"uuid"][0].endswith(CLUSTER.bytes)
    for suffix in ("", "-0"):
        assert os.stat(f"{node_path}{suffix}").st_mode & 0o777 == 0o600
        assert os.stat(f"{node_path}{suffix}-lock").st_size > 64 * 1000, "room for 1000 readers"


def test_tables_of_schema_4_have_their_flags(node_path: Path) -> None:
    open_node(node_path).close()
    with lmdb.open(str(node_path), subdir=False, max_dbs=128) as env, env.begin() as txn:
        flags = {
            name: env.open_db(name, txn, create=False).flags(txn) for name in (b"domains", b"domains_0", b"tsig_0")
        }
    assert flags[b"domains"]["integerkey"]
    assert not flags[b"domains"]["dupsort"]
    assert flags[b"domains_0"]["dupsort"]
    assert flags[b"tsig_0"]["dupfixed"]


def test_the_settings_are_committed_before_the_records_file_exists(
    node_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_open = lmdb.open

    def watching(path: str, **options: object) -> object:
        if path.endswith("-0"):
            seen.append(_settings_on_disk(node_path))
        return real_open(path, **options)

    seen: list[set[bytes]] = []
    monkeypatch.setattr(lmdb, "open", watching)
    open_node(node_path).close()
    assert seen == [{b"schemaversion", b"shards", b"uuid"}]


def _settings_on_disk(path: Path) -> set[bytes]:
    """Return PowerDNS's settings, read by another process, so that only committed data is found."""
    code = (
        "import lmdb,sys\nenv=lmdb.open(sys.argv[1],subdir=False,max_dbs=9)\n"
        "db=env.open_db(b'pdns',create=False)\n"
        "print(' '.join(key.decode() for key,_ in env.begin().cursor(db=db)))"
    )
    printed = subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True).stdout
    return {key.encode() for key in printed.split()}


def test_a_store_without_segments_has_no_position(node_path: Path) -> None:
    with open_node(node_path) as store:
        assert store.position() is None
        assert store.digests() == (bytes(16), bytes(16))
        assert store.zone(1) is None
        assert store.zone_id(ZONE) is None


def test_files_of_another_schema_are_refused(node_path: Path) -> None:
    open_node(node_path, 4).close()
    with pytest.raises(BadBytes, match="schemaversion"):
        open_node(node_path, 5)


def test_missing_files_are_not_made_when_told_so(node_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Store.open(node_path, 4, MAP_SIZE, cluster=CLUSTER, create=False)
    assert not node_path.exists()


def test_files_that_powerdns_made_first_are_taken_over(node_path: Path) -> None:
    with lmdb.open(str(node_path), subdir=False, max_dbs=128) as env:
        table = env.open_db(b"pdns")
        with env.begin(write=True) as txn:
            txn.put(b"schemaversion", b"\4\0\0\0", db=table)
            txn.put(b"shards", b"\1\0\0\0", db=table)
            txn.put(b"uuid", bytes(range(16)), db=table)
    open_node(node_path).close()
    assert dump(node_path)["/pdns"][b"uuid"] == [CLUSTER.bytes]


# --- applying


@pytest.mark.parametrize("schema", [4, 5, 6])
def test_the_same_segments_make_the_same_rows_everywhere(tmp_path: Path, schema: int) -> None:
    (tmp_path / "panel").mkdir()
    panel = Panel(tmp_path / "panel", schema)
    segments = history(panel)
    for name in ("one", "two"):
        with open_node(tmp_path / name, schema) as store:
            apply(store, *segments)
            assert store.position() == Position(EPOCH, len(segments))
            assert store.digests() == panel.store.digests()
    assert dump(tmp_path / "one") == dump(tmp_path / "two")
    panel.close()
    assert dump(tmp_path / "one") == dump(tmp_path / "panel" / "panel.lmdb")


@pytest.mark.parametrize("schema", [4, 5, 6])
def test_rows_after_a_history_are_those_of_a_full_compile(tmp_path: Path, schema: int) -> None:
    panel = Panel(tmp_path, schema)
    history(panel)
    for zone, (zone_id, rrsets) in panel.zones.items():
        assert list(_rows(panel.store, zone_id)) == compile_zone(zone, rrsets.values())
        assert panel.store.zone_id(zone) == zone_id
        found = panel.store.zone(zone_id)
        assert found is not None
        assert found.name == zone
    panel.close()


def _rows(store: Store, zone_id: int) -> list[tuple[bytes, int, bytes]]:
    apex = [(keys.APEX, type, body) for type, body in store.rows(zone_id).at(keys.APEX)]
    return apex + list(store.rows(zone_id).below(keys.APEX))


def test_digests_are_the_sums_over_all_rows(panel: Panel) -> None:
    history(panel)
    total = 0
    for zone_id, _ in panel.zones.values():
        total += int.from_bytes(zone_digest(panel.store, zone_id), "big")
    assert panel.store.digests()[1] == digest_bytes(total)
    main = 0
    for zone, (zone_id, _) in panel.zones.items():
        main += sum(row_digest(*row) for row in panel.store.schema.zone_rows(zone_id, zone))
    assert panel.store.digests()[0] == digest_bytes(main)


def test_rows_answer_by_name_and_below(panel: Panel) -> None:
    panel.create(
        small_zone(ZONE, records(ZONE, "a.www", "TXT", 60, '"t"'), records(ZONE, "wwwx", "A", 60, "192.0.2.3"))
    )
    rows = panel.store.rows(1)
    assert [type for type, _ in rows.at(keys.APEX)] == [rdtypes.NS, rdtypes.SOA]
    assert [type for type, _ in rows.at(b"www\0")] == [rdtypes.A]
    assert [(rel, type) for rel, type, _ in rows.below(b"www\0")] == [(b"www\0a\0", rdtypes.TXT)]
    assert [rel for rel, _, _ in rows.below(keys.APEX)] == [b"ns1\0", b"www\0", b"www\0a\0", b"wwwx\0"]
    assert rows.get(b"www\0", rdtypes.AAAA) is None
    assert panel.store.rows(2).at(keys.APEX) == []


def test_the_position_zone_tells_the_position(panel: Panel) -> None:
    panel.create(small_zone(ZONE))
    body = panel.store.rows(keys.MAX_ZONE_ID).get(keys.APEX, rdtypes.TXT)
    assert body is not None
    [record] = values.decode_records(body)
    assert record.content[1:].decode() == f"epoch={EPOCH} sequence=1"
    assert record.ttl == 0


def test_an_ordinary_edit_is_one_commit(node_path: Path, panel: Panel) -> None:
    with open_node(node_path) as store:
        new = store.apply(open_segment(panel.create(small_zone(ZONE)), PUBLIC_KEYS))
        assert (new.commits, new.already) == (3, False)
        edit = panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.2"))
        applied = store.apply(open_segment(edit, PUBLIC_KEYS))
        assert (applied.commits, applied.rows) == (1, 2)
        assert applied.position == Position(EPOCH, 2)


def test_an_old_segment_is_acknowledged_and_changes_nothing(node_path: Path, panel: Panel) -> None:
    segments = history(panel)
    with open_node(node_path) as store:
        apply(store, *segments)
    before = dump(node_path)
    with open_node(node_path) as store:
        again = store.apply(open_segment(segments[1], PUBLIC_KEYS))
        assert again.already
        assert again.position == Position(EPOCH, len(segments))
    assert dump(node_path) == before


def test_a_segment_from_the_future_is_a_gap(node_path: Path, panel: Panel) -> None:
    first, second, third = (panel.create(small_zone(f"{letter}.test.")) for letter in "abc")
    with open_node(node_path) as store:
        with pytest.raises(Gap) as unset:
            apply(store, second)
        assert unset.value.have is None
        apply(store, first)
        with pytest.raises(Gap) as behind:
            apply(store, third)
        assert behind.value.have == Position(EPOCH, 1)
        assert behind.value.got == 3


def test_a_segment_of_another_cluster_is_refused(node_path: Path, tmp_path: Path) -> None:
    stranger = Panel(tmp_path, cluster=OTHER)
    with open_node(node_path) as store, pytest.raises(WrongCluster):
        apply(store, stranger.create(small_zone(ZONE)))
    stranger.close()


def test_a_segment_of_another_epoch_is_refused(node_path: Path, panel: Panel, tmp_path: Path) -> None:
    later = Panel(tmp_path, epoch=OTHER)
    later.create(small_zone(ZONE))
    with open_node(node_path) as store:
        apply(store, panel.create(small_zone(ZONE)))
        with pytest.raises(WrongEpoch):
            apply(store, later.create(small_zone("b.test.")))
    later.close()


def test_a_segment_of_another_schema_is_refused(node_path: Path, panel: Panel) -> None:
    with open_node(node_path, 5) as store, pytest.raises(BadSegment, match="schema 4"):
        apply(store, panel.create(small_zone(ZONE)))


def test_segments_cut_otherwise_lead_to_the_same_rows(tmp_path: Path, panel: Panel) -> None:
    # A node was at 2, and the range now comes as one segment 1..3: its existing rows are written again.
    panel.create(small_zone(ZONE))
    panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.2"))
    other = Panel(tmp_path)
    rrsets = small_zone(ZONE, serial=3)
    rrsets[-1] = records(ZONE, "www", "A", 300, "192.0.2.3")
    other.zones[ZONE] = (1, {})
    ops = other.created_ops(1, ZONE, rrsets)
    full = other.seal(ops, [ZoneMark(1, ZONE, 3)], sequences=3)
    panel.store.apply(open_segment(full, PUBLIC_KEYS))
    assert panel.store.position() == Position(EPOCH, 3)
    assert panel.store.digests() == other.store.digests()
    other.close()


def test_a_row_altered_by_hand_is_noticed_before_the_position_moves(node_path: Path, panel: Panel) -> None:
    with open_node(node_path) as store:
        apply(store, panel.create(small_zone(ZONE)))
    key = keys.record_key(1, b"www\0", rdtypes.A)
    with lmdb.open(f"{node_path}-0", subdir=False, max_dbs=128, map_size=MAP_SIZE) as env:
        table = env.open_db(b"records", create=False)
        with env.begin(write=True) as txn:
            txn.put(key, values.encode_records([values.StoredRecord(b"\xc0\0\2\x63", 300)]), db=table)
    before = dump(node_path)
    with open_node(node_path) as store:
        edit = panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.2"))
        for _ in range(2):
            with pytest.raises(Diverged):
                apply(store, edit)
        assert store.position() == Position(EPOCH, 1)
    assert dump(node_path) == before


def test_operations_on_our_own_rows_are_refused(node_path: Path, panel: Panel) -> None:
    for key in (keys.record_key(keys.MAX_ZONE_ID, keys.APEX, rdtypes.TXT), b"\xff" * 8, b"\0"):
        panel.sequence = 0
        with pytest.raises(BadSegment, match="key"):
            panel.seal([Op(OpKind.DELETE_PREFIX, Dbi.RECORDS, key)], [])


def test_a_full_map_changes_nothing_and_says_so(node_path: Path, panel: Panel) -> None:
    with open_node(node_path, map_size=1 << 20) as store:
        apply(store, panel.create(small_zone(ZONE)))
        texts = [records(ZONE, f"t{number}", "TXT", 60, '"' + "x" * 250 + '"') for number in range(5000)]
        large = panel.change(ZONE, *texts)
        with pytest.raises(MapFull) as full:
            apply(store, large)
        assert full.value.map_size == 1 << 20
        assert store.position() == Position(EPOCH, 1)
    with open_node(node_path) as store:
        apply(store, large)
        assert store.digests() == panel.store.digests()


def test_a_disk_that_takes_no_more_changes_nothing_and_says_so(node_path: Path, panel: Panel, tmp_path: Path) -> None:
    with open_node(node_path) as store:
        apply(store, panel.create(small_zone(ZONE)))
    texts = [records(ZONE, f"t{number}", "TXT", 60, '"' + "x" * 250 + '"') for number in range(9000)]
    (tmp_path / "large").write_bytes(panel.change(ZONE, *texts))
    done = subprocess.run(
        [sys.executable, "-m", "tests.alone.full_disk", str(node_path), str(tmp_path / "large")],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
        timeout=60,
        check=True,
    )
    assert done.stdout.split("\n")[:2] == ["full at 1", "full at 1"]
    with open_node(node_path) as store:
        apply(store, (tmp_path / "large").read_bytes())
        assert store.digests() == panel.store.digests()


def test_a_copy_holds_the_same_rows(tmp_path: Path, panel: Panel) -> None:
    history(panel)
    panel.store.copy(tmp_path / "copy.lmdb")
    with open_node(tmp_path / "copy.lmdb") as copy:
        assert copy.position() == panel.store.position()
        assert copy.digests() == panel.store.digests()


def test_an_older_main_file_put_back_is_completed_again(node_path: Path, panel: Panel) -> None:
    first = panel.create(small_zone(ZONE))
    with open_node(node_path) as store:
        apply(store, first)
    old_main = node_path.read_bytes()
    segments = [panel.create(small_zone("b.test.")), panel.change(ZONE, records(ZONE, "x", "A", 60, "192.0.2.2"))]
    with open_node(node_path) as store:
        apply(store, *segments)
    node_path.write_bytes(old_main)
    with open_node(node_path) as store:
        assert store.position() == Position(EPOCH, 1)
        apply(store, *segments)
        assert store.position() == Position(EPOCH, 3)
        assert store.digests() == panel.store.digests()


# --- how long the lock is held


def large_history(panel: Panel, zones: int = 3000) -> bytes:
    rows = compile_zone("a.test.", small_zone("a.test."))
    ops, marks = [], []
    for zone_id in range(1, zones + 1):
        name = f"zone{zone_id}.test."
        ops += [Op(OpKind.PUT, Dbi.RECORDS, keys.record_key(zone_id, rel, type), body) for rel, type, body in rows]
        ops += [Op(OpKind.PUT, *row) for row in panel.store.schema.zone_rows(zone_id, name)]
        marks.append(ZoneMark(zone_id, name, 1))
    return panel.seal(ops, marks)


def test_a_large_segment_is_applied_in_short_transactions(node_path: Path, panel: Panel) -> None:
    sealed = large_history(panel)
    with open_node(node_path) as store:
        applied = store.apply(open_segment(sealed, PUBLIC_KEYS))
        # 12,000 rows of records, of which eight count as one: 1. 6,000 of the main file, by 1,500: 4. The end of the
        # main file's rows: 1. The position: 1.
        assert (applied.rows, applied.commits) == (18_000, 1 + 4 + 1 + 1)
        assert store.digests() == panel.store.digests()


def test_the_change_set_of_a_served_zone_is_one_transaction(node_path: Path, panel: Panel) -> None:
    many = [records(ZONE, f"h{number}", "A", 60, "192.0.2.1") for number in range(4000)]
    with open_node(node_path) as store:
        apply(store, panel.create(small_zone(ZONE)))
        assert len(many) < ZONE_ROWS_IN_ONE
        applied = store.apply(open_segment(panel.change(ZONE, *many), PUBLIC_KEYS))
        assert (applied.rows, applied.commits) == (4001, 1)


def test_a_deleted_zone_is_removed_in_short_transactions(node_path: Path, panel: Panel) -> None:
    many = [records(ZONE, f"h{number}", "A", 60, "192.0.2.1") for number in range(4000)]
    with open_node(node_path) as store:
        apply(store, panel.create(small_zone(ZONE, *many)))
        applied = store.apply(open_segment(panel.delete(ZONE), PUBLIC_KEYS))
        # The zone is deleted from the main file, then its 4,004 records by 1,500, with the position.
        assert applied.commits == 1 + 3
        assert _rows(store, 1) == []
        assert store.zone_id(ZONE) is None


def test_readers_see_each_zone_before_or_after_its_change(
    node_path: Path, panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each change sets two names in each of 30 zones to one value. No reader must find two values in one zone."""
    zones = [f"z{number}.test." for number in range(30)]

    def pair(zone: str, last: int) -> list:  # type: ignore[type-arg]
        return [records(zone, name, "A", 60, f"192.0.2.{last}") for name in ("a", "z")]

    creation = panel.create(*(small_zone(zone, *pair(zone, 1)) for zone in zones))
    changes = [panel.change_all({zone: pair(zone, last) for zone in zones}) for last in range(2, 30)]
    torn: list[int] = []
    done = threading.Event()
    monkeypatch.setattr(applying, "_ROWS_PER_TRANSACTION", 1)
    with open_node(node_path) as store:
        apply(store, creation)

        def look() -> None:
            while not done.is_set():
                for zone_id in range(1, 31):
                    found = {
                        body for rel, type, body in store.rows(zone_id).below(keys.APEX) if rel in (b"a\0", b"z\0")
                    }
                    if len(found) != 1:
                        torn.append(zone_id)

        reader = threading.Thread(target=look)
        reader.start()
        for change in changes:
            assert store.apply(open_segment(change, PUBLIC_KEYS)).commits == 30
        done.set()
        reader.join()
    assert torn == []


# --- batches: many rows with one call of LMDB


def rows_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applying, "_SMALLEST_BATCH", 1 << 30)


def batches_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write every run of puts as a batch, and end transactions after a few rows."""
    monkeypatch.setattr(applying, "_SMALLEST_BATCH", 1)
    monkeypatch.setattr(applying, "_BATCH_ROWS_PER_ROW", 1)
    monkeypatch.setattr(applying, "_ROWS_PER_TRANSACTION", 5)


BODIES = st.binary(min_size=1, max_size=40)
ZONE_IDS = st.integers(1, 12)
RECORD_KEYS = st.builds(keys.record_key, ZONE_IDS, st.sampled_from([b"\0", b"a\0", b"a\0b\0", b"www\0"]), st.just(1))


@st.composite
def some_ops(draw: st.DrawFn) -> list[Op]:
    """Draw operations with few possible keys, so that segments change the same rows. No key occurs twice."""
    puts = draw(st.dictionaries(RECORD_KEYS, BODIES, max_size=25))
    deleted = draw(st.sets(RECORD_KEYS, max_size=4)) - puts.keys()
    cleared = draw(st.sets(ZONE_IDS, max_size=1))
    objects = draw(st.dictionaries(ZONE_IDS, BODIES, max_size=6))
    gone = draw(st.sets(ZONE_IDS, max_size=2)) - objects.keys()
    return [
        *(Op(OpKind.DELETE_PREFIX, Dbi.RECORDS, keys.zone_prefix(zone_id)) for zone_id in cleared),
        *(Op(OpKind.PUT, Dbi.RECORDS, key, body) for key, body in puts.items()),
        *(Op(OpKind.DELETE, Dbi.RECORDS, key) for key in deleted),
        *(Op(OpKind.DELETE, Dbi.DOMAINS, keys.encode_row_id(zone_id, big_endian=False)) for zone_id in gone),
        *(
            Op(OpKind.PUT, Dbi.DOMAINS, keys.encode_row_id(zone_id, big_endian=False), o)
            for zone_id, o in objects.items()
        ),
        *(
            Op(OpKind.PUT, Dbi.DOMAINS_INDEX, o + bytes((zone_id,)), zone_id.to_bytes(4, "little"))
            for zone_id, o in objects.items()
        ),
    ]


@settings(max_examples=60, deadline=None)
@given(segments=st.lists(some_ops(), min_size=1, max_size=4), schema=st.sampled_from([4, 6]), replayed=st.booleans())
def test_rows_put_in_batches_are_those_put_one_by_one(segments: list[list[Op]], schema: int, replayed: bool) -> None:
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        rows_one_by_one(patch)
        (Path(directory) / "node").mkdir()
        panel = Panel(Path(directory), schema)
        for ops in segments:
            panel.seal(ops, [])
        panel.close()
        node = Path(directory) / "node" / "pdns.lmdb"
        batches_of_any_size(patch)
        with open_node(node, schema) as store:
            if replayed:  # some transactions of each segment are committed, but not its position
                patch.setattr(_Writer, "complete", _fail)
                for sealed in panel.segments[:1]:
                    with pytest.raises(Failure):
                        apply(store, sealed)
                patch.undo()
                batches_of_any_size(patch)
            apply(store, *panel.segments)
        assert dump(node) == dump(Path(directory) / "panel.lmdb")


class Failure(Exception):
    """A simulated crash."""


def _fail(*_: object, **__: object) -> None:
    raise Failure


def test_new_zones_are_put_in_batches_and_lie_densely(
    node_path: Path, panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed = large_history(panel, 6000)
    calls = 0
    add = _Writer._add

    def counting(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        add(*arguments)

    monkeypatch.setattr(_Writer, "_add", counting)
    with open_node(node_path) as store:
        assert store.apply(open_segment(sealed, PUBLIC_KEYS)).rows == 36_000
        assert store.digests() == panel.store.digests()
        size = sum(len(key) + len(body) + 10 for zone_id in range(1, 6001) for key, body in store.rows(zone_id).raw())
    assert calls == 12_000, "those of the main file, whose tables alternate here"
    assert Path(f"{node_path}-0").stat().st_size < size * 1.25


def test_batches_before_zones_that_exist_are_put_all_the_same(node_path: Path, panel: Panel) -> None:
    later = [Op(OpKind.PUT, *row) for row in created_rows(panel, range(5000, 5010))]
    earlier = [Op(OpKind.PUT, *row) for row in created_rows(panel, range(100, 600))]
    segments = [panel.seal(later, []), panel.seal(earlier, [])]
    with open_node(node_path) as store:
        apply(store, *segments)
        assert store.digests() == panel.store.digests()
        assert len(_rows(store, 599)) == 4


def created_rows(panel: Panel, zone_ids: Iterable[int]) -> Iterator[tuple[Dbi, bytes, bytes]]:
    rows = compile_zone("a.test.", small_zone("a.test."))
    for zone_id in zone_ids:
        yield from ((Dbi.RECORDS, keys.record_key(zone_id, rel, type), body) for rel, type, body in rows)
        yield from panel.store.schema.zone_rows(zone_id, f"zone{zone_id}.test.")


def test_our_own_rows_are_refused_among_many(node_path: Path, panel: Panel) -> None:
    for key in (keys.record_key(keys.MAX_ZONE_ID, keys.APEX, rdtypes.TXT), b"\0\0\1"):
        puts = [Op(OpKind.PUT, *row) for row in created_rows(panel, range(1, 30)) if row[0] is Dbi.RECORDS]
        panel.sequence = 0
        with pytest.raises(BadSegment, match="key"):
            panel.seal([*puts, Op(OpKind.PUT, Dbi.RECORDS, key, b"body")], [])


def test_a_row_altered_among_many_is_noticed(node_path: Path, panel: Panel) -> None:
    sealed = large_history(panel, 2000)
    wrong = panel.store.digests()
    ops = list(open_segment(sealed, PUBLIC_KEYS).ops())
    at = next(number for number, op in enumerate(ops) if op.key.startswith(keys.zone_prefix(1000)))
    ops[at] = ops[at]._replace(body=ops[at].body[:-1] + b"\1")
    false = seal(
        SegmentHeader(
            schema=4,
            cluster=CLUSTER,
            epoch=EPOCH,
            first=1,
            last=1,
            time_ns=TIME_NS,
            digest_main=wrong[0],
            digest_records=wrong[1],
        ),
        marks=[],
        ops=ops,
        key=SIGNING_KEY,
    )
    with open_node(node_path) as store, pytest.raises(Diverged):
        apply(store, false)


@pytest.mark.parametrize("schema", [4, 5, 6])
def test_rows_packed_beforehand_give_the_same_store_as_any_others(tmp_path: Path, schema: int) -> None:
    zones = [small_zone(f"p{number}.test.") for number in range(200)]
    stores = []
    for how in ("create", "create_packed"):
        (tmp_path / how).mkdir()
        panel = Panel(tmp_path / how, schema)
        getattr(panel, how)(*zones[:150])
        getattr(panel, how)(*zones[150:])
        with open_node(tmp_path / how / "node.lmdb", schema) as node:
            apply(node, *panel.segments)
            assert node.digests() == panel.store.digests()
            apply(node, *panel.segments)  # again: acknowledged, and nothing changes
            assert node.digests() == panel.store.digests()
        panel.close()
        stores.append((dump(tmp_path / how / "panel.lmdb"), dump(tmp_path / how / "node.lmdb")))
    for one, packed in zip(*stores, strict=True):
        digests, none_yet = one.pop("-0/dnspanel_zones"), packed.pop("-0/dnspanel_zones")
        assert digests.keys() == none_yet.keys()
        assert {value for values in none_yet.values() for value in values} == {b""}
        assert {len(value) for values in digests.values() for value in values} == {16}
    assert stores[0] == stores[1]
    assert stores[0][0] == stores[0][1]


def test_packed_rows_do_not_hide_that_a_store_had_diverged(node_path: Path, panel: Panel) -> None:
    first, second = panel.create(small_zone(ZONE)), panel.create_packed(small_zone("p.test."))
    (node_path.parent / "other").mkdir()
    other = Panel(node_path.parent / "other")
    with open_node(node_path) as store:
        apply(store, other.create(small_zone(ZONE, records(ZONE, "more", "A", 60, "192.0.2.7"))))
        with pytest.raises(Diverged):
            apply(store, second)
    other.close()
    assert first != second


def test_a_row_of_a_new_zone_that_exists_with_another_value_is_refused(node_path: Path, panel: Panel) -> None:
    key = keys.record_key(1, keys.APEX, rdtypes.TXT)
    packed, digest = record_puts(1, [(keys.APEX, rdtypes.TXT, b"one")])
    puts = PackedPuts(pack_puts([packed]), 1, digest)
    with open_node(node_path) as store:
        apply(store, panel.seal([Op(OpKind.PUT, Dbi.RECORDS, key, b"another")], []))
        false = seal(
            SegmentHeader(
                schema=4,
                cluster=CLUSTER,
                epoch=EPOCH,
                first=2,
                last=2,
                time_ns=TIME_NS,
                digest_main=bytes(16),
                digest_records=bytes(16),
            ),
            marks=[],
            ops=[],
            key=SIGNING_KEY,
            puts=puts,
        )
        with pytest.raises(BadSegment, match="another value"):
            apply(store, false)


# --- crashes


def run_and_kill(
    path: Path, segments: Path, die_at: Sequence[int], schema: int, how: str = "rows"
) -> subprocess.CompletedProcess[str]:
    """Apply the segments in a series of processes. Each process dies at its point in `die_at`.

    The returncode is 0 if a process doesn't reach its point, or -SIGKILL if all processes died.
    """
    points = ",".join(map(str, die_at))
    return subprocess.run(
        [sys.executable, "-m", "tests.alone.crash_while_applying", str(path), str(segments), points, str(schema), how],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
        timeout=120,
        check=False,
    )


@pytest.mark.sample(1, reason="stores that are killed at every point")
@pytest.mark.parametrize(("schema", "how"), [(4, "rows"), (4, "batches"), (6, "batches")])
def test_killed_anywhere_and_applied_again_the_store_is_the_same(tmp_path: Path, schema: int, how: str) -> None:
    (tmp_path / "panel").mkdir()
    panel = Panel(tmp_path / "panel", schema)
    segments = tmp_path / "segments"
    segments.mkdir()
    for number, sealed in enumerate(history(panel)):
        (segments / f"{number:03}").write_bytes(sealed)
    expected = panel.store.digests()
    panel.close()
    calm = run_and_kill(tmp_path / "calm", segments, [0], schema, how)
    assert calm.returncode == 0, calm.stderr
    points, batches = map(int, calm.stdout.split())
    assert points > 40
    assert (batches > 10) == (how == "batches")
    rows = dump(tmp_path / "calm")
    # One store that is killed at every point in turn: each start continues after the previous one.
    path = tmp_path / "killed"
    killed = run_and_kill(path, segments, [*range(1, points, 3), 1, 2, 3, 0], schema, how)
    assert killed.returncode == 0, killed.stderr
    assert dump(path) == rows
    with open_node(path, schema) as store:
        assert store.digests() == expected


@pytest.mark.sample(5, reason="stores that are killed at a commit")
@pytest.mark.parametrize("die_at", range(1, 14))
def test_killed_at_each_commit_of_one_segment_the_position_never_lies(
    tmp_path: Path, panel: Panel, die_at: int
) -> None:
    """After the kill the store has either the old position, or the new position with all its rows."""
    segments = tmp_path / "segments"
    segments.mkdir()
    first, second = panel.create(small_zone(ZONE)), None
    (segments / "1").write_bytes(first)
    ops = panel.deleted_ops(1, ZONE) + panel.created_ops(2, "new.test.", small_zone("new.test."))
    second = panel.seal(ops, [ZoneMark(1, ZONE, None), ZoneMark(2, "new.test.", 1)])
    path = tmp_path / "node.lmdb"
    with open_node(path) as store:
        apply(store, first)
    (segments / "1").unlink()
    (segments / "2").write_bytes(second)
    killed = run_and_kill(path, segments, [die_at], 4)
    assert killed.returncode in (0, -signal.SIGKILL), killed.stderr
    with open_node(path) as store:
        position = store.position()
        assert position is not None
        if position.sequence == 2:
            assert store.digests() == panel.store.digests()
        else:
            assert position.sequence == 1
        for zone in (ZONE, "new.test."):
            zone_id = store.zone_id(zone)
            if zone_id is not None:
                assert len(_rows(store, zone_id)) == 4, "a zone that is listed has its records"
        apply(store, second)
        assert store.digests() == panel.store.digests()
        assert _rows(store, 1) == []


def test_another_writer_of_our_row_stops_the_application(node_path: Path, panel: Panel) -> None:
    store = open_node(node_path)
    apply(store, panel.create(small_zone(ZONE)))
    sealed = large_history(panel, 1500)

    def meddle() -> None:
        """Write to these files as a second agent would, in another process."""
        code = (
            "import lmdb,sys\nenv=lmdb.open(sys.argv[1]+'-0',subdir=False,max_dbs=128,map_size=1<<30)\n"
            "db=env.open_db(b'dnspanel')\n"
            "with env.begin(write=True) as t: v=t.get(b'position',db=db); t.put(b'position',v[:-1]+b'\\x07',db=db)"
        )
        subprocess.run([sys.executable, "-c", code, str(node_path)], check=True)

    seen = 0

    def watch(keys_: Sequence[bytes]) -> None:
        nonlocal seen
        before, seen = seen, seen + len(keys_)
        if before < 2000 <= seen:
            worker = threading.Thread(target=meddle)
            worker.start()
            time.sleep(0.3)

    with pytest.raises(Busy):
        store.apply(open_segment(sealed, PUBLIC_KEYS), watch=watch)
    store.close()


def test_python_does_not_look_for_cycles_while_the_lock_of_a_file_is_held(
    node_path: Path, panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking: set[bool] = set()
    write = prepared_write.Plan.write

    def noting(plan: prepared_write.Plan, *args: Any) -> None:
        looking.add(gc.isenabled())
        write(plan, *args)

    monkeypatch.setattr(prepared_write.Plan, "write", noting)
    with open_node(node_path) as store:
        apply(store, panel.create(small_zone(ZONE)))
    assert looking == {False}
    assert gc.isenabled()


def test_what_somebody_else_commits_just_before_the_lock_is_taken_counts(
    node_path: Path, panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writes are planned before the lock is taken. The digest must show a row that was altered after that."""
    plan = prepared_write.Waiting.plan
    plans = 0
    with open_node(node_path) as store:
        apply(store, panel.create(small_zone(ZONE)))
        edit = panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.77"))
        key = keys.record_key(1, b"www\0", rdtypes.A)

        def meddle_after(self: Any, txn: Any) -> Any:
            nonlocal plans
            plans += 1
            made = plan(self, txn)
            if plans == 1:
                with store._records.env.begin(write=True) as other:
                    other.put(key, b"altered", db=store._records.tables[Dbi.RECORDS])
            return made

        monkeypatch.setattr(prepared_write.Waiting, "plan", meddle_after)
        with pytest.raises(Diverged):
            apply(store, edit)
        assert plans == 2
        assert store.position() == Position(EPOCH, 1)


def test_own_table_is_in_both_files(node_path: Path, panel: Panel) -> None:
    with open_node(node_path) as store:
        apply(store, panel.create(small_zone(ZONE)))
    tables = dump(node_path)
    for name in (f"/{OWN_DBI.decode()}", f"-0/{OWN_DBI.decode()}"):
        [row] = tables[name][b"position"]
        assert row[1:17] == EPOCH.bytes
        assert int.from_bytes(row[17:25], "big") == 1


def test_released_pages_leave_memory(node_path: Path, panel: Panel) -> None:
    sealed = large_history(panel, 6000)
    with open_node(node_path) as store:
        apply(store, sealed)
        assert sum(1 for zone_id in range(1, 6001) for _ in store.rows(zone_id).raw()) == 24000
        resident = mapped.file_bytes_resident()
        mapped.release(mapped.ranges_of((str(node_path), f"{node_path}-0")))
        assert mapped.file_bytes_resident() < resident - (1 << 20)
        assert len(_rows(store, 17)) == 4
