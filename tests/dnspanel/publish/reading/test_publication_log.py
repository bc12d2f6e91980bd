"""Tests of the publisher's queries of the publication log."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.utils import timezone

from dnspanel.publish.reading import publication_log
from dnspanel.publish.reading.publisher_session import Connection, Session, snapshot
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import LogHead
from dnspanel.zones.publishing import edit
from replication.dns import rdtypes
from replication.errors import WrongEpoch
from tests.dnspanel.publish.encoding.test_encode import change, create, encode_all, rrset

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def conn() -> Iterator[Connection]:
    session = Session()
    with session.publishing() as conn:
        assert conn is not None
        yield conn
    session.close()


def range_of(first: int, last: int) -> publication_log.Range:
    return publication_log.Range(first, last, timezone.now())


def test_the_head_is_the_newest_sequence(conn: Connection) -> None:
    create("example.test.")
    head = publication_log.read_head(conn)
    row = LogHead.objects.get()
    assert head == publication_log.Head(row.cluster, publication_log.Position(row.epoch, 1))


def test_a_range_ends_at_the_head_or_where_it_is_large_enough(
    conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert publication_log.next_range(conn, after=0, head=0) is None
    for number in range(4):
        create(f"z{number}.test.")  # three records each: the SOA and two NS, which are two RRsets
    found = publication_log.next_range(conn, after=1, head=3)
    assert found is not None
    assert (found.first, found.last) == (2, 3)
    monkeypatch.setattr(publication_log, "BATCH_RRSETS", 1)
    alone = publication_log.next_range(conn, after=1, head=4)
    assert alone is not None
    assert (alone.first, alone.last) == (2, 2)


def test_a_step_says_what_a_range_does_to_a_zone(conn: Connection) -> None:
    zone = create("example.test.")
    change(zone, rrset("www.example.test.", rdtypes.A, "192.0.2.1"))
    edit.delete_zone(zone=zone, acting=Acting(None, "system", timezone.now()))
    edit.restore_zone(zone=zone, author=None, channel="system", now=timezone.now())

    def step(first: int, last: int) -> tuple[bool, bool, bool, bool]:
        [found] = publication_log.zone_steps(conn, range_of(first, last))
        return found.served_before, found.serial is not None, found.is_full, found.leaves_no_trace

    assert step(1, 1) == (False, True, True, False)
    assert step(2, 2) == (True, True, False, False)
    assert step(3, 3) == (True, False, False, False)
    assert step(4, 4) == (False, True, True, False)
    assert step(1, 3) == (False, False, False, True)
    assert step(2, 4) == (True, True, True, False)


def test_changes_are_those_at_the_end_of_the_range(conn: Connection) -> None:
    zone = create("example.test.")
    key = ("www.example.test.", rdtypes.A)
    for address in ("192.0.2.1", "192.0.2.2", "192.0.2.3"):
        change(zone, rrset(key[0], key[1], address))
    found = publication_log.changes_in(conn, range_of(2, 3), [zone.pk])[zone.pk][key]
    assert found is not None
    assert found.rdata == ("192.0.2.2",)
    change(zone, gone=(key,))
    assert publication_log.changes_in(conn, range_of(2, 5), [zone.pk])[zone.pk][key] is None


def test_a_zone_is_read_as_it_was_at_a_sequence(conn: Connection) -> None:
    zone = create("example.test.", rrset("old.example.test.", rdtypes.A, "192.0.2.1"))
    change(zone, rrset("old.example.test.", rdtypes.A, "192.0.2.2"))
    change(zone, rrset("new.example.test.", rdtypes.A, "192.0.2.3"), gone=(("old.example.test.", rdtypes.A),))
    [at_two] = [step for step in publication_log.zones_served_at(conn, 2) if step.serial is not None]
    with snapshot(conn):
        [(_, rrsets)] = list(publication_log.rrsets_at(conn, 2, {zone.pk: at_two.serial or 0}))
    found = {(r.name, r.type): r for r in rrsets}
    assert found["old.example.test.", rdtypes.A].rdata == ("192.0.2.2",)
    assert ("new.example.test.", rdtypes.A) not in found
    assert found["example.test.", rdtypes.SOA].rdata[0].split()[2] == str(at_two.serial)


def test_segments_of_another_epoch_only_are_an_alarm(conn: Connection) -> None:
    create("example.test.")
    encode_all_in = LogHead.objects.get().epoch
    assert publication_log.read_encoded(conn, 4, encode_all_in) == publication_log.Encoded(0, None, False)


def test_a_log_of_a_new_epoch_does_not_go_on_from_the_old_segments() -> None:
    create("example.test.")
    encode_all()
    session = Session()
    with session.publishing() as conn:
        assert conn is not None
        with pytest.raises(WrongEpoch):
            publication_log.read_encoded(conn, 4, uuid4())
    session.close()
