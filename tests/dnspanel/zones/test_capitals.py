"""Capital letters in names inside values: kept on all ways in and out, and ignored in comparisons.

RFC 4343 section 4.1. Terraform compares text, and a DNS-SD instance name is a title for people (RFC 6763 4.1.1).
"""

from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.gateway import axfr_out
from dnspanel.transfer.exports import file as export_file
from dnspanel.transfer.exports.exported_rows import snapshot
from dnspanel.zones.models import Revision, RRset, Zone
from dnspanel.zones.plan.merge import Edit, merge
from dnspanel.zones.search.rrset_conditions import has_value, with_texts
from dnspanel.zones.store import store_rrsets
from replication.dns import rdtypes
from replication.dns.rrset import Change
from tests.dnspanel.api.v1.conftest import Caller, MakeCaller, replace
from tests.dnspanel.api.v1.conftest import make_caller as make_caller
from tests.dnspanel.transfer.conftest import MakeImport, import_all, zone_text
from tests.dnspanel.transfer.conftest import directories as directories
from tests.dnspanel.transfer.conftest import make_import as make_import
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr

GOOGLE = "1 ASPMX.L.Provider.TEST."


@pytest.fixture
def caller(make_caller: MakeCaller) -> Caller:
    return make_caller()


def contents(caller: Caller, name: str, type: str) -> list[str]:
    found = caller.get(f"/zones/{ZONE}?rrset_name={name}&rrset_type={type}")["rrsets"]
    return [record["content"] for rrset in found for record in rrset["records"]]


def patched(caller: Caller, *rrsets: dict[str, Any]) -> None:
    answer = caller.patch(ZONE, *rrsets)
    assert answer.status_code == 204, answer.content


def test_what_api_v1_takes_it_gives_back_with_its_capitals(caller: Caller, zone: Zone) -> None:
    patched(caller, replace(ZONE, "MX", GOOGLE), replace(f"_ipp.{ZONE}", "PTR", f"My\\032Printer._ipp.{ZONE}"))
    assert contents(caller, ZONE, "MX") == [GOOGLE]
    assert contents(caller, f"_ipp.{ZONE}", "PTR") == [f"My\\032Printer._ipp.{ZONE}"]
    # Other capitals of the same value are an intended change. Of two spellings in one RRset, one is a duplicate.
    patched(caller, replace(ZONE, "MX", GOOGLE.lower()))
    assert contents(caller, ZONE, "MX") == [GOOGLE.lower()]
    answer = caller.patch(ZONE, replace(ZONE, "MX", GOOGLE, GOOGLE.lower()))
    assert answer.status_code == 422
    assert b"Duplicate record" in answer.content


def test_one_record_is_added_and_removed_in_whatever_capitals(caller: Caller, zone: Zone) -> None:
    patched(caller, replace(ZONE, "MX", "5 b.test.", GOOGLE))
    patched(caller, {**replace(ZONE, "MX", GOOGLE.lower()), "changetype": "EXTEND"})
    assert contents(caller, ZONE, "MX") == [GOOGLE.lower(), "5 b.test."]
    patched(caller, {**replace(ZONE, "MX", GOOGLE), "changetype": "PRUNE"})
    assert contents(caller, ZONE, "MX") == ["5 b.test."]


def test_the_same_value_in_other_capitals_is_found_by_every_lookup(make_zone: MakeZone) -> None:
    zone = make_zone("a 300 CNAME Host.Other.TEST.", "b 300 MX 10 Host.Other.TEST.", "c 300 NS HOST.other.test.")
    host = "host.other.test."
    found = store_rrsets.rrsets_with_rdata({zone.pk: [host]}, 10)
    assert {rrset.name for rrset in found[zone.pk]} == {f"a.{ZONE}", f"c.{ZONE}"}
    pointing = store_rrsets.rrsets_pointing_at([host], 10)
    assert {rrset.name for _, _, rrset in pointing} == {f"a.{ZONE}", f"b.{ZONE}", f"c.{ZONE}"}
    rows = with_texts(RRset.objects.filter(zone=zone)).filter(has_value("HOST.other.test"))
    assert {row.name for row in rows} == {f"a.{ZONE}", f"c.{ZONE}"}
    # Only RRsets with capitals have the second column.
    assert dict(RRset.objects.filter(zone=zone).values_list("name", "folded")) == {
        f"a.{ZONE}": [host],
        f"b.{ZONE}": [f"10 {host}"],
        f"c.{ZONE}": [host],
        ZONE: None,
    }


