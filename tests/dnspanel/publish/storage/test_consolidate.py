"""Tests of merged segments: one has the same effect as its single segments in sequence."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.publish.keys.segment_signing import all_public_keys
from dnspanel.publish.models import FirstSealing, Garbage, Segment
from dnspanel.publish.storage import consolidate as module
from dnspanel.publish.storage.consolidate import Stored, consolidate, merge, merge_range, runs_to_merge
from dnspanel.publish.storage.objects import open_object
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import LogHead
from dnspanel.zones.publishing import edit
from replication.codec.schema import schema_for
from replication.dns import rdtypes
from replication.errors import Gap
from replication.store.store import Store
from replication.wire.operations import OpKind
from replication.wire.position import Position
from replication.wire.segment import SegmentHeader, open_segment, seal
from tests.dnspanel.publish.encoding.test_encode import change, create, encode_all, rrset
from tests.replication.panel import CLUSTER, EPOCH, MAP_SIZE, PUBLIC_KEYS, SIGNING_KEY, Panel, records, small_zone

LATER = timedelta(minutes=5)


# --- the merge itself, without a database


@contextmanager
def node_store(path: Path, schema: int) -> Iterator[Store]:
    path.mkdir(parents=True)
    with Store.open(path / "node.lmdb", schema, MAP_SIZE, cluster=CLUSTER, sync=False) as store:
        yield store


def random_history(panel: Panel, seed: int) -> None:
    """Publish 40 random creations, changes and deletions of zones, one publication each."""
    chance = random.Random(seed)
    panel.create(*(small_zone(f"z{number}.test.") for number in range(3)))
    for step in range(40):
        act = chance.random()
        names = sorted(panel.zones)
        if act < 0.08 or not names:
            fresh = f"z{chance.randrange(6)}.test."
            if fresh not in panel.zones:
                panel.create(small_zone(fresh))
        elif act < 0.14:
            panel.delete(chance.choice(names))
        else:
            zone = chance.choice(names)
            name = chance.choice(["a", "b", "c.b", "deep.er", "www"])
            _, rrsets = panel.zones[zone]
            key = (f"{name}.{zone}", rdtypes.A)
            if key in rrsets and chance.random() < 0.4:
                panel.change(zone, key)
            else:
                panel.change(zone, records(zone, name, "A", 300, f"192.0.2.{step + 1}"))


def merged_bytes(segments: list[bytes], schema: int) -> bytes:
    opened = [open_segment(sealed, PUBLIC_KEYS) for sealed in segments]
    marks, ops = merge(opened, schema_for(schema))
    last = opened[-1]
    return seal(
        SegmentHeader(
            schema=schema,
            cluster=CLUSTER,
            epoch=EPOCH,
            first=opened[0].first,
            last=last.last,
            time_ns=last.time_ns,
            digest_main=last.digest_main,
            digest_records=last.digest_records,
        ),
        marks=marks,
        ops=ops,
        key=SIGNING_KEY,
    )


def content(store: Store, panel: Panel) -> dict[str, object]:
    """Return the rows of each zone in the store, or None for a zone that doesn't exist."""
    found: dict[str, object] = {}
    for name in [f"z{number}.test." for number in range(6)]:
        zone_id = store.zone_id(name)
        found[name] = None if zone_id is None else (zone_id, list(store.rows(zone_id).raw()))
    return found


@pytest.mark.parametrize("schema", [4, 6])
@pytest.mark.parametrize("seed", range(6))
def test_applied_from_anywhere_in_its_range_it_leaves_what_the_single_ones_leave(
    tmp_path: Path, schema: int, seed: int
) -> None:
    chance = random.Random(seed)
    (tmp_path / "panel").mkdir()
    panel = Panel(tmp_path / "panel", schema)
    random_history(panel, seed)
    first = chance.randrange(1, 12)
    last = chance.randrange(first + 1, panel.sequence)
    merged = open_segment(merged_bytes(panel.segments[first - 1 : last], schema), PUBLIC_KEYS)
    with node_store(tmp_path / "single", schema) as single:
        for sealed in panel.segments:
            single.apply(open_segment(sealed, PUBLIC_KEYS))
            if open_segment(sealed, PUBLIC_KEYS).last == last:
                at_last = content(single, panel), single.digests()
    for begin in {first - 1, chance.randrange(first - 1, last), last - 1}:
        with node_store(tmp_path / f"from-{begin}", schema) as store:
            for sealed in panel.segments[:begin]:
                store.apply(open_segment(sealed, PUBLIC_KEYS))
            store.apply(merged)
            assert store.position() == Position(EPOCH, last)
            assert (content(store, panel), store.digests()) == at_last
            for sealed in panel.segments[last:]:
                store.apply(open_segment(sealed, PUBLIC_KEYS))
            assert store.digests() == panel.store.digests()
    panel.close()


