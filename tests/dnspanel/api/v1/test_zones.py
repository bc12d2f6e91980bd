"""Tests of zones in API v1: list, create, read, change and delete, with every status."""

import json
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import User
from dnspanel.api import zone_syntax
from dnspanel.api.models import PowerdnsZone
from dnspanel.api.v1 import zones as zones_of_v1
from dnspanel.zones.models import Publication, Revision, RRset, Zone
from dnspanel.zones.plan import deletion_guard
from dnspanel.zones.publishing import edit, revision
from dnspanel.zones.values import soa
from replication.dns import rdata, rdata_forms, rdtypes
from tests.dnspanel.api.v1.conftest import Caller, MakeCaller, MakeZone, replace, rrset_of, texts
from tests.work import counted_patterns

ZONE = "example.test."
WWW = "www.example.test."
FIELDS = [
    "account",
    "api_rectify",
    "catalog",
    "dnssec",
    "edited_serial",
    "id",
    "kind",
    "last_check",
    "master_tsig_key_ids",
    "masters",
    "name",
    "notified_serial",
    "nsec3narrow",
    "nsec3param",
    "rrsets",
    "serial",
    "slave_tsig_key_ids",
    "soa_edit",
    "soa_edit_api",
    "url",
]
LISTED = [
    "account",
    "catalog",
    "dnssec",
    "edited_serial",
    "id",
    "kind",
    "last_check",
    "masters",
    "name",
    "notified_serial",
    "serial",
    "url",
]


def test_the_list_has_every_field_of_the_real_one(call: Caller, zone: Zone) -> None:
    [listed] = call.get("/zones")
    assert sorted(listed) == LISTED
    assert listed["url"] == "/api/v1/servers/localhost/zones/example.test."
    assert (listed["serial"], listed["edited_serial"], listed["kind"]) == (zone.serial, zone.serial, "Native")


def test_dnssec_false_leaves_out_what_is_slow_to_find_out_elsewhere(call: Caller, zone: Zone) -> None:
    [listed] = call.get("/zones?dnssec=false")
    assert sorted(set(LISTED) - set(listed)) == ["dnssec", "edited_serial"]


def test_one_zone_can_be_looked_up_by_name(call: Caller, make_zone: MakeZone) -> None:
    make_zone()
    make_zone(name="other.test.")
    assert [each["name"] for each in call.get("/zones?zone=OTHER.test.")] == ["other.test."]
    assert call.get("/zones?zone=absent.test.") == []
    refused = call("GET", "/zones?zone=other.test")
    assert (refused.status_code, texts(refused)) == (422, "DNS Name 'other.test' is not canonical")


def test_listing_takes_three_queries_however_many_zones(
    call: Caller, make_zone: MakeZone, django_assert_num_queries: object
) -> None:
    for number in range(5):
        make_zone(name=f"z{number}.test.")
    call.get("/zones")
    with django_assert_num_queries(3):  # type: ignore[operator]
        assert len(call.get("/zones")) == 5


def test_a_zone_has_every_field_of_the_real_one(call: Caller, zone: Zone) -> None:
    found = call.get(f"/zones/{ZONE}")
    assert sorted(found) == FIELDS
    assert (found["soa_edit_api"], found["soa_edit"]) == ("INCREASE", "")
    www = next(rrset for rrset in found["rrsets"] if rrset["name"] == WWW)
    assert www == {
        "comments": [],
        "name": WWW,
        "records": [{"content": "192.0.2.1", "disabled": False}, {"content": "192.0.2.2", "disabled": False}],
        "ttl": 300,
        "type": "A",
    }


def test_a_zone_is_read_in_three_queries(call: Caller, zone: Zone, django_assert_num_queries: object) -> None:
    call.get(f"/zones/{ZONE}")
    with django_assert_num_queries(3):  # type: ignore[operator]
        call.get(f"/zones/{ZONE}")


def test_the_name_of_an_rrset_stands_before_its_records(call: Caller, zone: Zone) -> None:
    text = call("GET", f"/zones/{ZONE}").content.decode()
    at = text.index(f'"name": "{WWW}"')
    assert "]" not in text[at : text.index('"records"', at)]


def test_rrsets_can_be_left_out_or_chosen(call: Caller, zone: Zone) -> None:
    assert "rrsets" not in call.get(f"/zones/{ZONE}?rrsets=false")
    chosen = call.get(f"/zones/{ZONE}?rrset_name=WWW.example.test&rrset_type=a")["rrsets"]
    assert [(rrset["name"], rrset["type"]) for rrset in chosen] == [(WWW, "A")]
    assert call.get(f"/zones/{ZONE}?rrset_name={WWW}&rrset_type=TXT")["rrsets"] == []
    assert call.get(f"/zones/{ZONE}?rrset_name={WWW}&rrset_type=NONSENSE")["rrsets"] == []
    assert call.get(f"/zones/{ZONE}?rrset_name=elsewhere.test.")["rrsets"] == []
    refused = call("GET", f"/zones/{ZONE}?rrsets=perhaps")
    assert refused.status_code == 422
    assert "'rrsets' request parameter value 'perhaps' is not supported" in texts(refused)


