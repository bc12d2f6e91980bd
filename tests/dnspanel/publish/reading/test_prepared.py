"""Tests of prepared rows: the segment equals the one from PostgreSQL, even if the object is lost or damaged."""

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from django.core.files.storage import storages
from django.db import transaction
from django.utils import timezone

from dnspanel.publish.encoding import encode
from dnspanel.publish.files.publisher import this_publisher
from dnspanel.publish.keys.segment_signing import all_public_keys
from dnspanel.publish.models import PreparedRows, Segment
from dnspanel.publish.reading.prepared import Prepared, put_prepared, record_prepared
from dnspanel.publish.storage.objects import open_object
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Publication, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.publishing.edit import NewZone
from dnspanel.zones.store.store_rrsets import rrset_of
from replication.codec.schema import Dbi
from replication.compile import compile_zone
from replication.dns import rdtypes
from replication.wire.operations import Op, ZoneMark, record_puts
from replication.wire.segment import open_segment
from tests.dnspanel.publish.encoding.test_encode import assert_equal_to_postgresql, change, create, encode_all, rrset

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = [f"z{number}.test." for number in range(30)]


def publish_zones(names: Sequence[str] = NAMES) -> Publication:
    """Create many zones in one publication, including delegations and empty non-terminals."""
    return edit.create_zones(
        zones=[
            NewZone(
                name,
                (
                    rrset(f"www.{name}", rdtypes.A, "192.0.2.1", "192.0.2.2"),
                    rrset(f"a.b.{name}", rdtypes.TXT, '"deep"'),
                    rrset(f"sub.{name}", rdtypes.NS, "ns.elsewhere.test."),
                ),
            )
            for name in names
        ],
        acting=Acting(None, "import", timezone.now()),
    )


def prepare(publication: Publication, names: Iterable[str] = NAMES) -> Prepared:
    """Prepare the rows of a publication that is already published. An import does this before it publishes."""
    pieces, rows, digest = [], 0, 0
    for zone in Zone.objects.filter(name__in=names, deleted_at=None).order_by("pk"):
        compiled = compile_zone(zone.name, map(rrset_of, zone.rrsets.all()))
        puts, of_zone = record_puts(zone.pk, compiled)
        pieces.append((zone.pk, puts))
        rows += len(compiled)
        digest += of_zone
    prepared = put_prepared(puts=pieces, rows=rows, digest=digest)
    with transaction.atomic():
        record_prepared(sequence=publication.sequence, prepared=prepared)
    return prepared


def content_of(segment: Segment) -> tuple[list[ZoneMark], list[Op], bytes]:
    with open_object(segment.object_name) as file:
        opened = open_segment(file.read(), all_public_keys())
    return list(opened.marks()), list(opened.ops()), bytes(segment.digest)


def anew() -> None:
    """Delete all segments and the panel's LMDB, as if nothing had been encoded."""
    Segment.objects.all().delete()
    directory = this_publisher().directory
    this_publisher().close()
    for path in directory.rglob("*"):
        if path.is_file():
            path.unlink()


