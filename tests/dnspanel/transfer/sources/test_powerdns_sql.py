import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from dnspanel.transfer.documents import Document, Item, SourceFault
from dnspanel.transfer.errors import SourceRefused
from dnspanel.transfer.sources.powerdns_sql import PowerdnsSqlSource
from dnspanel.zones.rules.violations import Severity
from tests.dnspanel.transfer.databases import mysql_estate as mysql_estate
from tests.dnspanel.transfer.databases import postgres_estate as postgres_estate
from tests.dnspanel.transfer.databases import schema
from tests.dnspanel.transfer.databases import sqlite_estate as sqlite_estate
from tests.dnspanel.transfer.powerdns_estate import check_estate, read
from tests.dnspanel.transfer.running import MariaDB, PowerDNS


def test_all_of_an_sqlite_database_comes_as_powerdns_wrote_it(sqlite_estate: PowerDNS) -> None:
    source = PowerdnsSqlSource(f"sqlite://{sqlite_estate.directory}/pdns.sqlite")
    found = read(source.items())
    check_estate(found)
    assert source.done == source.total == len(found.documents)


def test_all_of_a_postgresql_database_comes_as_powerdns_wrote_it(postgres_estate: str) -> None:
    check_estate(read(PowerdnsSqlSource(postgres_estate).items()))


def test_all_of_a_mysql_database_comes_as_powerdns_wrote_it(mysql_estate: MariaDB) -> None:
    check_estate(read(PowerdnsSqlSource(mysql_estate.url("pdns")).items()))


def test_skipped_items_are_those_that_came_first(sqlite_estate: PowerDNS) -> None:
    source = PowerdnsSqlSource(f"sqlite://{sqlite_estate.directory}/pdns.sqlite")
    everything = list(source.items())
    for skip in (0, 1, 7, len(everything) - 1, len(everything), len(everything) + 5):
        assert list(source.items(skip)) == everything[skip:]


def test_a_read_is_of_one_moment_whatever_is_written_meanwhile(postgres_estate: str) -> None:
    items = PowerdnsSqlSource(postgres_estate).items()
    first = next(items)
    with psycopg.connect(postgres_estate, autocommit=True) as other:
        other.execute("UPDATE records SET content = '203.0.113.9' WHERE name = 'www.extra.test'")
        other.execute("INSERT INTO domains (name, type) VALUES ('new.test', 'NATIVE')")
        try:
            found = read([first, *items])
        finally:
            other.execute("DELETE FROM domains WHERE name = 'new.test'")
            # In another order than before, because the update cannot be distinguished from the earlier rows.
            other.execute("DELETE FROM records WHERE name = 'www.extra.test'")
            for address in ("192.0.2.1", "192.0.2.2"):
                other.execute(
                    "INSERT INTO records (domain_id, name, type, content, ttl, prio, disabled)"
                    " SELECT id, 'www.extra.test', 'A', %s, 300, 0, false FROM domains WHERE name = 'extra.test'",
                    (address,),
                )
    check_estate(found)


def database(path: Path, text: str, tables: str | None = None) -> PowerdnsSqlSource:
    """Return a source that reads a SQLite file. `text` is the SQL that fills it."""
    with closing(sqlite3.connect(path / "rows.sqlite")) as connection:
        connection.executescript(schema("sqlite3", "sqlite3") if tables is None else tables)
        connection.executescript(f"PRAGMA foreign_keys = 0; {text}")
        connection.commit()
    return PowerdnsSqlSource(f"sqlite://{path}/rows.sqlite")


def one(items: list[Item], kind: type) -> Item:
    (found,) = [item for item in items if isinstance(item, kind)]
    return found


