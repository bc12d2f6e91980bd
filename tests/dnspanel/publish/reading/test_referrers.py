"""Tests of referrers: a segment also marks zones with CNAMEs to changed names, because their answers change."""

import re

import pytest
from django.db import connection
from django.utils import timezone

from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.files.publisher import this_publisher
from dnspanel.publish.keys import segment_signing
from dnspanel.publish.models import Segment
from dnspanel.publish.reading import referrers
from dnspanel.publish.storage import objects
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import edit
from replication.dns import rdtypes
from replication.dns.rrset import RRset, make
from replication.wire.segment import open_segment
from tests.publishing import change_rrsets

pytestmark = pytest.mark.django_db(transaction=True)


def create(name: str, *rrsets: RRset) -> Zone:
    edit.create_zone(zone=edit.NewZone(name, rrsets), acting=Acting(None, "system", timezone.now()))
    return Zone.objects.get(name=name, deleted_at=None)


def cname(owner: str, target: str) -> RRset:
    return make(owner, rdtypes.CNAME, 300, [target])


def marks_of_next_segment() -> dict[str, int | None]:
    """Encode all publications. Return the zones and serials that the newest segment marks."""
    while encode_step(now=timezone.now()):
        pass
    newest = Segment.objects.order_by("-last")[0]
    with objects.open_object(newest.object_name) as file:
        segment = open_segment(file.read(), segment_signing.all_public_keys())
        return {mark.name: mark.serial for mark in segment.marks()}


def change_address(zone: Zone, address: str) -> None:
    zone.refresh_from_db()
    name = f"www.{zone.name}"
    changes: dict[tuple[str, int], RRset | None] = {(name, rdtypes.A): make(name, rdtypes.A, 300, [address])}
    change_rrsets(zone=zone, changes=changes, author=None, channel="system", now=timezone.now())


def test_a_chain_of_cnames_through_other_zones_is_followed() -> None:
    target = create("target.test.", make("www.target.test.", rdtypes.A, 300, ["192.0.2.1"]))
    near = create("near.test.", cname("a.near.test.", "www.target.test."))
    create("far.test.", cname("b.far.test.", "a.near.test."))
    create("capitals.test.", cname("d.capitals.test.", "B.Far.test."))
    create("elsewhere.test.", cname("c.elsewhere.test.", "www.elsewhere.test."))
    marks_of_next_segment()
    change_address(target, "192.0.2.2")
    assert set(marks_of_next_segment()) == {"target.test.", "near.test.", "far.test.", "capitals.test."}
    near.refresh_from_db()


def plan_of_the_look_up() -> str:
    """Return PostgreSQL's plan for the query of CNAMEs to changed names, on the publisher's connection."""
    with this_publisher().session.publishing() as conn:
        assert conn is not None
        found = conn.execute("SELECT name FROM pg_prepared_statements WHERE statement LIKE %s", ("%wanted.name%",))
        [(name,)] = found.fetchall()
        return "\n".join(row[0] for row in conn.execute(f"EXPLAIN EXECUTE {name} ('{{a.test.}}', '{{1}}', 9)"))


def test_targets_are_looked_up_by_their_index_once_there_are_many_whatever_the_plan_was_before() -> None:
    target = create("target.test.", make("www.target.test.", rdtypes.A, 300, ["192.0.2.1"]))
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (FULL, ANALYZE) zones_rrset")  # shrinks the table to one page, whatever other tests left
    for number in range(2, 5):
        change_address(target, f"192.0.2.{number}")
        marks_of_next_segment()
    # PostgreSQL would now read the one page, and a generic plan would keep that.
    create("many.test.", *(cname(f"h{number}.many.test.", "www.many.test.") for number in range(3_000)))
    marks_of_next_segment()
    plan = plan_of_the_look_up()
    assert re.search(r"Index Scan (using|on) rrset_cname_target\b", plan)
    assert "Seq Scan on zones_rrset" not in plan


def test_the_serial_is_the_one_at_the_end_of_the_segment() -> None:
    target = create("target.test.", make("www.target.test.", rdtypes.A, 300, ["192.0.2.1"]))
    near = create("near.test.", cname("a.near.test.", "www.target.test."))
    change_address(target, "192.0.2.2")
    near.refresh_from_db()
    assert marks_of_next_segment()["near.test."] == near.serial