def test_a_zone_is_created_with_its_nameservers(call: Caller) -> None:
    made = call("POST", "/zones", {"name": ZONE, "kind": "Native", "nameservers": ["ns1.example.test.", "ns2.test."]})
    assert made.status_code == 201
    found = json.loads(made.content)
    assert sorted(found) == FIELDS
    ns, soa = found["rrsets"]
    assert (ns["type"], soa["type"]) == ("NS", "SOA")
    assert soa["records"][0]["content"].startswith("ns1.example.test. ")
    assert [record["content"] for record in ns["records"]] == ["ns1.example.test.", "ns2.test."]
    published = Publication.objects.get()
    assert (published.channel, published.token is not None) == ("api", True)


@pytest.mark.parametrize(
    ("fields", "first", "following"),
    [
        ({}, "{today}01", "{today}02"),
        ({"soa_edit_api": "DEFAULT", "serial": 7}, "{today}01", "{today}02"),
        ({"soa_edit_api": "INCREASE"}, "1", "2"),
        ({"soa_edit_api": "INCREASE", "serial": 7}, "8", "9"),
        ({"soa_edit_api": "EPOCH"}, "{epoch}", "{epoch}"),
        ({"soa_edit_api": "INCREASE", "soa_edit": "EPOCH"}, "{epoch}", "{epoch}"),
    ],
)
def test_serials_begin_and_move_as_soa_edit_says(
    call: Caller, fields: dict[str, object], first: str, following: str
) -> None:
    """Regression test: serials began with 1 and grew by 1, so secondaries with a higher serial kept old data."""
    made = call("POST", "/zones", {"name": ZONE, "kind": "Native", **fields})
    assert made.status_code == 201, made.content
    assert _looks(json.loads(made.content)["serial"], first)
    assert call.patch(ZONE, replace(WWW, "A", "192.0.2.1")).status_code == 204
    assert _looks(call.get(f"/zones/{ZONE}")["serial"], following)


def _looks(serial: int, form: str) -> bool:
    """Return True if the serial matches the form. Times within the last ten minutes match."""
    now = timezone.now()
    if form == "{epoch}":
        return int(now.timestamp()) - 600 <= serial <= int(now.timestamp()) + 1
    days = (now, now - timedelta(minutes=10))
    return str(serial) in {form.format(today=f"{day:%Y%m%d}") for day in days}


def test_a_change_of_soa_edit_api_counts_from_the_next_change_on(call: Caller, zone: Zone) -> None:
    assert call("PUT", f"/zones/{ZONE}", {"soa_edit_api": "EPOCH"}).status_code == 204
    found = call.get(f"/zones/{ZONE}")
    assert (found["serial"], found["soa_edit_api"]) == (zone.serial, "EPOCH")
    call.patch(ZONE, replace(WWW, "A", "192.0.2.9"))
    assert _looks(call.get(f"/zones/{ZONE}")["serial"], "{epoch}")
    refused = call("PUT", f"/zones/{ZONE}", {"soa_edit": "sometimes"})
    assert (refused.status_code, texts(refused)) == (
        422,
        "soa_edit can’t be sometimes. Leave it empty or choose one of these values: "
        "NONE, EPOCH, INCEPTION-EPOCH, INCEPTION-INCREMENT.",
    )


def test_a_zone_created_without_nameservers_has_ours(call: Caller) -> None:
    made = call("POST", "/zones?rrsets=false", {"name": ZONE, "kind": "Native"})
    assert made.status_code == 201
    assert "rrsets" not in json.loads(made.content)
    found = rrset_of(call, ZONE, ZONE, "NS")
    assert found is not None
    assert [record["content"] for record in found["records"]] == ["ns1.example.net.", "ns2.example.net."]


def test_the_whole_zone_object_can_be_sent_back_as_a_new_zone(call: Caller, zone: Zone) -> None:
    found = call.get(f"/zones/{ZONE}")
    assert call("DELETE", f"/zones/{ZONE}").status_code == 204
    found = {**found, "type": "Zone", "nameservers": None, "presigned": None}
    made = call("POST", "/zones", found, content_type="application/json")
    assert made.status_code == 201, made.content
    again, soa_then = json.loads(made.content)["rrsets"], found["rrsets"][1]["records"][0]
    soa_then["content"] = soa_then["content"].replace(" 1 ", " 2 ")  # the serial is given, and grows
    assert again == found["rrsets"]


