import bz2
import gzip
import shutil
from pathlib import Path

import pytest

from dnspanel.transfer.documents import Document, SourceFault
from dnspanel.transfer.errors import SourceRefused, UploadRefused
from dnspanel.transfer.sources.powerdns_dump import PowerdnsDumpSource
from tests.dnspanel.transfer.databases import mysql_estate as mysql_estate
from tests.dnspanel.transfer.databases import postgres_estate as postgres_estate
from tests.dnspanel.transfer.databases import sqlite_estate as sqlite_estate
from tests.dnspanel.transfer.powerdns_estate import check_estate, read
from tests.dnspanel.transfer.running import MariaDB, PowerDNS, needed, run


def source_of(directory: Path, dump: bytes | str) -> PowerdnsDumpSource:
    path = directory / "dump.sql"
    path.write_bytes(dump.encode() if isinstance(dump, str) else dump)
    return PowerdnsDumpSource(path, directory)


def test_a_dump_of_sqlite3_gives_what_the_database_gives(sqlite_estate: PowerDNS, tmp_path: Path) -> None:
    source = source_of(tmp_path, run("sqlite3", sqlite_estate.directory / "pdns.sqlite", ".dump"))
    check_estate(read(source.items()))
    assert source.done == source.total > 0
    assert [path.name for path in tmp_path.iterdir()] == ["dump.sql"]


def test_an_sqlite_file_itself_is_read_as_a_dump(sqlite_estate: PowerDNS, tmp_path: Path) -> None:
    shutil.copy(sqlite_estate.directory / "pdns.sqlite", tmp_path / "dump.sql")
    check_estate(read(PowerdnsDumpSource(tmp_path / "dump.sql", tmp_path).items()))


@pytest.mark.parametrize("options", [[], ["--inserts"], ["--column-inserts"], ["--inserts", "--rows-per-insert=50"]])
def test_a_dump_of_pg_dump_gives_what_the_database_gives(
    postgres_estate: str, tmp_path: Path, options: list[str]
) -> None:
    needed("pg_dump")
    check_estate(read(source_of(tmp_path, run("pg_dump", *options, postgres_estate)).items()))


@pytest.mark.parametrize(
    "options", [[], ["--skip-extended-insert"], ["--complete-insert", "--hex-blob"], ["--compact"]]
)
def test_a_dump_of_mysqldump_gives_what_the_database_gives(
    mysql_estate: MariaDB, tmp_path: Path, options: list[str]
) -> None:
    needed("mariadb-dump")
    arguments = [f"--socket={mysql_estate.socket}", "--user=root", *options, "pdns"]
    check_estate(read(source_of(tmp_path, run("mariadb-dump", *arguments)).items()))


def test_a_dump_may_be_compressed(sqlite_estate: PowerDNS, tmp_path: Path) -> None:
    dump = run("sqlite3", sqlite_estate.directory / "pdns.sqlite", ".dump").encode()
    for packed in (gzip.compress(dump), bz2.compress(dump)):
        check_estate(read(source_of(tmp_path, packed).items()))


SMALL = """
CREATE TABLE domains (id INTEGER, name TEXT, type TEXT);
CREATE TABLE records (id INTEGER, domain_id INTEGER, name TEXT, type TEXT, content TEXT, ttl INTEGER, disabled TEXT);
INSERT INTO domains VALUES (1,'a.test','NATIVE'),(2,'b.test','NATIVE');
INSERT INTO records VALUES (1,1,'a.test','TXT','"one"',60,'f'),(2,1,'a.test','TXT','"off"',60,'t'),(oops);
INSERT INTO records VALUES (3,2,'b.test','A','192.0.2.1','60','0');
"""


def test_a_line_that_cannot_be_understood_is_a_fault_and_the_rest_is_read(tmp_path: Path) -> None:
    items = list(source_of(tmp_path, SMALL).items())
    assert isinstance(items[0], SourceFault)
    assert (items[0].path, items[0].line, items[0].code) == ("dump.sql", 5, "dump-line")
    documents = [item for item in items if isinstance(item, Document)]
    assert [document.text.decode() for document in documents] == [
        'a.test. 60 IN TXT "one"\n;!disabled a.test. 60 IN TXT "off"\n',
        "b.test. 60 IN A 192.0.2.1\n",
    ]


def test_an_interrupted_read_goes_on_without_parsing_the_dump_again(tmp_path: Path) -> None:
    complete = list(source_of(tmp_path, SMALL).items())
    first = source_of(tmp_path, SMALL).items()
    assert next(first) == complete[0]
    del first
    assert (tmp_path / "dump.sqlite").stat().st_mode & 0o777 == 0o600
    (tmp_path / "dump.sql").write_text("this is not read any more")
    assert list(PowerdnsDumpSource(tmp_path / "dump.sql", tmp_path).items(1)) == complete[1:]
    assert not (tmp_path / "dump.sqlite").exists()


def test_a_half_loaded_file_is_loaded_anew(tmp_path: Path) -> None:
    (tmp_path / "dump.sqlite").write_bytes(b"")
    assert len(list(source_of(tmp_path, SMALL).items())) == 3


@pytest.mark.parametrize(
    "dump", ["", "SELECT 1;", "CREATE TABLE domains (id INTEGER, name TEXT, type TEXT);", "\0" * 9999]
)
def test_what_is_no_dump_of_a_powerdns_is_refused(tmp_path: Path, dump: str) -> None:
    with pytest.raises(SourceRefused, match="isn’t a dump of a PowerDNS database"):
        list(source_of(tmp_path, dump).items())


def test_a_dump_that_is_full_of_nonsense_is_refused(tmp_path: Path) -> None:
    lines = "INSERT INTO domains VALUES (nonsense);\n" * 1001
    with pytest.raises(SourceRefused, match="more than 1,000 lines"):
        list(source_of(tmp_path, SMALL + lines).items())


def test_a_compressed_bomb_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UploadRefused) as raised:
        list(source_of(tmp_path, gzip.compress(b"--" + b" " * (65 << 20))).items())
    assert raised.value.limit == "ratio"
