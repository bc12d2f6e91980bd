"""A snapshot is merged into a store: only differences are written, and afterwards the store equals the snapshot."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import lmdb
import pytest

from replication.codec import keys
from replication.codec.schema import Dbi
from replication.dns import rdtypes
from replication.errors import BadSnapshot, Busy, Unfinished
from replication.store import install_snapshot, writing
from replication.store.store import Applied, Copied, Store
from replication.wire.position import Position
from replication.wire.segment import open_segment
from tests.replication.panel import CLUSTER, EPOCH, MAP_SIZE, PUBLIC_KEYS, TIME_NS, Panel, records, small_zone

ZONE = "example.test."
NAME = "5a" * 16

Rows = dict[bytes, list[tuple[bytes, bytes]]]


class Node:
    """A store that installs a panel's snapshots."""

    def __init__(self, directory: Path, panel: Panel) -> None:
        self.directory, self.panel = directory, panel
        self.path = directory / "node.lmdb"
        self.store = Store.open(self.path, panel.schema, MAP_SIZE, cluster=CLUSTER, sync=False)
        self._copies = 0

    def copied(self) -> tuple[Path, Copied]:
        self._copies += 1
        path = self.directory / f"copy{self._copies}.lmdb"
        return path, self.panel.store.copy(path)

    def install(self) -> Applied:
        path, copied = self.copied()
        return self.store.install(NAME, path, copied, time_ns=TIME_NS)

    def content(self, store: Store) -> Rows:
        """Return all rows of PowerDNS's tables, without the settings and the position zone's answer."""
        self._copies += 1
        path = self.directory / f"seen{self._copies}.lmdb"
        for name in ("", "-0"):
            own = self.path if store is self.store else self.panel.store._main.path
            shutil.copyfile(f"{own}{name}", f"{path}{name}")
        rows: Rows = {}
        for name in ("", "-0"):
            with lmdb.open(f"{path}{name}", subdir=False, max_dbs=64, readonly=True, lock=False) as env:
                with env.begin() as txn:
                    tables = [key for key, _ in txn.cursor() if not key.startswith((b"dnspanel", b"pdns"))]
                for table in tables:
                    handle = env.open_db(table, create=False)
                    with env.begin() as txn:
                        rows[table] = [row for row in txn.cursor(db=handle) if row[0] != _POSITION_KEY]
        return rows

    def assert_equal(self) -> None:
        assert self.content(self.store) == self.content(self.panel.store)
        assert self.store.position() == self.panel.store.position()
        assert self.store.digests() == self.panel.store.digests()
        assert self.store.installing() is None
        check = self.store.check()
        assert all(True for _ in check.everything())
        assert check.is_done
        assert not check.diverged


_POSITION_KEY = keys.record_key(keys.MAX_ZONE_ID, keys.APEX, rdtypes.TXT)


@pytest.fixture(params=[4, 5, 6])
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Node]:
    (tmp_path / "panel").mkdir()
    panel = Panel(tmp_path / "panel", request.param)
    node = Node(tmp_path, panel)
    yield node
    node.store.close()
    panel.close()


def test_an_empty_store_becomes_the_snapshot(node: Node) -> None:
    node.panel.create(*(small_zone(f"z{number}.test.") for number in range(100)))
    applied = node.install()
    node.assert_equal()
    assert applied.rows == 100 * (4 + 2)
    change = node.panel.change("z7.test.", records("z7.test.", "www", "A", 300, "192.0.2.7"))
    node.store.apply(open_segment(change, PUBLIC_KEYS))
    node.assert_equal()


def test_rows_that_exist_already_are_not_written(node: Node) -> None:
    for sealed in (node.panel.create(small_zone(ZONE)), node.panel.change(ZONE)):
        node.store.apply(open_segment(sealed, PUBLIC_KEYS))
    assert node.install().rows == 0
    node.assert_equal()


