"""Tests of moves between produced catalogs: both list the zone for a while, and the first names the new one."""

from collections.abc import Callable
from datetime import datetime, timedelta

import dns.rdatatype
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.catalogs import ours, ownership_change, producer
from dnspanel.catalogs.errors import CatalogRefused
from dnspanel.catalogs.models import Leaving, Produced, Producer
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.settings.settings_of_zone import change_settings
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.people import NOW
from tests.people import alice as alice

pytestmark = pytest.mark.django_db(transaction=True)

A, B, C = "a.catalog.", "b.catalog.", "c.catalog."
ONE, TWO = "one.test.", "two.test."

Put = Callable[..., None]


@pytest.fixture
def put(alice: User, make_zone: MakeZone) -> Put:
    """Return a function that moves zones into a catalog, or out of all for "". All zones begin in catalog A."""
    for name in (A, B, C):
        producer.create_catalog(name=name, group_tags=["gold"], acting=Acting(alice, Channel.WEB, NOW))
    for name in (ONE, TWO):
        make_zone(name=name)

    def put_into(catalog: str, *names: str) -> None:
        for each in Zone.objects.filter(name__in=names, deleted_at=None):
            producer.put_into(zone=each, catalog_name=catalog, author=alice, now=timezone.now())

    put_into(A, ONE, TWO)
    look()
    return put_into


def look(after: timedelta = timedelta()) -> None:
    """Update all catalogs until nothing changes, `after` from now."""
    while producer.follow_members(now=timezone.now() + after):
        pass


def later(after: timedelta) -> None:
    """Let this much time pass, and update all catalogs."""
    for row in Leaving.objects.exclude(told_at=None):
        assert isinstance(row.told_at, datetime)
        Leaving.objects.filter(pk=row.pk).update(told_at=row.told_at - after)
    look()


def says(catalog: str) -> dict[str, tuple[str, str]]:
    """Return the label of each zone in the catalog, and the catalog that it has moved to, or ""."""
    rows = Zone.objects.get(name=catalog, deleted_at=None).rrsets.filter(type=dns.rdatatype.PTR)
    by_name = {row.name.removesuffix(f".zones.{catalog}"): row.rdata[0] for row in rows}
    members = {label: zone for label, zone in by_name.items() if not label.startswith("coo.")}
    assert len(set(members.values())) == len(members), "a zone that is named twice breaks a catalog"
    return {zone: (label, by_name.get(f"coo.{label}", "")) for label, zone in members.items()}


def serial_of(catalog: str) -> int:
    return Zone.objects.get(name=catalog).serial


def named_in(zone: str = ONE) -> dict[str, tuple[str, str]]:
    """Return the catalogs that list the zone, each with the zone's label and new catalog."""
    return {name: found[zone] for name in (A, B, C) if zone in (found := says(name))}


def test_both_name_it_under_one_label_once_the_first_has_said_for_a_minute_where_it_is(put: Put) -> None:
    before = says(A)
    label = before[ONE][0]
    put(B, ONE)
    look()
    assert named_in() == {A: (label, B)}
    assert Produced.objects.get(zone__name=ONE).label == label
    later(ownership_change.UNTIL_READ - timedelta(seconds=5))
    assert named_in() == {A: (label, B)}
    later(timedelta(seconds=5))
    assert named_in() == {A: (label, B), B: (label, "")}
    later(ownership_change.SAYS_WHERE - ownership_change.UNTIL_READ - timedelta(seconds=5))
    assert named_in() == {A: (label, B), B: (label, "")}
    serial = serial_of(B)
    later(timedelta(seconds=5))
    assert named_in() == {B: (label, "")}
    assert says(A) == {TWO: before[TWO]}
    assert serial_of(B) == serial
    later(ownership_change.UNTIL_NOTIFIED)
    assert serial_of(B) == serial + 1, "Knot DNS learns of it now"
    later(ownership_change.UNTIL_READ - ownership_change.UNTIL_NOTIFIED)
    assert serial_of(B) == serial + 2, "and who learned of it before the first dropped it"
    assert named_in() == {B: (label, "")}
    look(producer.COMPARED_EVERY * 2)
    assert serial_of(B) == serial + 2
    assert not Leaving.objects.exists()
    assert all(row.is_followed for row in ours.rows_of_ours(Producer.objects.all()))