def test_a_zone_that_comes_or_goes_is_seen_through_cnames_too() -> None:
    create("near.test.", cname("a.near.test.", "www.target.test."))
    marks_of_next_segment()
    target = create("target.test.", make("www.target.test.", rdtypes.A, 300, ["192.0.2.1"]))
    assert set(marks_of_next_segment()) == {"target.test.", "near.test."}
    edit.delete_zone(zone=target, acting=Acting(None, "system", timezone.now()))
    assert set(marks_of_next_segment()) == {"target.test.", "near.test."}


def test_a_deleted_zone_is_not_marked_as_a_referrer() -> None:
    target = create("target.test.", make("www.target.test.", rdtypes.A, 300, ["192.0.2.1"]))
    near = create("near.test.", cname("a.near.test.", "www.target.test."))
    edit.delete_zone(zone=near, acting=Acting(None, "system", timezone.now()))
    marks_of_next_segment()
    change_address(target, "192.0.2.2")
    assert set(marks_of_next_segment()) == {"target.test."}


def test_a_cname_with_disabled_records_beside_it_is_found_by_each_of_them() -> None:
    """The order of the records doesn't show which one is enabled."""
    target = create("target.test.", make("www.target.test.", rdtypes.A, 300, ["192.0.2.1"]))
    for name, off in (("first.test.", "aaa.example.net."), ("last.test.", "zzzzz.example.net.")):
        alias = make(f"a.{name}", rdtypes.CNAME, 300, ["www.target.test.", off], [off])
        create(name, alias)
    marks_of_next_segment()
    change_address(target, "192.0.2.2")
    assert set(marks_of_next_segment()) == {"target.test.", "first.test.", "last.test."}


def test_a_circle_of_cnames_ends() -> None:
    one = create("one.test.", make("www.one.test.", rdtypes.A, 300, ["192.0.2.1"]), cname("x.one.test.", "y.two.test."))
    create("two.test.", cname("y.two.test.", "x.one.test."))
    marks_of_next_segment()
    change_address(one, "192.0.2.2")
    assert set(marks_of_next_segment()) == {"one.test."}


def test_a_publication_of_many_zones_looks_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes purge their whole cache after such a publication. The search for CNAMEs took seconds per import batch."""
    monkeypatch.setattr(referrers, "MOST_ZONES", 1)
    create("near.test.", cname("a.near.test.", "www.one.test."))
    marks_of_next_segment()
    names = ["one.test.", "two.test."]
    zones = [edit.NewZone(name=name, rrsets=[make(f"www.{name}", rdtypes.A, 300, ["192.0.2.1"])]) for name in names]
    edit.create_zones(zones=zones, acting=Acting(None, "system", timezone.now()))
    assert set(marks_of_next_segment()) == set(names)


def test_many_cnames_inside_the_zone_do_not_hide_the_one_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(referrers, "MOST_NAMES", 3)
    inside = [cname(f"c{n}.target.test.", "www.target.test.") for n in range(20)]
    target = create("target.test.", make("www.target.test.", rdtypes.A, 300, ["192.0.2.1"]), *inside)
    create("near.test.", cname("a.near.test.", "www.target.test."))
    marks_of_next_segment()
    change_address(target, "192.0.2.2")
    assert "near.test." in marks_of_next_segment()


def test_many_cnames_of_one_zone_do_not_hide_another_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(referrers, "MOST_NAMES", 3)
    target = create("target.test.", make("www.target.test.", rdtypes.A, 300, ["192.0.2.1"]))
    create("many.test.", *(cname(f"c{n}.many.test.", "www.target.test.") for n in range(20)))
    create("one.test.", cname("a.one.test.", "www.target.test."))
    marks_of_next_segment()
    change_address(target, "192.0.2.2")
    assert set(marks_of_next_segment()) == {"target.test.", "many.test.", "one.test."}


def test_a_chain_is_followed_until_more_zones_are_found_than_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """At exactly the limit, the search goes on: zones further along the chain may exceed it."""
    monkeypatch.setattr(referrers, "MOST_ZONES", 1)
    target = create("target.test.", make("www.target.test.", rdtypes.A, 300, ["192.0.2.1"]))
    create("near.test.", cname("a.near.test.", "www.target.test."))
    create("far.test.", cname("b.far.test.", "a.near.test."))
    marks_of_next_segment()
    change_address(target, "192.0.2.2")
    assert set(marks_of_next_segment()) == {"target.test.", "near.test.", "far.test."}