def test_a_zone_is_created_from_zone_text(call: Caller) -> None:
    text = (
        "$TTL 1h\n@ IN SOA ns1 hostmaster 7 3h 15 1w 3h\n@ NS ns1\n@ NS ns2.test.\n"
        "ns1 A 192.0.2.1\nwww CNAME ns1\n@ IN SOA ns1 hostmaster 7 3h 15 1w 3h\n"
    )
    made = call("POST", "/zones", {"name": ZONE, "kind": "Master", "nameservers": [], "zone": text})
    assert made.status_code == 201, made.content
    # The serial of the text, changed by SOA-EDIT-API, as in PowerDNS.
    assert json.loads(made.content)["serial"] == soa.first_serial(timezone.now()).value
    assert RRset.objects.filter(name=WWW, type=rdtypes.CNAME, rdata=["ns1.example.test."]).exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("@ NS ns1.test.\nother.org. 300 IN AAAA 2001:db8::1\n", "RRset other.org. IN AAAA: Name is out of zone"),
        ("@ NS ns1.test.\n@ CNAME www.test.\n", "Conflicts with another RRset"),
        ("flags: qr aa rd\n", "line 1"),
        ("$INCLUDE other.zone\n", "other.zone"),
    ],
)
def test_zone_text_with_a_fault_makes_no_zone(call: Caller, text: str, words: str) -> None:
    refused = call("POST", "/zones", {"name": ZONE, "kind": "Native", "nameservers": [], "zone": text})
    assert refused.status_code == 422
    assert words in texts(refused)
    assert not Zone.objects.exists()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"name": "example.test"}, "DNS Name 'example.test' is not canonical"),
        ({"name": ""}, "is not canonical"),
        ({"name": "a..test."}, "Unable to parse DNS Name"),
        ({"name": "a:b.test."}, "contains unsupported characters"),
        ({"name": 5}, "Key 'name' not present or not a String"),
        ({"kind": None}, "Key 'kind' not present or not a String"),
        ({"kind": "Producer", "dnssec": True}, "is not signed"),
        ({"dnssec": True, "nsec3param": "bad"}, "are invalid"),
        ({"nsec3param": "1 0 0 -"}, "not DNSSEC secured"),
        ({"nameservers": ["ns1.test"]}, "Nameserver is not canonical"),
        ({"nameservers": [{"a": 1}]}, "Nameservers"),
        ({"nameservers": "ns1.test."}, "nameservers"),
        ({"rrsets": [], "zone": "@ A 192.0.2.1"}, "You cannot give rrsets AND zone data as text"),
        ({"rrsets": [{"name": "x.org.", "type": "A", "ttl": 1, "records": []}]}, "x.org. IN A: Name is out of zone"),
        ({"rrsets": [{"name": WWW, "type": "A", "records": [{"content": "192.0.2.1"}]}]}, "Key 'ttl'"),
        ({"masters": ["nonsense"]}, "Master (nonsense) is not an IP address"),
        ({"account": "x" * 41}, "account"),
        ({"slave_tsig_key_ids": ["k"]}, "has no masters to be transferred from"),
        (
            {
                "nameservers": ["ns1.test."],
                "rrsets": [{"name": ZONE, "type": "NS", "ttl": 1, "records": [{"content": "ns2.test."}]}],
            },
            "Nameservers list MUST NOT be mixed with zone-level NS in rrsets",
        ),
    ],
)
def test_what_makes_no_zone(call: Caller, more: dict[str, object], words: str) -> None:
    refused = call("POST", "/zones", {"name": ZONE, "kind": "Native", **more})
    assert refused.status_code == 422
    assert words in texts(refused)
    assert not Zone.objects.exists()


def test_a_zone_that_exists_is_a_conflict(call: Caller, zone: Zone) -> None:
    refused = call("POST", "/zones", {"name": "Example.test.", "kind": "Native"})
    assert (refused.status_code, texts(refused)) == (409, "Conflict")


def test_a_zone_with_a_slash_in_its_name_is_found_by_its_escaped_id(call: Caller) -> None:
    made = call("POST", "/zones", {"name": "0/25.2.0.192.test.", "kind": "Native"})
    id = json.loads(made.content)["id"]
    assert id == "0=2F25.2.0.192.test."
    assert call.get(f"/zones/{id}")["name"] == "0/25.2.0.192.test."
    assert call.get(f"/zones/{id.rstrip('.')}")["name"] == "0/25.2.0.192.test."


@pytest.mark.parametrize("slash", ["/", "%2F", "%2f", "=2F"])
def test_a_slash_in_an_id_may_be_written_in_every_way(call: Caller, make_zone: MakeZone, slash: str) -> None:
    """Regression test: Terraform and DNSControl know only names and may quote the slash, but only `=2F` was found."""
    name = "0/25.2.0.192.in-addr.arpa."
    make_zone(name=name)
    id = name.replace("/", slash)
    assert call.get(f"/zones/{id}")["name"] == name
    assert call.patch(id, replace(f"1.{name}", "PTR", "host.test.")).status_code == 204
    assert call("PUT", f"/zones/{id}", {"account": "x"}).status_code == 204
    assert call("POST", f"/zones/{id}/metadata", {"kind": "X-A", "metadata": ["1"]}).status_code == 201
    assert call.get(f"/zones/{id}/metadata/X-A")["metadata"] == ["1"]
    assert call.get(f"/zones/{id}/cryptokeys") == []
    assert "host.test." in call.get(f"/zones/{id}/export")["zone"]
    assert call("PUT", f"/zones/{id}/rectify").status_code == 200
    assert call("DELETE", f"/zones/{id}").status_code == 204
    assert call("GET", f"/zones/{id}").status_code == 404


