"""The log with many simultaneous publishers, on real connections and with real commits."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction

from dnspanel.accounts.models import Role, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.drafts.discarded import discard
from dnspanel.zones.errors import Conflicts, NameTaken, NothingToPublish, Unknown
from dnspanel.zones.log import sequence_log
from dnspanel.zones.log.sequence_log import append_publication, join_parts, open_log, publication_of_form
from dnspanel.zones.models import LogHead, Publication, Revision, RRset, Zone
from dnspanel.zones.publishing import edit, revision
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr
from tests.people import NOW, make_person


def at_once(acts: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run all acts at the same moment on separate connections. Return the result or exception of each."""
    barrier = Barrier(len(acts), timeout=10)

    def run(act: Callable[[], Any]) -> Any:
        try:
            barrier.wait()
            return act()
        except Exception as exc:
            return exc
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


def publisher(author: User, **how: Any) -> Callable[[], Publication]:
    return lambda: revision.publish(acting=Acting(author, "web", NOW, **how))


def want(author: User, zone: Zone, line: str) -> None:
    rrset = rr(line, origin=zone.name)
    draft.replace_rrset(author=author, zone=zone, rrset=rrset, now=NOW)


def test_the_log_has_a_head_after_migrate_and_keeps_it(db: None) -> None:
    head = LogHead.objects.get()
    open_log()
    assert LogHead.objects.get() == head
    assert LogHead.objects.get().epoch == head.epoch != head.cluster


def test_parts_that_join_a_write_bring_their_own_parts(db: None, make_zone: MakeZone) -> None:
    one, two, three, four = (
        Publication.objects.get(sequence=make_zone(name=f"z{number}.test.").sequence) for number in range(4)
    )
    join_parts([two])
    join_parts([two, three])
    join_parts([one, three])
    assert (one.part_of, three.part_of) == (one.pk, one.pk)
    parts = Publication.objects.filter(part_of=one.pk).order_by("pk")
    assert list(parts.values_list("pk", flat=True)) == [one.pk, two.pk, three.pk]
    four.refresh_from_db()
    assert four.part_of is None


def test_a_form_that_never_published_raises_what_stood_in_its_way(db: None) -> None:
    for form_id in (None, uuid4()):
        with pytest.raises(NothingToPublish):
            publication_of_form(form_id, otherwise=NothingToPublish())


def test_a_publication_that_rolls_back_leaves_no_gap(zone: Zone) -> None:
    before = LogHead.objects.get().sequence
    with transaction.atomic():
        append_publication(revisions=[], acting=Acting(None, "system", NOW))
        transaction.set_rollback(True)
    assert LogHead.objects.get().sequence == before
    assert sequence_log.append_publication(revisions=[], acting=Acting(None, "system", NOW)).sequence == (before + 1)


@pytest.mark.django_db(transaction=True)
def test_of_two_publishers_of_one_rrset_exactly_one_sees_a_conflict(alice: User, bob: User, zone: Zone) -> None:
    for ttl in range(60, 66):
        want(alice, zone, f"www {ttl} A 192.0.2.3")
        want(bob, zone, f"www {ttl} A 192.0.2.4")
        outcome = at_once([publisher(alice), publisher(bob)])
        assert sorted(type(one).__name__ for one in outcome) == ["Conflicts", "Publication"]
        (conflict,) = next(one for one in outcome if isinstance(one, Conflicts)).conflicts
        stored = RRset.objects.get(zone=zone, name="www." + ZONE)
        assert conflict.theirs is not None
        assert list(conflict.theirs.rdata) == stored.rdata
        for author in (alice, bob):
            discard(author=author, now=NOW)


@pytest.mark.django_db(transaction=True)
def test_eight_publishers_leave_a_log_without_gaps_or_lost_edits(make_zone: MakeZone) -> None:
    zones = [make_zone(name=f"z{i}.test.") for i in range(3)]
    people = [make_person(f"p{i}", Role.EDITOR) for i in range(8)]
    start = LogHead.objects.get().sequence

    def edits(author: User, number: int) -> Callable[[], None]:
        def run() -> None:
            for turn in range(5):
                for zone in (zones[number % 3], zones[(number + turn) % 3]):
                    want(author, zone, f"p{number}-{turn} 300 A 192.0.2.{turn + 1}")
                revision.publish(acting=Acting(author, "web", NOW))

        return run

    outcome = at_once([edits(author, number) for number, author in enumerate(people)])
    assert outcome == [None] * 8
    sequences = sorted(Publication.objects.filter(sequence__gt=start).values_list("sequence", flat=True))
    assert sequences == list(range(start + 1, start + 41))
    assert LogHead.objects.get().sequence == start + 40
    for zone in zones:
        zone.refresh_from_db()
        numbers = list(Revision.objects.filter(zone=zone).order_by("number").values_list("number", flat=True))
        assert numbers == list(range(1, zone.revision + 1))
        assert zone.serial == zone.revision
        assert zone.rrset_count == RRset.objects.filter(zone=zone).count()


@pytest.mark.django_db(transaction=True)
def test_the_same_form_sent_twice_at_once_is_one_publication(bob: User, zone: Zone) -> None:
    want(bob, zone, "www 60 A 192.0.2.3")
    form_id = uuid4()
    outcome = at_once([publisher(bob, form_id=form_id)] * 4)
    assert len({one.sequence for one in outcome}) == 1


@pytest.mark.django_db(transaction=True)
def test_one_name_created_twice_at_once_is_one_zone(alice: User) -> None:
    def create() -> Publication:
        return edit.create_zone(zone=edit.NewZone("new.test"), acting=Acting(alice, "web", NOW))

    outcome = at_once([create] * 3)
    assert sorted(type(one).__name__ for one in outcome) == ["NameTaken", "NameTaken", "Publication"]
    assert any(isinstance(one, NameTaken) for one in outcome)
    assert Zone.objects.filter(name="new.test.").count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_zone_deleted_while_another_publishes_ends_deleted(alice: User, bob: User, make_zone: MakeZone) -> None:
    for number in range(5):
        zone = make_zone(name=f"z{number}.test.")
        want(bob, zone, "www 60 A 192.0.2.3")

        def delete(zone: Zone = zone) -> Publication:
            return edit.delete_zone(zone=zone, acting=Acting(alice, "web", NOW))

        deleted, published = at_once([delete, publisher(bob)])
        assert isinstance(deleted, Publication)
        assert isinstance(published, Publication | NothingToPublish | Unknown)
        zone.refresh_from_db()
        assert zone.deleted_at is not None
        discard(author=bob, now=NOW)


@pytest.mark.django_db(transaction=True)
def test_the_database_refuses_a_cname_that_two_writers_make_together(zone: Zone) -> None:
    def insert(type_: int, text: str) -> Callable[[], None]:
        def run() -> None:
            RRset.objects.create(zone=zone, name="race." + ZONE, owner_key=b"race\0", type=type_, ttl=300, rdata=[text])

        return run

    for _ in range(5):
        outcome = at_once([insert(5, "x.example.net."), insert(1, "192.0.2.1")])
        assert sorted(type(one).__name__ for one in outcome) == ["IntegrityError", "NoneType"]
        assert "rrset_cname_alone" in str(
            next(one for one in outcome if isinstance(one, IntegrityError)).__cause__
        ) or ("must be alone" in str(next(one for one in outcome if one)))
        RRset.objects.filter(name="race." + ZONE).delete()