@pytest.mark.parametrize("cut", range(1, 9))
def test_a_node_that_was_killed_inside_it_takes_it_again(
    tmp_path: Path, cut: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from replication.store import applying

    (tmp_path / "panel").mkdir()
    panel = Panel(tmp_path / "panel")
    random_history(panel, 11)
    merged = open_segment(merged_bytes(panel.segments, 4), PUBLIC_KEYS)
    monkeypatch.setattr(applying, "_ROWS_PER_TRANSACTION", 1)
    commits = iter(range(100))
    real = applying._Writer._commit

    def dying(writer: Any, *arguments: Any) -> None:
        if next(commits) == cut:
            raise KeyboardInterrupt
        real(writer, *arguments)

    with node_store(tmp_path / "node", 4) as store:
        with monkeypatch.context() as killed:
            killed.setattr(applying._Writer, "_commit", dying)
            try:
                store.apply(merged)
            except KeyboardInterrupt:
                assert store.position() != Position(EPOCH, panel.sequence)
        store.apply(merged)
        assert store.digests() == panel.store.digests()
        assert content(store, panel) == content(panel.store, panel)
    panel.close()


def test_a_node_before_it_still_has_a_gap(tmp_path: Path) -> None:
    (tmp_path / "panel").mkdir()
    panel = Panel(tmp_path / "panel")
    random_history(panel, 3)
    merged = open_segment(merged_bytes(panel.segments[5:], 4), PUBLIC_KEYS)
    with node_store(tmp_path / "node", 4) as store, pytest.raises(Gap):
        store.apply(merged)
    panel.close()


def test_of_many_changes_of_one_name_one_operation_is_left(tmp_path: Path) -> None:
    (tmp_path / "panel").mkdir()
    panel = Panel(tmp_path / "panel")
    panel.create(small_zone("example.test."))
    for number in range(1, 30):
        panel.change("example.test.", records("example.test.", "www", "A", 300, f"192.0.2.{number}"))
    marks, ops = merge((open_segment(sealed, PUBLIC_KEYS) for sealed in panel.segments[1:]), schema_for(4))
    assert [(mark.name, mark.serial) for mark in marks] == [("example.test.", 30)]
    assert [op.kind for op in ops] == [OpKind.PUT, OpKind.PUT]  # the SOA and the address
    panel.close()


def stored(first: int, last: int, size: int = 300) -> Stored:
    return Stored(first, first, last, size, f"object of {first}")


def test_runs_are_of_neighbours_and_neither_few_nor_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEWEST", 3)
    monkeypatch.setattr(module, "LARGEST_BYTES", 1_000)
    rows = [stored(1, 1), stored(2, 2), stored(4, 4), stored(5, 9), stored(10, 10), stored(11, 11), stored(12, 12)]
    assert [[row.first for row in run] for run in runs_to_merge(rows)] == [[4, 5, 10]]
    assert list(runs_to_merge([])) == []


# --- in the log


def make_log(changes: int) -> None:
    zone = create("example.test.", rrset("www.example.test.", rdtypes.A, "192.0.2.1"))
    encode_all()
    for number in range(changes):
        change(zone, rrset(f"n{number % 5}.example.test.", rdtypes.A, f"192.0.2.{number + 1}"))
        encode_all()


def ranges() -> list[tuple[int, int]]:
    return list(Segment.objects.order_by("first").values_list("first", "last"))


@pytest.mark.django_db(transaction=True)
def test_small_segments_become_one_and_a_new_node_ends_at_the_same_content(tmp_path: Path) -> None:
    make_log(20)
    sealed = dict(Segment.objects.values_list("last", "sealed_at"))
    digest = bytes(Segment.objects.get(last=21).digest)
    assert consolidate(up_to=None, now=timezone.now() + LATER) == 20
    assert ranges() == [(1, 1), (2, 21)]
    assert bytes(Segment.objects.get(last=21).digest) == digest
    assert Garbage.objects.count() == 20
    # Pages show how long a publication took until it was sealed, which must not change.
    assert dict(FirstSealing.objects.values_list("last", "at")) == sealed
    with Store.open(tmp_path / "node.lmdb", 4, MAP_SIZE, cluster=LogHead.objects.get().cluster) as store:
        for name in Segment.objects.order_by("first").values_list("object_name", flat=True):
            with open_object(name) as file:
                store.apply(open_segment(file.read(), all_public_keys()))
        assert b"".join(store.digests()) == digest
    assert consolidate(up_to=None, now=timezone.now() + LATER) == 0


@pytest.mark.django_db(transaction=True)
def test_the_newest_and_what_not_everybody_may_have_stay_as_they_are() -> None:
    make_log(20)
    assert consolidate(up_to=None, now=timezone.now()) == 0
    assert consolidate(up_to=18, now=timezone.now() + LATER) == 17
    assert ranges() == [(1, 1), (2, 18), (19, 19), (20, 20), (21, 21)]


@pytest.mark.django_db(transaction=True)
def test_a_zone_that_comes_or_goes_stays_a_segment_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEWEST", 2)
    make_log(3)
    other = create("other.test.")
    encode_all()
    edit.delete_zone(zone=other, acting=Acting(None, "system", timezone.now()))
    encode_all()
    consolidate(up_to=None, now=timezone.now() + LATER)
    assert ranges() == [(1, 1), (2, 4), (5, 5), (6, 6)]


@pytest.mark.django_db(transaction=True)
def test_a_damaged_segment_is_said_and_not_merged(publisher_directory: Path) -> None:
    make_log(20)
    damaged = Segment.objects.get(last=7)
    (publisher_directory / "segments" / damaged.object_name).write_bytes(b"something else")
    assert consolidate(up_to=None, now=timezone.now() + LATER) == 0
    damaged.refresh_from_db()
    assert damaged.damaged
    assert consolidate(up_to=None, now=timezone.now() + LATER) == 0  # 2..6 are too few, 8..21 still too few


@pytest.mark.django_db(transaction=True)
def test_of_two_that_merge_the_same_one_has_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    make_log(20)
    real = module.put_object

    def merge_first(name: str, sealed: bytes) -> None:
        monkeypatch.setattr(module, "put_object", real)
        assert consolidate(up_to=None, now=timezone.now() + LATER) == 20
        real(name, sealed)

    monkeypatch.setattr(module, "put_object", merge_first)
    assert consolidate(up_to=None, now=timezone.now() + LATER + LATER) == 0
    assert ranges() == [(1, 1), (2, 21)]


@pytest.mark.django_db(transaction=True)
def test_a_range_with_anything_in_it_is_made_one_in_every_schema(settings: Any, tmp_path: Path) -> None:
    settings.SCHEMAS = [4, 6]
    make_log(2)
    other = create("other.test.")
    encode_all()
    edit.delete_zone(zone=other, acting=Acting(None, "system", timezone.now()))
    encode_all()
    head = LogHead.objects.get()
    for _ in range(2):
        assert merge_range(epoch=head.epoch, first=4, last=5, now=timezone.now()) == 2
    assert sorted(Segment.objects.values_list("schema", "first", "last")) == [
        (schema, *range_) for schema in (4, 6) for range_ in ((1, 1), (2, 2), (3, 3), (4, 5))
    ]
    for schema in (4, 6):
        with Store.open(tmp_path / f"{schema}.lmdb", schema, MAP_SIZE, cluster=head.cluster) as store:
            rows = Segment.objects.filter(schema=schema).order_by("first")
            for row in rows:
                with open_object(row.object_name) as file:
                    store.apply(open_segment(file.read(), all_public_keys()))
            newest = rows.last()
            assert newest is not None
            assert b"".join(store.digests()) == bytes(newest.digest)
            assert store.zone_id("other.test.") is None


@pytest.mark.django_db(transaction=True)
def test_without_a_log_there_is_nothing_to_merge() -> None:
    assert consolidate(up_to=None, now=timezone.now()) == 0
