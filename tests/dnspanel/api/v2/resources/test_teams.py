"""Tests of teams in the API: create, rename, set members, delete, and simultaneous writers."""

from dnspanel.accounts.models import Membership, User
from tests.dnspanel.api.callers import Caller, MakeApi

TEAMS = "/api/v2/teams"


def test_a_team_is_made_peopled_renamed_and_deleted(api: MakeApi, bob: User) -> None:
    admin = api()
    made = admin.post(TEAMS, {"name": "Web"})
    assert made.status_code == 201
    url = made.headers["Location"]
    members = admin.put(f"{url}/members/{bob.pk}", {"role": "editor"}).json()["members"]
    assert members == [{"user": bob.pk, "username": "bob", "role": "editor"}]
    assert admin.patch(url, {"name": "Web shop"}).json()["name"] == "Web shop"
    assert admin.delete(f"{url}/members/{bob.pk}").status_code == 204
    assert not Membership.objects.filter(user=bob).exists()
    assert admin.delete(url).status_code == 204
    assert admin.get(url).status_code == 404


def test_of_two_writers_with_if_match_one_gets_412_with_what_there_is(api: MakeApi) -> None:
    admin = api()
    made = admin.post(TEAMS, {"name": "Web"})
    url, tag = made.headers["Location"], {"If-Match": made.headers["ETag"]}
    assert admin.patch(url, {"name": "First"}, headers=tag).status_code == 200
    late = admin.patch(url, {"name": "Second"}, headers=tag)
    assert late.status_code == 412
    assert (late.json()["theirs"]["name"], late.json()["mine"]) == ("First", {"name": "Second"})
    again = admin.patch(url, {"name": "Second"}, headers={"If-Match": late.headers["ETag"]})
    assert again.json()["name"] == "Second"


def test_a_retry_with_its_key_makes_one_team_and_gets_the_same_answer(api: MakeApi) -> None:
    key = {"Idempotency-Key": "make-web"}
    first, second = (api().post(TEAMS, {"name": "Web"}, headers=key) for _ in range(2))
    assert first.json() == second.json()
    assert second.headers["Idempotency-Replayed"] == "true"
    assert len(api().get(TEAMS).json()["items"]) == 1


def test_a_member_sees_the_own_team_and_no_other(api: MakeApi) -> None:
    api().post(TEAMS, {"name": "Web"})
    names = [team["name"] for team in api(Caller.OTHER_TEAM).get(TEAMS).json()["items"]]
    assert names == ["Other"]


def test_what_is_no_team_is_refused_where_it_stands(api: MakeApi) -> None:
    admin = api()
    admin.post(TEAMS, {"name": "Web"})
    assert admin.post(TEAMS, {"name": "web"}).json()["code"] == "name-taken"
    for body, pointer in (({}, "/name"), ({"name": " "}, "/name"), ({"name": "a", "nmae": "b"}, "/nmae")):
        refused = admin.post(TEAMS, body)
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["pointer"] == pointer


def test_pages_of_teams_join(api: MakeApi) -> None:
    admin = api()
    for number in range(5):
        admin.post(TEAMS, {"name": f"Team {number}"})
    names, url = [], f"{TEAMS}?limit=2"
    while url:
        page = admin.get(url.removeprefix("http://testserver"))
        names += [team["name"] for team in page.json()["items"]]
        url = page.json()["next"]
    assert names == [f"Team {number}" for number in range(5)]
