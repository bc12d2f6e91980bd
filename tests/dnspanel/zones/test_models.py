"""Constraints and triggers of PostgreSQL, which apply to all writers."""

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from dnspanel.accounts.models import Token, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Change, LogHead, Publication, Revision, RRset, Zone
from dnspanel.zones.publishing import edit
from tests.dnspanel.zones.conftest import ZONE, MakeZone
from tests.dnspanel.zones.log.test_sequence_log import at_once
from tests.people import NOW


def refused(constraint: str) -> Any:
    return pytest.raises(IntegrityError, match=constraint)


@pytest.mark.parametrize(
    ("constraint", "wrong"),
    [
        ("rrset_type_u16", {"type": 65536}),
        ("rrset_type_u16", {"type": 0}),
        ("rrset_ttl_rfc2181", {"ttl": -1}),
        ("rrset_not_empty", {"rdata": []}),
        ("rrset_disabled_subset", {"disabled": ["192.0.2.9"]}),
        ("rrset_unique", {"owner_key": b"www\0", "name": "www." + ZONE}),
    ],
)
def test_an_rrset_that_must_not_exist_cannot(zone: Zone, constraint: str, wrong: dict[str, Any]) -> None:
    right = {"zone": zone, "name": "x." + ZONE, "owner_key": b"x\0", "type": 1, "ttl": 300, "rdata": ["192.0.2.1"]}
    with refused(constraint), transaction.atomic():
        RRset.objects.create(**(right | wrong))


@pytest.mark.parametrize(
    ("constraint", "wrong"),
    [
        ("zone_name_unique_alive", {"name": ZONE}),
        ("zone_name_absolute", {"name": "other.test"}),
        ("zone_serial_u32", {"serial": 2**32}),
        ("zone_id_is_a_domain_id", {"id": 2**31 - 1}),
    ],
)
def test_a_zone_that_must_not_exist_cannot(zone: Zone, constraint: str, wrong: dict[str, Any]) -> None:
    right = {"name": "other.test.", "serial": 1, "created_at": NOW, "changed_at": NOW}
    with refused(constraint), transaction.atomic():
        Zone.objects.create(**(right | wrong))


def test_names_in_the_trash_may_repeat(alice: User, zone: Zone) -> None:
    for _ in range(2):
        zone = Zone.objects.get(name=ZONE, deleted_at=None)
        edit.delete_zone(zone=zone, acting=Acting(alice, "web", NOW))
        edit.create_zone(zone=edit.NewZone(ZONE), acting=Acting(alice, "web", NOW))
    assert Zone.objects.filter(name=ZONE).count() == 3


def test_the_log_has_one_head(db: None) -> None:
    head = LogHead.objects.get()
    with refused("loghead_single"), transaction.atomic():
        LogHead.objects.create(id=2, cluster=head.cluster, epoch=head.epoch)


def test_publications_outlive_their_author(alice: User, zone: Zone) -> None:
    alice.delete()
    assert Publication.objects.get(revisions__zone=zone).author is None


NOWHERE = 2**31 - 2


@pytest.mark.parametrize(
    ("constraint", "statement"),
    [
        ("without its zone", "UPDATE zones_rrset SET zone_id = %s WHERE type = 1"),
        ("zones_revision.zone_id", "UPDATE zones_revision SET zone_id = %s"),
        ("zones_revision.publication_id", "UPDATE zones_revision SET publication_id = %s"),
        ("zones_change.revision_id", "UPDATE zones_change SET revision_id = %s"),
        ("zones_zone.id never changes", "UPDATE zones_zone SET id = %s"),
        ("zones_revision.id never changes", "UPDATE zones_revision SET id = %s WHERE number = 1"),
        ("zones_publication.sequence never changes", "UPDATE zones_publication SET sequence = %s WHERE sequence = 1"),
    ],
)
def test_what_a_row_refers_to_is_there(alice: User, zone: Zone, constraint: str, statement: str) -> None:
    edit.delete_zone(zone=zone, acting=Acting(alice, "web", NOW))
    edit.restore_zone(zone=zone, author=alice, channel="web", now=NOW)
    assert Change.objects.exists()
    with refused(constraint), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, [NOWHERE])


