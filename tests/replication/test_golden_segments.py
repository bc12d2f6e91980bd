"""The bytes that are sent to nodes: segments, a repair, a snapshot and compiled zones equal the recorded ones.

A fixed corpus (`tests.zonegen`, seeded, and the zones below) is published with fixed keys, epoch and times. The SHA-256
of everything that is sent is compared with `tests/golden/segments.toml`. `content` is a segment with its body inflated.
`sealed` is the segment as sent, and is compared only if this zlib deflates like the recording's zlib. A snapshot is
compared by its rows and its manifest, because the pages of an LMDB file can contain old memory.

To renew the file, run `python -m tests.replication.test_golden_segments`. Do this only if the bytes are meant to
change, the change has its own version or older nodes understand it, and the commit message describes it. A change that
only moves or renames code must never renew the file.
"""

import hashlib
import tempfile
import tomllib
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import lmdb
import pytest

from replication.codec.dnssec import Nsec3
from replication.codec.values import ENT
from replication.compile import Row, compile_zone
from replication.dns import rdtypes
from replication.dns.rrset import RRset
from replication.store.own_commits import COMMITS_KEY
from replication.store.repair_zone import repair_header, seal_repair
from replication.store.snapshot import SnapshotFile, chunk_name, write_snapshot
from replication.wire.operations import ZoneMark
from replication.wire.segment import HEADER, SIGNATURE_SIZE
from tests import zonegen
from tests.replication.panel import SIGNING_KEY, TIME_NS, Panel, records, small_zone

GOLDEN = Path(__file__).parents[1] / "golden" / "segments.toml"
SCHEMAS = (4, 5, 6)
ESTATE = 60
WILD, CUT, PLAIN = "wild.test.", "cut.test.", "plain.test."

# By table and title.
Digests = dict[str, dict[str, str]]


def wild_zone() -> list[RRset]:
    """Return a zone with wildcards, empty non-terminals, escaped and international names, and a disabled value."""
    addresses = records(WILD, "two", "A", 60, "192.0.2.8", "192.0.2.9")
    return small_zone(
        WILD,
        records(WILD, "*", "TXT", 300, '"anything"'),
        records(WILD, "*.deep.down", "A", 300, "192.0.2.7"),
        records(WILD, r"with\.dot", "AAAA", 300, "2001:db8::1"),
        records(WILD, "xn--mnchen-3ya", "CNAME", 300, "www"),
        records(WILD, "_sip._tcp", "SRV", 300, "10 60 5060 www", "20 60 5060 ns1"),
        replace(addresses, disabled=frozenset(addresses.rdata[:1])),
    )


def cut_zone() -> list[RRset]:
    """Return a zone with delegations, with and without DS, and glue below them."""
    return small_zone(
        CUT,
        records(CUT, "child", "NS", 3600, "ns.child", "ns2.elsewhere.test."),
        records(CUT, "child", "DS", 3600, "1 13 2 " + "ab" * 32),
        records(CUT, "ns.child", "A", 3600, "192.0.2.20"),
        records(CUT, "a.b.other", "NS", 3600, "ns.a.b.other"),
        records(CUT, "ns.a.b.other", "AAAA", 3600, "2001:db8::20"),
        records(CUT, "@", "CAA", 300, '0 issue "ca.test"'),
    )


