"""Tests of encoding, with a real PostgreSQL and real LMDB files.

Tests `reading.sealing` too.
"""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.publish.encoding import encode
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.files.publisher import this_publisher
from dnspanel.publish.models import Segment, Stall
from dnspanel.publish.reading import publication_log
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import LogHead, Zone
from dnspanel.zones.publishing import edit
from replication.dns import rdtypes
from replication.dns.rrset import RRset, make
from tests.dnspanel.publish.audited import audit_store
from tests.publishing import change_rrsets

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def rrset(name: str, type: int, *rdata: str, ttl: int = 300) -> RRset:
    return make(name, type, ttl, rdata)


def create(name: str, *rrsets: RRset) -> Zone:
    edit.create_zone(zone=edit.NewZone(name, rrsets), acting=Acting(None, "system", timezone.now()))
    return Zone.objects.get(name=name, deleted_at=None)


def change(zone: Zone, *rrsets: RRset, gone: tuple[tuple[str, int], ...] = ()) -> None:
    changes: dict[tuple[str, int], RRset | None] = {(r.name, r.type): r for r in rrsets}
    changes |= dict.fromkeys(gone)
    zone.refresh_from_db()
    change_rrsets(zone=zone, changes=changes, author=None, channel="system", now=timezone.now(), confirmed=True)


def encode_all() -> int:
    """Encode all publications. Return the number of steps."""
    steps = 0
    while encode_step(now=timezone.now()):
        steps += 1
    return steps


def store():
    return this_publisher().store(4, LogHead.objects.get().cluster)


def assert_equal_to_postgresql() -> None:
    audit = audit_store(schema=4)
    assert audit is not None
    assert audit.different == ()
    assert audit.equal


def test_with_an_empty_log_there_is_nothing_to_do() -> None:
    assert encode_step(now=NOW) is None
    assert not Segment.objects.exists()


def test_a_new_zone_is_one_segment_and_stands_in_the_lmdb() -> None:
    zone = create("example.test.", rrset("www.example.test.", rdtypes.A, "192.0.2.1"))
    position = encode_step(now=NOW)
    assert position is not None
    assert position.sequence == 1
    assert store().position() == position
    assert store().zone(zone.pk).name == "example.test."
    assert store().rows(zone.pk).get(b"www\0", rdtypes.A) is not None
    segment = Segment.objects.get()
    assert (segment.schema, segment.first, segment.last) == (4, 1, 1)
    assert encode_step(now=NOW) is None


def test_statements_that_every_edit_needs_are_planned_once_for_the_publisher() -> None:
    zone = create("example.test.", rrset("www.example.test.", rdtypes.A, "192.0.2.1"))
    for number in range(2, 6):
        change(zone, rrset("www.example.test.", rdtypes.A, f"192.0.2.{number}"))
        encode_all()
    with this_publisher().session.publishing() as conn:
        assert conn is not None
        plans = conn.execute("SELECT statement, generic_plans > 0, custom_plans FROM pg_prepared_statements").fetchall()
    tables = ("publish_usedschema", "zones_loghead", "publish_stall", "zones_publication", "zones_rrset")
    for table in (*tables, "INTO publish_segment", "publish_preparedrows ORDER"):
        assert [plan[1:] for plan in plans if table in plan[0]] == [(True, 0)], table
    assert len(plans) == 7


def test_one_changed_record_is_a_small_segment() -> None:
    zone = create("example.test.", rrset("www.example.test.", rdtypes.A, "192.0.2.1"))
    encode_all()
    change(zone, rrset("www.example.test.", rdtypes.A, "192.0.2.2"))
    assert encode_all() == 1
    assert Segment.objects.get(last=2).size <= 400
    assert_equal_to_postgresql()


def test_a_deleted_zone_is_gone_and_may_come_back_under_another_id() -> None:
    first = create("example.test.", rrset("www.example.test.", rdtypes.A, "192.0.2.1"))
    encode_all()
    edit.delete_zone(zone=first, acting=Acting(None, "system", timezone.now()))
    second = create("example.test.", rrset("www.example.test.", rdtypes.A, "192.0.2.2"))
    assert encode_all() == 1
    assert store().zone(first.pk) is None
    assert store().zone_id("example.test.") == second.pk
    assert store().rows(first.pk).get(b"www\0", rdtypes.A) is None
    assert_equal_to_postgresql()


