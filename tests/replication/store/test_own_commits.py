"""Foreign commits are noticed, and remembered until a check has covered them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from replication.store.file_row import Database
from replication.store.own_commits import foreign_commit, newest_commit, note_commit
from replication.store.store import Store
from replication.wire.segment import open_segment
from tests.replication.panel import CLUSTER, MAP_SIZE, PUBLIC_KEYS, Panel, small_zone


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "node.lmdb", 4, MAP_SIZE, cluster=CLUSTER) as store:
        yield store


def write(database: Database, *, ours: bool = False, checked: int = 0) -> None:
    with database.env.begin(write=True) as txn:
        txn.put(b"something", str(newest_commit(database)).encode(), db=database.own)
        if ours:
            note_commit(txn, database, checked=checked)


def test_a_store_just_made_has_only_our_commits(store: Store) -> None:
    assert not store.has_foreign_commit()


def test_what_a_segment_commits_is_ours(store: Store, panel: Panel) -> None:
    for sealed in (panel.create(small_zone("example.test.")), panel.delete("example.test.")):
        store.apply(open_segment(sealed, PUBLIC_KEYS))
    assert not store.has_foreign_commit()


def test_opening_the_files_again_commits_nothing(tmp_path: Path) -> None:
    for _ in range(3):
        with Store.open(tmp_path / "node.lmdb", 6, MAP_SIZE, cluster=CLUSTER) as store:
            assert not store.has_foreign_commit()
            newest = newest_commit(store._main)
    assert newest < 20


def test_a_foreign_commit_is_seen_and_our_next_one_does_not_hide_it(store: Store) -> None:
    database = store._main
    write(database)
    foreign = newest_commit(database)
    assert foreign_commit(database) == foreign
    write(database, ours=True)
    write(database, ours=True)
    assert foreign_commit(database) == foreign
    assert store.has_foreign_commit()


def test_a_check_covers_what_came_before_it_and_nothing_later(store: Store) -> None:
    database = store._main
    write(database)
    covered = newest_commit(database)
    write(database)
    write(database, ours=True, checked=covered)
    assert foreign_commit(database) == covered + 1
    write(database, ours=True, checked=covered + 1)
    assert foreign_commit(database) == 0
