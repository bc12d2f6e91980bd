"""Tests of the list of rights in a zone: its pages, and the source of each right."""

from dnspanel.accounts.models import User
from tests.dnspanel.api.callers import Caller, MakeApi
from tests.dnspanel.zones.conftest import MakeZone

PEOPLE = "/api/v2/zones/example.test/access/people"


def test_people_come_page_by_page_with_what_gives_them_rights(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone("www 300 A 192.0.2.1")
    admin = api()
    api(Caller.OTHER_TEAM)
    mallory = User.objects.get(username="mallory")
    body = {"rights": ["read", "change"], "zones": ["example.test"], "names": ["www"], "types": ["A"]}
    given = admin.post("/api/v2/grants", body | {"user": mallory.pk}).json()
    everybody = admin.get(PEOPLE).json()
    found = {each["username"]: each for each in everybody["items"]}
    assert found["mallory"]["by"] == [
        {
            "rights": ["change", "read"],
            "source": "grant",
            "because": f"Grant {given['id']}",
            "id": given["id"],
            "names": ["www"],
            "types": ["A"],
        }
    ]
    assert found["alice"]["by"][0]["source"] == "role"

    def over(name: str, type_: str = "A") -> list[str]:
        listed = {each["username"]: each for each in admin.get(PEOPLE, name=name, type=type_).json()["items"]}
        return list(listed["mallory"]["by"][0]["rights"])

    assert over("www") == ["change", "read"]
    assert over("mail") == over("www", "AAAA") == ["read"]
    assert admin.get(PEOPLE, name="www").json()["errors"][0]["parameter"] == "type"
    first = admin.get(PEOPLE, limit=1).json()
    second = admin.get(first["next"]).json()
    assert [each["username"] for each in first["items"] + second["items"]] == sorted(found)[:2]


def test_tokens_come_with_the_rights_that_their_owners_have_too(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone("www 300 A 192.0.2.1")
    found = api().get("/api/v2/zones/example.test/access/tokens").json()["items"]
    assert found
    assert all(each["owned_by"]["user"] and each["by"][0]["source"] == "scope" for each in found)
