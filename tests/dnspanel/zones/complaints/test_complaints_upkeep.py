"""Stored complaints equal the complaints of a complete check of all published RRsets."""

from datetime import timedelta

import pytest

from dnspanel.accounts.models import User
from dnspanel.advisory_locks import Lock
from dnspanel.zones.acting import Acting
from dnspanel.zones.complaints import complaints_upkeep
from dnspanel.zones.complaints.complaints import Piece, against
from dnspanel.zones.models import Channel, Complaint, ComplaintProgress, Publication, RRset, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.store import store_rrsets
from replication.codec.keys import relative_key
from replication.dns.rrset import RRset as Content
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr
from tests.people import NOW
from tests.publishing import change_rrsets

pytestmark = pytest.mark.django_db
A, CNAME = 1, 5


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(complaints_upkeep, "RRSETS_AT_A_TIME", 4)


@pytest.fixture(params=["small zones", "large zones"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test with zones that are checked as a whole, and with zones that are too large for this."""
    if request.param == "large zones":
        monkeypatch.setattr(complaints_upkeep, "SMALL_ZONE", 3)


def catch_up() -> int:
    found = 0
    while more := complaints_upkeep.catch_up(now=NOW):
        found += more
    return found


def kept() -> dict[tuple[int, bytes, int, int], str]:
    return {(row.zone_id, bytes(row.owner_key), row.type, row.into): row.message for row in Complaint.objects.all()}


def expected() -> dict[tuple[int, bytes, int, int], str]:
    """Return the complaints of a complete check."""
    zones = Zone.objects.filter(deleted_at=None).in_bulk()
    rrsets = store_rrsets.rrsets_of_zones(list(zones))
    found = against([Piece(zones[pk], list(of_zone.values())) for pk, of_zone in rrsets.items()], NOW)
    return {
        (pk, relative_key(name, zones[pk].name), type, into): message
        for pk, said in found.items()
        for ((name, type), into), message in said.items()
    }


def change(zone: Zone, author: User, *lines: str, gone: tuple[tuple[str, int], ...] = ()) -> None:
    changes: dict[tuple[str, int], Content | None] = {(f"{name}.{zone.name}", type): None for name, type in gone}
    changes |= {(r.name, r.type): r for r in (rr(line, origin=zone.name) for line in lines)}
    zone = Zone.objects.get(pk=zone.pk)
    change_rrsets(zone=zone, changes=changes, author=author, channel="web", now=NOW, confirmed=True)


def assert_kept() -> None:
    catch_up()
    assert kept() == expected()


def test_the_first_walk_looks_at_everything_and_goes_on_where_it_stopped(
    make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        make_zone("a 300 CNAME gone", "b 300 A 192.0.2.1", "b 300 TXT x", "b 300 MX 10 gone", name=f"z{number}.test.")
    monkeypatch.setattr(complaints_upkeep, "RRSETS_OF_A_TURN", 1)
    assert complaints_upkeep.catch_up(now=NOW) > 0
    assert not ComplaintProgress.objects.get().is_complete
    assert len(kept()) == 1
    make_zone("a 300 CNAME gone", name="later.test.")
    assert_kept()
    assert len(kept()) == 9
    assert ComplaintProgress.objects.get().is_complete


@pytest.mark.usefixtures("size")
def test_complaints_follow_what_is_published(make_zone: MakeZone, bob: User) -> None:
    catch_up()
    zone = make_zone("a 300 CNAME b", "b 300 A 192.0.2.1", "c 300 MX 10 b", "d 300 A 192.0.2.1")
    assert_kept()
    assert kept() == {}
    change(zone, bob, gone=(("b", A),))  # neither record that refers to it has changed
    assert_kept()
    assert len(kept()) == 2
    change(zone, bob, "e 300 CNAME gone", "b 300 TXT x")
    assert_kept()
    change(zone, bob, "b 300 A 192.0.2.2", "gone 300 A 192.0.2.2")
    assert_kept()
    assert kept() == {}
    change(
        zone, bob, "sub 300 NS ns1.example.net. | ns2.example.net.", "x.sub 300 A 192.0.2.1", "y.x.sub 300 A 192.0.2.1"
    )
    assert_kept()
    assert len(kept()) == 3
    change(zone, bob, gone=(("sub", 2),))
    assert_kept()
    assert kept() == {}


@pytest.mark.usefixtures("size")
def test_what_other_zones_point_at_is_followed_there(make_zone: MakeZone, bob: User) -> None:
    catch_up()
    other = make_zone("there 300 A 192.0.2.1", "w 300 A 192.0.2.1", name="other.test.")
    make_zone("a 300 CNAME there.other.test.", "b 300 MX 10 there.other.test.", "c 300 CNAME x.sub.other.test.")
    assert_kept()
    assert {into for _, _, _, into in kept()} == {other.pk}
    change(other, bob, gone=(("there", A),))
    assert_kept()
    assert len(kept()) == 3
    sub = make_zone("x 300 A 192.0.2.1", name="sub.other.test.")  # takes over the name of `c`
    assert_kept()
    assert len(kept()) == 2
    edit.delete_zone(zone=sub, acting=Acting(bob, Channel.WEB, NOW))
    edit.delete_zone(zone=Zone.objects.get(pk=other.pk), acting=Acting(bob, Channel.WEB, NOW))
    assert_kept()
    assert kept() == {}


def test_a_zone_that_goes_takes_its_complaints_and_brings_them_back(make_zone: MakeZone, bob: User) -> None:
    zone = make_zone("a 300 CNAME gone")
    assert_kept()
    edit.delete_zone(zone=zone, acting=Acting(bob, Channel.WEB, NOW))
    assert_kept()
    assert kept() == {}
    edit.restore_zone(zone=Zone.objects.get(pk=zone.pk), author=bob, channel=Channel.WEB, now=NOW)
    assert_kept()
    assert len(kept()) == 1
    Zone.objects.filter(pk=zone.pk).delete()
    assert kept() == {}


def test_a_walk_a_day_finds_what_no_publication_tells_of(make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(complaints_upkeep, "STEP", 3)
    zone = make_zone("a 300 CNAME b", "b 300 A 192.0.2.1", "c 300 CNAME gone")
    assert_kept()
    RRset.objects.filter(name=f"b.{ZONE}").delete()
    Complaint.objects.create(zone=zone, owner_key=b"zz", type=1, message="of an RRset that is gone")
    assert_kept_after = NOW + timedelta(days=1)
    assert complaints_upkeep.catch_up(now=NOW + timedelta(hours=23)) == 0
    assert kept() != expected()
    for _ in range(4):
        assert complaints_upkeep.catch_up(now=assert_kept_after) == 0
    assert kept() == expected()
    assert len(kept()) == 2


def test_of_very_many_publications_a_part_is_followed_at_a_time(
    make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch, alice: User
) -> None:
    catch_up()
    monkeypatch.setattr(complaints_upkeep, "REVISIONS_AT_A_TIME", 2)
    new = [edit.NewZone(f"z{number}.test.", [rr("a 300 CNAME gone", origin=f"z{number}.test.")]) for number in range(5)]
    edit.create_zones(zones=new, acting=Acting(alice, Channel.WEB, NOW))
    for number in range(3):
        make_zone("a 300 CNAME gone", name=f"y{number}.test.")
    assert_kept()
    assert len(kept()) == 8
    assert ComplaintProgress.objects.get().sequence == Publication.objects.order_by("-sequence")[0].sequence


def test_a_large_zone_that_comes_is_looked_at_piece_by_piece(
    make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(complaints_upkeep, "SMALL_ZONE", 3)
    catch_up()
    make_zone(*(f"h{number:02} 300 CNAME h{number + 1:02}" for number in range(12)))
    make_zone(name="next.test.")
    assert_kept()
    assert len(kept()) == 1


def test_two_workers_do_not_write_at_once(make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch) -> None:
    make_zone("a 300 CNAME gone")
    taken: list[Lock] = []

    class Taken:
        def __init__(self, lock: Lock) -> None:
            taken.append(lock)

        def __enter__(self) -> bool:
            return False

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(complaints_upkeep, "hold_lock", Taken)
    assert complaints_upkeep.catch_up(now=NOW) == 0
    assert taken == [Lock.COMPLAINTS]
    assert kept() == {}