def test_windows_of_any_size_meet(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """With windows of a few rows and changes of every kind, boundaries occur at every place."""
    monkeypatch.setattr(install_snapshot, "_PIECE", 1)
    monkeypatch.setattr(writing, "_PIECE", 1)
    panel = node.panel
    names = [f"z{number}.test." for number in range(24)]
    panel.create(*map(small_zone, names))
    for window in (1, 2, 3, 5):
        monkeypatch.setattr(install_snapshot, "_WINDOW", window)
        node.install()
        node.assert_equal()
        panel.delete(*names[window::5])
        panel.create(*map(small_zone, names[window::5]))
        panel.change_all({name: [records(name, "n", "A", 300, f"192.0.2.{window}")] for name in names[::3]})
        panel.change_all({name: [(f"www.{name}", rdtypes.A)] for name in names[1::7]})
        panel.create(small_zone(f"a{window}.test."), small_zone(f"zz{window}.test."))
        panel.delete(f"a{window}.test.")
    node.install()
    node.assert_equal()


def test_zones_that_the_snapshot_lacks_are_gone_with_all_their_rows(node: Node) -> None:
    panel = node.panel
    panel.create(*(small_zone(f"z{number}.test.") for number in range(50)))
    node.install()
    panel.delete(*(f"z{number}.test." for number in range(1, 50)))
    node.install()
    node.assert_equal()
    assert node.store.zone_id("z1.test.") is None


def test_stray_rows_of_every_table_are_gone(node: Node) -> None:
    node.panel.create(small_zone(ZONE))
    node.install()
    schema, store = node.store.schema, node.store
    stray = [(Dbi.RECORDS, keys.record_key(77, b"ghost\0", 1), b"x"), (Dbi.RECORDS, b"\0", b"x")]
    stray += [(dbi, key, body) for dbi, key, body in schema.zone_rows(99, "stray.test.")]
    stray += [(Dbi.METADATA, schema.row_id_key(3), b"x"), (Dbi.RECORDS, keys.zone_prefix(55), b"x")]
    for dbi, key, body in stray:
        database = store._records if dbi is Dbi.RECORDS else store._main
        with database.env.begin(write=True) as txn:
            txn.put(key, schema.wrap(body, 0, 0), db=database.tables[dbi])
    node.install()
    node.assert_equal()


def test_another_epoch_takes_over_zone_by_zone(node: Node, tmp_path: Path) -> None:
    node.panel.create(small_zone(ZONE), small_zone("old.test."))
    node.install()
    (tmp_path / "restored").mkdir()
    node.panel.close()
    node.panel = Panel(tmp_path / "restored", node.panel.schema, epoch=UUID(int=9))
    node.panel.create(small_zone(ZONE, serial=5))
    node.install()
    node.assert_equal()
    node.panel.close()


def test_a_copy_older_than_the_store_is_refused(node: Node) -> None:
    node.panel.create(small_zone(ZONE))
    path, copied = node.copied()
    node.panel.change(ZONE)
    node.install()
    with pytest.raises(BadSnapshot, match="this node is at 2"):
        node.store.install(NAME, path, copied, time_ns=TIME_NS)
    assert node.store.position() == Position(EPOCH, 2)


def test_a_copy_that_is_not_what_was_promised_is_refused(node: Node, tmp_path: Path) -> None:
    node.panel.create(small_zone(ZONE))
    path, copied = node.copied()
    wrong = Copied(Position(EPOCH, 9), copied.digest_main, copied.digest_records)
    with pytest.raises(BadSnapshot, match="the manifest says"):
        node.store.install(NAME, path, wrong, time_ns=TIME_NS)
    for name in ("", "-0"):
        (tmp_path / f"junk{name}").write_bytes(b"junk" * 4096)
    with pytest.raises(BadSnapshot):
        node.store.install(NAME, tmp_path / "junk", copied, time_ns=TIME_NS)
    assert node.store.installing() is None


@pytest.mark.parametrize("commits", range(1, 14))
def test_an_installation_that_ends_anywhere_can_be_begun_again(
    node: Node, monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    """As after a kill, committed transactions stay, and all others are lost."""
    panel = node.panel
    names = [f"z{number}.test." for number in range(30)]
    panel.create(*map(small_zone, names))
    node.install()
    panel.delete(*names[::3])
    panel.create(*map(small_zone, names[::6]))
    panel.change_all({name: [records(name, "www", "A", 300, "192.0.2.9")] for name in names[1::3]})
    left = [commits]

    def note_commit(txn: object, database: object) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1

    with monkeypatch.context() as patched:
        patched.setattr(writing, "note_commit", note_commit)
        patched.setattr(writing, "_ROWS_PER_TRANSACTION", 10)
        try:
            node.install()
        except KeyboardInterrupt:
            assert node.store.position() is None
            assert node.store.installing() == NAME
            with pytest.raises(Unfinished):
                node.store.apply(open_segment(panel.segments[-1], PUBLIC_KEYS))
            with pytest.raises(Busy):
                node.store.copy(node.directory / "half.lmdb", seconds=0)
    node.install()
    node.assert_equal()


def test_who_keeps_a_list_of_zones_is_told_before_records_go(node: Node) -> None:
    panel = node.panel
    panel.create(small_zone(ZONE), small_zone("gone.test."))
    node.install()
    zone_id = node.store.zone_id("gone.test.")
    assert zone_id is not None
    panel.delete("gone.test.")
    seen: list[tuple[int | None, bool]] = []
    path, copied = node.copied()
    node.store.install(
        NAME,
        path,
        copied,
        time_ns=TIME_NS,
        before_removal=lambda: seen.append((node.store.zone_id("gone.test."), any(node.store.rows(zone_id).raw()))),
    )
    assert seen == [(None, True)]
    assert not any(node.store.rows(zone_id).raw())


def test_rows_that_somebody_else_writes_meanwhile_are_not_overlooked(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.panel.create(small_zone(ZONE), small_zone("gone.test."))
    node.install()
    node.panel.delete("gone.test.")
    path, copied = node.copied()
    records_file = node.store._records

    def meddle() -> None:
        with records_file.env.begin(write=True) as txn:
            txn.put(keys.record_key(1, b"meddled\0", 1), b"x", db=records_file.tables[Dbi.RECORDS])

    with pytest.raises(Busy):
        node.store.install(NAME, path, copied, time_ns=TIME_NS, before_removal=meddle)
    assert node.store.position() is None
    node.install()
    node.assert_equal()


def test_operations_on_a_panel_without_zones_leave_an_empty_node(node: Node) -> None:
    node.panel.create(small_zone(ZONE))
    node.install()
    node.panel.delete(ZONE)
    node.install()
    node.assert_equal()
    assert node.store.zones_from(1, limit=1) == []
