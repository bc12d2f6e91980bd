"""Tests of damaged objects: each is logged once, and a snapshot replaces it."""

import logging

import pytest
from django.utils import timezone

from dnspanel.publish.files.snapshots import due_schemas, make_snapshot
from dnspanel.publish.models import Garbage, Segment, Snapshot
from dnspanel.publish.storage.damage import drop_snapshot, record_damage
from tests.dnspanel.publish.encoding.test_encode import create, encode_all

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_damaged_segment_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    create("example.test.")
    encode_all()
    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            record_damage(object_name=Segment.objects.get().object_name, reason="it is missing")
    assert [record.levelname for record in caplog.records].count("ERROR") == 1
    assert Segment.objects.get().damaged


def test_a_damaged_segment_makes_a_snapshot_due_until_there_is_one() -> None:
    create("example.test.")
    encode_all()
    make_snapshot(schema=4, now=timezone.now())
    create("other.test.")
    encode_all()
    assert due_schemas(schemas=[4], now=timezone.now()) == []
    record_damage(object_name=Segment.objects.get(first=2).object_name, reason="it is missing")
    assert due_schemas(schemas=[4], now=timezone.now()) == [4]
    make_snapshot(schema=4, now=timezone.now())
    assert due_schemas(schemas=[4], now=timezone.now()) == []


def test_a_damaged_snapshot_is_dropped_once_and_another_one_is_due() -> None:
    create("example.test.")
    encode_all()
    snapshot = make_snapshot(schema=4, now=timezone.now())
    assert snapshot is not None
    for _ in range(2):
        drop_snapshot(snapshot=snapshot, reason="a chunk is missing", now=timezone.now())
    assert not Snapshot.objects.exists()
    assert Garbage.objects.count() == 1 + snapshot.chunks
    assert due_schemas(schemas=[4], now=timezone.now()) == [4]