@pytest.mark.parametrize(
    "lost",
    [
        {"name": ZONE, "type": "SOA", "changetype": "DELETE"},
        {"name": ZONE, "type": "SOA", "changetype": "REPLACE", "ttl": 300, "records": []},
    ],
)
def test_a_soa_that_is_deleted_stays_and_the_rest_of_the_patch_holds(
    call: Caller, zone: Zone, lost: dict[str, object]
) -> None:
    """Regression test: DNSControl deletes a SOA that its list lacks. It got 422, so none of its changes succeeded."""
    before = rrset_of(call, ZONE, ZONE, "SOA")
    assert call.patch(ZONE, lost).status_code == 204
    assert rrset_of(call, ZONE, ZONE, "SOA") == before
    assert call.patch(ZONE, lost, replace(WWW, "A", "192.0.2.9")).status_code == 204
    [record] = (rrset_of(call, ZONE, ZONE, "SOA") or {})["records"]
    assert record["content"].startswith("ns1.example.net. hostmaster.example.net. ")
    assert (rrset_of(call, ZONE, WWW, "A") or {})["records"] == [{"content": "192.0.2.9", "disabled": False}]


def test_the_root_zone_has_an_id_of_its_own(call: Caller, settings: Any) -> None:
    settings.REFUSED_SUFFIXES = []
    made = call("POST", "/zones", {"name": ".", "kind": "Native"})
    assert made.status_code == 201, made.content
    assert json.loads(made.content)["id"] == "=2E"
    assert call.get("/zones/=2E")["name"] == "."


def test_a_patch_is_one_revision_and_says_both_serials(call: Caller, zone: Zone) -> None:
    done = call.patch(
        ZONE,
        replace(WWW, "A", "192.0.2.7"),
        {"name": "mail.example.test.", "type": "A", "changetype": "delete", "records": None},
        replace("new.example.test.", "TXT", '"one"', '"two"'),
    )
    assert (done.status_code, done.content) == (204, b"")
    assert "Content-Type" not in done
    zone.refresh_from_db()
    assert done["X-PDNS-Old-Serial"] == str(zone.serial - 1)
    assert done["X-PDNS-New-Serial"] == str(zone.serial)
    latest = Revision.objects.filter(zone=zone).latest("number")
    assert (latest.number, latest.added, latest.changed, latest.removed) == (2, 1, 1, 1)


def test_replacing_what_is_so_already_publishes_nothing(call: Caller, zone: Zone) -> None:
    done = call.patch(ZONE, replace(WWW, "A", "192.0.2.2", "192.0.2.1"))
    assert done.status_code == 204
    assert done["X-PDNS-Old-Serial"] == done["X-PDNS-New-Serial"]
    assert Publication.objects.count() == 1


def test_two_challenges_live_side_by_side(call: Caller, zone: Zone) -> None:
    name = "_acme-challenge.example.test."
    for text in ('"one"', '"two"', '"two"'):
        extend = {**replace(name, "TXT", text), "changetype": "EXTEND"}
        assert call.patch(ZONE, extend).status_code == 204
    assert [r["content"] for r in (rrset_of(call, ZONE, name, "TXT") or {})["records"]] == ['"one"', '"two"']
    prune = {**replace(name, "TXT", '"one"'), "changetype": "PRUNE"}
    assert call.patch(ZONE, prune).status_code == 204
    assert [r["content"] for r in (rrset_of(call, ZONE, name, "TXT") or {})["records"]] == ['"two"']
    del prune["ttl"]
    prune["records"][0]["content"] = '"two"'
    assert call.patch(ZONE, prune).status_code == 204
    assert rrset_of(call, ZONE, name, "TXT") is None


def test_an_empty_list_deletes(call: Caller, zone: Zone) -> None:
    assert call.patch(ZONE, replace(WWW, "A")).status_code == 204
    assert rrset_of(call, ZONE, WWW, "A") is None


def test_what_is_not_there_can_be_deleted_too(call: Caller, zone: Zone) -> None:
    absent = {"name": "absent.example.test.", "type": "A", "changetype": "DELETE"}
    outside = {"name": "outside.org.", "type": "A", "changetype": "DELETE"}
    assert call.patch(ZONE, absent, outside).status_code == 204
    assert Publication.objects.count() == 1


