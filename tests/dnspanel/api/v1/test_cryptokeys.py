"""Tests of DNSSEC keys over HTTP: access checks, quota, bad bodies, audit log. `tests/oracle` compares the answers."""

from typing import Any

import pytest

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import AuditEntry, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.models import Channel, Zone, ZoneKey
from dnspanel.zones.signing import sign
from tests.dnspanel.api.v1.calls import Caller, caller, make_zone
from tests.people import NOW

URL = "/zones/a.test."
KEYS = f"{URL}/cryptokeys"
SIGNS = {"keytype": "csk", "active": True}
pytestmark = pytest.mark.django_db


@pytest.fixture
def zone() -> Zone:
    return make_zone("a.test.")


@pytest.fixture
def key(zone: Zone) -> ZoneKey:
    return sign.add_key(zone=zone, acting=Acting(None, Channel.API, NOW))


def ask_with(owner: User, zone: Zone, *rights: Right) -> Caller:
    return caller(owner, Grant(frozenset(rights), zones=frozenset({zone.pk})))


def everything(owner: User) -> Caller:
    return caller(owner, Grant(frozenset(Right), everywhere=True))


def test_a_key_is_made_changed_and_deleted(bob: User, zone: Zone) -> None:
    ask = caller(bob)
    assert ask.value("GET", KEYS) == []
    made = ask.value("POST", KEYS, SIGNS, status=201)
    assert made == ask.value("GET", f"{KEYS}/{made['id']}") == ask.value("GET", KEYS)[0]
    assert ask.value("GET", f"{URL}?rrsets=false")["dnssec"] is True
    assert ask("PUT", f"{KEYS}/{made['id']}", {"active": False}).status_code == 204
    assert ask.value("GET", "/zones?zone=a.test.")[0]["dnssec"] is False
    assert ask("DELETE", f"{KEYS}/{made['id']}").status_code == 204
    assert ask.value("GET", KEYS) == []
    assert list(AuditEntry.objects.filter(target="a.test.").order_by("pk").values_list("action", flat=True))[-3:] == [
        "dnssec.key_add",
        "dnssec.key_set",
        "dnssec.key_delete",
    ]


def test_private_parts_are_for_who_may_export_them_and_each_export_is_noted(
    alice: User, bob: User, zone: Zone, key: ZoneKey
) -> None:
    exports = AuditEntry.objects.filter(action="dnssec.key_export")
    for ask in (caller(bob), ask_with(alice, zone, Right.READ), ask_with(alice, zone, Right.READ, Right.DNSSEC)):
        assert "privatekey" not in ask.value("GET", f"{KEYS}/{key.pk}")
    assert "privatekey" not in caller(bob).value("POST", KEYS, {"keytype": "ksk"}, status=201)
    assert not exports.exists()
    ask = everything(alice)
    private_text = ask.value("GET", f"{KEYS}/{key.pk}")["privatekey"]
    assert key_material.read(private_text).public == bytes(key.public)
    assert exports.get().user == alice
    assert all("privatekey" not in each for each in ask.value("GET", KEYS))
    assert "privatekey" in ask.value("POST", KEYS, {"keytype": "ksk"}, status=201)
    assert exports.count() == 2
    assert private_text.split()[-1] not in "".join(str(entry.details) for entry in AuditEntry.objects.all())


@pytest.mark.parametrize("type_", ["DNSKEY", "CDNSKEY", "CDS"])
def test_records_of_the_panels_own_keys_are_refused_with_the_reason(
    bob: User, zone: Zone, key: ZoneKey, type_: str
) -> None:
    [own] = queries.keys_of(zone)
    content = own.ds_of(2) if type_ == "CDS" else own.dnskey
    rrset = {"name": zone.name, "type": type_, "ttl": 60, "changetype": "REPLACE", "records": [{"content": content}]}
    error = caller(bob).error("PATCH", URL, {"rrsets": [rrset]})
    assert f"the panel generates the {type_} record for its own key {own.tag}" in error


