"""Tests of produced catalogs in the API: create, fill, empty, set groups."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dnspanel.catalogs.models import Produced, Producer
from dnspanel.catalogs.tasks import follow_producers
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.plan import deletion_guard
from dnspanel.zones.publishing import edit
from tests.dnspanel.api.callers import Api, Caller, MakeApi
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

URL = "/api/v2/produced-catalogs"
OURS = f"{URL}/partners.catalog."


@pytest.fixture
def admin(api: MakeApi) -> Api:
    return api(Caller.ADMINISTRATOR)


@pytest.fixture
def catalog(admin: Api) -> Producer:
    made = admin.post(URL, {"name": "Partners.catalog", "group_tags": ["gold", "Silver"]})
    assert (made.status_code, made.headers["Location"]) == (201, OURS), made.content
    return Producer.objects.select_related("zone").get()


def zone(admin: Api, name: str) -> Zone:
    assert admin.post("/api/v2/zones", {"name": name}).status_code in {201, 202}
    return Zone.objects.get(name=name)


def test_one_is_made_and_given_groups_by_what_was_read(admin: Api, catalog: Producer) -> None:
    read = admin.get(OURS)
    told = read.json()
    assert (told["name"], told["group_tags"], told["members"]) == ("partners.catalog.", ["gold", "silver"], 0)
    tag = read.headers["ETag"]
    assert admin.patch(OURS, {"group_tags": ["bronze"]}, headers={"If-Match": tag}).json()["group_tags"] == ["bronze"]
    assert admin.patch(OURS, {"group_tags": []}, headers={"If-Match": tag}).status_code == 412
    assert [each["name"] for each in admin.get(URL).json()["items"]] == ["partners.catalog."]
    assert admin.post(URL, {"name": "partners.catalog."}).status_code == 409


def test_zones_are_put_in_and_taken_out_and_it_says_when_it_is_in_step(admin: Api, catalog: Producer) -> None:
    one, two, three = (zone(admin, f"{name}.test.") for name in ("one", "two", "three"))
    Zone.objects.filter(pk__in=[one.pk, two.pk]).update(tags=["gold"])
    assert admin.post(f"{OURS}/put-in", {"zones": ["Three.test"], "tag": "gold"}).json() == {"moved": 3}
    assert admin.post(f"{OURS}/put-in", {"tag": "gold"}).json() == {"moved": 0}
    assert admin.get(OURS).json()["in_step"] is False
    follow_producers()
    edit.delete_zone(zone=two, acting=Acting(None, Channel.API, NOW))
    follow_producers()
    told = admin.get(OURS).json()
    assert (told["members"], told["in_trash"], told["in_step"]) == (2, 1, True)
    first = admin.get(f"{OURS}/members", limit=2).json()
    rest = admin.get(first["next"]).json()
    rows = {each["zone"]: each for each in [*first["items"], *rest["items"]]}
    assert {name: (row["group"], row["in_trash"]) for name, row in rows.items()} == {
        "one.test.": ("gold", False),
        "two.test.": ("gold", True),
        "three.test.": ("", False),
    }
    assert rows["one.test."]["label"] == Produced.objects.get(zone=one).label
    assert admin.post(f"{OURS}/take-out", {"zones": ["one.test.", "two.test."]}).json() == {"moved": 2}
    assert [row.zone for row in Produced.objects.select_related("zone")] == [three]


def test_one_is_deleted_by_what_was_read_and_its_members_are_in_it_when_it_comes_back(
    admin: Api, catalog: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone(admin, "one.test.")
    admin.post(f"{OURS}/put-in", {"zones": ["one.test."]})
    tag = admin.get(OURS).headers["ETag"]
    admin.patch(OURS, {"group_tags": []})
    assert admin.delete(OURS, headers={"If-Match": tag}).status_code == 412
    monkeypatch.setattr(deletion_guard, "MASS_FEW", 0)
    tag = admin.get(OURS).headers["ETag"]
    assert admin.delete(OURS, headers={"If-Match": tag}).json()["code"] == "needs-confirmation"
    gone = admin.delete(f"{OURS}?confirm=true&reason=Moved", headers={"If-Match": tag})
    assert (gone.status_code, gone.content) == (204, b"")
    assert (admin.get(OURS).status_code, admin.delete(OURS).status_code) == (404, 404)
    assert Publication.objects.latest("sequence").reason == "Moved"
    in_trash = Zone.objects.get(name="partners.catalog.")
    edit.restore_zone(zone=in_trash, author=None, channel=Channel.API, now=timezone.now())
    assert admin.get(OURS).json()["members"] == 1


def test_what_went_to_another_one_is_counted_at_both(admin: Api, catalog: Producer) -> None:
    assert admin.post(URL, {"name": "other.catalog"}).status_code == 201
    zone(admin, "one.test.")
    admin.post(f"{OURS}/put-in", {"zones": ["one.test."]})
    follow_producers()
    assert admin.post(f"{URL}/other.catalog./put-in", {"zones": ["one.test."]}).json() == {"moved": 1}
    follow_producers()
    told = {each["name"]: each for each in admin.get(URL).json()["items"]}
    counts = {name: (each["members"], each["coming"], each["leaving"]) for name, each in told.items()}
    assert counts == {"partners.catalog.": (0, 0, 1), "other.catalog.": (1, 1, 0)}
    assert {name for name, each in told.items() if each["in_step"]} == {"partners.catalog."}


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("put-in", {}, "/zones"),
        ("put-in", {"zones": ["nowhere.test."]}, "/zones"),
        ("put-in", {"zones": ["a..b"]}, "/zones/0"),
        ("put-in", {"tag": "no!tag"}, "/tag"),
        ("take-out", {"zones": ["example.test."]}, "/zones"),
        ("take-out", {"zones": []}, "/zones"),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(
    admin: Api, catalog: Producer, path: str, body: dict[str, Any], pointer: str
) -> None:
    refused = admin.post(f"{OURS}/{path}", body)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, pointer), refused.content


def test_a_zone_that_is_no_catalog_of_ours_is_none(admin: Api) -> None:
    zone(admin, "plain.test.")
    assert admin.get(f"{URL}/plain.test.").status_code == 404
    assert admin.post(f"{URL}/plain.test./put-in", {"zones": ["plain.test."]}).status_code == 404


def test_the_list_takes_the_same_queries_however_many_catalogs(admin: Api) -> None:
    counts = []
    for number in range(2):
        assert admin.post(URL, {"name": f"c{number}.catalog"}).status_code == 201
        with CaptureQueriesContext(connection) as made:
            assert len(admin.get(URL).json()["items"]) == number + 1
        counts.append(len(made))
    assert counts[0] == counts[1]