@pytest.mark.parametrize(
    ("rrset", "words"),
    [
        ("text", "Key 'changetype' not present or not a String"),
        ({"name": WWW, "type": "A"}, "Key 'changetype' not present or not a String"),
        ({**replace(WWW, "A", "192.0.2.1"), "changetype": "FOO"}, "Changetype not understood"),
        (replace("www.example.test", "A", "192.0.2.1"), "DNS Name 'www.example.test' is not canonical"),
        (replace("www.other.test.", "A", "192.0.2.1"), "RRset www.other.test. IN A: Name is out of zone"),
        (replace("a:b.example.test.", "A", "192.0.2.1"), "contains unsupported characters"),
        (replace(WWW, "FAFAFA", "x"), "unknown type given"),
        (replace(WWW, "OPT", "9"), "OPT: invalid type given"),
        (replace(WWW, "A", "x"), "Record www.example.test./A 'x'"),
        (replace(WWW, "A", " 192.0.2.1"), "Not in expected format"),
        (replace("x.example.test.", "MX", "10 mail"), "Not in expected format (parsed as '10 mail.')"),
        (replace("x.example.test.", "MX", "10 a@b.test."), "non-hostname content"),
        (replace("x.example.test.", "CNAME", "@"), "Not in expected format"),
        (replace("x.example.test.", "TXT", "x"), "Not in expected format (parsed as '\"x\"')"),
        (replace(WWW, "A", "192.0.2.1", "192.0.2.1"), "Duplicate record in RRset www.example.test. IN A"),
        (replace(WWW, "A", "192.0.2.1", ttl=-1), "Value for key 'ttl' is out of range"),
        (replace(WWW, "A", "192.0.2.1", ttl=2**31), "Value for key 'ttl' is out of range"),
        ({**replace(WWW, "A", "192.0.2.1"), "ttl": "soon"}, "Key 'ttl' not an Integer"),
        ({**replace(WWW, "A", "192.0.2.1"), "ttl": None}, "Key 'ttl' not an Integer or not present"),
        ({**replace(WWW, "A"), "records": None}, "No change for RRset www.example.test. IN A"),
        ({**replace(WWW, "A"), "records": [{"content": 5}]}, "Key 'content' not present or not a String"),
        ({**replace(WWW, "A"), "records": ["x"]}, "Key 'content' not present or not a String"),
        ({**replace(WWW, "A"), "records": [{"content": "192.0.2.1", "disabled": "no"}]}, "Key 'disabled'"),
        ({**replace(WWW, "A", "192.0.2.1", "192.0.2.2"), "changetype": "EXTEND"}, "exactly one record"),
        ({**replace(WWW, "A"), "changetype": "PRUNE"}, "exactly one record"),
        (replace("shop.example.test.", "A", "192.0.2.1"), "shop.example.test. IN CNAME: Conflicts with pre-existing"),
        (replace("x.example.test.", "CNAME", "a.test.", "b.test."), "IN CNAME has more than one record"),
        (replace(ZONE, "CNAME", "a.test."), "Conflicts with pre-existing RRset"),
        (replace(WWW, "SOA", "a.test. b.test. 1 2 3 4 5"), "SOA is only allowed at apex"),
        (replace(ZONE, "DS", "1 13 2 " + "ab" * 32), "Record example.test. IN DS is not allowed at apex"),
        (replace(WWW, "DNSKEY", "257 3 13 AAAA"), "Record www.example.test. IN DNSKEY is only allowed at apex"),
        ({"name": ZONE, "type": "NS", "changetype": "DELETE"}, "must have at least one NS record"),
        ({**replace(WWW, "A"), "records": None, "comments": [{"content": 1}]}, "Key 'content'"),
        (
            {**replace(WWW, "A"), "records": None, "comments": [{"content": "x", "modified_at": "4294967297"}]},
            "Value for key 'modified_at' is out of range",
        ),
        ({**replace("x.example.test.", "A"), "records": None, "comments": [{"content": "x"}]}, "no records"),
    ],
)
def test_one_bad_rrset_refuses_all_and_is_named(call: Caller, zone: Zone, rrset: object, words: str) -> None:
    refused = call("PATCH", f"/zones/{ZONE}", {"rrsets": [replace("good.example.test.", "A", "192.0.2.1"), rrset]})
    assert refused.status_code == 422, refused.content
    assert refused["Content-Type"] == "application/json"
    assert words in texts(refused)
    assert not RRset.objects.filter(name="good.example.test.").exists()
    assert Publication.objects.count() == 1


def test_a_patch_without_rrsets_is_refused_and_one_with_none_is_not(call: Caller, zone: Zone) -> None:
    bodies: list[object] = [{}, [], {"rrsets": {}}, {"rrsets": None}]
    for body in bodies:
        refused = call("PATCH", f"/zones/{ZONE}", body)
        assert (refused.status_code, texts(refused)) == (422, "No rrsets given in update request")
    assert call("PATCH", f"/zones/{ZONE}", {"rrsets": []}).status_code == 204


def test_one_rrset_may_be_deleted_and_replaced_but_not_replaced_twice(call: Caller, zone: Zone) -> None:
    delete = {"name": WWW, "type": "A", "changetype": "DELETE"}
    assert call.patch(ZONE, delete, replace(WWW, "A", "192.0.2.9")).status_code == 204
    refused = call.patch(ZONE, replace(WWW, "A", "192.0.2.1"), replace("WWW.example.test.", "a", "192.0.2.2"))
    assert refused.status_code == 422
    assert "Duplicate RRset www.example.test. IN A with changetype: REPLACE" in texts(refused)