def test_how_both_stand_says_what_is_on_its_way_and_until_when(put: Put) -> None:
    def told() -> list[tuple[int, int, int, bool, bool]]:
        producers = Producer.objects.select_related("zone").order_by("zone__name")[:2]
        with CaptureQueriesContext(connection) as queries:
            rows = ours.rows_of_ours(list(producers))
        assert len(queries) == 3, "that of the catalogs included"
        until = rows[0].leaving_until
        assert until is None or abs(until - timezone.now() - ownership_change.SAYS_WHERE) < timedelta(minutes=2)
        return [(row.members, row.coming, row.leaving, row.is_followed, row.leaving_until is None) for row in rows]

    put(B, ONE, TWO)
    assert told() == [(0, 0, 2, False, False), (2, 2, 0, False, True)]
    look()
    assert told() == [(0, 0, 2, True, False), (2, 2, 0, False, True)]
    later(ownership_change.UNTIL_READ)
    assert told() == [(0, 0, 2, True, False), (2, 0, 0, True, True)]
    put(A, TWO)
    assert told() == [(1, 1, 1, False, False), (1, 0, 1, False, False)]


def test_one_that_goes_back_before_it_arrived_was_never_gone(put: Put) -> None:
    before = named_in()
    put(B, ONE)
    look()
    put(A, ONE)
    look()
    assert named_in() == before
    assert not Leaving.objects.exists()
    put(B, ONE)
    put(C, ONE)
    look()
    assert {name: coo for name, (_, coo) in named_in().items()} == {A: C}
    later(ownership_change.UNTIL_READ)
    assert named_in() == {A: (before[A][0], C), C: before[A]}


def test_one_that_goes_on_is_said_to_be_where_it_is_now_by_all_that_name_it(put: Put) -> None:
    label = named_in()[A][0]
    put(B, ONE)
    look()
    later(ownership_change.UNTIL_READ)
    put(C, ONE)
    look()
    assert named_in() == {A: (label, C), B: (label, C)}
    put(B, ONE)
    look()
    assert named_in() == {A: (label, B), B: (label, "")}, "the last one that had it has it on"
    put(C, ONE)
    look()
    later(ownership_change.UNTIL_READ)
    assert named_in() == {A: (label, C), B: (label, C), C: (label, "")}
    later(ownership_change.SAYS_WHERE)
    assert named_in() == {C: (label, "")}


def test_one_that_comes_back_within_the_hour_has_another_label_once_the_other_says_where_it_is(put: Put) -> None:
    label = named_in()[A][0]
    put(B, ONE)
    look()
    later(ownership_change.UNTIL_READ)
    put(A, ONE)
    look()
    assert named_in() == {A: (label, B), B: (label, A)}
    later(ownership_change.UNTIL_READ)
    back = named_in()
    assert (back[A][1], back[B]) == ("", (label, A))
    assert back[A][0] != label
    put(B, ONE)
    look()
    assert named_in() == {A: (back[A][0], B), B: (label, A)}
    put(A, ONE)
    look()
    assert named_in() == back, "nothing was gone"
    later(ownership_change.SAYS_WHERE)
    assert named_in() == {A: back[A]}
    later(ownership_change.UNTIL_READ)
    assert not Leaving.objects.exists()


def test_one_that_goes_to_and_fro_is_where_the_last_one_that_named_it_has_it(put: Put) -> None:
    label = named_in()[A][0]
    put(B, ONE)
    look()
    later(ownership_change.UNTIL_READ)
    put(A, ONE)
    look()
    put(C, ONE)
    look()
    assert named_in() == {A: (label, C), B: (label, C)}
    later(ownership_change.UNTIL_READ)
    assert named_in()[C] == (label, "")


def test_one_that_is_taken_out_is_named_by_nobody_and_one_that_was_named_by_nobody_leaves_no_word(put: Put) -> None:
    label = named_in()[A][0]
    put(B, ONE)
    look()
    later(ownership_change.UNTIL_READ)
    put("", ONE)
    look()
    assert named_in() == {}
    put(A, ONE)
    put(B, ONE)
    look()
    assert {name: coo for name, (_, coo) in named_in().items()} == {B: ""}
    assert named_in()[B][0] != label


