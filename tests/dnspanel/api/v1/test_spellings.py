"""Tests of spellings: a client reads back the spelling that it wrote, because Terraform compares text."""

import json
from typing import Any

import pytest

from dnspanel.zones.drafts import draft
from dnspanel.zones.models import Revision, RRset, Zone
from replication.dns import rdtypes
from replication.dns.rrset import make, parse_notes
from tests.dnspanel.api.v1.conftest import Caller, MakeCaller, replace
from tests.dnspanel.zones.conftest import ZONE
from tests.people import NOW

LONG = '"v=DKIM1; k=rsa; p=' + "A" * 300 + '"'
GREETING = '"grüß"'


@pytest.fixture
def caller(make_caller: MakeCaller) -> Caller:
    return make_caller()


def contents(caller: Caller, name: str, type: str) -> list[str]:
    found = caller.get(f"/zones/{ZONE}?rrset_name={name}&rrset_type={type}")["rrsets"]
    return [record["content"] for rrset in found for record in rrset["records"]]


def write(caller: Caller, name: str, type: str, *texts: str, **more: Any) -> None:
    answer = caller.patch(ZONE, {**replace(name, type, *texts), **more})
    assert answer.status_code == 204, answer.content


@pytest.mark.parametrize(
    ("type", "content"),
    [
        ("TXT", LONG),
        ("TXT", GREETING),
        ("TXT", '"a" "b"'),
        ("TXT", '"semi\\;colon \\097"'),
        ("SPF", LONG),
        ("MX", "010 Mail.Example.NET."),
        ("AAAA", "2001:DB8:0:0::1"),
        ("CNAME", "Www.Example.NET."),
        ("CAA", "0 issue letsencrypt.org"),
        ("SRV", "0  5 443   Web.Example.NET."),
        ("PTR", "My\\ Printer.example.net."),
        ("TLSA", "3 1 1 " + "AB" * 32),
        ("DS", "12345 13 2 " + "AB" * 32),
        ("SSHFP", "4 2 " + "AB" * 32),
        ("HTTPS", '1 Web.example.net. port=443 alpn="h2"'),
        ("NAPTR", '100 50 s SIP+D2U "" _SIP._udp.example.net.'),
        ("LOC", "51 30 12.748 N 0 7 39.612 W 0.00m"),
        ("URI", '10 1 "https://example.net/"'),
        ("DNAME", "Other.Example."),
        ("HINFO", "PC Linux"),
    ],
)
def test_every_type_is_given_back_as_it_was_sent(caller: Caller, zone: Zone, type: str, content: str) -> None:
    name = f"here.{ZONE}"
    write(caller, name, type, content)
    assert contents(caller, name, type) == [content]
    found = caller.get(f"/search-data?q={name.rstrip('.')}&object_type=record")
    assert [each["content"] for each in found] == [content]
    # The same value again changes nothing.
    count = Revision.objects.filter(zone=zone).count()
    write(caller, name, type, content)
    assert Revision.objects.filter(zone=zone).count() == count


def test_only_what_differs_is_kept(caller: Caller, zone: Zone) -> None:
    write(caller, f"a.{ZONE}", "TXT", '"plain"', LONG)
    write(caller, f"b.{ZONE}", "A", "192.0.2.1")
    spellings = {row.name: parse_notes(row.notes).spellings for row in RRset.objects.filter(zone=zone)}
    assert spellings.pop(f"a.{ZONE}") == ((f'{LONG[:256]}" "{LONG[256:]}', LONG),)
    assert not any(spellings.values())


def test_another_spelling_of_the_same_value_replaces_it(caller: Caller, zone: Zone) -> None:
    name, chunks = f"a.{ZONE}", f'{LONG[:256]}" "{LONG[256:]}'
    for text in (LONG, chunks, LONG, chunks):
        write(caller, name, "TXT", text)
        assert contents(caller, name, "TXT") == [text]


def test_a_zone_is_created_with_what_was_sent(caller: Caller) -> None:
    sent = [replace("new.test.", "TXT", LONG), replace("new.test.", "NS", "NS1.Example.NET.")]
    answer = caller("POST", "/zones", {"name": "new.test.", "kind": "Native", "nameservers": [], "rrsets": sent})
    assert answer.status_code == 201, answer.content
    found = {rrset["type"]: rrset["records"][0]["content"] for rrset in json.loads(answer.content)["rrsets"]}
    assert (found["TXT"], found["NS"]) == (LONG, "NS1.Example.NET.")


def test_changes_by_others_leave_the_spelling_of_values_that_stay(caller: Caller, zone: Zone, alice: Any) -> None:
    name = f"a.{ZONE}"
    write(caller, name, "TXT", GREETING)
    [row] = RRset.objects.filter(zone=zone, name=name)
    canonical = row.rdata[0]
    # Pages and API v2 have no spellings. Values that they send unchanged are no change, and new ones are.
    same = make(name, rdtypes.TXT, 300, [canonical])
    assert draft.change_rrsets(author=alice, zone=zone, afters={(name, rdtypes.TXT): same}, now=NOW) == {}
    write(caller, name, "TXT", '"more"', changetype="EXTEND")
    assert sorted(contents(caller, name, "TXT")) == sorted([GREETING, '"more"'])
    write(caller, name, "TXT", GREETING, changetype="PRUNE")
    assert contents(caller, name, "TXT") == ['"more"']
    [row] = RRset.objects.filter(zone=zone, name=name)
    assert row.notes == ""