def published(panel: Panel) -> Iterator[tuple[str, bytes]]:
    """Yield segments of every kind, each with a title."""
    estate = [rrsets for _, rrsets in zonegen.estate(ESTATE, seed=7)]
    yield "new zones", panel.create(*estate[: ESTATE // 2])
    yield "new zones, packed", panel.create_packed(*estate[ESTATE // 2 :])
    yield "a wildcard", panel.create(wild_zone())
    yield "delegations", panel.create(cut_zone(), small_zone(PLAIN))
    yield "an RRset changed", panel.change(PLAIN, records(PLAIN, "www", "A", 60, "192.0.2.2", "192.0.2.3"))
    yield "an RRset added below empty names", panel.change(WILD, records(WILD, "x.y.z", "A", 60, "192.0.2.4"))
    yield "an RRset deleted", panel.change(WILD, ("*.deep.down." + WILD, rdtypes.A))
    yield (
        "a name renamed",
        panel.change(PLAIN, ("www." + PLAIN, rdtypes.A), records(PLAIN, "web", "A", 60, "192.0.2.2")),
    )
    yield "a delegation removed", panel.change(CUT, ("child." + CUT, rdtypes.NS), ("child." + CUT, rdtypes.DS))
    yield "a delegation added", panel.change(CUT, records(CUT, "b.other", "NS", 60, "ns1"))
    changes = {zone[0].name: [records(zone[0].name, "golden", "A", 60, "192.0.2.99")] for zone in estate}
    yield "many zones changed", panel.change_all(changes)
    yield "zones deleted", panel.delete(*(zone[0].name for zone in estate[::3]), WILD)
    yield "a zone deleted and made again", panel.create(wild_zone())
    yield "a repair", repaired(panel, CUT)
    yield "a repair of a zone that is gone", sealed_repair(panel, ZoneMark(1, estate[0][0].name, None), [])


def repaired(panel: Panel, zone: str) -> bytes:
    zone_id, _ = panel.zones[zone]
    return sealed_repair(panel, ZoneMark(zone_id, zone, panel.serial(zone)), list(panel.store.rows(zone_id).raw()))


def sealed_repair(panel: Panel, mark: ZoneMark, rows: list[tuple[bytes, bytes]]) -> bytes:
    position = panel.store.position()
    assert position is not None
    return seal_repair(
        repair_header(
            schema=panel.store.schema,
            cluster=panel.cluster,
            position=position,
            time_ns=TIME_NS,
            digests=panel.store.digests(),
        ),
        mark=mark,
        records=rows,
        key=SIGNING_KEY,
    )


def compiled() -> Iterator[tuple[str, list[Row]]]:
    """Yield the compiled rows of whole zones: unsigned, and for NSEC3 with and without opt-out."""
    large = next(rrsets for _, rrsets in zonegen.estate(1, 500, seed=11))
    for zone, rrsets in ((WILD, wild_zone()), (CUT, cut_zone()), (large[0].name, large)):
        yield f"{zone[:-1]}, unsigned", compile_zone(zone, rrsets)
        yield f"{zone[:-1]}, NSEC3", compile_zone(zone, rrsets, Nsec3(iterations=1, salt=b"\xab\xcd"))
        yield f"{zone[:-1]}, NSEC3 opt-out", compile_zone(zone, rrsets, Nsec3(opt_out=True))


def digests(directory: Path) -> Digests:
    """Compute all digests that are recorded."""
    result: Digests = {"zlib": {"probe": _probe()}}
    for schema in SCHEMAS:
        place = directory / str(schema)
        place.mkdir()
        with closing(Panel(place, schema)) as panel:
            segments = dict(published(panel))
            result[f"snapshot.{schema}"] = _snapshot(panel, place / "snapshot")
        result[f"content.{schema}"] = {title: _sha256(content_of(sealed)) for title, sealed in segments.items()}
        result[f"sealed.{schema}"] = {title: _sha256(sealed) for title, sealed in segments.items()}
    result["compiled"] = {title: _sha256(repr(rows).encode()) for title, rows in compiled()}
    return result


def content_of(sealed: bytes) -> bytes:
    """Return a segment's header without the body's size, and its inflated body. The result doesn't depend on the
    compression.
    """
    header, rest = sealed[: HEADER.size - 4], sealed[HEADER.size : -SIGNATURE_SIZE]
    extra = rest[:16] if sealed[4] == 2 else b""
    return header + extra + zlib.decompress(rest[len(extra) :], -zlib.MAX_WBITS)


def _snapshot(panel: Panel, directory: Path) -> dict[str, str]:
    manifest = write_snapshot(panel.store, directory, key=SIGNING_KEY, time_ns=TIME_NS)
    files = {file: bytearray() for file in SnapshotFile}
    for number, chunk in enumerate(manifest.chunks):
        files[chunk.file] += chunk.open((directory / chunk_name(number)).read_bytes())
    without_pages = replace(manifest, chunks=(), main_size=0, records_size=0)
    return {"manifest": _sha256(without_pages.seal(SIGNING_KEY))} | {
        f"rows of {file.name.lower()}": _sha256(_rows_of(directory / "raw", bytes(content)))
        for file, content in files.items()
    }


def _rows_of(path: Path, content: bytes) -> bytes:
    """Return every row of an LMDB file, with the name and the flags of its table.

    The numbers of commits are left out, because a busy machine needs more commits for a segment.
    """
    path.write_bytes(content)
    rows = []
    with lmdb.open(str(path), subdir=False, readonly=True, lock=False, max_dbs=32) as env, env.begin() as txn:
        for name, _ in txn.cursor():
            table = env.open_db(name, txn, create=False)
            content = [(key, value) for key, value in txn.cursor(table) if (name, key) != (b"dnspanel", COMMITS_KEY)]
            rows.append(repr((name, sorted(table.flags(txn).items()), content)))
    path.unlink()
    return "\n".join(rows).encode()


def _probe() -> str:
    """Return a digest of this zlib's output. The bytes of a segment depend on the zlib and on the content."""
    plain = b"".join(number.to_bytes(2, "big") + b"zone" for number in range(5000))
    return _sha256(b"".join(zlib.compress(plain, level) for level in (1, 6, 9)))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Digests:
    return digests(tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="module")
def recorded() -> Digests:
    return tomllib.loads(GOLDEN.read_text())


@pytest.mark.parametrize("schema", SCHEMAS)
def test_segments_have_their_recorded_content(made: Digests, recorded: Digests, schema: int) -> None:
    assert made[f"content.{schema}"] == recorded[f"content.{schema}"]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_segments_have_their_recorded_bytes(made: Digests, recorded: Digests, schema: int) -> None:
    if made["zlib"] != recorded["zlib"]:
        pytest.skip("this zlib deflates otherwise than the one of the recording")
    assert made[f"sealed.{schema}"] == recorded[f"sealed.{schema}"]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_snapshots_have_their_recorded_rows(made: Digests, recorded: Digests, schema: int) -> None:
    assert made[f"snapshot.{schema}"] == recorded[f"snapshot.{schema}"]


def test_zones_compile_to_their_recorded_rows(made: Digests, recorded: Digests) -> None:
    assert made["compiled"] == recorded["compiled"]


def test_the_corpus_has_the_rows_that_compiling_adds() -> None:
    rows = dict(compiled())
    assert {ENT, 50, rdtypes.DS} <= {type for _, type, _ in rows["cut.test, NSEC3"]}


def _write() -> None:
    lines = []
    with tempfile.TemporaryDirectory() as directory:
        for table, by_title in digests(Path(directory)).items():
            lines.append(f'["{table}"]')
            lines += [f'"{title}" = "{digest}"' for title, digest in by_title.items()]
            lines.append("")
    GOLDEN.write_text("\n".join(lines))


if __name__ == "__main__":
    _write()