@pytest.mark.parametrize("right", Right)
def test_each_right_opens_what_it_is_for(alice: User, zone: Zone, key: ZoneKey, right: Right) -> None:
    ask = ask_with(alice, zone, Right.READ, right)
    may = 200 if right is Right.DNSSEC else 403
    assert ask("GET", KEYS).status_code == ask("GET", f"{KEYS}/{key.pk}").status_code == 200
    assert ask("POST", KEYS, SIGNS).status_code == (201 if may == 200 else may)
    assert ask("PUT", f"{KEYS}/{key.pk}", {"active": True}).status_code == (204 if may == 200 else may)
    assert ask("PUT", URL, {"nsec3param": "1 0 0 -"}).status_code == (204 if may == 200 else may)
    assert ask("PUT", URL, {"dnssec": False}).status_code == (204 if may == 200 else may)
    assert ask("PUT", f"{URL}/metadata/PUBLISH-CDS", {"metadata": ["2"]}).status_code == may
    if right is not Right.DNSSEC:
        assert ask("DELETE", f"{KEYS}/{key.pk}").status_code == 403


def test_readers_learn_that_they_may_not(charlie: User, zone: Zone, key: ZoneKey) -> None:
    ask = caller(charlie, Grant(frozenset({Right.READ}), everywhere=True))
    for method, path, body in (
        ("POST", KEYS, SIGNS),
        ("PUT", f"{KEYS}/{key.pk}", {"active": False}),
        ("DELETE", f"{KEYS}/{key.pk}", None),
        ("PUT", URL, {"dnssec": False}),
    ):
        assert "You don’t have permission to sign" in ask.error(method, path, body, status=403)
    assert len(queries.keys_of(zone)) == 1


def test_zones_that_a_token_may_not_see_have_no_keys_page_either(bob: User, zone: Zone, key: ZoneKey) -> None:
    ask = caller(bob, Grant(frozenset({Right.READ, Right.DNSSEC}), zones=frozenset({2**30})))
    for method in ("GET", "POST"):
        assert ask(method, KEYS, SIGNS).status_code == 404
    for method in ("GET", "PUT", "DELETE"):
        assert ask(method, f"{KEYS}/{key.pk}", {"active": True}).status_code == 404
    assert Caller("")("GET", KEYS).status_code == 401


def test_a_key_of_another_zone_is_unknown(bob: User, zone: Zone, key: ZoneKey) -> None:
    make_zone("b.test.")
    for id in (key.pk, "x", "1x", "-1", "0", "٣", "9" * 30):
        for method in ("GET", "PUT", "DELETE"):
            assert caller(bob)(method, f"/zones/b.test./cryptokeys/{id}", {"active": True}).status_code == 404


def test_all_keys_at_once_cannot_be_changed(bob: User, zone: Zone) -> None:
    assert caller(bob)("DELETE", KEYS).status_code == caller(bob)("PUT", KEYS).status_code == 405


def test_a_zone_has_so_many_keys_and_no_more(bob: User, zone: Zone) -> None:
    ask = caller(bob)
    for _ in range(sign.MOST_KEYS):
        ask.value("POST", KEYS, {"keytype": "csk"}, status=201)
    assert "already has 20 " in ask.error("POST", KEYS, {"keytype": "csk"})
    assert "already has 20 " in ask.error("PUT", URL, {"dnssec": True})
    assert ZoneKey.objects.count() == sign.MOST_KEYS


def test_a_key_is_taken_in_once_and_what_is_none_is_not_quoted(bob: User, zone: Zone) -> None:
    ask, text = caller(bob), key_material.generate(13).private_text
    ask.value("POST", KEYS, {"keytype": "ksk", "privatekey": text}, status=201)
    assert "already has this key" in ask.error("POST", KEYS, {"keytype": "zsk", "content": text})
    broken = text.replace("PrivateKey", "Secret")
    message = ask.error("POST", KEYS, {"keytype": "ksk", "privatekey": broken})
    assert message.startswith("Key could not be parsed. Make sure your key format is correct.")
    assert broken.split()[-1] not in message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "keytype"),
        ({"keytype": "foo"}, "Invalid keytype foo"),
        ({"keytype": "zsk"}, "Creating an algorithm -1"),
        ({"keytype": "ksk", "bits": -1}, "'bits' must be"),
        ({"keytype": "ksk", "bits": "many"}, "'bits' must be"),
        ({"keytype": "ksk", "bits": 1e300}, "'bits' must be"),
        ({"keytype": "ksk", "bits": 10**400}, "'bits' must be"),
        ({"keytype": "ksk", "algorithm": 10**400}, "Unknown algorithm: "),
        ({"keytype": "ksk", "algorithm": "rot13"}, "Unknown algorithm: rot13"),
        ({"keytype": "ksk", "algorithm": []}, "Unknown algorithm: "),
        ({"keytype": "ksk", "algorithm": 8}, "requires the size (in bits)"),
        ({"keytype": "ksk", "algorithm": 8, "bits": 1024}, "2048 to 4096 bits"),
        ({"keytype": "ksk", "algorithm": 8, "bits": 2**31 - 1}, "2048 to 4096 bits"),
        ({"keytype": "ksk", "algorithm": 5, "bits": 2048}, "cannot create keys with algorithm 5"),
        ({"keytype": "ksk", "algorithm": 13, "bits": 384}, "does not support the given bit size"),
        ({"keytype": "zsk", "content": "x", "bits": 1}, "Either you submit"),
        ({"keytype": "zsk", "privatekey": "x" * 100_000}, "Key could not be parsed"),
        ({"keytype": "zsk", "privatekey": ["x"]}, "Key 'privatekey' not present or not a String"),
        ({**SIGNS, "published": False}, "keys that aren’t published"),
    ],
)
def test_a_bad_key_is_refused_and_the_reason_is_said(body: Any, message: str, bob: User, zone: Zone) -> None:
    assert message in caller(bob).error("POST", KEYS, body)
    assert not ZoneKey.objects.exists()


