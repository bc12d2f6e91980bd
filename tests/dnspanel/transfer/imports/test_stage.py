"""Rows that an import prepares for new zones: they equal the operations of a full compile of the zone."""

from pathlib import Path

from dnspanel.transfer.documents import Document, Options, ReadyRRset
from dnspanel.transfer.imports.stage import StageWriter, read_stage
from dnspanel.transfer.zonefile.parse import read_zone
from replication.compile import compile_zone
from replication.dns.rrset import RRset
from replication.wire.operations import digest_bytes, record_puts
from tests.dnspanel.transfer.conftest import zone_text

ZONE = "example.test."
TEXT = zone_text(
    ZONE,
    "www 300 A 192.0.2.1",
    ";!disabled www 300 IN A 192.0.2.2",
    ";!disabled gone 300 IN A 192.0.2.3",
    'deep.down.here 300 TXT "a b" "\\200"',
    "sub NS ns1.sub",
    "ns1.sub A 192.0.2.4",
)


def ready() -> list[ReadyRRset]:
    parsed = read_zone(Document("x", TEXT.encode(), ZONE), options=Options(), include=lambda _: None, allow_lua=False)
    assert parsed.is_sound, parsed.faults
    return parsed.rrsets


def test_the_operations_are_those_of_a_full_compile_without_what_is_disabled(tmp_path: Path) -> None:
    rrsets = ready()
    writer = StageWriter(tmp_path / "stage-1")
    staged = writer.add(77, ZONE, rrsets)
    content = read_stage(tmp_path / "stage-1", *writer.finish())
    assert content is not None
    compiled = compile_zone(ZONE, [RRset(r.name, r.type, r.ttl, r.texts, r.disabled, r.comment) for r in rrsets])
    ops, digest = record_puts(77, compiled)
    assert bytes(content[staged.ops_offset : staged.ops_offset + staged.ops_size]) == ops
    assert (staged.op_count, staged.digest) == (len(compiled), digest_bytes(digest))
    rows = bytes(content[staged.rows_offset : staged.rows_offset + staged.rows_size]).decode().splitlines()
    assert len(rows) == len(rrsets)
    assert all(row.startswith("77\t") for row in rows)


def test_a_file_that_is_not_what_was_written_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "stage-1"
    writer = StageWriter(path)
    writer.add(1, ZONE, ready())
    size, checksum = writer.finish()
    complete = path.read_bytes()
    path.write_bytes(complete[:-1])
    assert read_stage(path, size, checksum) is None
    path.write_bytes(complete[:-1] + bytes([complete[-1] ^ 1]))
    assert read_stage(path, size, checksum) is None
    path.unlink()
    assert read_stage(path, size, checksum) is None


def test_an_abandoned_stage_leaves_nothing(tmp_path: Path) -> None:
    writer = StageWriter(tmp_path / "stage-1")
    writer.add(1, ZONE, ready())
    writer.abandon()
    assert list(tmp_path.iterdir()) == []