def test_a_zone_deleted_and_restored_inside_one_range_is_as_it_was_with_a_new_serial() -> None:
    zone = create("example.test.", rrset("www.example.test.", rdtypes.A, "192.0.2.1"))
    encode_all()
    edit.delete_zone(zone=zone, acting=Acting(None, "system", timezone.now()))
    edit.restore_zone(zone=zone, author=None, channel="system", now=timezone.now())
    change(zone, rrset("new.example.test.", rdtypes.A, "192.0.2.9"))
    assert encode_all() == 1
    assert_equal_to_postgresql()


def test_a_zone_that_came_and_went_inside_one_range_leaves_no_trace() -> None:
    keep = create("keep.test.")
    gone = create("gone.test.")
    edit.delete_zone(zone=gone, acting=Acting(None, "system", timezone.now()))
    assert encode_all() == 1
    assert store().zone(keep.pk) is not None
    assert store().zone(gone.pk) is None
    assert_equal_to_postgresql()


def test_a_cut_range_holds_each_zone_as_it_was_at_the_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publication_log, "BATCH_RRSETS", 4)
    zone = create("example.test.", rrset("a.example.test.", rdtypes.A, "192.0.2.1"))
    change(zone, rrset("a.example.test.", rdtypes.A, "192.0.2.2"), rrset("b.example.test.", rdtypes.A, "192.0.2.2"))
    change(zone, gone=(("a.example.test.", rdtypes.A),))
    create("other.test.")
    seen = []
    while position := encode_step(now=NOW):
        rows = store().rows(zone.pk)
        seen.append((position.sequence, rows.get(b"a\0", rdtypes.A), rows.get(b"b\0", rdtypes.A) is not None))
        assert_equal_to_postgresql()
    assert [(sequence, a is not None, b) for sequence, a, b in seen] == [
        (1, True, False),
        (3, False, True),
        (4, False, True),
    ]


def test_a_restart_in_another_process_finds_the_same_store() -> None:
    zone = create("example.test.")
    encode_all()
    this_publisher().close()
    change(zone, rrset("www.example.test.", rdtypes.A, "192.0.2.2"))
    assert encode_all() == 1
    assert_equal_to_postgresql()


def test_a_lost_lmdb_is_made_again_from_the_segments(publisher_directory) -> None:
    import shutil

    zone = create("example.test.")
    encode_all()
    change(zone, rrset("www.example.test.", rdtypes.A, "192.0.2.2"))
    encode_all()
    before = store().digests()
    this_publisher().close()
    shutil.rmtree(publisher_directory / "publisher")
    assert encode_step(now=NOW) is None
    assert store().digests() == before
    assert_equal_to_postgresql()


def test_while_another_publishes_a_second_publisher_does_nothing() -> None:
    from dnspanel.publish.reading.publisher_session import Session

    create("example.test.")
    other = Session()
    with other.publishing() as conn:
        assert conn is not None
        assert encode_step(now=NOW) is None
        assert not Segment.objects.exists()
    other.close()
    assert encode_step(now=NOW) is not None


def test_a_zone_that_cannot_be_compiled_stalls_in_words_until_it_is_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    from dnspanel.zones.models import Change

    zone = create("example.test.")
    encode_all()
    change(zone, rrset("www.example.test.", rdtypes.A, "192.0.2.2"))
    # Only a bug or another program's write could do this; the database does not parse rdata.
    Change.objects.filter(type=rdtypes.A).update(
        after={"ttl": 300, "rdata": ["not an address"], "disabled": [], "comment": ""}
    )
    assert encode_step(now=NOW) is None
    stall = Stall.objects.get()
    assert (stall.schema, stall.sequence, stall.zone_name) == (4, 2, "example.test.")
    assert "example.test." in stall.message
    change(zone, rrset("www.example.test.", rdtypes.A, "192.0.2.3"))
    assert encode_step(now=NOW) is not None
    assert not Stall.objects.exists()
    assert_equal_to_postgresql()


def test_every_schema_of_the_fleet_gets_its_own_segments(settings: Any) -> None:
    settings.SCHEMAS = [4, 5, 6]
    zone = create("example.test.", rrset("www.example.test.", rdtypes.A, "192.0.2.1"))
    encode_all()
    change(zone, rrset("www.example.test.", rdtypes.A, "192.0.2.2"))
    encode_all()
    assert set(Segment.objects.values_list("schema", "last")) == {(n, s) for n in (4, 5, 6) for s in (1, 2)}
    for schema in settings.SCHEMAS:
        audit = audit_store(schema=schema)
        assert audit is not None
        assert audit.equal


