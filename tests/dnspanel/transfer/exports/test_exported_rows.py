"""The reader of zones in PostgreSQL for exports."""

import pytest
from django.db import connection

from dnspanel.transfer.exports.exported_rows import Row, read_zones, zone_names
from dnspanel.zones.models import Zone
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.conftest import make_zone as make_zone

pytestmark = pytest.mark.django_db


def read() -> dict[str, list[Row]]:
    return {zone.name: list(zone.rows) for zone in read_zones(connection.connection, Zone.objects.all())}


def test_the_soa_comes_first_and_the_rest_in_canonical_order(make_zone: MakeZone) -> None:
    make_zone("@ 300 A 192.0.2.1", "b.a 300 A 192.0.2.1", "b 300 TXT x", "b 300 A 192.0.2.1", name="z.test.")
    found = [(name, type_) for name, type_, *_ in read()["z.test."]]
    assert found == [
        ("z.test.", 6),
        ("z.test.", 1),
        ("z.test.", 2),
        ("b.a.z.test.", 1),
        ("b.z.test.", 1),
        ("b.z.test.", 16),
    ]


def test_zones_come_by_name_and_what_is_not_read_of_one_is_skipped(make_zone: MakeZone) -> None:
    for name in ("c.test.", "a.test.", "b.test."):
        make_zone("www 300 A 192.0.2.1", name=name)
    names = [zone.name for zone in read_zones(connection.connection, Zone.objects.all())]
    assert names == ["a.test.", "b.test.", "c.test."]
    assert names == list(zone_names(connection.connection, Zone.objects.all()))


def test_rows_have_everything_of_an_rrset(make_zone: MakeZone) -> None:
    zone = make_zone("www 300 A 192.0.2.1 | 192.0.2.2")
    zone.rrsets.filter(type=1).update(disabled=["192.0.2.2"], comment="half of it")
    [row] = [row for row in read()[zone.name] if row[1] == 1]
    assert row == ("www.example.test.", 1, 300, ["192.0.2.1", "192.0.2.2"], ["192.0.2.2"], "half of it", "")


@pytest.mark.parametrize("type_", [1, 2, 6])
def test_a_zone_without_some_of_its_apex_is_read_as_it_is(make_zone: MakeZone, type_: int) -> None:
    zone = make_zone("@ 300 A 192.0.2.1", "www 300 A 192.0.2.1")
    zone.rrsets.filter(name=zone.name, type=type_).delete()
    assert {row[:2] for row in read()[zone.name]} == set(zone.rrsets.values_list("name", "type"))
