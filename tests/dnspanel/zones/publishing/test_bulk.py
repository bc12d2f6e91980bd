"""Many zones in one publication."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.models import User
from dnspanel.advisory_locks import Lock, locked_keys
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import NameReserved, NamesTaken
from dnspanel.zones.log import history
from dnspanel.zones.models import Change, LogHead, Operation, Publication, Revision, RRset, Zone
from dnspanel.zones.publishing import bulk, edit, ready_zones, revision
from dnspanel.zones.publishing.bulk import ZoneChange
from dnspanel.zones.publishing.ready_zones import BulkZone, ExistingZone
from dnspanel.zones.store import store_rrsets
from dnspanel.zones.store.store_rrsets import rrset_of
from dnspanel.zones.values.soa import with_serial
from replication.codec.keys import relative_key
from replication.dns.rrset import RRset as Values
from replication.dns.rrset import Serial
from tests import zonegen
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr
from tests.people import NOW
from tests.publishing import change_rrsets

HOW: dict[str, Any] = {"channel": "import", "now": NOW, "reason": "import 1"}
Key = tuple[str, int]


def ready(zone_id: int, zone_name: str, rrsets: Sequence[Values]) -> bytes:
    keys = [relative_key(r.name, zone_name) for r in rrsets]
    fields = [
        (r.name, key, r.type, r.ttl, r.rdata, (), r.disabled, r.comment, "")
        for r, key in zip(rrsets, keys, strict=True)
    ]
    return store_rrsets.copy_rows(zone_id, fields)


def acting(author: User | None = None) -> Acting:
    return Acting(author, "import", NOW, "import 1")


def create(*zones: tuple[str, Sequence[Values]], author: User | None = None, **how: Any) -> Publication:
    ids = ready_zones.allocate_zone_ids(len(zones))
    new = [BulkZone(id, name, 1, len(rrsets)) for id, (name, rrsets) in zip(ids, zones, strict=True)]
    rows = [ready(id, name, rrsets) for id, (name, rrsets) in zip(ids, zones, strict=True)]
    return ready_zones.create_ready_zones(zones=new, rows=lambda: rows, acting=acting(author), **how)


def content(name: str) -> list[Values]:
    return [
        rr("@ 3600 SOA ns1.example.net. h.example.net. 1 10800 3600 604800 3600", origin=name),
        rr("@ 3600 NS ns1.example.net.", origin=name),
        rr("www 300 A 192.0.2.1", origin=name),
    ]


def change(zone: Zone, *lines: str, gone: Sequence[Key] = (), base: int | None = None) -> ZoneChange:
    zone.refresh_from_db()
    changes: dict[Key, Values | None] = {(r.name, r.type): r for r in (rr(line, origin=zone.name) for line in lines)}
    return ZoneChange(zone.pk, zone.revision if base is None else base, changes | dict.fromkeys(gone))


def stored(zone: Zone) -> dict[Key, Values]:
    return {(row.name, row.type): rrset_of(row) for row in RRset.objects.filter(zone=zone)}


def without_serial(rrsets: dict[Key, Values]) -> dict[Key, Values]:
    return {key: rrset for key, rrset in rrsets.items() if key[1] != 6}


def test_ids_are_new_and_ascending(zone: Zone) -> None:
    ids = ready_zones.allocate_zone_ids(50)
    assert ids == sorted(set(ids))
    assert min(ids) > zone.pk
    assert ready_zones.allocate_zone_ids(0) == []
    assert edit.create_zone(zone=edit.NewZone("next.test"), acting=Acting(None, "web", NOW))
    assert Zone.objects.get(name="next.test.").pk > max(ids)


def test_zones_of_ready_rows_are_what_create_zone_makes(bob: User) -> None:
    seen: list[tuple[int, int]] = []
    publication = create(
        ("a.test.", content("a.test.")),
        ("b\\.c.test.", content("b\\.c.test.")),
        author=bob,
        in_transaction=lambda p, _: seen.append((p.sequence, Zone.objects.filter(sequence=p.sequence).count())),
    )
    for name in ("a.test.", "b\\.c.test."):
        zone = Zone.objects.get(name=name)
        assert set(stored(zone).values()) == set(content(name))
        assert (zone.serial, zone.revision, zone.rrset_count, zone.sequence) == (1, 1, 3, publication.sequence)
        assert (zone.changed_by, zone.created_at, zone.changed_at, zone.deleted_at) == (bob, NOW, NOW, None)
        assert set(history.rrsets_at(zone=zone, number=1)) == set(content(name))
    assert list(Revision.objects.values_list("kind", "number", "added", "serial")) == [("create", 1, 3, 1)] * 2
    assert seen == [(publication.sequence, 2)]
    assert LogHead.objects.get().sequence == publication.sequence


def test_ready_zones_are_created_by_one_transaction_at_a_time(db: None) -> None:
    seen: list[tuple[Lock, int]] = []
    create(("a.test.", content("a.test.")), in_transaction=lambda *_: seen.extend(locked_keys(Lock.CREATION)))
    assert seen == [(Lock.CREATION, 0)]


def test_the_number_of_queries_does_not_grow_with_the_number_of_zones(db: None) -> None:
    counts = []
    for first in (0, 5):
        estate = list(zonegen.estate(500))[first : 5 + first * 20]
        with CaptureQueriesContext(connection) as queries:
            create(*estate)
        # ANALYZE runs after a table has grown, also because of earlier tests.
        counts.append(sum(not (each["sql"] or "").startswith("ANALYZE") for each in queries))
    assert counts[0] == counts[1] <= 12


def test_all_taken_names_are_said_and_nothing_is_made(zone: Zone, make_zone: MakeZone) -> None:
    make_zone(name="other.test.")
    head = LogHead.objects.get().sequence
    names = ["new.test.", ZONE, "twice.test.", "other.test.", "twice.test."]
    with pytest.raises(NamesTaken) as caught:
        create(*((name, content(name)) for name in names))
    assert caught.value.names == (ZONE, "other.test.", "twice.test.")
    assert str(caught.value) == f"The zone {ZONE} and 2 more already exist."
    assert Zone.objects.count() == 2
    assert LogHead.objects.get().sequence == head


def test_a_name_in_the_trash_is_free(bob: User, zone: Zone) -> None:
    edit.delete_zone(zone=zone, acting=Acting(bob, "web", NOW))
    create((ZONE, content(ZONE)))
    assert Zone.objects.filter(name=ZONE).count() == 2


def test_the_name_of_the_sentinel_zone_is_reserved_for_imports_too(db: None) -> None:
    name = "x.position.dnspanel.invalid."
    with pytest.raises(NameReserved):
        create((name, content(name)))


def test_rows_that_are_too_few_or_too_bad_make_no_zone(db: None) -> None:
    (id,) = ready_zones.allocate_zone_ids(1)
    zones = [BulkZone(id, ZONE, 1, 3)]
    with pytest.raises(ValueError, match="2 RRsets came for 1 zones that have 3"):
        ready_zones.create_ready_zones(zones=zones, rows=lambda: [ready(id, ZONE, content(ZONE)[:2])], acting=acting())
    clash = [*content(ZONE)[:2], rr("@ 300 CNAME x.example.net.")]
    with pytest.raises(IntegrityError, match="must be alone"):
        ready_zones.create_ready_zones(zones=zones, rows=lambda: [ready(id, ZONE, clash)], acting=acting())
    with pytest.raises(IntegrityError, match="without its zone"):
        ready_zones.create_ready_zones(zones=zones, rows=lambda: [ready(id + 1, ZONE, content(ZONE))], acting=acting())
    assert not Zone.objects.exists()
    assert not RRset.objects.exists()


def test_what_in_transaction_raises_takes_everything_back(db: None) -> None:
    def fail(publication: Publication, moved: Sequence[int]) -> None:
        raise RuntimeError("no room")

    with pytest.raises(RuntimeError, match="no room"):
        create((ZONE, content(ZONE)), in_transaction=fail)
    assert not Zone.objects.exists()
    assert LogHead.objects.get().sequence == 0


def test_existing_zones_are_found_in_one_query_without_the_trash(
    bob: User, zone: Zone, make_zone: MakeZone, django_assert_num_queries: Any
) -> None:
    edit.delete_zone(zone=make_zone(name="gone.test."), acting=Acting(bob, "web", NOW))
    with django_assert_num_queries(1):
        assert ready_zones.existing_zones([ZONE, "gone.test.", "none.test."]) == {ZONE: ExistingZone(zone.pk, 1, 1)}


def test_hundreds_of_names_are_looked_up_one_by_one_in_the_index(db: None) -> None:
    """An import queries the names of each batch. Previously PostgreSQL read all zones for each of these queries, which
    took a quarter of its time during an import into 80,000 zones.
    """
    ids = ready_zones.allocate_zone_ids(3_000)
    ready_zones.insert_zones(zones=[BulkZone(id, f"z{id}.test.", 1, 0) for id in ids], rows=[], author=None, now=NOW)
    wanted = [f"z{id}.test." for id in ids[::10]] + [f"new{number}.test." for number in range(700)]
    with CaptureQueriesContext(connection) as queries, connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = on")
        # With dead rows of other tests, a bitmap scan of one index entry costs the same.
        cursor.execute("SET LOCAL enable_bitmapscan = off")
        cursor.execute("ANALYZE zones_zone")
        assert len(ready_zones.existing_zones(wanted)) == 300
        cursor.execute("EXPLAIN " + queries.captured_queries[-1]["sql"])
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Index Scan using zone_name_unique_alive" in plan
    assert "Index Cond: (name = wanted.name)" in plan


def test_all_rrsets_of_zones_come_per_zone(zone: Zone, make_zone: MakeZone) -> None:
    other = make_zone(name="other.test.")
    found = store_rrsets.rrsets_of_zones([zone.pk, other.pk, 10**6])
    assert found == {zone.pk: stored(zone), other.pk: stored(other), 10**6: {}}


def test_many_zones_change_in_one_publication_with_history(bob: User, zone: Zone, make_zone: MakeZone) -> None:
    other = make_zone("www 300 A 192.0.2.1", name="other.test.")
    before = stored(zone)
    sequences: list[int] = []
    publication, left = bulk.change_zones(
        changes=[
            change(zone, "www 60 A 192.0.2.7", "new 60 TXT x", gone=[("mail." + ZONE, 1)]),
            change(other, "www 60 A 192.0.2.7"),
        ],
        acting=Acting(author=bob, **HOW),
        in_transaction=lambda p: sequences.append(p.sequence),
    )
    assert publication is not None
    assert (left, sequences) == ([], [publication.sequence])
    zone.refresh_from_db()
    assert (zone.revision, zone.serial, zone.rrset_count, zone.sequence) == (2, 2, 6, publication.sequence)
    assert stored(zone)["www." + ZONE, 1] == rr("www 60 A 192.0.2.7")
    assert ("mail." + ZONE, 1) not in stored(zone)
    assert zone.rrset_count == len(stored(zone))
    made = Revision.objects.get(zone=zone, number=2)
    assert (made.kind, made.added, made.changed, made.removed, made.publication) == ("change", 1, 1, 1, publication)
    assert {(r.name, r.type): r for r in history.rrsets_at(zone=zone, number=1)} == before
    assert Change.objects.filter(revision__zone=other).count() == 2  # www and the SOA
    revision.undo_revisions(revisions=[made], author=bob, now=NOW)
    revision.publish(acting=Acting(bob, "web", NOW))
    assert without_serial(stored(zone)) == without_serial(before)


def test_zones_that_moved_or_are_gone_are_left_alone_and_said(bob: User, zone: Zone, make_zone: MakeZone) -> None:
    moved, gone = make_zone(name="moved.test."), make_zone(name="gone.test.")
    edit.delete_zone(zone=gone, acting=Acting(bob, "web", NOW))
    publication, left = bulk.change_zones(
        changes=[
            change(moved, "www 60 A 192.0.2.7", base=7),
            change(zone, "www 60 A 192.0.2.7"),
            change(gone, "www 60 A 192.0.2.7"),
        ],
        acting=Acting(author=bob, **HOW),
    )
    assert left == [moved.pk, gone.pk]
    assert publication is not None
    assert list(publication.revisions.values_list("zone_id", flat=True)) == [zone.pk]


def test_what_is_so_already_makes_no_revision(bob: User, zone: Zone) -> None:
    publication, left = bulk.change_zones(
        changes=[change(zone, "mail 300 A 192.0.2.9", gone=[("none." + ZONE, 1)])], acting=Acting(author=bob, **HOW)
    )
    assert (publication, left) == (None, [])
    zone.refresh_from_db()
    assert zone.revision == 1


@pytest.mark.parametrize(("given", "becomes"), [(9, 9), (1, 2), (2**32 - 1, 2)])
def test_a_wanted_serial_counts_if_it_is_higher(bob: User, zone: Zone, given: int, becomes: int) -> None:
    line = f"@ 60 SOA ns9.example.net. h.example.net. {given} 10800 3600 604800 3600"
    bulk.change_zones(changes=[change(zone, line)], acting=Acting(author=bob, **HOW))
    zone.refresh_from_db()
    soa = stored(zone)[ZONE, 6]
    assert (zone.serial, soa.ttl, soa.rdata[0].split()[2]) == (becomes, 60, str(becomes))
    assert Revision.objects.get(zone=zone, number=2).changed == 1


def test_a_zone_never_loses_its_soa(bob: User, zone: Zone) -> None:
    bulk.change_zones(changes=[change(zone, "x 60 A 192.0.2.7", gone=[(ZONE, 6)])], acting=Acting(author=bob, **HOW))
    assert (ZONE, 6) in stored(zone)


def test_a_name_may_become_a_cname_and_back(bob: User, zone: Zone) -> None:
    bulk.change_zones(
        changes=[change(zone, "www 60 CNAME x.example.net.", gone=[("www." + ZONE, 1)])],
        acting=Acting(author=bob, **HOW),
    )
    assert ("www." + ZONE, 5) in stored(zone)
    with pytest.raises(IntegrityError, match="must be alone"):
        bulk.change_zones(changes=[change(zone, "www 60 A 192.0.2.7")], acting=Acting(author=bob, **HOW))


def test_deleted_zones_lie_in_the_trash_in_one_publication(bob: User, zone: Zone, make_zone: MakeZone) -> None:
    other, moved = make_zone(name="other.test."), make_zone(name="moved.test.")
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("www 60 A 192.0.2.8"), now=NOW)
    publication, left = bulk.delete_zones(
        zones=[(zone.pk, 1), (moved.pk, 7), (other.pk, 1), (10**6, 1)], acting=Acting(author=bob, **HOW)
    )
    assert publication is not None
    assert left == [moved.pk, 10**6]
    assert list(publication.revisions.order_by("zone_id").values_list("zone_id", "kind", "number")) == [
        (zone.pk, "delete", 2),
        (other.pk, "delete", 2),
    ]
    assert list(Zone.objects.filter(deleted_at=None)) == [moved]
    assert not Operation.objects.exists()
    edit.restore_zone(zone=zone, author=bob, channel="web", now=NOW)
    assert bulk.delete_zones(zones=[(other.pk, 2)], acting=Acting(author=bob, **HOW)) == (None, [other.pk])


def test_an_undone_publication_is_as_if_it_had_never_been(bob: User, zone: Zone, make_zone: MakeZone) -> None:
    other = make_zone("www 300 A 192.0.2.1", name="other.test.")
    before, other_before = stored(zone), stored(other)
    soa = "@ 60 SOA ns9.example.net. h.example.net. 77 10800 3600 604800 3600"
    done, _ = bulk.change_zones(
        changes=[
            change(zone, soa, "www 60 A 192.0.2.7", "new 60 TXT x", gone=[("mail." + ZONE, 1)]),
            change(other, "www 60 A 192.0.2.7"),
        ],
        acting=Acting(author=bob, **HOW),
    )
    assert done is not None
    undone, kept = bulk.undo_zone_changes(sequence=done.sequence, acting=Acting(author=bob, **HOW))
    assert undone is not None
    assert kept == []
    assert without_serial(stored(zone)) == without_serial(before)
    assert without_serial(stored(other)) == without_serial(other_before)
    assert stored(zone)[ZONE, 6] == with_serial(before[ZONE, 6], Serial(78))
    assert bulk.undo_zone_changes(sequence=done.sequence, acting=Acting(author=bob, **HOW)) == (None, [])


def test_undo_keeps_what_others_changed_since(bob: User, alice: User, zone: Zone, make_zone: MakeZone) -> None:
    gone = make_zone("www 300 A 192.0.2.1", name="gone.test.")
    done, _ = bulk.change_zones(
        changes=[
            change(zone, "www 60 A 192.0.2.7", "new 60 TXT x", gone=[("mail." + ZONE, 1)]),
            change(gone, "www 60 A 192.0.2.7"),
        ],
        acting=Acting(author=bob, **HOW),
    )
    assert done is not None
    theirs = rr("www 60 A 192.0.2.55")
    change_rrsets(zone=zone, changes={(theirs.name, 1): theirs}, author=alice, channel="web", now=NOW, confirmed=True)
    edit.delete_zone(zone=gone, acting=Acting(alice, "web", NOW))
    undone, kept = bulk.undo_zone_changes(sequence=done.sequence, acting=Acting(author=bob, **HOW))
    assert undone is not None
    assert kept == [(ZONE, "www." + ZONE, 1), ("gone.test.", "www.gone.test.", 1)]
    current = stored(zone)
    assert current["www." + ZONE, 1] == theirs
    assert ("new." + ZONE, 16) not in current
    assert ("mail." + ZONE, 1) in current


def test_undo_never_puts_a_cname_beside_what_others_added(bob: User, alice: User, zone: Zone) -> None:
    done, _ = bulk.change_zones(changes=[change(zone, gone=[("mail." + ZONE, 1)])], acting=Acting(author=bob, **HOW))
    assert done is not None
    alias = rr("mail 60 CNAME x.example.net.")
    change_rrsets(zone=zone, changes={(alias.name, 5): alias}, author=alice, channel="web", now=NOW, confirmed=True)
    assert bulk.undo_zone_changes(sequence=done.sequence, acting=Acting(author=bob, **HOW)) == (
        None,
        [(ZONE, "mail." + ZONE, 1)],
    )
    assert stored(zone)["mail." + ZONE, 5] == alias