def test_a_row_that_refers_to_nothing_cannot_come(zone: Zone) -> None:
    revision = Revision.objects.get()
    wrong: list[Any] = [
        RRset(zone_id=NOWHERE, name="x.", owner_key=b"x\0", type=1, ttl=300, rdata=["192.0.2.1"]),
        Revision(zone_id=NOWHERE, publication=revision.publication, number=9, kind="change", serial=1),
        Revision(zone=zone, publication_id=NOWHERE, number=9, kind="change", serial=1),
        Change(revision_id=NOWHERE, name="x.", owner_key=b"x\0", type=1),
    ]
    for row in wrong:
        with refused("without its zone|refers to nothing"), transaction.atomic():
            row.save(force_insert=True)


def test_a_zone_goes_with_all_that_belongs_to_it_and_nothing_else(alice: User, zone: Zone, make_zone: MakeZone) -> None:
    other = make_zone(name="other.test.")
    for one in (zone, other):
        edit.delete_zone(zone=one, acting=Acting(alice, "web", NOW))
        edit.restore_zone(zone=one, author=alice, channel="web", now=NOW)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM zones_zone WHERE id = %s", [zone.pk])
    assert set(RRset.objects.values_list("zone", flat=True)) == {other.pk}
    assert set(Revision.objects.values_list("zone", flat=True)) == {other.pk}
    assert set(Change.objects.values_list("revision__zone", flat=True)) == {other.pk}
    Publication.objects.filter(revisions__zone=other).delete()
    assert not Revision.objects.exists()
    assert not Change.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_zones_go_only_where_it_is_seen_what_others_write(zone: Zone) -> None:
    """With an older snapshot, a transaction would leave rows behind that others have written since."""
    for level in ("REPEATABLE READ", "SERIALIZABLE"):
        with refused("READ COMMITTED only"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
            cursor.execute("DELETE FROM zones_zone")
    assert Zone.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_rrset_written_while_its_zone_goes_does_not_stay_behind(make_zone: MakeZone) -> None:
    for number in range(8):
        zone = make_zone(name=f"z{number}.test.")

        def write(zone: Zone = zone) -> None:
            RRset.objects.create(zone=zone, name=f"x.{zone.name}", owner_key=b"x\0", type=1, ttl=1, rdata=["192.0.2.1"])

        def delete(zone: Zone = zone) -> None:
            zone.delete()

        written, deleted = at_once([write, delete])
        assert written is None or isinstance(written, IntegrityError)
        assert deleted is None
        assert not RRset.objects.filter(zone_id=zone.pk).exists()
        assert not Revision.objects.filter(zone_id=zone.pk).exists()


def test_a_new_serial_touches_no_index_of_the_zone(alice: User, zone: Zone) -> None:
    """PostgreSQL can do a HOT update, because the row's page has room for the new version."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT reloptions FROM pg_class WHERE relname = 'zones_zone'")
        assert cursor.fetchone() == (["fillfactor=50"],)
        cursor.execute("SELECT pg_stat_get_xact_tuples_hot_updated('zones_zone'::regclass)")
        (before,) = cursor.fetchone()
        cursor.execute("UPDATE zones_zone SET serial = serial + 1, revision = revision + 1, sequence = sequence + 1")
        cursor.execute("SELECT pg_stat_get_xact_tuples_hot_updated('zones_zone'::regclass)")
        assert cursor.fetchone() == (before + 1,)


@pytest.mark.parametrize("many", [False, True])
def test_a_cname_is_alone_in_small_and_in_large_statements(zone: Zone, make_zone: MakeZone, many: bool) -> None:
    """A large statement checks its rows together rather than one by one."""
    make_zone("h 60 CNAME x.example.net.", name="other.test.")
    more = [f"n{number}" for number in range(600 if many else 2)]

    def write(name: str, type: int, text: str) -> None:
        rows = [(one, 1, "192.0.2.1") for one in more] + [(name, type, text)]
        RRset.objects.bulk_create(
            RRset(zone=zone, name=f"{one}.{ZONE}", owner_key=one.encode() + b"\0", type=t, ttl=300, rdata=[value])
            for one, t, value in rows
        )

    with refused("must be alone"), transaction.atomic():
        write("shop", 1, "192.0.2.1")
    with refused("must be alone"), transaction.atomic():
        write("www", 5, "x.example.net.")
    with refused("must be alone"), transaction.atomic():
        write("n1", 5, "x.example.net.")
    write("h", 1, "192.0.2.1")


def test_a_publication_says_who_made_it_and_with_which_token(alice: User) -> None:
    token = Token(owner=alice, purpose="CI")
    assert Publication(author=alice).by == "alice"
    assert Publication(author=alice, token=token).by == "alice (token: CI)"
    assert Publication().by == ""
