"""Opening LMDB environments: valid files, damaged files, and LMDB's errors for a full disk."""

import errno
import os
from pathlib import Path

import lmdb
import pytest

from replication.codec.schema import Dbi, schema_for
from replication.errors import BadBytes, BadSnapshot, Damaged, DiskFull, MapFull
from replication.store.opening import MAX_READERS, is_damage, lmdb_errors, open_copy
from replication.store.store import Store
from tests.replication.panel import CLUSTER, MAP_SIZE, Panel, small_zone

ZONE = "example.test."


def junk(path: Path) -> Path:
    for name in ("", "-0"):
        path.with_name(path.name + name).write_bytes(b"junk" * 4096)
    return path


def test_the_first_opener_makes_room_for_many_readers(panel: Panel) -> None:
    assert panel.store._main.env.info()["max_readers"] == MAX_READERS


def test_files_that_cannot_be_read_are_damaged_and_stay_as_they_are(tmp_path: Path) -> None:
    path = junk(tmp_path / "junk.lmdb")
    with pytest.raises(Damaged, match="the file is damaged"):
        Store.open(path, 4, MAP_SIZE, cluster=CLUSTER)
    assert path.read_bytes() == b"junk" * 4096
    path.unlink()
    with pytest.raises(Damaged):  # a new main file doesn't replace the records
        Store.open(path, 4, MAP_SIZE, cluster=CLUSTER)


def test_after_a_failure_nothing_stays_open(tmp_path: Path) -> None:
    path = junk(tmp_path / "store.lmdb")
    path.unlink()
    with pytest.raises(Damaged):
        Store.open(path, 4, MAP_SIZE, cluster=CLUSTER)
    path.with_name("store.lmdb-0").unlink()
    Store.open(path, 4, MAP_SIZE, cluster=CLUSTER).close()


def test_files_of_another_schema_are_not_called_damaged(tmp_path: Path) -> None:
    Store.open(tmp_path / "store.lmdb", 5, MAP_SIZE, cluster=CLUSTER).close()
    with pytest.raises(BadBytes, match="schemaversion") as refused:
        Store.open(tmp_path / "store.lmdb", 4, MAP_SIZE, cluster=CLUSTER)
    assert not is_damage(refused.value)


def test_a_copy_is_open_for_reading_alone(panel: Panel, tmp_path: Path) -> None:
    panel.create(small_zone(ZONE))
    panel.store.copy(tmp_path / "copy.lmdb")
    before = [(tmp_path / name).read_bytes() for name in ("copy.lmdb", "copy.lmdb-0")]
    with open_copy(tmp_path / "copy.lmdb", schema_for(4)) as (main, records):
        assert main.row() is not None
        assert records.row() is not None
        with pytest.raises(lmdb.ReadonlyError), records.env.begin(write=True) as txn:
            txn.put(b"key", b"value", db=records.tables[Dbi.RECORDS])
    assert before == [(tmp_path / name).read_bytes() for name in ("copy.lmdb", "copy.lmdb-0")]
    assert not (tmp_path / "copy.lmdb-lock").exists()


def test_what_is_no_copy_is_refused(panel: Panel, tmp_path: Path) -> None:
    panel.create(small_zone(ZONE))
    panel.store.copy(tmp_path / "copy.lmdb")
    with pytest.raises(BadSnapshot), open_copy(tmp_path / "copy.lmdb", schema_for(6)):
        pass
    with pytest.raises(BadSnapshot), open_copy(junk(tmp_path / "junk.lmdb"), schema_for(4)):
        pass


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (lmdb.CorruptedError("x"), Damaged),
        (lmdb.MapFullError("x"), MapFull),
        (lmdb.Error(f"mdb_txn_commit: {os.strerror(errno.ENOSPC)}"), DiskFull),
        (lmdb.BadTxnError("x"), lmdb.BadTxnError),
    ],
)
def test_errors_of_lmdb_become_errors_of_ours(panel: Panel, error: Exception, ours: type[Exception]) -> None:
    with pytest.raises(ours), lmdb_errors(panel.store._main, panel.store._records):
        raise error


def test_any_error_of_lmdb_is_suspected_damage() -> None:
    assert is_damage(lmdb.BadTxnError("x"))
    assert is_damage(Damaged(what="pdns.lmdb", reason="x"))
    assert not is_damage(ValueError("x"))