def test_a_database_of_powerdns_3_4_lacks_columns_and_is_read_all_the_same(tmp_path: Path) -> None:
    old = """
    CREATE TABLE domains (id INTEGER PRIMARY KEY, name VARCHAR(255), master VARCHAR(128), last_check INTEGER,
      type VARCHAR(6), notified_serial INTEGER, account VARCHAR(40));
    CREATE TABLE records (id INTEGER PRIMARY KEY, domain_id INTEGER, name VARCHAR(255), type VARCHAR(10),
      content VARCHAR(65535), ttl INTEGER, prio INTEGER, change_date INTEGER);
    """
    rows = """
    INSERT INTO domains (id, name, type) VALUES (1, 'old.test', 'MASTER');
    INSERT INTO records (domain_id, name, type, content, ttl, prio) VALUES
      (1, 'old.test', 'SOA', 'ns.old.test host@old.test 5', 300, NULL),
      (1, 'old.test', 'MX', 'mail.old.test', NULL, 10),
      (1, 'old.test', 'MX', '20 mail2.old.test', 300, 0),
      (1, '_sip._tcp.old.test', 'SRV', '5 5060 sip.old.test', 300, 1),
      (1, 'old.test', 'TXT', 'v=spf1 -all; "x"', 300, 0);
    """
    (document,) = list(database(tmp_path, rows, old).items())
    assert isinstance(document, Document)
    assert document.text.decode().splitlines() == [
        "_sip._tcp.old.test. 300 IN SRV 1 5 5060 sip.old.test.",
        "old.test. 3600 IN MX 10 mail.old.test.",
        "old.test. 300 IN MX 20 mail2.old.test.",
        "old.test. 300 IN SOA ns.old.test. host.old.test. 5 10800 3600 604800 3600",
        'old.test. 300 IN TXT "v=spf1 -all; \\"x\\""',
    ]


def test_empty_non_terminals_are_no_records(tmp_path: Path) -> None:
    rows = """
    INSERT INTO domains (id, name, type) VALUES (1, 'a.test', 'NATIVE');
    INSERT INTO records (domain_id, name, type, content, ttl) VALUES (1, 'x.a.test', NULL, NULL, NULL),
      (1, 'y.a.test', '', '', 0), (1, 'z.x.a.test', 'A', '192.0.2.1', 60);
    """
    document = one(list(database(tmp_path, rows).items()), Document)
    assert isinstance(document, Document)
    assert document.text == b"z.x.a.test. 60 IN A 192.0.2.1\n"


def test_zones_without_records_and_records_without_zone_are_told(tmp_path: Path) -> None:
    rows = """
    INSERT INTO domains (id, name, type) VALUES (1, 'empty.test', 'NATIVE'), (2, 'bad..test', 'NATIVE');
    INSERT INTO records (domain_id, name, type, content, ttl) VALUES (9, 'x.test', 'A', '192.0.2.1', 60),
      (NULL, 'y.test', 'A', '192.0.2.1', 60);
    """
    faults = [item for item in database(tmp_path, rows).items() if isinstance(item, SourceFault)]
    assert [(fault.code, fault.severity, fault.zone) for fault in faults] == [
        ("records-without-zone", Severity.WARNING, ""),
        ("bad-zone-name", Severity.ERROR, ""),
        ("no-records", Severity.ERROR, "empty.test."),
    ]
    assert faults[0].reason.startswith("2 records")
    assert faults[1].source == "bad..test"


def test_a_large_zone_and_many_small_ones_come_complete_in_batches(tmp_path: Path) -> None:
    rows = """
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
      INSERT INTO domains (id, name, type) SELECT i, printf('z%04d.test', 2501 - i), 'NATIVE' FROM n;
    INSERT INTO records (domain_id, name, type, content, ttl)
      SELECT id, name, 'A', '192.0.2.1', 60 FROM domains;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
      INSERT INTO records (domain_id, name, type, content, ttl)
      SELECT 1200, 'h' || i || '.z1301.test', 'A', '192.0.2.1', 60 FROM n;
    """
    found = read(database(tmp_path, rows).items())
    assert list(found.documents) == [f"z{number:04}.test." for number in range(1, 2501)]
    assert len(found.lines("z1301.test.")) == 30001
    assert sum(len(found.lines(zone)) for zone in found.documents) == 2500 + 30000


def test_another_database_is_refused_with_what_it_lacks(tmp_path: Path) -> None:
    source = database(tmp_path, "", "CREATE TABLE domains (id INTEGER, name TEXT);")
    with pytest.raises(SourceRefused, match="the table “domains” is missing or different"):
        list(source.items())