def test_one_that_goes_to_the_trash_comes_back_where_it_is_and_nowhere_else(put: Put) -> None:
    label = named_in()[A][0]
    put(B, ONE)
    look()
    edit.delete_zone(zone=Zone.objects.get(name=ONE), acting=Acting(None, Channel.WEB, NOW))
    look()
    assert named_in() == {}
    edit.restore_zone(zone=Zone.objects.get(name=ONE), author=None, channel=Channel.WEB, now=timezone.now())
    look()
    assert named_in().keys() == {B}
    assert named_in()[B][0] != label
    put(A, TWO)
    put(B, TWO)
    look()
    later(ownership_change.UNTIL_READ)
    edit.delete_zone(zone=Zone.objects.get(name=TWO), acting=Acting(None, Channel.WEB, timezone.now()))
    edit.restore_zone(zone=Zone.objects.get(name=TWO), author=None, channel=Channel.WEB, now=timezone.now())
    look()
    assert named_in(TWO).keys() == {B}, "also where nobody looked meanwhile"
    later(ownership_change.UNTIL_READ)
    assert not Leaving.objects.exists()


def test_a_catalog_in_the_trash_says_nothing_and_nothing_waits_for_it(put: Put) -> None:
    label = named_in()[A][0]
    put(B, ONE)
    look()
    edit.delete_zone(zone=Zone.objects.get(name=A), acting=Acting(None, Channel.WEB, NOW))
    look()
    assert says(B) == {ONE: (label, "")}
    put(B, TWO)
    look()
    assert says(B).keys() == {ONE, TWO}
    edit.restore_zone(zone=Zone.objects.get(name=A), author=None, channel=Channel.WEB, now=timezone.now())
    look()
    assert says(A) == {}
    put(A, ONE)
    look()
    edit.delete_zone(zone=Zone.objects.get(name=A), acting=Acting(None, Channel.WEB, NOW))
    look()
    later(ownership_change.UNTIL_READ)
    later(ownership_change.SAYS_WHERE)
    assert says(B).keys() == {TWO}, "it went where nobody is told of it"


def test_its_group_goes_with_it_and_a_refusal_keeps_it_where_it_is(
    put: Put, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_settings(zone=Zone.objects.get(name=ONE), tags=["gold"], team=None, author=alice, now=NOW)
    put(B, ONE)
    with monkeypatch.context() as refusing:
        refusing.setattr(producer, "_follow", lambda catalog, now: False)
        look(ownership_change.SAYS_WHERE * 2)
        assert Leaving.objects.get().told_at is None
    look()
    later(ownership_change.UNTIL_READ)
    for catalog in (A, B):
        texts = Zone.objects.get(name=catalog).rrsets.filter(type=dns.rdatatype.TXT, name__startswith="group.")
        assert [row.rdata for row in texts] == [['"gold"']], catalog


def test_what_nobody_looked_at_for_hours_is_done_at_once(put: Put) -> None:
    put(B, ONE)
    look()
    Leaving.objects.update(told_at=timezone.now() - ownership_change.SAYS_WHERE * 2)
    look()
    assert named_in().keys() == {B}


def test_many_go_by_as_many_statements_as_two_and_at_most_so_many_within_an_hour(
    put: Put, alice: User, make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    zones = [make_zone(name=f"z{number}.test.") for number in range(10)]
    first, then, back = (Zone.objects.get(name=name) for name in (A, B, C))
    producer.take_in(catalog=first, zone_ids=[zone.pk for zone in zones], author=alice, now=NOW)
    look()

    def move(catalog: Zone, some: list[Zone]) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert producer.take_in(catalog=catalog, zone_ids=[zone.pk for zone in some], author=alice, now=NOW) == len(
                some
            )
        return len(queries)

    assert move(then, zones[:2]) == move(then, zones[2:])
    look()
    later(ownership_change.UNTIL_READ)
    assert len(says(B)) == 10
    assert move(back, zones[:2]) == move(back, zones[2:])
    look()
    assert {coo for _, coo in says(B).values()} == {C}
    monkeypatch.setattr(producer, "MOST_MEMBERS", 10)
    put(A, *(zone.name for zone in zones[:1]))
    with pytest.raises(CatalogRefused, match="At most 10 zones per hour"):
        put(B, TWO)
    assert AuditEntry.objects.filter(action="catalog.members", details__how="put in").count() == 5
