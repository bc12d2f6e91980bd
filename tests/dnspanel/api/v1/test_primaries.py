"""Tests of the kinds Slave and Secondary: creation, axfr-retrieve, and changes from and to other kinds."""

import json
from typing import Any

import pytest

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import User
from dnspanel.catalogs.models import Catalog, Listing, State
from dnspanel.primaries.models import TransferredZone
from dnspanel.zones.models import Zone
from tests.dnspanel.api.v1.calls import caller
from tests.dnspanel.api.v1.conftest import Caller, texts
from tests.dnspanel.zones import ruled
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)

ZONES = "/zones"
NEW = {"name": "abroad.test.", "kind": "Slave", "masters": ["9.9.9.9", "9.9.9.10:5300"]}


def test_a_zone_of_this_kind_waits_for_its_masters_and_is_read_only(call: Caller) -> None:
    made = call("POST", ZONES, NEW)
    assert made.status_code == 201
    assert (json.loads(made.content)["kind"], json.loads(made.content)["masters"]) == ("Slave", NEW["masters"])
    zone = Zone.objects.get(name="abroad.test.")
    assert (zone.is_served, zone.transferred_from) == (False, "9.9.9.9 and 9.9.9.10:5300")
    rrset = {"name": "www.abroad.test.", "type": "A", "ttl": 60, "changetype": "REPLACE"}
    body = {"rrsets": [rrset | {"records": [{"content": "192.0.2.1", "disabled": False}]}]}
    refused = call("PATCH", f"{ZONES}/abroad.test.", body)
    assert refused.status_code == 403
    assert "is transferred from 9.9.9.9" in texts(refused)


def test_all_of_it_is_asked_for(call: Caller) -> None:
    call("POST", ZONES, NEW)
    TransferredZone.objects.update(wants_all=False, due_at=None)
    done = call("PUT", f"{ZONES}/abroad.test./axfr-retrieve")
    assert done.status_code == 200
    assert json.loads(done.content) == {"result": "Added retrieval request for 'abroad.test.' from primary 9.9.9.9"}
    row = TransferredZone.objects.get()
    assert row.wants_all
    assert row.due_at is not None


def test_until_its_first_transfer_its_serial_is_0_as_in_powerdns(call: Caller) -> None:
    call("POST", ZONES, NEW)

    def serials() -> set[tuple[int, int]]:
        one, all = json.loads(call("GET", f"{ZONES}/abroad.test.").content), json.loads(call("GET", ZONES).content)
        return {(found["serial"], found["edited_serial"]) for found in (one, *all)}

    assert serials() == {(0, 0)}
    TransferredZone.objects.update(serial=7)
    Zone.objects.update(serial=7)
    assert serials() == {(7, 7)}, "also of one that has expired"
    TransferredZone.objects.update(serial=None)
    Zone.objects.update(is_served=True)
    assert serials() == {(7, 7)}, "one that was here before, and is not transferred yet"


def test_another_kind_takes_the_zone_over_and_this_one_gives_it_back(call: Caller) -> None:
    call("POST", ZONES, NEW)
    early = call("PUT", f"{ZONES}/abroad.test.", {"kind": "Native"})
    assert early.status_code == 422
    TransferredZone.objects.update(serial=7)
    assert call("PUT", f"{ZONES}/abroad.test.", {"kind": "Native"}).status_code == 204
    zone = Zone.objects.get(name="abroad.test.")
    assert (zone.transferred_from, zone.is_served) == ("", True)
    back = {"kind": "Slave", "masters": ["9.9.9.11"]}
    assert call("PUT", f"{ZONES}/abroad.test.", back).status_code == 204
    zone.refresh_from_db()
    assert zone.transferred_from == "9.9.9.11"


def test_other_masters_are_asked_by_the_key_that_there_is(call: Caller) -> None:
    call("POST", ZONES, NEW)
    key = {"tsig_name": "theirs.", "tsig_algorithm": "hmac-sha512", "tsig_secret": b"sealed"}
    TransferredZone.objects.update(**key)
    assert call("PUT", f"{ZONES}/abroad.test.", {"masters": ["9.9.9.11"]}).status_code == 204
    row = TransferredZone.objects.get()
    assert row.addresses == ["9.9.9.11"]
    assert (row.tsig_name, row.tsig_algorithm, bytes(row.tsig_secret or b"")) == tuple(key.values())


def test_what_a_zone_says_of_tls_stays_whatever_is_written_of_it_here(call: Caller) -> None:
    call("POST", ZONES, NEW)
    over = {"uses_tls": True, "tls_names": ["ns1.abroad.test"], "shows_certificate": True}
    TransferredZone.objects.update(addresses=["9.9.9.9"], **over)
    for body in ({"masters": ["9.9.9.11"]}, {"masters": ["9.9.9.12"], "slave_tsig_key_ids": []}):
        assert call("PUT", f"{ZONES}/abroad.test.", body).status_code == 204
        row = TransferredZone.objects.get()
        assert (row.addresses, {name: getattr(row, name) for name in over}) == (body["masters"], over)
    refused = call("PUT", f"{ZONES}/abroad.test.", {"masters": ["9.9.9.11:53"]})
    assert (refused.status_code, "Port 53 isn’t allowed" in texts(refused)) == (422, True)


@pytest.mark.parametrize(
    "more", [{"masters": []}, {"masters": ["127.0.0.1"]}, {"rrsets": [{}]}], ids=["no", "inside", "content"]
)
def test_what_cannot_be_transferred_is_refused(call: Caller, more: dict[str, Any], alice: User) -> None:
    assert call("POST", ZONES, NEW | more).status_code == 422
    assert not Zone.objects.filter(name="abroad.test.").exists()


