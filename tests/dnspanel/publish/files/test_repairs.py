"""Tests of repairs, which seal one zone at a former position of a node."""

from datetime import UTC, datetime

import pytest
from django.utils import timezone

from dnspanel.publish.files.publisher import this_publisher
from dnspanel.publish.files.repairs import digest_at, make_repair
from dnspanel.publish.keys.segment_signing import public_keys
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import LogHead
from dnspanel.zones.publishing import edit
from replication.codec import keys
from replication.codec.schema import Dbi
from replication.dns import rdtypes
from replication.wire.operations import OpKind
from replication.wire.position import Position
from replication.wire.segment import Segment, open_segment
from tests.dnspanel.publish.encoding.test_encode import change, create, encode_all, rrset, store

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
WWW = "www.example.test."


def at(sequence: int) -> Position:
    return Position(LogHead.objects.get().epoch, sequence)


def repair(zone_id: int, sequence: int, *, schema: int = 4, told_name: str = "") -> tuple[str, bool, Segment]:
    made = make_repair(schema=schema, zone_id=zone_id, told_name=told_name, position=at(sequence), now=NOW)
    return made.zone_name, made.is_served, open_segment(made.sealed, public_keys())


def records(segment: Segment) -> dict[bytes, bytes]:
    return {op.key: op.body for op in segment.ops() if op.dbi is Dbi.RECORDS and op.kind is OpKind.PUT}


def test_a_zone_is_sealed_as_it_was_at_each_position() -> None:
    zone = create("example.test.", rrset(WWW, rdtypes.A, "192.0.2.1"))
    encode_all()
    first = dict(store().rows(zone.pk).raw())
    change(zone, rrset(WWW, rdtypes.A, "192.0.2.2"), rrset("a.b.example.test.", rdtypes.TXT, '"deep"'))
    encode_all()
    second = dict(store().rows(zone.pk).raw())
    for sequence, rows in ((1, first), (2, second)):
        name, is_served, segment = repair(zone.pk, sequence)
        assert (name, is_served, segment.is_repair) == ("example.test.", True, True)
        assert (segment.first, segment.last) == (sequence, sequence)
        assert records(segment) == rows
        assert segment.digest_main + segment.digest_records == digest_at(schema=4, position=at(sequence))
    assert first != second


def test_a_zone_that_was_deleted_or_never_was_is_removed() -> None:
    zone = create("example.test.")
    edit.delete_zone(zone=zone, acting=Acting(None, "system", timezone.now()))
    encode_all()
    name, is_served, segment = repair(zone.pk, 2)
    assert (name, is_served, records(segment)) == ("example.test.", False, {})
    assert [op.key for op in segment.ops()] == [keys.zone_prefix(zone.pk)]
    assert repair(zone.pk, 1)[1] is True
    name, is_served, segment = repair(2**31, 2, told_name="foreign.test.")
    assert (name, is_served) == ("foreign.test.", False)
    assert repair(2**31 + 1, 2)[0] == "."


def test_a_repair_of_any_schema_leaves_the_publishers_own_store_as_it_is() -> None:
    zone = create("example.test.", rrset(WWW, rdtypes.A, "192.0.2.1"))
    encode_all()
    before = store().digests()
    for schema in (4, 5, 6):
        _, _, segment = repair(zone.pk, 1, schema=schema)
        assert segment.schema == schema
    own = this_publisher().store(4, LogHead.objects.get().cluster)
    assert own.repair(repair(zone.pk, 1)[2]).rows == 0
    assert store().digests() == before


def test_digests_are_known_where_a_segment_ends_and_nowhere_else() -> None:
    create("example.test.")
    encode_all()
    digests = digest_at(schema=4, position=at(1))
    assert digests == b"".join(store().digests())
    assert digest_at(schema=4, position=at(2)) is None
    assert digest_at(schema=6, position=at(1)) is None
