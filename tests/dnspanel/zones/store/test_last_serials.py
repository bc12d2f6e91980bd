"""A recreated zone's serial starts above the serial of the deleted zone with its name."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.catalogs import producer
from dnspanel.gateway import ixfr_out
from dnspanel.primaries.set_up_primaries import Terms, create_transferred_zone
from dnspanel.transfer.zone_templates import use
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, LastSerial, Revision, Zone
from dnspanel.zones.publishing import clone, edit, ready_zones, restore_zones, zone_patches
from dnspanel.zones.publishing.epoch import NewZone as NodesZone
from dnspanel.zones.store import last_serials, store_rrsets
from dnspanel.zones.values import soa
from dnspanel.zones.values.soa import SoaEdit
from replication.dns import rdtypes
from replication.dns.rrset import RRset, Serial
from tests.dnspanel.transfer.zone_templates.conftest import MakeTemplate
from tests.dnspanel.transfer.zone_templates.conftest import make_template as make_template
from tests.dnspanel.zones.conftest import ZONE, presigned_zone, rr
from tests.dnspanel.zones.publishing.test_epoch import begin
from tests.dnspanel.zones.publishing.test_epoch import content as nodes_content
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

FIRST = 2026112101  # for the date of NOW
OTHER = "other.test."


def create(
    author: User | None, name: str = ZONE, rrsets: Sequence[RRset] | None = None, soa_edit: SoaEdit | None = None
) -> Zone:
    new, acting = edit.NewZone(name, rrsets), Acting(author, Channel.WEB, NOW)
    edit.create_zone(zone=new, acting=acting, apex=edit.Apex(soa_edit=soa_edit))
    return alive(name)


def alive(name: str = ZONE) -> Zone:
    return Zone.objects.get(name=name, deleted_at=None)


def delete(zone: Zone) -> Zone:
    edit.delete_zone(zone=zone, acting=Acting(None, Channel.WEB, NOW))
    zone.refresh_from_db()
    return zone


def change(zone: Zone, text: str) -> Zone:
    rrset = rr(text, origin=zone.name)
    patch = zone_patches.Patch(zone, lambda current: {(rrset.name, rrset.type): rrset}, None)
    zone_patches.publish_patches(patches=[patch], acting=Acting(None, Channel.API, NOW))
    zone.refresh_from_db()
    return zone


def serials(zone: Zone) -> tuple[int, int, int]:
    """Return the zone's serial in its row, in its SOA and in its newest revision."""
    apex = store_rrsets.rrsets_at_names({zone.pk: (zone.name, {zone.name})})[zone.pk]
    newest = Revision.objects.filter(zone=zone).latest("number")
    return zone.serial, soa.serial_of(apex[zone.name, rdtypes.SOA]).value, newest.serial


def soa_line(serial: int) -> RRset:
    return rr(f"@ 3600 SOA ns1.example.net. h.example.net. {serial} 10800 3600 604800 3600")


def test_a_zone_created_again_on_the_day_begins_above_its_last_serial(alice: User) -> None:
    """Terraform recreates a zone when `nameservers` change. Previously secondaries then kept the old zone forever."""
    zone = change(change(create(alice), "www 300 A 192.0.2.1"), "www 300 A 192.0.2.2")
    assert zone.serial == FIRST + 2
    delete(zone)
    assert serials(create(alice)) == (FIRST + 3,) * 3
    with ixfr_out.transfer_of(alive(), since=FIRST + 2) as transfer:
        assert transfer.how == ixfr_out.AXFR


def test_what_left_the_trash_for_good_still_counts(alice: User) -> None:
    delete(create(alice))
    edit.empty_trash(now=NOW + timedelta(days=400))
    assert not Zone.objects.exists()
    assert create(alice).serial == FIRST + 1


@pytest.mark.parametrize(
    ("last", "given", "expected"),
    [
        (7, 5, 8),
        (7, 7, 8),
        (7, 8, 8),
        (2**32 - 1, 2**32 - 1, 1),  # 0 is skipped
        (2**32 - 1, 3, 3),  # greater, by RFC 1982
        (FIRST, FIRST + 2**31, FIRST + 1),  # neither greater nor smaller
        (4_000_000_000, FIRST, 4_000_000_001),
    ],
)
def test_a_serial_that_is_given_stays_only_if_it_is_greater(last: int, given: int, expected: int, alice: User) -> None:
    delete(create(alice, rrsets=[soa_line(last)]))
    assert serials(create(alice, rrsets=[soa_line(given)])) == (expected,) * 3


def test_a_smaller_serial_of_a_later_deletion_does_not_lower_it(alice: User) -> None:
    LastSerial.objects.create(name=ZONE, serial=9)
    Zone.objects.filter(pk=create(alice).pk).update(serial=7)
    delete(alive())
    assert last_serials.last_serials([ZONE, OTHER]) == {ZONE: Serial(9)}


