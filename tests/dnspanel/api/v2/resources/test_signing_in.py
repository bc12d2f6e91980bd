"""Tests of second factors, sessions and password links in the API."""

from django.test import Client
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry, Role, User
from tests.dnspanel.api.callers import Caller, MakeApi
from tests.people import PASSWORD, make_person
from tests.second_factors import set_up

USERS = "/api/v2/users"


def test_a_second_factor_is_read_and_reset(api: MakeApi, bob: User) -> None:
    set_up(bob, timezone.now())
    url = f"{USERS}/{bob.pk}/second-factor"
    seen = api().get(url)
    assert seen.json() == {"app": True, "passkeys": 0, "recovery_codes_left": 10}
    assert api(Caller.EDITOR).get(url).json() == seen.json()
    assert api(Caller.EDITOR).delete(url).status_code == 403
    assert api().delete(url, headers={"If-Match": '"another"'}).status_code == 412
    assert api().delete(url, headers={"If-Match": seen.headers["ETag"]}).status_code == 204
    assert api().get(url).json() == {"app": False, "passkeys": 0, "recovery_codes_left": 0}
    entry = AuditEntry.objects.get(action="second-factor.reset")
    assert (entry.target, entry.token is not None) == ("bob", True)


def test_sessions_are_listed_and_ended(api: MakeApi, bob: User) -> None:
    client = Client(headers={"User-Agent": "Lynx/2.9"})
    client.post("/sign-in/", {"login": "bob", "password": PASSWORD}, REMOTE_ADDR="192.0.2.7")
    url = f"{USERS}/{bob.pk}/sessions"
    [session] = api().get(url).json()["data"]
    assert (session["address"], session["browser"]) == ("192.0.2.7", "Lynx/2.9")
    assert session["began_at"] == session["seen_at"]
    assert client.session.session_key not in str(session)
    assert api().delete(url).status_code == 204
    assert client.get("/zones/").status_code == 302
    assert api().get(url).json() == {"data": []}


def test_a_password_link_is_shown_once(api: MakeApi, bob: User) -> None:
    url, key = f"{USERS}/{bob.pk}/password-link", {"Idempotency-Key": "link-1"}
    first = api().post(url, headers=key)
    assert first.status_code == 201
    assert first.headers["Cache-Control"] == "no-store"
    again = api().post(url, headers=key)
    assert again.json() == first.json() | {"link": None}
    path = "/password/" + first.json()["link"].partition("/password/")[2]
    assert Client().post(path, {"password": "a new long pass phrase"})["Location"] == "/sign-in/"


def test_a_token_that_manages_people_gets_at_nobody_above_its_owner(api: MakeApi) -> None:
    other = make_person("otto", Role.ADMINISTRATOR)
    admin = api()
    made = admin.post("/api/v2/tokens", {"purpose": "people", "permissions": ["people"]})
    secret = made.json()["secret"]
    set_up(other, timezone.now())
    for method, path in (("DELETE", "second-factor"), ("DELETE", "sessions"), ("POST", "password-link")):
        headers = {"Authorization": f"Bearer {secret}"}
        refused = admin.send(method, f"{USERS}/{other.pk}/{path}", headers=headers)
        assert refused.status_code == 403, path
        assert "people with a lower role than its owner" in refused.json()["detail"]
    # An editor is below the token's owner but has more rights than the token. A link would give the token these rights.
    editor = make_person("ed", Role.EDITOR)
    for method, path in (("DELETE", "second-factor"), ("DELETE", "sessions"), ("POST", "password-link")):
        refused = admin.send(method, f"{USERS}/{editor.pk}/{path}", headers=headers)
        assert refused.status_code == 403, path
        assert "all of ed’s rights" in refused.json()["detail"]
    same = admin.send("PATCH", f"{USERS}/{editor.pk}", {"same_person_as": other.pk}, headers=headers)
    assert same.status_code == 403
