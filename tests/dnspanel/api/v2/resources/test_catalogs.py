"""Tests of consumed catalogs in the API: follow, change, set rules, confirm."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.catalogs.models import Catalog, Listing, State
from dnspanel.primaries.models import TransferredZone
from dnspanel.zones.models import Zone
from tests.dnspanel.api.callers import Api, Caller, MakeApi
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

URL = "/api/v2/catalogs"
SECRET = "c2l4dGVlbiBieXRlcyBub3c="
PRIMARIES = {"addresses": ["9.9.9.9"], "tsig_name": "key", "tsig_secret": SECRET}
BODY = {"name": "Catalog.partner.test", "primaries": PRIMARIES, "within": ["test"]}


@pytest.fixture
def admin(api: MakeApi) -> Api:
    return api(Caller.ADMINISTRATOR)


def followed(admin: Api, **body: Any) -> str:
    response = admin.post(URL, {**BODY, **body})
    assert response.status_code == 201, response.content
    return str(response.headers["Location"])


def test_one_is_followed_and_says_how_it_stands(admin: Api) -> None:
    url = followed(admin)
    read = admin.get(url).json()
    assert (read["name"], read["state"], read["within"], read["serial"]) == (
        "catalog.partner.test.",
        "awaited",
        ["test."],
        None,
    )
    assert SECRET not in str(read)
    assert [one["name"] for one in admin.get(URL).json()["items"]] == ["catalog.partner.test."]
    row = TransferredZone.objects.get()
    assert (row.addresses, row.tsig_name) == (["9.9.9.9"], "key.")
    assert Zone.objects.get().is_catalog


def test_it_is_changed_by_what_was_read_and_given_rules(admin: Api) -> None:
    url = followed(admin)
    tag = admin.get(url).headers["ETag"]
    assert admin.patch(url, {"most_lost": 5}, headers={"If-Match": tag}).json()["most_lost"] == 5
    assert admin.patch(url, {"most_lost": 6}, headers={"If-Match": tag}).status_code == 412
    rules = [{"group": "gold", "tags": ["gold"], "primaries": PRIMARIES}, {"group": "silver"}]
    told = admin.put(f"{url}/rules", {"rules": rules}).json()["rules"]
    assert [(rule["group"], rule["primaries"] is None) for rule in told] == [("gold", False), ("silver", True)]
    again = admin.put(f"{url}/rules", {"rules": admin.get(f"{url}/rules").json()["rules"]})
    assert again.status_code == 200, again.content
    assert SECRET not in again.content.decode()


def test_removals_are_confirmed_as_they_were_read_and_the_zones_are_listed(admin: Api) -> None:
    url = followed(admin)
    assert admin.post(f"{url}/confirm", {"revision": 3}).status_code == 409
    Catalog.objects.update(kept_since=NOW, kept_count=9, kept_revision=3)
    assert admin.get(url).json()["state"] == "kept"
    assert admin.post(f"{url}/confirm", {"revision": 2}).status_code == 409
    assert admin.post(f"{url}/confirm", {"revision": 3}).status_code == 202
    for name, state in (("a.test.", State.MEMBER), ("b.test.", State.REFUSED)):
        Listing.objects.create(
            catalog=Catalog.objects.get(), zone_name=name, label=name, groups=["gold"], state=state, since=NOW
        )
    assert [one["zone"] for one in admin.get(f"{url}/zones").json()["items"]] == ["a.test.", "b.test."]
    [refused] = admin.get(f"{url}/zones", state="refused").json()["items"]
    assert (refused["zone"], refused["groups"], refused["serial"]) == ("b.test.", ["gold"], None)


def test_the_list_takes_the_same_queries_however_many_catalogs(admin: Api) -> None:
    for number in range(3):
        followed(admin, name=f"catalog{number}.test")
    counts = []
    for limit in (1, 3):
        with CaptureQueriesContext(connection) as made:
            assert len(admin.get(URL, limit=limit).json()["items"]) == limit
        counts.append(len(made))
    assert counts[0] == counts[1]


def test_it_is_followed_no_more(admin: Api) -> None:
    url = followed(admin)
    assert admin.delete(url).status_code == 204
    assert admin.get(url).status_code == 404
    assert Zone.objects.get().deleted_at is not None


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"primaries": {"addresses": ["127.0.0.1"]}}, "/addresses"),
        ({"primaries": {"addresses": []}}, "/primaries/addresses"),
        ({"within": ["a..b"]}, "/within"),
        ({"most_lost": 101}, "/most_lost"),
        ({"team": 4711}, "/team"),
        ({"name": "a..b"}, "/name"),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(admin: Api, body: dict[str, Any], pointer: str) -> None:
    refused = admin.post(URL, {**BODY, **body})
    assert refused.status_code == 422, refused.content
    assert refused.json()["errors"][0]["pointer"].startswith(pointer), refused.content
    assert not Zone.objects.exists()
