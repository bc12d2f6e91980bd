import random
from pathlib import Path

import lmdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnspanel.transfer.sources.lmdb_pages import LmdbFile
from replication.errors import BadBytes

Rows = list[tuple[bytes, bytes]]


def write(path: Path, rows: Rows, **flags: bool) -> None:
    with lmdb.open(str(path), subdir=False, max_dbs=8, map_size=1 << 28) as env, env.begin(write=True) as txn:
        table = env.open_db(b"table", txn=txn, **flags)
        for key, value in rows:
            txn.put(key, value, db=table)


def by_library(path: Path, start: bytes = b"") -> Rows:
    """Return the rows that LMDB's own library reads, from key `start`."""
    with lmdb.open(str(path), subdir=False, max_dbs=8, readonly=True, lock=False) as env, env.begin() as txn:
        cursor = txn.cursor(env.open_db(b"table", txn=txn, create=False))
        if not (cursor.set_range(start) if start else cursor.first()):
            return []
        return [(bytes(key), bytes(value)) for key, value in cursor]


def by_pages(path: Path, start: bytes = b"") -> Rows:
    with LmdbFile(path) as file:
        table = file.table(b"table")
        assert table is not None
        return list(file.rows(table, start))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.sampled_from([0, 1, 7, 300, 5000]))
def test_rows_and_searches_are_those_of_the_library(
    tmp_path_factory: pytest.TempPathFactory, seed: int, count: int
) -> None:
    chance = random.Random(seed)
    path = tmp_path_factory.mktemp("lmdb") / "file"
    # Short and long keys, and values of all sizes, including those on separate pages.
    sizes = (0, 1, 20, 500, 1500, 3000, 20_000)
    weights = (1, 5, 50, 5, 2, 1, 1)
    rows = [
        (chance.randbytes(chance.randint(1, 40)), chance.randbytes(chance.choices(sizes, weights)[0]))
        for _ in range(count)
    ]
    write(path, rows)
    assert by_pages(path) == by_library(path)
    for _ in range(20):
        start = chance.randbytes(chance.randint(1, 3)) if not rows or chance.random() < 0.5 else chance.choice(rows)[0]
        assert by_pages(path, start) == by_library(path, start)


@pytest.mark.parametrize("values", [1, 2, 30, 3000])
@pytest.mark.parametrize("fixed", [True, False])
def test_several_values_of_a_key_are_those_of_the_library(tmp_path: Path, values: int, fixed: bool) -> None:
    rows = [
        (b"key%d" % key, (value * 7919 % 65536).to_bytes(4, "little") + (b"" if fixed else b"x" * (value % 5)))
        for key in range(20)
        for value in range(values)
    ]
    write(tmp_path / "file", rows, dupsort=True, dupfixed=fixed)
    assert by_pages(tmp_path / "file") == by_library(tmp_path / "file")


def test_integer_keys_come_in_the_order_of_the_tree(tmp_path: Path) -> None:
    rows = [(number.to_bytes(4, "little"), b"x") for number in range(3000)]
    write(tmp_path / "file", rows, integerkey=True)
    assert by_pages(tmp_path / "file") == rows


def test_the_newest_state_counts_and_deleted_rows_are_gone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(path, [(b"%05d" % number, b"v" * 50) for number in range(5000)])
    with lmdb.open(str(path), subdir=False, max_dbs=8, map_size=1 << 28) as env:
        table = env.open_db(b"table")
        for step in range(5):
            with env.begin(write=True) as txn:
                for number in range(step, 5000, 7):
                    txn.delete(b"%05d" % number, db=table)
    assert by_pages(path) == by_library(path)


def test_a_table_that_does_not_exist_is_none(tmp_path: Path) -> None:
    write(tmp_path / "file", [(b"a", b"b")])
    with LmdbFile(tmp_path / "file") as file:
        assert file.table(b"tabl") is None
        assert file.table(b"tables") is None
        assert file.check_unchanged()


def test_a_commit_of_somebody_else_is_noticed(tmp_path: Path) -> None:
    write(tmp_path / "file", [(b"a", b"b")])
    with LmdbFile(tmp_path / "file") as file:
        write(tmp_path / "file", [(b"c", b"d")])
        assert not file.check_unchanged()


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "file"
    chance = random.Random(1)
    write(path, [(chance.randbytes(12), chance.randbytes(chance.choice((10, 100, 6000)))) for _ in range(2000)])
    return path.read_bytes()


def test_every_truncation_is_refused_at_once(complete: bytes, tmp_path: Path) -> None:
    for size in [*range(0, 9000, 501), len(complete) - 4096, len(complete) - 1]:
        (tmp_path / "file").write_bytes(complete[:size])
        with pytest.raises(BadBytes):
            LmdbFile(tmp_path / "file")


@pytest.mark.parametrize("seed", range(60))
def test_damage_is_told_or_does_not_matter(complete: bytes, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    damaged = bytearray(complete)
    for _ in range(20):
        page = chance.randrange(len(damaged) // 4096) * 4096
        at = page + chance.choice((chance.randrange(24), chance.randrange(16, 256), chance.randrange(4096)))
        damaged[at] = chance.choice((0, 1, 0x7F, 0xFF, chance.randrange(256)))
    (tmp_path / "file").write_bytes(damaged)
    rows = 0
    try:
        with LmdbFile(tmp_path / "file") as file:
            table = file.table(b"table")
            for _ in file.rows(table) if table is not None else ():
                rows += 1
    except BadBytes:
        pass
    # Even a damaged tree cannot yield more rows than fit into the file's pages.
    assert rows <= len(complete) // 8


def test_pages_that_lead_in_circles_are_told(tmp_path: Path) -> None:
    write(tmp_path / "file", [(b"%08d" % number, b"v" * 100) for number in range(3000)])
    damaged = bytearray((tmp_path / "file").read_bytes())
    branches = [at for at in range(8192, len(damaged), 4096) if damaged[at + 10] & 1]
    assert branches
    for at in branches:
        # Every child of the branch is the branch itself.
        count = (int.from_bytes(damaged[at + 12 : at + 14], "little") - 16) // 2
        for index in range(count):
            node = at + int.from_bytes(damaged[at + 16 + 2 * index : at + 18 + 2 * index], "little")
            damaged[node : node + 6] = (at // 4096).to_bytes(6, "little")
    (tmp_path / "file").write_bytes(damaged)
    with pytest.raises(BadBytes, match="form a loop"):
        by_pages(tmp_path / "file")
