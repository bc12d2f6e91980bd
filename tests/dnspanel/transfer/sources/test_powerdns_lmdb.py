import random
import shutil
from pathlib import Path
from typing import Any
from uuid import UUID

import lmdb
import pytest

from dnspanel.transfer.documents import Document, Kept, SourceFault
from dnspanel.transfer.errors import SourceRefused
from dnspanel.transfer.models import KeptKind
from dnspanel.transfer.sources.powerdns_lmdb import PowerdnsLmdbSource
from replication.codec import comments, dnssec, domains, header, keys, values
from replication.codec.comments import CommentObject
from replication.codec.dnssec import MetadataObject
from replication.codec.domains import ZoneObject
from replication.codec.schema import SETTINGS_DBI, Dbi, schema_for
from replication.codec.values import StoredRecord
from tests.dnspanel.transfer.powerdns_estate import (
    EXTRA_ZONE,
    KEPT,
    TSIG_SECRET,
    check_estate,
    check_parsed,
    expected,
    fill,
    read,
    texts,
)
from tests.dnspanel.transfer.running import PowerDNS, lmdb_powerdns
from tests.golden import powerdns_objects
from tests.oracle.corpus import rrsets_of, zone_texts
from tests.oracle.powerdns import ROOTS, Unavailable, of_suite

SHARDS = 3
A, AAAA, MX = 1, 28, 15


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> PowerDNS:
    """Return a PowerDNS whose LMDB files the installed version wrote, with schema 4 and several shards."""
    powerdns = lmdb_powerdns(tmp_path_factory.mktemp("lmdb"), SHARDS)
    fill(powerdns)
    return powerdns


@pytest.fixture
def copied(written: PowerDNS, tmp_path: Path) -> Path:
    """Copy the LMDB files, so that a test can damage them. Return the path of the main file."""
    for path in written.directory.glob("pdns.lmdb*"):
        shutil.copy(path, tmp_path)
    return tmp_path / "pdns.lmdb"


def test_all_of_an_lmdb_of_several_shards_comes_as_powerdns_wrote_it(written: PowerDNS) -> None:
    assert len(list(written.directory.glob("pdns.lmdb-[0-9]"))) == SHARDS
    source = PowerdnsLmdbSource(written.directory / "pdns.lmdb")
    found = read(source.items())
    check_estate(found, comments=False)
    assert source.done == source.total == len(found.documents)


def test_names_of_the_full_length_are_complete(tmp_path: Path) -> None:
    powerdns = lmdb_powerdns(tmp_path, 1)
    text = zone_texts()["long.test."]
    powerdns.load_zone("long.test.", text)
    found = read(PowerdnsLmdbSource(tmp_path / "pdns.lmdb").items())
    assert found.rrsets() == {"long.test.": set(rrsets_of("long.test.", text))}


def test_a_directory_with_the_files_will_do(written: PowerDNS, copied: Path) -> None:
    complete = list(PowerdnsLmdbSource(written.directory / "pdns.lmdb").items())
    assert list(PowerdnsLmdbSource(copied.parent).items()) == complete
    assert list(PowerdnsLmdbSource(copied).items(5)) == complete[5:]
    copied.with_name("another.lmdb").touch()
    with pytest.raises(SourceRefused, match="one LMDB main file and its shards, but contains 2"):
        list(PowerdnsLmdbSource(copied.parent).items())


def test_the_files_are_left_as_they_were(copied: Path) -> None:
    before = {path.name: path.read_bytes() for path in copied.parent.iterdir()}
    list(PowerdnsLmdbSource(copied).items())
    assert {path.name: path.read_bytes() for path in copied.parent.iterdir()} == before


def test_a_missing_shard_is_a_fault_of_its_zones_only(written: PowerDNS, copied: Path) -> None:
    complete = read(PowerdnsLmdbSource(written.directory / "pdns.lmdb").items())
    copied.with_name("pdns.lmdb-1").unlink()
    found = read(PowerdnsLmdbSource(copied).items())
    lost = {fault.zone for fault in found.faults if fault.code == "no-shard"}
    assert 0 < len(lost) < len(complete.documents)
    assert found.documents == {zone: text for zone, text in complete.documents.items() if zone not in lost}
    assert "the file pdns.lmdb-1 with the zone’s records is missing" in next(
        fault.reason for fault in found.faults if fault.code == "no-shard"
    )