def test_capitals_that_others_changed_are_no_conflict() -> None:
    base, theirs = rr("@ 300 MX 10 mail.test."), rr("@ 300 MX 10 Mail.test.")
    mine = rr("@ 600 MX 10 mail.test.")
    merged = merge(ZONE, [Edit(Change(ZONE, rdtypes.MX, base, mine))], {(ZONE, rdtypes.MX): theirs})
    assert [(change.before, change.after) for change in merged.apply] == [(theirs, mine)]
    assert not merged.conflicts
    # A request for other capitals is fulfilled.
    edit = Edit(Change(ZONE, rdtypes.MX, base, theirs))
    assert merge(ZONE, [edit], {(ZONE, rdtypes.MX): base}).apply


CASE = zone_text(
    ZONE,
    "_ipp._tcp 3600 IN PTR My\\032Printer._ipp._tcp",
    "_ipp._tcp 3600 IN PTR my\\032PRINTER._ipp._tcp",
    "My\\032Printer._ipp._tcp 3600 IN SRV 0 0 631 Host.Other.test.",
    "mail 3600 IN MX 1 ASPMX.L.Provider.TEST.",
    "mail 3600 IN MX 1 aspmx.l.provider.test.",
    "alias 3600 IN CNAME WWW",
    "www 3600 IN A 192.0.2.1",
)


@pytest.mark.django_db(transaction=True)  # an export reads on a separate connection
@pytest.mark.usefixtures("directories")
def test_a_zone_file_keeps_them_from_import_to_export_and_transfer(
    alice: User, make_import: MakeImport, tmp_path: Any
) -> None:
    import_all(make_import({"example.test.zone": CASE}))
    zone = Zone.objects.get(name=ZONE)
    exported = tmp_path / "exported"
    with exported.open("wb") as out, snapshot() as moment:
        export_file.write_zone_file(moment, Zone.objects.filter(pk=zone.pk), out)
    text = exported.read_text()
    for word in ("My\\032Printer", "Host.Other.test.", GOOGLE, "CNAME WWW"):
        assert word in text
    assert "my\\032PRINTER" not in text  # a duplicate
    assert "aspmx.l.provider.test." not in text
    stored = {(row.name, row.type): list(row.rdata) for row in RRset.objects.filter(zone=zone)}
    assert stored[f"mail.{ZONE}", rdtypes.MX] == [GOOGLE]
    assert stored[f"alias.{ZONE}", rdtypes.CNAME] == [f"WWW.{ZONE}"]
    [row] = [(r.name, r.type, r.ttl, r.rdata, r.disabled) for r in RRset.objects.filter(zone=zone, type=rdtypes.MX)]
    assert b"ASPMX\1L\10Provider\4TEST\0" in b"".join(axfr_out.records_of(row, ZONE))


def test_a_change_of_capitals_alone_is_a_revision(caller: Caller, zone: Zone) -> None:
    patched(caller, replace(ZONE, "MX", f"10 Mail.{ZONE}"))
    revision = Revision.objects.filter(zone=zone).order_by("-number")[0]
    [change] = revision.changes.filter(type=rdtypes.MX)
    assert (change.before["rdata"], change.after["rdata"]) == ([f"10 mail.{ZONE}"], [f"10 Mail.{ZONE}"])