CATALOG = {"name": "catalog.partner.test.", "kind": "Consumer", "masters": ["9.9.9.9"]}


@pytest.fixture
def admin_call(alice: User) -> Caller:
    return caller(alice, permissions=[Permission.FLEET, Permission.NODES])


def test_a_consumer_is_followed_as_a_catalog_and_its_members_say_so(admin_call: Caller) -> None:
    made = admin_call("POST", ZONES, CATALOG)
    assert made.status_code == 201, made.content
    told = json.loads(made.content)
    assert (told["kind"], told["masters"], told["catalog"]) == ("Consumer", ["9.9.9.9"], "")
    catalog = Catalog.objects.select_related("zone").get()
    assert (catalog.zone.is_catalog, catalog.zone.is_served) == (True, False)
    admin_call("POST", ZONES, NEW)
    member = Zone.objects.get(name="abroad.test.")
    Listing.objects.create(
        catalog=catalog, zone=member, zone_name=member.name, label="a", state=State.MEMBER, since=NOW
    )
    for path in (f"{ZONES}/abroad.test.", f"{ZONES}?zone=abroad.test."):
        found = json.loads(admin_call("GET", path).content)
        told = found[0] if isinstance(found, list) else found
        assert (told["kind"], told["catalog"], told["masters"]) == ("Slave", CATALOG["name"], NEW["masters"])


def test_a_zone_from_elsewhere_becomes_a_consumer_and_one_of_the_others_again(admin_call: Caller) -> None:
    admin_call("POST", ZONES, NEW)
    TransferredZone.objects.update(serial=7, due_at=None, wants_all=False)
    Zone.objects.update(is_served=True)
    url = f"{ZONES}/abroad.test."
    assert admin_call("PUT", url, {"kind": "Consumer"}).status_code == 204
    zone = Zone.objects.get()
    assert (zone.is_catalog, zone.is_served) == (True, False)
    assert admin_call("PUT", url, {"kind": "Consumer", "masters": ["9.9.9.11"]}).status_code == 204
    assert json.loads(admin_call("GET", url).content)["masters"] == ["9.9.9.11"]
    refused = admin_call("PUT", url, {"kind": "Native"})
    assert (refused.status_code, "is a catalog zone" in texts(refused)) == (422, True)
    assert admin_call("PUT", url, {"kind": "Slave"}).status_code == 204
    zone.refresh_from_db()
    assert (zone.is_catalog, Catalog.objects.exists(), TransferredZone.objects.get().wants_all) == (False, False, True)
    assert json.loads(admin_call("GET", url).content)["kind"] == "Slave"


def test_a_zone_of_this_panel_becomes_neither_a_consumer_nor_a_producer(admin_call: Caller) -> None:
    admin_call("POST", ZONES, {"name": "here.test.", "kind": "Native", "nameservers": ["ns1.x.test."]})
    refused = admin_call("PUT", f"{ZONES}/here.test.", {"kind": "Consumer"})
    assert (refused.status_code, "has no masters" in texts(refused)) == (422, True)
    for kind in ("Producer", "producer"):
        refused = admin_call("PUT", f"{ZONES}/here.test.", {"kind": kind})
        assert (refused.status_code, "create a zone of kind Producer" in texts(refused)) == (422, True)
    assert admin_call("POST", ZONES, {**CATALOG, "masters": []}).status_code == 422
    assert admin_call("POST", ZONES, {**CATALOG, "rrsets": [{}]}).status_code == 422


def test_who_may_not_set_nodes_up_follows_nothing(call: Caller) -> None:
    assert call("POST", ZONES, CATALOG).status_code == 403
    assert not Zone.objects.exists()


@pytest.mark.parametrize("kind", ruled.PLACE)
def test_masters_and_kinds_are_no_way_around_rules(kind: str, call: Caller, admin_call: Caller, alice: User) -> None:
    """Regression test: any client with a token could use masters to replace the content of a governed zone."""
    call("POST", ZONES, {"name": "ours.test.", "kind": "Native", "nameservers": ["ns1.ours.test."]})
    call("POST", ZONES, NEW)
    TransferredZone.objects.update(serial=7)
    admin_call("POST", ZONES, {"name": "catalog.test.", "kind": "Consumer", "masters": ["9.9.9.9"]})
    ours, abroad, catalog = Zone.objects.filter(name__in=("ours.test.", "abroad.test.", "catalog.test.")).order_by("pk")
    adam = make_person("adam", "administrator")
    lifts = [ruled.PLACE[kind](zone, adam) for zone in (ours, abroad, catalog)]
    acts = (
        (call, ours, {"kind": "Slave", "masters": ["9.9.9.9"]}),
        (call, abroad, {"masters": ["9.9.9.11"]}),
        (call, abroad, {"kind": "Native"}),
        (admin_call, abroad, {"kind": "Consumer", "masters": ["9.9.9.11"]}),
        (admin_call, catalog, {"kind": "Slave"}),
    )
    for caller_of, zone, body in acts:
        answer = caller_of("PUT", f"{ZONES}/{zone.name}", body)
        assert answer.status_code == 403, (zone.name, body, answer.content)
    assert list(Zone.objects.order_by("pk").values_list("transferred_from", "is_catalog")) == [
        (zone.transferred_from, zone.is_catalog) for zone in (ours, abroad, catalog)
    ]
    for lift in lifts:
        lift()
    for caller_of, zone, body in acts:
        TransferredZone.objects.update(serial=7)
        assert caller_of("PUT", f"{ZONES}/{zone.name}", body).status_code == 204, (zone.name, body)