def test_a_truncated_shard_is_a_fault_of_its_zones_only(copied: Path) -> None:
    shard = copied.with_name("pdns.lmdb-1")
    shard.write_bytes(shard.read_bytes()[:-4096])
    found = read(PowerdnsLmdbSource(copied).items())
    (reason,) = {fault.reason for fault in found.faults if fault.code == "no-shard"}
    assert "truncated" in reason
    assert found.documents != {}


def test_a_truncated_main_file_is_refused(copied: Path) -> None:
    complete = copied.read_bytes()
    for size in (0, 100, 4096, 8192, len(complete) // 2, len(complete) - 1):
        copied.write_bytes(complete[:size])
        with pytest.raises(SourceRefused, match="couldn’t be read"):
            list(PowerdnsLmdbSource(copied).items())


def test_a_file_that_is_no_main_file_is_refused(copied: Path) -> None:
    with pytest.raises(SourceRefused, match="not PowerDNS’s main file"):
        list(PowerdnsLmdbSource(copied.with_name("pdns.lmdb-0")).items())
    with pytest.raises(SourceRefused, match="No such file"):
        list(PowerdnsLmdbSource(copied.with_name("nothing")).items())
    copied.write_bytes(b"x" * 20000)
    with pytest.raises(SourceRefused, match="not an LMDB file"):
        list(PowerdnsLmdbSource(copied).items())


@pytest.mark.parametrize("seed", range(40))
def test_damage_anywhere_ends_in_faults_or_a_refusal_and_never_in_a_crash(copied: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = copied if seed % 2 else copied.with_name(f"pdns.lmdb-{seed // 2 % SHARDS}")
    damaged = bytearray(path.read_bytes())
    for _ in range(30):
        # Mostly at the start of pages, with headers and nodes.
        page = chance.randrange(len(damaged) // 4096) * 4096
        at = page + chance.choice((chance.randrange(32), chance.randrange(4096)))
        damaged[at] = chance.randrange(256)
    path.write_bytes(damaged)
    try:
        items = list(PowerdnsLmdbSource(copied).items())
    except SourceRefused:
        return
    assert all(isinstance(item, Document | SourceFault | Kept) for item in items)


def test_a_file_that_is_written_to_meanwhile_is_refused(copied: Path) -> None:
    items = PowerdnsLmdbSource(copied).items()
    next(items)
    with lmdb.open(str(copied), subdir=False, max_dbs=128) as environment, environment.begin(write=True) as writer:
        writer.put(b"x", b"y", db=environment.open_db(b"other", txn=writer))
    with pytest.raises(SourceRefused, match="changed the LMDB during the import"):
        list(items)


@pytest.mark.parametrize("suite", ["trixie", "sid"])
def test_schemas_5_and_6_come_as_newer_releases_wrote_them(suite: str) -> None:
    if not (ROOTS / suite).is_dir():
        pytest.skip(f"there is no PowerDNS of {suite} in {ROOTS}")
    try:
        powerdns = of_suite(suite)
    except Unavailable as exc:
        pytest.skip(str(exc))
    with powerdns.place("foreign") as place:
        for zone, text in texts().items():
            place.load_zone(zone, text)
        place.pdnsutil("set-meta", EXTRA_ZONE, "X-NOTE", "one", "two")
        place.pdnsutil("import-tsig-key", "transfer", "hmac-sha256", TSIG_SECRET)
        found = read(PowerdnsLmdbSource(place.database).items())
    assert found.faults == []
    assert found.rrsets() == expected()
    for document in found.documents.values():
        check_parsed(document)
    assert {kept for kept in found.kept if kept in KEPT} == {
        kept for kept in KEPT if kept[2] in ("X-NOTE", "transfer.")
    }


def write_small(path: Path, number: int) -> None:
    """Write LMDB files with a zone of varied content, an empty zone, and rows that a reader has to ignore."""
    schema = schema_for(number)
    metadata = [MetadataObject("a.test.", "X-KIND", value) for value in ("value", "orphan")]
    main: list[tuple[Dbi, bytes, bytes]] = [
        (Dbi.DOMAINS, schema.row_id_key(1), domains.encode_domain(ZoneObject("a.test.", 0, account="acme"), number)),
        (Dbi.DOMAINS_INDEX, *schema.index_row("a.test.", 1)),
        *schema.zone_rows(2, "b.test."),
        *(
            (Dbi.METADATA, schema.row_id_key(row), dnssec.encode_metadata(obj, number))
            for row, obj in enumerate(metadata, 1)
        ),
        (Dbi.METADATA_INDEX, *schema.index_row("a.test.", 1)),
    ]
    addresses = [StoredRecord(bytes((192, 0, 2, 1)), 300), StoredRecord(bytes((192, 0, 2, 2)), 300, disabled=True)]
    www = keys.relative_key("www.a.test.", "a.test.")
    records = {
        keys.record_key(1, www, A): values.encode_records(addresses),
        keys.record_key(1, www, AAAA): values.encode_records([StoredRecord(b"\xbe\xef", 300)]),
        keys.record_key(1, keys.relative_key("ent.a.test.", "a.test."), values.ENT): values.encode_ent(auth=True),
    }
    deleted = {keys.record_key(2, keys.APEX, A): header.encode_header(0, 0, deleted=True)} if number > 4 else {}
    remarks: dict[bytes, bytes] = {}
    if number == 6:
        main += variant_rows(schema)
        for name, type, text in (("www", A, "on the RRset"), ("gone", MX, "on nothing")):
            place = keys.record_key(1, keys.relative_key(f"{name}.a.test.", "a.test."), type)
            body = powerdns_objects.encode_comment(CommentObject(text, "bob", 7))
            remarks[powerdns_objects.comment_key(place, body)] = body
    put(path, schema, {SETTINGS_DBI: dict(schema.pdns_rows(UUID(int=1)))}, main)
    shard = {schema.dbi(Dbi.RECORDS).name: records, comments.COMMENTS_DBI: remarks}
    put(path.with_name(path.name + "-0"), schema, shard, [], {schema.dbi(Dbi.RECORDS).name: deleted})


def variant_rows(schema: Any) -> list[tuple[Dbi, bytes, bytes]]:
    """Return the rows of a.test. as a PowerDNS 5 view variant. The index key has the variant after the name."""
    name = keys.name_key("a.test.") + b"\0priv"
    index = len(name).to_bytes(2, "big") + name + (3).to_bytes(4, "big")
    zone = domains.encode_domain(ZoneObject("a.test.", 3, variant="priv"), 6)
    return [(Dbi.DOMAINS, schema.row_id_key(3), zone), (Dbi.DOMAINS_INDEX, index, b"")]


def put(
    path: Path,
    schema: Any,
    tables: dict[bytes, dict[bytes, bytes]],
    rows: list[tuple[Dbi, bytes, bytes]],
    raw: dict[bytes, dict[bytes, bytes]] | None = None,
) -> None:
    """Write rows in this schema, and `raw` values unchanged."""
    with lmdb.open(str(path), subdir=False, max_dbs=128, map_size=1 << 24) as env, env.begin(write=True) as txn:
        for name, content in tables.items():
            if content:
                table = env.open_db(name, txn=txn)
                for key, body in content.items():
                    txn.put(key, schema.wrap(body, 0, 0), db=table)
        for dbi, key, body in rows:
            spec = schema.dbi(dbi)
            flags = {"integerkey": spec.integerkey, "dupsort": spec.dupsort, "dupfixed": spec.dupfixed}
            txn.put(key, schema.wrap(body, 0, 0), db=env.open_db(spec.name, txn=txn, **flags))
        for name, content in (raw or {}).items():
            for key, value in content.items():
                txn.put(key, value, db=env.open_db(name, txn=txn))


@pytest.mark.parametrize("schema", [4, 5, 6])
def test_every_schema_is_read_with_deleted_rows_orphans_comments_and_variants(tmp_path: Path, schema: int) -> None:
    path = tmp_path / "pdns.lmdb"
    write_small(path, schema)
    found = read(PowerdnsLmdbSource(path).items())
    newest = schema == 6
    comment = " ; on the RRset" if newest else ""
    assert found.documents["a.test."].text.decode() == (
        f"www.a.test. 300 IN A 192.0.2.1{comment}\n;!disabled www.a.test. 300 IN A 192.0.2.2\n"
        "www.a.test. 300 IN AAAA \\# 2 beef\n"
    )
    assert [(fault.zone, fault.code) for fault in found.faults] == ([("", "view-variant")] if newest else []) + [
        ("b.test.", "no-records")
    ]
    assert found.kept == {
        ("a.test.", KeptKind.METADATA, "X-KIND", b"value"),
        ("a.test.", KeptKind.METADATA, "account", b"acme"),
    } | ({("a.test.", KeptKind.COMMENT, "gone.a.test. MX", b"on nothing")} if newest else set())
