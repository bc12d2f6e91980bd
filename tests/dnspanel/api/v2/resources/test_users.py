"""Tests of people in the API: roles, closed accounts, invitations, and explanations of rights."""

from dnspanel.accounts.models import Invitation, Role, User
from dnspanel.accounts.people import people
from dnspanel.api.models import RememberedAnswer
from tests.dnspanel.api.callers import Caller, MakeApi
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW

USERS = "/api/v2/users"


def test_a_role_is_changed_and_an_account_closed_and_opened(api: MakeApi, bob: User) -> None:
    admin, editor, url = api(), api(Caller.EDITOR), f"{USERS}/{bob.pk}"
    assert admin.patch(url, {"role": "reader"}).json()["role"] == "reader"
    assert admin.patch(url, {"active": False}).json()["active"] is False
    assert editor.get("/api/v2/me").status_code == 401, "tokens of a closed account open nothing"
    admin.patch(url, {"active": True})
    assert editor.get("/api/v2/me").status_code == 401, "nor when it is open again"


def test_accounts_of_one_person_are_put_together(api: MakeApi, bob: User, charlie: User) -> None:
    admin, url = api(), f"{USERS}/{bob.pk}"
    assert admin.patch(url, {"same_person_as": charlie.pk}).json()["same_person_as"] == charlie.pk
    assert admin.patch(url, {"same_person_as": bob.pk}).status_code == 422
    assert admin.patch(url, {"same_person_as": 2**31 - 1}).status_code == 404
    assert admin.patch(url, {"same_person_as": None}).json()["same_person_as"] is None


def test_the_last_administrator_stays(api: MakeApi) -> None:
    alice = User.objects.get(username="alice") if api() else None
    assert alice is not None
    refused = api().patch(f"{USERS}/{alice.pk}", {"role": "reader"})
    assert refused.status_code == 409
    assert "last administrator" in refused.json()["detail"]


def test_a_stale_if_match_changes_nothing(api: MakeApi, bob: User) -> None:
    admin, url = api(), f"{USERS}/{bob.pk}"
    tag = admin.get(url).headers["ETag"]
    admin.patch(url, {"role": "reader"})
    late = admin.patch(url, {"role": "administrator"}, headers={"If-Match": tag})
    assert late.status_code == 412
    assert late.json()["theirs"]["role"] == "reader"
    bob.refresh_from_db()
    assert bob.role == "reader"


def test_an_invitation_is_one_time_page_and_not_kept(api: MakeApi) -> None:
    key = {"Idempotency-Key": "invite-1"}
    first = api().post("/api/v2/invitations", {"role": "editor"}, headers=key)
    assert "/welcome/" in first.json()["link"]
    assert first.headers["Cache-Control"] == "no-store"
    again = api().post("/api/v2/invitations", {"role": "editor"}, headers=key)
    assert again.json() == first.json() | {"link": None}
    assert Invitation.objects.count() == 1
    secret = first.json()["link"].rstrip("/").rpartition("/")[2].encode()
    assert all(secret not in bytes(row.body) for row in RememberedAnswer.objects.all())


def test_the_tester_says_what_is_allowed_and_why(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone("www 300 A 192.0.2.1")
    api(Caller.READER)
    charlie = User.objects.get(username="charlie")
    url = f"{USERS}/{charlie.pk}/rights"
    rights = {v["right"]: v for v in api().get(url, zone="example.test").json()["rights"]}
    assert rights["read"] == {
        "right": "read",
        "allowed": True,
        "because": [{"source": "role", "id": None, "words": "Reader role"}],
    }
    assert rights["change"] == {"right": "change", "allowed": False, "because": []}
    api().post(
        "/api/v2/grants", {"rights": ["change"], "zones": ["example.test"], "names": ["www"], "user": charlie.pk}
    )
    about = {"zone": "example.test", "type": "A"}
    www = {v["right"]: v["allowed"] for v in api().get(url, name="www", **about).json()["rights"]}
    mail = {v["right"]: v["allowed"] for v in api().get(url, name="mail", **about).json()["rights"]}
    assert (www["change"], mail["change"]) == (True, False)


def test_the_tester_says_whether_the_past_was_so(api: MakeApi, make_zone: MakeZone, alice: User) -> None:
    make_zone()
    api(Caller.READER)
    charlie = User.objects.get(username="charlie")
    User.objects.update(date_joined=NOW)
    url, about = f"{USERS}/{charlie.pk}/rights", {"zone": "example.test", "at": f"{NOW:%Y-%m-%dT%H:%M:%SZ}"}
    assert api().get(url, zone="example.test").json()["since"] is None
    assert api().get(url, **about).json()["since"] | {"words": ""} == {
        "at": f"{NOW:%Y-%m-%dT%H:%M:%S.%fZ}",
        "certain": True,
        "words": "",
        "acts": [],
    }
    people.change_role(user=charlie, role=Role.EDITOR, by=alice, now=NOW)
    since = api().get(url, **about).json()["since"]
    assert since["certain"] is False
    assert [(act["action"], act["target"], act["actor"]["user"]) for act in since["acts"]] == [
        ("person.role", "charlie", "alice")
    ]
    for wrong in ("yesterday", "2999-01-01T00:00:00Z"):
        assert api().get(url, **{**about, "at": wrong}).json()["errors"][0]["parameter"] == "at"


def test_the_tester_needs_to_know_what_about(api: MakeApi, make_zone: MakeZone, bob: User) -> None:
    make_zone()
    url = f"{USERS}/{bob.pk}/rights"
    assert api().get(url).json()["errors"][0]["parameter"] == "zone"
    assert api().get(url, zone="nothing.test").status_code == 404
    assert api().get(url, zone="example.test", name="www").json()["errors"][0]["parameter"] == "type"
    assert api().get(url, zone="example.test", name="a..b", type="A").json()["errors"][0]["parameter"] == "name"
    assert api().get(url, zone="example.test", name="www", type="BOGUS").json()["errors"][0]["parameter"] == "type"
