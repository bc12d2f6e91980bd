"""Zones found by name, also with locks: the same rows as from Django's queries."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.models import User
from dnspanel.api.models import PowerdnsZone
from dnspanel.catalogs.models import Produced
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Signing, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.store import find_zones
from tests.dnspanel.zones.conftest import ZONE, MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db


def fields(zone: Zone) -> dict[str, object]:
    return {field.attname: getattr(zone, field.attname) for field in Zone._meta.concrete_fields}


def test_a_zone_comes_with_all_its_fields(make_zone: MakeZone) -> None:
    make_zone("www 300 A 192.0.2.1")
    Zone.objects.update(tags=["customer", "ours"], soa_edit="EPOCH")
    for _ in range(3):  # planned again, then once
        found = find_zones.living_zone(ZONE)
        assert found is not None
        assert fields(found) == fields(Zone.objects.get())
        assert [fields(zone) for zone in find_zones.lock_zones([found.pk])] == [fields(found)]


def test_what_belongs_to_a_zone_comes_with_it_as_from_django(make_zone: MakeZone) -> None:
    relations = ("powerdns", "signing", "produced__catalog")
    zone = make_zone("www 300 A 192.0.2.1")

    def are_alike() -> bool:
        with CaptureQueriesContext(connection) as queries:
            found = find_zones.living_zone(ZONE, relations)
            assert found is not None
            ours = [_beside(found, relation) for relation in relations]
        assert len(queries) == 1, "what is not there is not asked for again"
        djangos = Zone.objects.select_related(*relations).get(name=ZONE)
        return ours == [_beside(djangos, relation) for relation in relations] and fields(found) == fields(djangos)

    assert are_alike(), "none of it is there"
    PowerdnsZone.objects.create(zone=zone, kind="Master", masters=["192.0.2.1"], account="a")
    Signing.objects.create(zone=zone, is_signed=True, state={"nsec3": None}, due_refusal="why", changed_at=NOW)
    Produced.objects.create(zone=zone, catalog=make_zone(name="catalog.test."), label="l1")
    for _ in range(3):
        assert are_alike()
    Zone.objects.update(deleted_at=NOW)
    assert find_zones.living_zone(ZONE, relations) is None


def _beside(zone: Zone, path: str) -> object:
    """Return the fields of a related row, or None without one. A direct one must refer to the same zone object."""
    at: object = zone
    for step in path.split("__"):
        at = getattr(at, step, None)
    if at is None:
        return None
    if "__" not in path:
        assert at.zone is zone  # type: ignore[attr-defined]
    return {field.attname: getattr(at, field.attname) for field in at._meta.concrete_fields}  # type: ignore[attr-defined]


def test_a_deleted_zone_is_not_found_and_its_name_is_free(bob: User, make_zone: MakeZone) -> None:
    old = make_zone()
    edit.delete_zone(zone=old, acting=Acting(bob, "web", NOW))
    assert find_zones.living_zone(ZONE) is None
    assert find_zones.lock_zones([old.pk]) == []
    assert find_zones.ids_of_living([ZONE]) == {}
    new = make_zone()
    assert find_zones.living_zone(ZONE) == new
    assert find_zones.lock_zones([new.pk, old.pk]) == [new]
    assert find_zones.ids_of_living([ZONE, "other.test."]) == {ZONE: new.pk}


def test_zones_are_locked_in_the_order_of_their_ids_by_one_query(make_zone: MakeZone) -> None:
    zones = [make_zone(name=name) for name in ("b.test.", "a.test.", "c.test.")]
    with CaptureQueriesContext(connection) as queries:
        found = find_zones.lock_zones({zone.pk for zone in reversed(zones)})
    assert found == zones
    assert len(queries) == 1
    assert find_zones.lock_zones([zones[0].pk] * 2) == zones[:1], "each once"


def test_a_name_of_odd_characters_is_found() -> None:
    name = """a\\.b{},'\\"x.test."""
    zone = Zone.objects.create(name=name, serial=1, created_at=NOW, changed_at=NOW)
    assert find_zones.living_zone(name) == zone
    assert find_zones.ids_of_living([name, "other.test."]) == {name: zone.pk}