@pytest.mark.parametrize("body", [{}, [], {"active": 1}, {"active": None}, {"published": True}])
def test_what_says_not_whether_a_key_signs_changes_nothing(body: Any, bob: User, zone: Zone, key: ZoneKey) -> None:
    assert caller(bob).error("PUT", f"{KEYS}/{key.pk}", body) == "Key 'active' not present or not a Bool"
    assert caller(bob)("PUT", f"{KEYS}/{key.pk}", b"{").status_code == 400


def test_who_sends_back_what_was_read_needs_no_right_to_sign(alice: User, zone: Zone, key: ZoneKey) -> None:
    ask = ask_with(alice, zone, Right.READ, Right.SETTINGS)
    read = ask.value("GET", f"{URL}?rrsets=false")
    assert ask("PUT", URL, {**read, "account": "x"}).status_code == 204
    assert ask("PUT", URL, {**read, "account": "y", "dnssec": False}).status_code == 403
    assert ask.value("GET", f"{URL}?rrsets=false")["account"] == "x"


def test_a_refused_signing_leaves_the_settings_and_the_zone_as_they_were(bob: User, zone: Zone) -> None:
    ask = caller(bob)
    assert "not DNSSEC secured" in ask.error("PUT", URL, {"account": "x", "nsec3param": "1 0 0 -"})
    assert "not DNSSEC secured" in ask.error("PUT", URL, {"rrsets": [], "nsec3param": "1 0 0 -"})
    assert "not like" in ask.error("PUT", URL, {"account": "x", "dnssec": True, "nsec3param": "bad"})
    assert ask.value("GET", f"{URL}?rrsets=false")["account"] == ""
    assert not queries.signing_of(zone).keys
    assert ask("PUT", URL, {"account": "x", "dnssec": True, "kind": "Master"}).status_code == 204
    assert ask.value("GET", f"{URL}?rrsets=false")["account"] == "x"


def test_a_zone_is_created_signed_or_not_at_all(alice: User) -> None:
    body = {
        "name": "n.test.",
        "kind": "Native",
        "nameservers": ["ns1.x.test."],
        "dnssec": True,
        "nsec3param": "1 0 0 -",
    }
    rights = frozenset({Right.READ, Right.CREATE_ZONE})
    may_not = caller(alice, Grant(rights, everywhere=True))
    assert "sign" in may_not.error("POST", "/zones", body, status=403)
    assert not Zone.objects.filter(name="n.test.").exists()
    may = caller(alice, Grant(rights | {Right.DNSSEC}, everywhere=True), name="other")
    made = may.value("POST", "/zones", body, status=201)
    assert (made["dnssec"], made["nsec3param"], made["nsec3narrow"]) == (True, "1 0 0 -", False)
    assert Zone.objects.get(name="n.test.").revision == 2


def test_listing_takes_no_query_per_signed_zone(bob: User, django_assert_max_num_queries: Any) -> None:
    for number in range(5):
        zone = make_zone(f"z{number}.test.")
        sign.sign(zones=[zone], acting=Acting(None, Channel.API, NOW))
    ask = caller(bob)
    ask.value("GET", "/zones")
    with django_assert_max_num_queries(3):  # one query asks for consumed catalogs
        assert [each["dnssec"] for each in ask.value("GET", "/zones")] == [True] * 5