def counted_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by the sequence of each publication whose RRsets are read from PostgreSQL."""
    reads: list[int] = []
    real = encode.publication_log.rrsets_at

    def counting(conn, sequence, serials):  # type: ignore[no-untyped-def]
        if serials:
            reads.append(sequence)
        return real(conn, sequence, serials)

    monkeypatch.setattr(encode.publication_log, "rrsets_at", counting)
    return reads


def test_a_segment_of_prepared_rows_is_the_one_that_postgresql_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    publication = publish_zones()
    encode_all()
    expected = content_of(Segment.objects.get())
    anew()
    prepare(publication)
    reads = counted_reads(monkeypatch)
    assert encode_all() == 1
    assert content_of(Segment.objects.get()) == expected
    assert reads == []
    assert_equal_to_postgresql()


def test_a_prepared_publication_is_a_segment_of_its_own() -> None:
    create("before.test.")
    zone = create("also.before.test.")
    publication = publish_zones()
    prepare(publication)
    change(zone, rrset("www.also.before.test.", rdtypes.A, "192.0.2.7"))
    change(Zone.objects.get(name=NAMES[3]), rrset(f"www.{NAMES[3]}", rdtypes.A, "192.0.2.9"))
    assert encode_all() == 3
    assert list(Segment.objects.order_by("first").values_list("first", "last")) == [(1, 2), (3, 3), (4, 5)]
    assert_equal_to_postgresql()


def test_two_prepared_publications_are_two_segments() -> None:
    for names in (NAMES[:5], NAMES[5:]):
        prepare(publish_zones(names), names)
    assert encode_all() == 2
    assert_equal_to_postgresql()


def test_what_was_prepared_is_gone_once_every_schema_has_it(settings, publisher_directory: Path) -> None:  # type: ignore[no-untyped-def]
    settings.SCHEMAS = [4, 6]
    prepared = prepare(publish_zones())
    assert storages["segments"].exists(prepared.object_name)
    encode_all()
    assert sorted(Segment.objects.values_list("schema", flat=True)) == [4, 6]
    assert not PreparedRows.objects.exists()
    assert not storages["segments"].exists(prepared.object_name)


def test_what_one_schema_still_needs_is_kept(settings, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    settings.SCHEMAS = [4, 6]
    prepared = prepare(publish_zones())
    real = encode.seal_batch

    def refusing(batch, schema, key):  # type: ignore[no-untyped-def]
        if schema == 6:
            raise OSError("no room")
        return real(batch, schema, key)

    monkeypatch.setattr(encode, "seal_batch", refusing)
    assert encode.encode_step(now=timezone.now()) is not None
    assert storages["segments"].exists(prepared.object_name)
    monkeypatch.undo()
    encode_all()
    assert Segment.objects.count() == 2
    assert not PreparedRows.objects.exists()


def assert_read_from_postgresql(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, words: str) -> None:
    reads = counted_reads(monkeypatch)
    with caplog.at_level(logging.WARNING):
        assert encode_all() == 1
    assert words in caplog.text
    assert reads == [1]
    assert_equal_to_postgresql()
    assert not PreparedRows.objects.exists()


def test_a_missing_object_is_no_harm(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    prepared = prepare(publish_zones())
    storages["segments"].delete(prepared.object_name)
    assert_read_from_postgresql(monkeypatch, caplog, "missing")


def test_a_damaged_object_is_no_harm(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, publisher_directory: Path
) -> None:
    prepared = prepare(publish_zones())
    path = publisher_directory / "segments" / prepared.object_name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert_read_from_postgresql(monkeypatch, caplog, "damaged")


@pytest.mark.parametrize(
    "change_row",
    [{"rows": 1}, {"rows": 10_000}, {"digest": bytes(16)}],
)
def test_a_row_that_says_something_else_is_no_harm(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, change_row: dict[str, object]
) -> None:
    prepare(publish_zones())
    PreparedRows.objects.update(**change_row)
    assert_read_from_postgresql(monkeypatch, caplog, "damaged")


def test_rows_of_other_zones_are_not_used(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    prepare(publish_zones(), NAMES[:-1])
    assert_read_from_postgresql(monkeypatch, caplog, "zones")


@pytest.mark.parametrize("second", [1, 2])
def test_zones_out_of_order_are_not_taken(publisher_directory: Path, second: int) -> None:
    with pytest.raises(ValueError, match=f"zone {second} comes after zone 2"):
        put_prepared(puts=[(2, b"two"), (second, b"one")], rows=2, digest=3)
    assert not list(publisher_directory.rglob("prepared/*"))


def test_a_publication_that_also_changes_zones_is_read_from_postgresql() -> None:
    """Such a publication is never prepared. Prepared rows would be ignored."""
    zone = create("there.test.")
    encode_all()
    change(zone, rrset("www.there.test.", rdtypes.A, "192.0.2.1"))
    prepared = put_prepared(puts=[], rows=0, digest=0)
    record_prepared(sequence=2, prepared=prepared)
    assert encode_all() == 1
    assert_equal_to_postgresql()


def test_nothing_counts_without_its_row_and_objects_are_named_by_content() -> None:
    first = put_prepared(puts=[(1, b"one")], rows=1, digest=1)
    assert put_prepared(puts=iter([(1, b"one")]), rows=1, digest=1).object_name == first.object_name
    others = [
        put_prepared(puts=[(1, b"two")], rows=1, digest=1),
        put_prepared(puts=[(2, b"one")], rows=1, digest=1),
        put_prepared(puts=[(1, b"o"), (2, b"ne")], rows=1, digest=1),
        put_prepared(puts=[(1, b"one")], rows=2, digest=1),
        put_prepared(puts=[(1, b"one")], rows=1, digest=2),
    ]
    assert len({first.object_name, *(one.object_name for one in others)}) == 6
    assert not PreparedRows.objects.exists()


def test_a_publisher_killed_before_the_rows_were_dropped_drops_them_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = prepare(publish_zones())
    monkeypatch.setattr(encode, "drop_prepared", lambda *args, **kwargs: None)
    encode_all()
    monkeypatch.undo()
    assert PreparedRows.objects.exists()
    create("later.test.")
    encode_all()
    assert not PreparedRows.objects.exists()
    assert not storages["segments"].exists(prepared.object_name)


def test_prepared_rows_are_records_alone() -> None:
    publication = publish_zones()
    prepare(publication)
    encode_all()
    _, ops, _ = content_of(Segment.objects.get())
    tables = [op.dbi for op in ops]
    assert tables == sorted(tables), "rows of unseen zones first, then their objects, then their names"
    assert tables.count(Dbi.DOMAINS) == tables.count(Dbi.DOMAINS_INDEX) == len(NAMES)