def test_a_schema_that_stands_still_does_not_stop_the_others(settings: Any) -> None:
    settings.SCHEMAS = [4, 7, 5]
    create("example.test.")
    assert encode_step(now=NOW) is not None
    assert set(Segment.objects.values_list("schema", flat=True)) == {4, 5}
    assert "schema 7" in Stall.objects.get().message


def test_a_full_disk_stalls_in_words_and_goes_on_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    create("example.test.")
    with monkeypatch.context() as full:
        full.setattr(encode, "put_object", refuse)
        assert encode_step(now=NOW) is None
    assert "No space left" in Stall.objects.get().message
    assert encode_step(now=NOW) is not None
    assert encode_step(now=NOW) is None
    assert not Stall.objects.exists()


def test_a_disk_that_stays_full_is_one_line_of_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Regression test: each attempt logged that publishing continues and then that it stopped, many times a second."""
    import errno

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    create("example.test.")
    caplog.set_level("INFO", "dnspanel.publish.encoding.stall")
    with monkeypatch.context() as full:
        full.setattr(encode, "put_object", refuse)
        assert encode_step(now=NOW) is None
        since = Stall.objects.get().since
        for second in range(1, 20):
            assert encode_step(now=NOW + timedelta(seconds=second)) is None
    lines = [record.getMessage() for record in caplog.records if record.name == "dnspanel.publish.encoding.stall"]
    assert [message.split(" schema")[0] for message in lines] == ["publishing stands still"]
    assert Stall.objects.get().since == since
    assert encode_step(now=NOW + timedelta(seconds=20)) is not None
    assert caplog.messages[-1] == "publishing goes on schema=4"


def test_segments_that_the_log_does_not_know_stop_everything_in_words() -> None:
    create("one.test.")
    create("two.test.")
    encode_all()
    # PostgreSQL was restored without its newest publication, but the segment remains.
    LogHead.objects.update(sequence=1)
    assert encode_step(now=NOW) is None
    assert "restored" in Stall.objects.get().message


@pytest.mark.parametrize("seed", range(3))
def test_after_random_edits_the_lmdb_equals_a_full_compile(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(publication_log, "BATCH_RRSETS", 12)
    alive: list[Zone] = [create(f"z{n}.test.") for n in range(3)]
    trash: list[Zone] = []
    for step in range(60):
        random_act(chance, alive, trash, step)
        if chance.random() < 0.4:
            encode_step(now=NOW)
            if chance.random() < 0.3:
                assert_equal_to_postgresql()
    encode_all()
    assert_equal_to_postgresql()


def random_act(chance: random.Random, alive: list[Zone], trash: list[Zone], step: int) -> None:
    acts: list[Callable[[], object]] = [lambda: random_change(chance, chance.choice(alive))] * 12
    if len(alive) > 1:
        acts.append(lambda: trash.append(delete(alive.pop(chance.randrange(len(alive))))))
    if trash:
        acts.append(lambda: restore(trash.pop(), alive))
    acts.append(lambda: alive.append(create(f"n{step}.test.", rrset(f"deep.er.n{step}.test.", rdtypes.TXT, '"x"'))))
    chance.choice(acts)()


def delete(zone: Zone) -> Zone:
    edit.delete_zone(zone=zone, acting=Acting(None, "system", timezone.now()))
    return zone


def restore(zone: Zone, alive: list[Zone]) -> None:
    edit.restore_zone(zone=zone, author=None, channel="system", now=timezone.now())
    alive.append(zone)


def random_change(chance: random.Random, zone: Zone) -> None:
    name = f"{chance.choice(['a', 'b.a', 'c.b.a', 'd', 'e.d', '*.d'])}.{zone.name}"
    type = chance.choice([rdtypes.A, rdtypes.AAAA, rdtypes.TXT, rdtypes.NS])
    from dnspanel.zones.errors import NothingToPublish, RuleViolations

    values = {
        rdtypes.A: f"192.0.2.{chance.randrange(256)}",
        rdtypes.AAAA: f"2001:db8::{chance.randrange(9999):x}",
        rdtypes.TXT: f'"{chance.randrange(9)}"',
        rdtypes.NS: "ns.elsewhere.test.",
    }
    try:
        if chance.random() < 0.35:
            change(zone, gone=((name, type),))
        else:
            change(zone, rrset(name, type, values[type]))
    except (NothingToPublish, RuleViolations):
        pass