@pytest.mark.parametrize("api", ["DEFAULT", "EPOCH", "INCREASE", ""])
def test_serials_that_move_in_another_way_begin_above_it_too(api: str, alice: User) -> None:
    LastSerial.objects.create(name=ZONE, serial=4_000_000_000)
    assert create(alice, soa_edit=SoaEdit(api)).serial == 4_000_000_001


def by_clone(alice: User, make_template: MakeTemplate) -> None:
    source = create(alice, OTHER)
    clone.clone_zone(source=source, zone_names=[ZONE], acting=Acting(alice, Channel.WEB, NOW))


def by_list(alice: User, make_template: MakeTemplate) -> None:
    zones = [edit.NewZone(ZONE, [soa_line(3)]), edit.NewZone(OTHER)]
    edit.create_zones(zones=zones, acting=Acting(alice, Channel.WEB, NOW))


def by_template(alice: User, make_template: MakeTemplate) -> None:
    using = use.using(make_template(), {"ip": "192.0.2.80", "mx": ""})
    zone, _ = use.with_template(using, edit.NewZone(ZONE))
    use.create_zones_from(use=using, zones=[zone], keep=True, acting=Acting(alice, Channel.WEB, NOW))


def by_catalog(alice: User, make_template: MakeTemplate) -> None:
    producer.create_catalog(name=ZONE, acting=Acting(None, Channel.WEB, NOW))


def by_nodes(alice: User, make_template: MakeTemplate) -> None:
    begin([NodesZone(4711, ZONE, nodes_content(ZONE, 9))], by=alice)


@pytest.mark.parametrize("way", [by_clone, by_list, by_template, by_catalog, by_nodes])
def test_every_way_to_create_a_zone_begins_above_it(
    way: Callable[[User, MakeTemplate], None], alice: User, make_template: MakeTemplate
) -> None:
    delete(change(create(alice), "www 300 A 192.0.2.1"))
    way(alice, make_template)
    assert serials(alive()) == (FIRST + 2,) * 3
    if way in (by_clone, by_list):
        assert alive(OTHER).serial == FIRST


def test_a_zone_from_the_trash_comes_back_above_those_that_had_its_name_since(alice: User) -> None:
    old = delete(create(alice))
    for _ in range(3):
        delete(create(alice))
    assert old.serial == FIRST
    edit.restore_zone(zone=old, author=None, channel=Channel.WEB, now=NOW)
    assert serials(alive()) == (FIRST + 4,) * 3
    again = delete(alive())
    newest = create(alice)
    assert newest.serial == FIRST + 5
    delete(newest)
    restore_zones.restore_zones(zones=[again], acting=Acting(None, Channel.WEB, NOW))
    assert serials(alive()) == (FIRST + 6,) * 3


def test_a_zone_with_signatures_of_its_own_keeps_the_serial_that_they_are_of(alice: User) -> None:
    LastSerial.objects.create(name=ZONE, serial=50)
    assert serials(presigned_zone(alice)) == (1, 1, 1)


def test_a_zone_that_never_came_from_its_primary_leaves_no_serial(alice: User, settings: Any) -> None:
    """Such a zone's SOA is a placeholder, so no server has seen its serial."""
    settings.SOURCE_NETWORKS = ["192.0.2.0/24"]
    create_transferred_zone(name=ZONE, terms=Terms(["192.0.2.53"]), acting=Acting(None, Channel.WEB, NOW))
    delete(alive())
    assert not LastSerial.objects.exists()
    assert create(alice, rrsets=[soa_line(3)]).serial == 3


def test_the_number_of_queries_does_not_depend_on_the_number_of_zones(
    alice: User, django_assert_num_queries: Callable[..., Any]
) -> None:
    zones: Sequence[Zone] = [create(alice, f"z{number}.test.") for number in range(5)]
    for zone in zones:
        delete(zone)
    again = {zone.name: (zone.pk, zone.serial) for zone in zones}
    with django_assert_num_queries(3):
        assert set(last_serials.raise_serials(zones=again).values()) == {Serial(FIRST + 1)}


def test_ready_zones_begin_above_it(alice: User) -> None:
    delete(create(alice))
    [id] = ready_zones.allocate_zone_ids(1)
    content = [soa_line(1), rr("@ 3600 NS ns1.example.net.")]
    ready_zones.create_ready_zones(
        zones=[ready_zones.BulkZone(id, ZONE, 1, 2)],
        rows=lambda: [store_rrsets.rows_of_zone(id, ZONE, content)],
        acting=Acting(None, Channel.IMPORT, NOW),
    )
    assert serials(alive()) == (FIRST + 1,) * 3