def test_what_clients_send_besides_is_ignored(call: Caller, zone: Zone) -> None:
    rrset = {
        "name": WWW,
        "type": "A",
        "ttl": "600",
        "changetype": "Replace",
        "kind": None,
        "comments": [],
        "records": [{"content": "192.0.2.1", "name": WWW, "type": "A", "ttl": 600, "set-ptr": False, "disabled": None}],
    }
    body = {"id": ZONE, "kind": "Native", "name": ZONE, "serial": 5, "url": "", "rrsets": [rrset]}
    assert call("PATCH", f"/zones/{ZONE}", body).status_code == 204
    assert (rrset_of(call, ZONE, WWW, "A") or {})["ttl"] == 600


def test_a_disabled_record_is_kept_and_not_served(call: Caller, zone: Zone) -> None:
    rrset = replace(WWW, "A", "192.0.2.1", "192.0.2.2")
    rrset["records"][1]["disabled"] = True
    assert call.patch(ZONE, rrset).status_code == 204
    assert (rrset_of(call, ZONE, WWW, "A") or {})["records"] == rrset["records"]
    assert "192.0.2.2" not in call.get(f"/zones/{ZONE}/export")["zone"]


def test_a_client_that_sends_its_own_soa_works(call: Caller, zone: Zone) -> None:
    low = replace(ZONE, "SOA", "ns1.example.net. hostmaster.example.net. 0 10800 3600 604800 3600", ttl=3600)
    high = replace(
        ZONE, "SOA", f"ns1.example.net. new.example.net. {zone.serial + 50} 10800 3600 604800 3600", ttl=3600
    )
    assert call.patch(ZONE, low).status_code == 204
    done = call.patch(ZONE, high)
    assert done["X-PDNS-New-Serial"] == str(zone.serial + 50)
    low["records"][0]["content"] = low["records"][0]["content"].replace("hostmaster", "third")
    assert call.patch(ZONE, low)["X-PDNS-New-Serial"] == str(zone.serial + 51)


def test_comments_come_back_as_they_were_given_and_survive_new_records(call: Caller, zone: Zone) -> None:
    comments = [{"account": "me", "content": "oh hi there", "modified_at": 1111}]
    only = {"name": WWW, "type": "A", "changetype": "REPLACE", "comments": comments}
    assert call.patch(ZONE, only).status_code == 204
    assert (rrset_of(call, ZONE, WWW, "A") or {})["comments"] == comments
    assert RRset.objects.get(name=WWW).comment == "oh hi there"
    assert call.patch(ZONE, replace(WWW, "A", "192.0.2.9")).status_code == 204
    assert (rrset_of(call, ZONE, WWW, "A") or {})["comments"] == comments
    assert call.patch(ZONE, {**only, "comments": []}).status_code == 204
    assert (rrset_of(call, ZONE, WWW, "A") or {})["comments"] == []
    assert RRset.objects.get(name=WWW).comment == ""


def test_settings_without_a_meaning_here_are_kept_and_read_back(call: Caller, zone: Zone) -> None:
    sent = {
        "kind": "master",
        "account": "me",
        "masters": ["192.0.2.1", "[2001:db8::1]:53"],
        "soa_edit": "EPOCH",
        "soa_edit_api": "",
        "api_rectify": True,
        "catalog": "cat.test.",
        "nonsense": 1,
        "id": None,
    }
    assert call("PUT", f"/zones/{ZONE}", sent).status_code == 204
    found = call.get(f"/zones/{ZONE}")
    assert found["kind"] == "Master"
    for field in ("account", "masters", "soa_edit", "soa_edit_api", "api_rectify", "catalog"):
        assert found[field] == sent[field]
    assert found["notified_serial"] == found["serial"]
    assert Publication.objects.count() == 1
    assert call("PUT", f"/zones/{ZONE}", {"kind": None, "account": 5}).status_code == 204
    assert call.get("/zones")[0]["account"] == "me"


def test_put_with_rrsets_replaces_the_whole_content(call: Caller, zone: Zone) -> None:
    found = call.get(f"/zones/{ZONE}")["rrsets"]
    keep = [rrset for rrset in found if rrset["type"] in {"SOA", "NS"}]
    body = {"rrsets": [*keep, replace("new.example.test.", "A", "192.0.2.1")]}
    done = call("PUT", f"/zones/{ZONE}", body)
    assert done.status_code == 204
    assert "X-PDNS-New-Serial" in done
    assert {rrset["type"] for rrset in call.get(f"/zones/{ZONE}")["rrsets"]} == {"SOA", "NS", "A"}
    assert not RRset.objects.filter(name=WWW).exists()
    refused = call("PUT", f"/zones/{ZONE}", {"rrsets": [r for r in body["rrsets"] if r["type"] != "SOA"]})
    assert refused.status_code == 422
    assert "SOA" in texts(refused)


