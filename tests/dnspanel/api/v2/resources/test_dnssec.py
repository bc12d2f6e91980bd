"""Tests of DNSSEC settings in API v2, for one zone and for many, and of DNSSEC keys.

Tests `resources.dnssec_keys`, `resources.dnssec_keys`, `resources.dnssec`, `schema.dnssec_serializers`,
`schema.dnssec_answer_serializers` and `signing.preview` too.
"""

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import AuditEntry, User
from dnspanel.api.models import RememberedAnswer
from dnspanel.api.v2.schema.fields import stamp
from dnspanel.fleet.dnssec import node_answers
from dnspanel.fleet.models import Node, ParentCheck, UnprovenZone
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.models import Channel, Publication, Zone, ZoneKey
from dnspanel.zones.publishing import edit, pieces
from dnspanel.zones.signing import sign
from replication.dns import rdtypes
from replication.dns.rrset import make
from tests.dnspanel.api.callers import MakeApi
from tests.dnspanel.api.v2.conftest import MakeCaller
from tests.dnspanel.api.v2.conftest import make_caller as make_caller
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.fleet.conftest import active_node as active_node
from tests.dnspanel.zones.conftest import MakeZone, presigned_zone
from tests.people import NOW
from tests.ports import free_port

URL = "/api/v2/zones/example.test./dnssec"
KEYS = f"{URL}/keys"
BULK = "/api/v2/bulk/dnssec"
NSEC3 = {"method": "nsec3", "opt_out": True, "narrow": False, "iterations": 0, "salt": ""}


def test_a_zone_is_signed_changed_and_unsigned(api: MakeApi, make_zone: MakeZone) -> None:
    zone = make_zone()
    plain = api().get(URL)
    assert plain.json() | {"ds": [], "keys": []} == plain.json()
    assert (plain.json()["signed"], plain.json()["denial"], plain.json()["changed"]) == (False, None, None)
    keys = {"algorithm": 15, "split": True}
    wanted = {"signed": True, "new_keys": keys, "denial": NSEC3, "cds": [4, 2], "cdnskey": True}
    signed = api().patch(f"{URL}?reason=policy", wanted)
    assert signed.status_code == 202
    assert signed.json()["publication"]["reason"] == "policy"
    assert [each["zone"] for each in signed.json()["zones"]] == ["example.test."]
    found = api().get(URL)
    assert signed.json()["dnssec"] == found.json()
    assert signed.headers["ETag"] == found.headers["ETag"] != plain.headers["ETag"]
    assert (found.json()["denial"], found.json()["cds"], found.json()["cdnskey"]) == (NSEC3, [2, 4], True)
    assert [(key["role"], key["algorithm"]) for key in found.json()["keys"]] == [("ksk", 15), ("zsk", 15)]
    assert [each["digest_type"] for each in found.json()["ds"]] == [2, 4]
    assert found.json()["ds"][0]["record"] == f"example.test. IN DS {queries.keys_of(zone)[0].ds[0]}"
    assert found.json()["changed"]["actor"]["user"] == "alice"
    assert api().get(URL, headers={"If-None-Match": found.headers["ETag"]}).status_code == 304
    again = api().patch(URL, wanted)
    assert (again.status_code, again.json()["publication"]) == (200, None)
    assert api().patch(URL, {"signed": False}).json()["dnssec"]["keys"] == []


