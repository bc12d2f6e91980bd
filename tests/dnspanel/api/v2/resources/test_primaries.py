"""Tests of transferred zones in the API: create, read, retrieve, take over, give back."""

from typing import Any

import pytest

from dnspanel.primaries.models import TransferredZone
from dnspanel.zones.models import Zone
from tests.dnspanel.api.callers import Api, Caller, MakeApi
from tests.dnspanel.zones import ruled
from tests.own_certificates import own_certificate
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)

ZONES = "/api/v2/transferred-zones"
URL = "/api/v2/zones/abroad.test./primaries"
SECRET = "c2l4dGVlbiBieXRlcyBub3c="
BODY = {"name": "Abroad.test", "addresses": ["9.9.9.9", "9.9.9.10:5300"], "tsig_name": "key", "tsig_secret": SECRET}


@pytest.fixture
def admin(api: MakeApi) -> Api:
    return api(Caller.ADMINISTRATOR)


def made(admin: Api, **body: Any) -> Any:
    response = admin.post(ZONES, {**BODY, **body})
    assert response.status_code == 201, response.content
    return response


def test_one_is_made_and_says_how_it_stands(admin: Api) -> None:
    new = made(admin, uses_ixfr=False)
    assert new.headers["Location"] == URL
    read = admin.get(URL).json()
    assert (read["zone"], read["addresses"], read["tsig_name"]) == ("abroad.test.", BODY["addresses"], "key.")
    assert (read["elsewhere"], read["is_served"], read["serial"], read["uses_ixfr"]) == (True, False, None, False)
    assert not any("secret" in name for name in read)
    assert [one["zone"] for one in admin.get(ZONES).json()["items"]] == ["abroad.test."]
    assert admin.get(ZONES, failing="true").json()["items"] == []
    TransferredZone.objects.update(failed_since=NOW, error="The node isn’t responding.")
    [failing] = admin.get(ZONES, failing="true").json()["items"]
    assert failing["error"] == "The node isn’t responding."


def test_it_comes_over_tls_by_names_or_certificates(admin: Api) -> None:
    own = own_certificate("ns1.abroad.test").certificate
    over = {"uses_tls": True, "tls_names": ["NS1.abroad.test"], "tls_certificates": own, "shows_certificate": True}
    assert made(admin, addresses=["9.9.9.9"], **over).status_code == 201
    read = admin.get(URL).json()
    assert (read["uses_tls"], read["tls_names"], read["tls_certificates"]) == (True, ["ns1.abroad.test"], own)
    assert read["authority"].startswith("-----BEGIN CERTIFICATE-----")
    again = {name: read[name] for name in ("addresses", "tsig_name", *over)}
    TransferredZone.objects.update(serial=7)
    assert admin.put(URL, again).json()["serial"] == 7, "nothing is other than it was"
    assert admin.put(URL, {**again, "shows_certificate": False}).json()["authority"] == ""
    refused = admin.put(URL, {**again, "uses_tls": False})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/uses_tls")


def test_other_primaries_are_set_by_the_key_that_there_is_and_the_same_change_nothing(admin: Api) -> None:
    made(admin)
    TransferredZone.objects.update(serial=7, wants_all=False, due_at=None)
    terms = {"addresses": BODY["addresses"], "tsig_name": "key.", "tsig_algorithm": "hmac-sha256"}
    assert admin.put(URL, terms).status_code == 200
    assert TransferredZone.objects.get().serial == 7
    changed = admin.put(URL, {**terms, "addresses": ["9.9.9.11"]}).json()
    assert (changed["addresses"], changed["serial"], changed["tsig_name"]) == (["9.9.9.11"], None, "key.")
    assert TransferredZone.objects.get().wants_all


def test_it_is_asked_taken_over_and_given_back(admin: Api) -> None:
    made(admin)
    early = admin.post(f"{URL}/take-over")
    assert (early.status_code, early.json()["code"]) == (409, "conflict")
    TransferredZone.objects.update(serial=7, wants_all=False, due_at=None)
    assert admin.post(f"{URL}/transfer", {"all": True}).status_code == 202
    assert TransferredZone.objects.get().wants_all
    assert admin.post(f"{URL}/give-back").status_code == 409
    taken = admin.post(f"{URL}/take-over", {"reason": "Its primary is gone for good"})
    assert taken.status_code == 202
    assert taken.json()["publication"]["zones"][0]["zone"] == "abroad.test."
    assert (Zone.objects.get().transferred_from, admin.get(URL).json()["elsewhere"]) == ("", False)
    assert admin.post(f"{URL}/transfer").status_code == 409
    assert admin.post(f"{URL}/give-back").json()["elsewhere"] is True


def test_a_write_may_say_what_it_has_read(admin: Api) -> None:
    made(admin)
    tag = admin.get(URL).headers["ETag"]
    TransferredZone.objects.update(failures=3)  # a state that no user set
    terms = {"addresses": ["9.9.9.11"]}
    assert admin.put(URL, terms, headers={"If-Match": tag}).status_code == 200
    assert admin.put(URL, {"addresses": ["9.9.9.12"]}, headers={"If-Match": tag}).status_code == 412


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"addresses": ["127.0.0.1"]}, "/addresses"),
        ({"addresses": []}, "/addresses"),
        ({"tsig_secret": "x"}, "/tsig_secret"),
        ({"tsig_algorithm": "none"}, "/tsig_algorithm"),
        ({"name": "a..b"}, "/name"),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(admin: Api, body: dict[str, Any], pointer: str) -> None:
    refused = admin.post(ZONES, {**BODY, **body})
    assert refused.status_code == 422, refused.content
    assert refused.json()["errors"][0]["pointer"].startswith(pointer)
    assert not Zone.objects.exists()


def test_a_zone_of_this_panel_comes_from_nowhere(admin: Api) -> None:
    assert admin.post("/api/v2/zones", {"name": "here.test"}).status_code == 202
    url = "/api/v2/zones/here.test./primaries"
    assert admin.get(url).status_code == 404
    assert admin.post(f"{url}/transfer").status_code == 409


@pytest.mark.parametrize("act", ["", "/take-over", "/give-back"], ids=["set", "take-over", "give-back"])
def test_who_may_govern_goes_past_rules_and_others_are_refused(act: str, admin: Api, api: MakeApi) -> None:
    made(admin)
    TransferredZone.objects.update(serial=7)
    if act == "/give-back":
        admin.post(f"{URL}/take-over")
    zone = Zone.objects.get()
    ruled.need_approval(zone, make_person("adam", "administrator"))
    body: dict[str, Any] = {} if act else {"addresses": ["9.9.9.11"]}
    editor = api(Caller.EDITOR)

    def send(caller: Api, **said: Any) -> Any:
        return (caller.post if act else caller.put)(URL + act, {**body, **said})

    refused = send(editor)
    assert (refused.status_code, refused.json()["code"]) == (403, "approval-needed")
    assert send(editor, past_rules=True, reason="Because").status_code == 403
    assert send(admin, past_rules=True).status_code == 403, "without a reason"
    assert send(admin, past_rules=True, reason="The house burns").status_code in (200, 202)
    listed = admin.get("/api/v2/requests", which="past-rules").json()["items"]
    assert [(one["reason"], one["publication"]) for one in listed] == [("The house burns", None)]
