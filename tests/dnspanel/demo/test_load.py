"""Tests of the sample zones' and people's loading: once, and only into an empty panel."""

from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from dnspanel.accounts.models import Role, User
from dnspanel.demo.load import create_demo_people, load_sample_zones
from dnspanel.demo.sample import sample_zones
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import edit

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_empty_panel_gets_every_sample_zone_in_one_publication() -> None:
    publication = load_sample_zones(now=timezone.now())
    assert publication is not None
    stored = {zone.name: zone.rrset_count for zone in Zone.objects.all()}
    assert stored == {zone.name: len(zone.rrsets) for zone in sample_zones()}
    assert set(Zone.objects.values_list("sequence", flat=True)) == {publication.sequence}


def test_a_panel_that_was_used_is_left_alone() -> None:
    edit.create_zone(
        zone=edit.NewZone("own.test."),
        acting=Acting(None, Channel.SYSTEM, timezone.now()),
        apex=edit.Apex(nameservers=["ns1.own.test."]),
    )
    assert load_sample_zones(now=timezone.now()) is None
    assert Zone.objects.count() == 1


def test_a_deleted_sample_zone_does_not_come_back() -> None:
    load_sample_zones(now=timezone.now())
    zone = Zone.objects.get(name="a.invalid.")
    edit.delete_zone(zone=zone, acting=Acting(None, Channel.SYSTEM, timezone.now()))
    assert load_sample_zones(now=timezone.now()) is None
    assert not Zone.objects.filter(name="a.invalid.", deleted_at=None).exists()


def test_the_demo_has_a_person_for_each_role_who_can_sign_in_from_its_page(settings: Any) -> None:
    settings.DEMO_PASSWORD = "0123456789ab"
    call_command("demo_zones")
    call_command("demo_zones")  # as each start does
    assert sorted(User.objects.values_list("role", flat=True)) == sorted(Role)
    page = Client().get("/sign-in/").content.decode()
    for user in User.objects.all():
        assert f"Sign in as {user.username}" in page
        client = Client()
        response = client.post("/sign-in/", {"login": user.username, "password": settings.DEMO_PASSWORD})
        assert response.status_code == 302
        assert client.get("/").status_code == 200


def test_outside_the_demo_there_are_no_such_people(settings: Any) -> None:
    create_demo_people(now=timezone.now())
    assert not User.objects.exists()
    settings.DEMO_PASSWORD = "0123456789ab"
    create_demo_people(now=timezone.now())
    settings.DEMO_PASSWORD = ""
    page = Client().get("/sign-in/").content.decode()
    assert "demo-" not in page
    assert "0123456789ab" not in page