def test_what_was_read_must_be_so_still(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone()
    old = {"If-Match": api().get(URL).headers["ETag"]}
    assert api().patch(URL, {"signed": True}, headers=old).status_code == 202
    refused = api().patch(URL, {"signed": False}, headers=old)
    assert (refused.status_code, refused.json()["code"]) == (412, "precondition-failed")
    assert refused.json()["theirs"]["signed"]
    [key] = api().get(KEYS).json()["items"]
    url, match = f"{KEYS}/{key['id']}", {"If-Match": key["etag"]}
    assert api().get(url).headers["ETag"] == key["etag"]
    extra = api().post(KEYS, {}).json()["key"]
    assert api().patch(url, {"active": False}, headers=match).json()["key"]["active"] is False
    for method, body in (("PATCH", {"active": True}), ("DELETE", None)):
        assert api().send(method, url, body, headers=match).json()["theirs"]["active"] is False
    assert api().delete(f"{KEYS}/{extra['id']}", headers={"If-Match": extra["etag"]}).status_code == 202


def test_a_retry_signs_once_and_adds_one_key(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone()
    for method, url, body in (("PATCH", URL, {"signed": True}), ("POST", KEYS, {"active": False})):
        first, again = (api().send(method, url, body, headers={"Idempotency-Key": url}) for _ in range(2))
        assert first.json() == again.json()
        assert again.headers["Idempotency-Replayed"] == "true"
    assert ZoneKey.objects.count() == 2
    assert Publication.objects.count() == 3


def test_what_cannot_be_is_refused_where_it_stands(api: MakeApi, make_zone: MakeZone) -> None:
    zone = make_zone()
    for body, status, told in (
        ({"denial": NSEC3}, 409, "not-signed"),
        ({"cds": [2]}, 409, "not-signed"),
        ({"signed": True, "new_keys": {"algorithm": 8, "bits": 1024}}, 422, "/new_keys/bits"),
        ({"signed": True, "new_keys": {"algorithm": 5}}, 422, "/new_keys/algorithm"),
        ({"denial": {"method": "nsec", "narrow": True}}, 422, "/denial"),
        ({"denial": {"method": "nsec3", "salt": "a"}}, 422, "/denial/salt"),
        ({"cds": [3]}, 422, "/cds"),
    ):
        refused = api().patch(URL, body)
        problem = refused.json()
        assert refused.status_code == status, problem
        assert told in (problem["code"], *(fault.get("pointer") for fault in problem["errors"])), problem
    sign.sign(zones=[zone], acting=Acting(None, Channel.API, NOW))
    [key] = queries.keys_of(zone)
    assert api().patch(f"{KEYS}/{key.id}", {"published": False}).json()["code"] == "dnssec-refused"
    assert api().get(f"{KEYS}/{2**40}").status_code == 404


def test_a_key_is_brought_along_and_exported_this_once(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone()
    pair = key_material.generate(13)
    public = f"example.test. IN DNSKEY {key_material.dnskey_text(256, 13, pair.public)}\n"
    body = {"private_key": pair.private_text, "public_key": public, "active": True}
    made = api().post(KEYS, body)
    assert made.status_code == 202
    assert made.json()["key"]["flags"] == 256
    assert api().get(made.headers["Location"]).json() == made.json()["key"]
    assert api().post(KEYS, body).json()["code"] == "dnssec-refused"
    url = f"{made.headers['Location']}/export"
    first, again = (api().post(url, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert first.json()["private_key"] == pair.private_text
    assert first.json()["public_key"] == public
    assert first.headers["Cache-Control"] == "no-store"
    assert again.json() == first.json() | {"private_key": None}
    secret = pair.private_text.split()[-1].encode()
    assert all(secret not in bytes(row.body) for row in RememberedAnswer.objects.exclude(body=None))
    assert AuditEntry.objects.get(action="dnssec.key_export").user is not None


def test_a_key_that_is_none_is_refused_where_it_stands(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone()
    pair, other = key_material.generate(13), key_material.generate(13)
    private = {"private_key": pair.private_text}
    record = "IN DNSKEY " + key_material.dnskey_text(257, 13, pair.public)
    foreign = "example.test. IN DNSKEY " + key_material.dnskey_text(257, 13, other.public)
    bodies: list[tuple[dict[str, Any], str]] = [
        ({"private_key": "no key"}, "/private_key"),
        (private | {"algorithm": 13}, "/algorithm"),
        (private | {"public_key": f"example.test. {record}", "flags": 257}, "/flags"),
        (private | {"public_key": f"other.test. {record}"}, "/public_key"),
        (private | {"public_key": foreign}, "/public_key"),
        ({"public_key": foreign}, "/private_key"),
        ({"algorithm": 8, "bits": 1024}, "/bits"),
    ]
    for body, pointer in bodies:
        refused = api().post(KEYS, body)
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, pointer), refused.json()
        assert pair.private_text.split()[-1] not in refused.content.decode()
    assert not ZoneKey.objects.exists()


def test_many_zones_are_signed_by_one_publication(api: MakeApi, make_zone: MakeZone) -> None:
    names = ["example.test.", "b.test.", "c.test."]
    for name in names:
        make_zone(name=name)
    body = {"zones": names, "signed": True, "denial": NSEC3, "reason": "policy"}
    plans = api().post(f"{BULK}?dry_run=true", body)
    assert (plans.status_code, ZoneKey.objects.count()) == (200, 0)
    assert plans.json()["plans"][0] == {
        "zone": "example.test.",
        "changes": True,
        "signed": True,
        "denial": NSEC3,
        "drops_signatures": False,
        "refusal": None,
    }
    signed = api().post(BULK, body)
    assert signed.status_code == 202
    assert sorted(each["zone"] for each in signed.json()["zones"]) == sorted(names)
    assert Publication.objects.latest("sequence").reason == "policy"
    assert api().post(BULK, body).json()["publication"] is None
    assert api().post(BULK, {"zones": names, "signed": False}).status_code == 202
    assert not any(queries.signing_of(zone).keys for zone in Zone.objects.all())


def test_of_many_zones_every_refusal_is_named_and_none_is_signed(
    api: MakeApi, make_zone: MakeZone, make_caller: MakeCaller
) -> None:
    child, other = make_zone(name="child.example.test."), make_zone(name="b.test.")
    acting = Acting(None, Channel.API, NOW)
    sign.sign(zones=[child, other], acting=acting)
    ds = make("child.example.test.", rdtypes.DS, 300, [queries.keys_of(child)[0].ds[0]])
    make_zone(name="example.test.")
    answered = api().put(
        "/api/v2/zones/example.test./rrsets/child/DS",
        {"ttl": 300, "rdata": list(ds.served)},
        accept_warnings="true",
    )
    assert answered.status_code in {200, 201, 202}, answered.json()
    unsign = {"zones": ["b.test.", "child.example.test."], "signed": False}
    plans = api().post(f"{BULK}?dry_run=true", unsign).json()["plans"]
    assert [plan["changes"] for plan in plans] == [True, False]
    assert "has a DS" in plans[1]["refusal"]
    refused = api().post(BULK, unsign).json()
    assert (refused["code"], [fault["pointer"] for fault in refused["errors"]]) == ("dnssec-refused", ["/zones/1"])
    assert queries.signing_of(other).is_signed
    missing = api().post(BULK, {"zones": ["b.test.", "nowhere.test.", "b.test"], "signed": True}).json()
    assert [(fault["pointer"], fault["code"]) for fault in missing["errors"]] == [
        ("/zones/1", "not-found"),
        ("/zones/2", "twice"),
    ]
    reader = make_caller(Grant(frozenset({Right.READ}), everywhere=True))
    problem = json.loads(reader("POST", "/bulk/dnssec", unsign).content)
    assert (problem["code"], len(problem["errors"])) == ("forbidden", 2)


def test_rsa_keys_are_made_for_few_zones_at_once(api: MakeApi, make_zone: MakeZone) -> None:
    names = [make_zone(name=f"n{number}.test.").name for number in range(21)]
    refused = api().post(BULK, {"zones": names, "signed": True, "new_keys": {"algorithm": 8}}).json()
    assert refused["errors"][0]["pointer"] == "/new_keys/algorithm"


def test_keys_of_other_signers(api: MakeApi, make_zone: MakeZone) -> None:
    zone = make_zone()
    url = f"{URL}/other-keys"
    public = key_material.generate(13).public
    dnskey = key_material.dnskey_text(257, 13, public)
    body = {"dnskey": f"example.test. IN DNSKEY {dnskey}"}
    assert api().post(url, body).json()["code"] == "not-signed"
    api().patch(URL, {"signed": True})
    assert api().get(url).json()["items"] == []
    assert api().post(f"{url}?reason=second+provider", body).status_code == 202
    assert Publication.objects.latest("sequence").reason == "second provider"
    assert (api().post(url, body).status_code, api().post(url, body).json()["publication"]) == (200, None)
    [key] = api().get(url).json()["items"]
    tag = key_material.key_tag(257, 13, public)
    assert key | {"tag": tag, "algorithm_name": "ECDSAP256SHA256", "dnskey": dnskey} == key
    assert key["ds"][0] == key_material.ds_text(zone.name, 257, 13, public)
    refused = api().post(url, {"dnskey": "example.test. IN DNSKEY 257 3 13 !"})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/dnskey")
    other = key_material.dnskey_text(257, 15, key_material.generate(15).public)
    assert api().post(url, {"dnskey": f"example.test. IN DNSKEY {other}"}).json()["code"] == "dnssec-refused"
    assert api().delete(f"{url}/{tag}", headers={"If-Match": '"other"'}).json()["theirs"] == key
    assert api().delete(f"{url}/{tag}", headers={"If-Match": key["etag"]}).status_code == 202
    assert api().delete(f"{url}/{tag}").status_code == 404


def test_signalling_names_are_asked_for_and_given_up(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone()
    assert api().patch(URL, {"signalling": True}).json()["code"] == "not-signed"
    assert api().patch(URL, {"signed": True, "signalling": True}).json()["dnssec"]["signalling"] is True
    assert api().post(BULK, {"zones": ["example.test."], "signalling": False}).status_code == 200
    assert api().get(URL).json()["signalling"] is False


def test_signatures_that_a_zone_came_with(api: MakeApi, alice: User) -> None:
    zone = presigned_zone(alice, "www 300 A 192.0.2.1")
    found = api().get(URL).json()
    assert (found["signed"], found["presigned"], found["keys"]) == (True, True, [])
    assert found["signatures_end"] is not None
    assert api().patch(URL, {"signed": True, "cds": [2]}).json()["code"] == "dnssec-refused"
    assert api().patch(URL, {"signed": False}, headers={"If-Match": '"another"'}).status_code == 412
    dropped = api().patch(URL, {"signed": False})
    assert (dropped.status_code, dropped.json()["dnssec"]["signed"]) == (202, False)
    assert not queries.signing_of(zone).is_signed
    found = api().get(URL).json()
    assert (found["signed"], found["presigned"], found["signatures_end"]) == (False, False, None)


def test_many_zones_lose_their_signatures_as_one(
    api: MakeApi, make_zone: MakeZone, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [presigned_zone(alice, name=name).name for name in ("a.test.", "sub.example.test.")]
    body = {"zones": names, "signed": False}
    [_, key] = [queries.other_keys_of(zone)[0] for zone in Zone.objects.order_by("name")]
    parent = make_zone("sub 300 NS ns1.example.net.", f"sub 300 DS {key.ds('sub.example.test.')[0]}")
    plans = api().post(f"{BULK}?dry_run=true", body).json()["plans"]
    assert [(plan["drops_signatures"], plan["refusal"] is None) for plan in plans] == [(True, True), (False, False)]
    assert api().post(BULK, body).json()["errors"][0]["pointer"] == "/zones/1"
    assert queries.presigned_zones(Zone.objects.values_list("pk", flat=True))
    edit.delete_zone(zone=parent, acting=Acting(alice, "web", NOW))
    monkeypatch.setattr(pieces, "PIECE_RRSETS", 7)
    assert "one zone at a time" in api().post(BULK, body).json()["detail"]
    monkeypatch.undo()
    assert api().post(BULK, body).status_code == 202
    assert not queries.presigned_zones(Zone.objects.values_list("pk", flat=True))


def test_what_the_parent_has_is_read_and_requested_anew(api: MakeApi, make_zone: MakeZone) -> None:
    zone = make_zone()
    url = f"{URL}/parent"
    assert api().post(url).json()["code"] == "not-signed"
    sign.sign(zones=[zone], acting=Acting(None, Channel.SYSTEM, NOW))
    nothing = api().get(url).json()
    assert nothing | {"state": "unknown", "servers": [], "waiting": False, "known_at": None} == nothing
    waiting = api().post(url)
    assert (waiting.status_code, waiting.json()["waiting"]) == (202, True)
    assert AuditEntry.objects.filter(action="dnssec.ask_parent", target=zone.name).exists()
    [text] = [text for text in queries.keys_of(zone)[0].ds if text.split()[2] == "2"]
    ParentCheck.objects.filter(zone=zone).update(
        state="matches",
        message="The DS at the parent test. matches key 1, seen at 1 server.",
        parent="test.",
        found={"servers": {"a.test. 192.0.2.1": [text]}, "ttl": 3600},
        known_at=NOW,
        since=NOW,
        checked_at=timezone.now(),
    )
    found = api().get(url).json()
    assert found | {"state": "matches", "parent": "test.", "ds_ttl": 3600, "waiting": False, "silent": ""} == found
    assert found["servers"] == [{"server": "a.test. 192.0.2.1", "ds": [text]}]


def test_a_parent_here_that_one_may_not_read_has_no_name(
    api: MakeApi, make_zone: MakeZone, make_caller: MakeCaller
) -> None:
    make_zone("shop 3600 NS ns1.example.net.")
    child = make_zone(name="shop.example.test.")
    sign.sign(zones=[child], acting=Acting(None, Channel.SYSTEM, NOW))
    message = "The DS at the parent example.test. matches key 1, seen at 1 server."
    ParentCheck.objects.create(zone=child, due_at=NOW, state="matches", message=message, parent="example.test.")
    url = "/zones/shop.example.test./dnssec/parent"
    known = api().get(f"/api/v2{url}").json()
    assert (known["parent"], known["message"]) == ("example.test.", message)
    reader = make_caller(Grant(frozenset({Right.READ}), zones=frozenset({child.pk})))
    hidden = json.loads(reader("GET", url).content)
    assert hidden["parent"] is None
    assert "example.test. names" not in hidden["message"]
    assert "the parent, in this panel, matches key 1" in hidden["message"]


def test_every_node_says_what_it_answers(
    api: MakeApi, make_zone: MakeZone, active_node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_answers, "SECONDS", 0.2)
    zone = make_zone()
    active_node("ns1")
    active_node("ns2")
    Node.objects.update(dns_address="127.0.0.1", dns_port=free_port())
    url = f"{URL}/nodes"
    assert [each["has_last_change"] for each in api().get(url).json()["items"]] == [None, None]
    [publication] = sign.sign(zones=[zone], acting=Acting(None, Channel.SYSTEM, NOW))
    Node.objects.filter(name="ns2").update(epoch=publication.epoch, acked=publication.sequence)
    first, second = api().get(url).json()["items"]
    assert first == {
        "node": "ns1",
        "has_last_change": False,
        "verdict": "silent",
        "reason": first["reason"],
        "serial": None,
        "key_tags": [],
        "signature_ends": None,
    }
    assert first["reason"]
    assert second["has_last_change"] is True


def test_zones_that_do_not_validate_on_a_node_are_listed_page_by_page(
    api: MakeApi, make_zone: MakeZone, make_caller: MakeCaller, active_node: MakeNode
) -> None:
    nodes = [active_node(name) for name in ("ns1", "ns2")]
    zones = [make_zone(name=f"{name}.test.") for name in ("example", "other", "third")]
    problem = "asked for other.test. DNSKEY with DNSSEC, expected a good signature of its zone, found no RRSIG"
    terms = {"problem": problem, "since": NOW, "looked_at": NOW}
    for zone, node in ((zones[1], nodes[1]), (zones[0], nodes[0]), (zones[1], nodes[0])):
        UnprovenZone.objects.create(zone=zone, node=node, **terms)
    url = "/api/v2/dnssec/unproven"
    first = api().get(f"{url}?limit=2").json()
    assert first["items"][0] == {
        "zone": "other.test.",
        "node": "ns2",
        "problem": problem,
        "since": stamp(NOW),
        "looked_at": stamp(NOW),
    }
    second = api().get(first["next"]).json()
    found = [(each["zone"], each["node"]) for each in (*first["items"], *second["items"])]
    assert found == [("other.test.", "ns2"), ("example.test.", "ns1"), ("other.test.", "ns1")]
    assert second["next"] is None
    assert api().get(f"{url}?zone=other.test.").status_code == 422
    one = make_caller(Grant(frozenset({Right.READ}), zones=frozenset({zones[0].pk})))
    assert [each["zone"] for each in one.get("/dnssec/unproven")["items"]] == ["example.test."]
    counts = []
    for limit in (1, 3):
        with CaptureQueriesContext(connection) as queries_made:
            api().get(f"{url}?limit={limit}")
        counts.append(len(queries_made))
    assert counts[0] == counts[1]


def test_to_have_the_ds_deleted_takes_a_confirmation(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone()
    api().patch(URL, {"signed": True, "cds": [2]})
    many = {"zones": ["example.test."], "cds": [0]}
    for refused in (api().patch(URL, {"cds": [0]}), api().post(BULK, many)):
        assert (refused.status_code, refused.json()["code"]) == (409, "needs-confirmation")
    assert api().get(URL).json()["cds"] == [2]
    done = api().patch(URL, {"cds": [0], "confirm": True}).json()["dnssec"]
    assert (done["cds"], "will remove the DS" in done["polling"]) == ([0], True)
    assert api().post(BULK, many | {"cds": []}).status_code == 202
    assert api().get(URL).json()["cds"] == []