def test_a_deleted_zone_is_gone(call: Caller, zone: Zone) -> None:
    done = call("DELETE", f"/zones/{ZONE}")
    assert (done.status_code, "Content-Type" in done) == (204, False)
    for method in ("GET", "DELETE", "PATCH", "PUT"):
        again = call(method, f"/zones/{ZONE}", {"rrsets": []})
        assert again.status_code == 404
        assert texts(again).startswith(f"The zone {ZONE} was moved to the trash on ")


def test_who_deletes_many_zones_within_minutes_is_asked_to_confirm(call: Caller, make_zone: MakeZone) -> None:
    few = deletion_guard.MASS_FEW
    names = [f"mass{number:02}.test." for number in range(few + 1)]
    for name in names:
        make_zone(name=name)
    for name in names[:few]:
        assert call("DELETE", f"/zones/{name}").status_code == 204
    refused = call("DELETE", f"/zones/{names[few]}")
    assert refused.status_code == 422
    assert texts(refused).endswith("Send it with ?confirm=true, or use a token that may delete many zones.")
    assert call("GET", f"/zones/{names[few]}").status_code == 200
    assert call("DELETE", f"/zones/{names[few]}?confirm=true").status_code == 204


def test_a_token_that_deletes_many_is_never_asked(
    make_caller: MakeCaller, make_zone: MakeZone, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Terraform destroys all its zones and cannot confirm."""
    monkeypatch.setattr(deletion_guard, "MASS_FEW", 1)
    for number in range(3):
        make_zone(name=f"mass{number}.test.")
    many = make_caller(deletes_many=True)
    assert [many("DELETE", f"/zones/mass{number}.test.").status_code for number in range(3)] == [204, 204, 204]


def test_a_zone_outside_of_the_scope_does_not_exist(make_caller: MakeCaller, make_zone: MakeZone, zone: Zone) -> None:
    make_zone(name="other.test.")
    narrow = make_caller(Grant(frozenset({Right.READ, Right.CHANGE}), zones=frozenset({zone.pk})))
    assert [each["name"] for each in narrow.get("/zones")] == [ZONE]
    for method in ("GET", "PATCH", "PUT", "DELETE"):
        assert narrow(method, "/zones/other.test.", {"rrsets": []}).status_code == 404
    assert narrow("POST", "/zones", {"name": "third.test.", "kind": "Native"}).status_code == 403
    assert narrow("POST", "/zones", {"name": "other.test.", "kind": "Native"}).status_code == 403


def test_an_acme_token_changes_its_challenge_sees_it_alone_and_nothing_else(
    make_caller: MakeCaller, zone: Zone
) -> None:
    rights = frozenset({Right.READ, Right.ADD, Right.CHANGE, Right.REMOVE})
    acme = make_caller(
        Grant(rights, zones=frozenset({zone.pk}), names=("_acme-challenge",), types=frozenset({rdtypes.TXT}))
    )
    challenge = replace("_acme-challenge.example.test.", "TXT", '"x"')
    assert acme.patch(ZONE, challenge).status_code == 204
    assert [rrset["type"] for rrset in acme.get(f"/zones/{ZONE}")["rrsets"]] == ["TXT"]
    assert acme("PUT", f"/zones/{ZONE}/notify").status_code == 200
    refused = acme.patch(ZONE, replace(WWW, "A", "192.0.2.9"))
    assert refused.status_code == 403
    assert "You don’t have permission to change A www.example.test." in texts(refused)
    assert acme("DELETE", f"/zones/{ZONE}").status_code == 403
    assert acme("PUT", f"/zones/{ZONE}", {"account": "me"}).status_code == 403


def test_a_hostile_txt_of_an_acme_client_costs_what_it_is_long(make_caller: MakeCaller, zone: Zone) -> None:
    """Issue 14: a text with parentheses or a comment once stopped the panel. API v1 refuses it before parsing."""
    rights = frozenset({Right.READ, Right.ADD, Right.CHANGE, Right.REMOVE})
    scope = Grant(rights, zones=frozenset({zone.pk}), names=("_acme-challenge",), types=frozenset({rdtypes.TXT}))
    acme, name, size = make_caller(scope), "_acme-challenge.example.test.", 60_000
    with counted_patterns(rdata_forms, zone_syntax) as steps:
        for content in (
            '"a"' + " " * size + "x",
            '"a" ' * (size // 40) + '"',
            '"a" ' + "\\" * (size // 10),
            '("a")' + " " * size + "x",
        ):
            refused = acme.patch(ZONE, replace(name, "TXT", content))
            assert refused.status_code == 422
            assert f"Record {name}/TXT '" in texts(refused)
            assert len(texts(refused)) < 1000
            assert steps() < 20 * size
        refused = acme.patch(ZONE, replace(name, "TXT", '"a" ' * rdata.MAX_RDATA + "x"))
    assert refused.status_code == 422
    assert f"the value has {4 * rdata.MAX_RDATA + 1} characters, but at most {rdata.MAX_TEXT} are allowed" in texts(
        refused
    )


def test_a_reader_reads_and_changes_nothing(make_caller: MakeCaller, charlie: User, zone: Zone) -> None:
    reader = make_caller(Grant(frozenset({Right.READ}), everywhere=True), owner=charlie)
    assert reader.get(f"/zones/{ZONE}")["name"] == ZONE
    for method, path in [("PATCH", ""), ("PUT", ""), ("DELETE", ""), ("PUT", "/notify"), ("PUT", "/rectify")]:
        body = {"rrsets": [replace(WWW, "A", "192.0.2.9")]} if method == "PATCH" else {"account": "x"}
        assert reader(method, f"/zones/{ZONE}{path}", body).status_code == 403
    assert Publication.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_ten_patches_at_once_all_succeed(call: Caller, zone: Zone) -> None:
    codes: list[int] = []

    def patch(number: int) -> None:
        codes.append(call.patch(ZONE, replace(f"h{number}.example.test.", "A", "192.0.2.1")).status_code)
        extend = {**replace("all.example.test.", "A", f"192.0.2.{number}"), "changetype": "EXTEND"}
        codes.append(call.patch(ZONE, extend).status_code)
        connection.close()

    threads = [Thread(target=patch, args=[number]) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert codes == [204] * 20
    assert len((rrset_of(call, ZONE, "all.example.test.", "A") or {})["records"]) == 10
    assert Revision.objects.filter(zone=zone).count() == 21


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("fails", ["append_publication", "keep_comments", "keep_attributes"])
def test_content_comments_and_attributes_are_written_together_or_not_at_all(
    call: Caller, zone: Zone, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    """Regression test: a crash after the publication lost comments and attributes."""
    comments = [{"account": "me", "content": "oh hi", "modified_at": 1111}]
    changed = [replace(WWW, "A", "192.0.2.77", comments=comments) if r["name"] == WWW else r for r in _rrsets(call)]
    body = {"rrsets": changed, "account": "me"}
    before = call.get(f"/zones/{ZONE}")

    def crash(**how: object) -> None:
        raise OSError("the process ends here")

    module = revision if fails == "append_publication" else zones_of_v1
    with monkeypatch.context() as patched:
        patched.setattr(module, fails, crash)
        with pytest.raises(OSError, match="ends here"):
            call("PUT", f"/zones/{ZONE}", body)
        text = replace("new.test.", "TXT", '"x"', comments=comments)
        created = {"name": "new.test.", "kind": "Native", "account": "me", "rrsets": [text]}
        patched.setattr(edit, "append_publication", crash)
        with pytest.raises(OSError, match="ends here"):
            call("POST", "/zones", created)
    assert call.get(f"/zones/{ZONE}") == before
    assert not Zone.objects.filter(name="new.test.").exists()
    assert not PowerdnsZone.objects.exists()
    assert call("PUT", f"/zones/{ZONE}", body).status_code == 204
    assert (rrset_of(call, ZONE, WWW, "A") or {})["comments"] == comments
    assert call.get(f"/zones/{ZONE}")["account"] == "me"


def _rrsets(call: Caller) -> list[dict[str, object]]:
    rrsets: list[dict[str, object]] = call.get(f"/zones/{ZONE}")["rrsets"]
    return rrsets


def test_a_zone_in_the_trash_says_so_to_who_may_know_of_it(
    call: Caller, make_caller: MakeCaller, make_zone: MakeZone, zone: Zone
) -> None:
    other = make_zone("www 300 A 192.0.2.1", name="other.test.")
    assert call("DELETE", f"/zones/{ZONE}").status_code == 204
    for method, path in (("GET", ""), ("PUT", ""), ("DELETE", ""), ("GET", "/export"), ("GET", "/metadata")):
        refused = call(method, f"/zones/{ZONE}{path}", {} if method == "PUT" else None)
        assert refused.status_code == 404
        assert json.loads(refused.content)["error"].startswith(f"The zone {ZONE} was moved to the trash on ")
    narrow = make_caller(Grant(frozenset({Right.READ}), zones=frozenset({other.pk})))
    refused = narrow("GET", f"/zones/{ZONE}")
    assert (refused.status_code, json.loads(refused.content)) == (404, {"error": "Not Found"})


def test_a_value_that_nodes_cannot_read_back_is_refused(call: Caller, zone: Zone) -> None:
    refused = call("PATCH", f"/zones/{ZONE}?wait=all", {"rrsets": [replace(WWW, "CAA", '0 issue ""')]})
    assert refused.status_code == 422
    assert "SERVFAIL" in texts(refused)
    rrsets = [replace("www.new.test.", "CAA", '0 issue ""')]
    refused = call("POST", "/zones", {"name": "new.test.", "kind": "Native", "rrsets": rrsets})
    assert (refused.status_code, "SERVFAIL" in texts(refused)) == (422, True)
