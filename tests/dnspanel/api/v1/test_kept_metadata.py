"""Tests of the functions that store zone metadata."""

from pathlib import Path
from typing import Any

import pytest

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.api.models import PowerdnsZone
from dnspanel.api.v1 import acting_metadata, kept_metadata
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.errors import DnssecRefused, SettingsRefused, Unknown
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.signing import sign
from dnspanel.zones.values.soa import SoaEdit
from replication.codec.dnssec import Nsec3
from tests.dnspanel.api.v1.calls import make_zone
from tests.people import NOW


@pytest.fixture
def zone(db: None) -> Zone:
    return make_zone("a.test.")


def add(zone: Zone, kind: str, *values: str) -> list[str]:
    return kept_metadata.add_metadata(zone=zone, kind=kind, values=values, by=None, now=NOW)


def replace(zone: Zone, kind: str, *values: str) -> None:
    kept_metadata.replace_metadata(zone=zone, kind=kind, values=values, by=None, now=NOW)


# How a zone's serial changes if the zone wasn't created over this API.
USUAL = {"SOA-EDIT-API": ["INCREASE"]}


def test_values_are_added_once_and_stay_in_their_order(zone: Zone) -> None:
    assert add(zone, "X-A", "b", "a", "b") == ["b", "a"]
    assert add(zone, "X-A", "c", "a") == ["b", "a", "c"]
    assert kept_metadata.metadata_of(zone) == {"X-A": ["b", "a", "c"], **USUAL}


def test_replacing_by_nothing_forgets_the_kind(zone: Zone) -> None:
    add(zone, "X-A", "a")
    add(zone, "X-B", "b")
    replace(zone, "X-A")
    assert kept_metadata.metadata_of(zone) == {"X-B": ["b"], **USUAL}


def test_a_zone_of_which_nobody_said_anything_has_no_row(zone: Zone) -> None:
    assert kept_metadata.metadata_of(zone) == USUAL
    replace(zone, "X-A")
    assert not PowerdnsZone.objects.exists()


def test_soa_edit_is_the_field_of_the_zone(zone: Zone) -> None:
    replace(zone, "SOA-EDIT", "EPOCH", "x")
    zone.refresh_from_db()
    assert zone.soa_edits == SoaEdit("INCREASE", "EPOCH")
    Zone.objects.filter(pk=zone.pk).update(soa_edit="NONE", soa_edit_api="EPOCH")
    PowerdnsZone.objects.filter(zone=zone).update(api_rectify=True)
    zone.refresh_from_db()
    found = {"SOA-EDIT": ["NONE"], "SOA-EDIT-API": ["EPOCH"], "API-RECTIFY": ["1"]}
    assert kept_metadata.metadata_of(zone) == found
    replace(zone, "SOA-EDIT")
    zone.refresh_from_db()
    assert zone.soa_edits == SoaEdit("EPOCH", "")
    with pytest.raises(SettingsRefused):
        replace(zone, "SOA-EDIT", "sometimes")


def acting() -> Acting:
    return Acting(None, Channel.API, NOW)


def test_cds_and_cdnskey_are_how_a_zone_with_keys_is_signed(zone: Zone) -> None:
    sign.sign(zones=[zone], acting=acting())
    replace(zone, "PUBLISH-CDS", "2,4", "1")
    add(zone, "PUBLISH-CDNSKEY", "1")
    state = queries.signing_of(zone)
    assert (state.cds, state.cdnskey) == ("2,4", True)
    assert kept_metadata.metadata_of(zone) == {"PUBLISH-CDS": ["2,4", "1"], "PUBLISH-CDNSKEY": ["1"], **USUAL}
    sign.set_cds(zone=zone, cds="0", cdnskey=False, acting=acting())  # for example on a page
    assert kept_metadata.metadata_of(zone) == {"PUBLISH-CDS": ["0"], **USUAL}
    replace(zone, "PUBLISH-CDS")
    assert queries.signing_of(zone).cds == ""
    for kind, value in (("PUBLISH-CDS", "x"), ("PUBLISH-CDNSKEY", "0")):
        with pytest.raises(DnssecRefused):
            replace(zone, kind, value)
    assert kept_metadata.metadata_of(zone) == USUAL


def test_what_is_said_of_a_zone_without_keys_holds_when_it_gets_some(zone: Zone) -> None:
    replace(zone, "PUBLISH-CDS", "2")
    assert "while a.test. is not signed" in kept_metadata.warning_about(zone, "PUBLISH-CDS", ["2"])
    before = queries.signing_of(zone)
    assert kept_metadata.act_on_kept(zone=zone, before=before, acting=acting()) == []
    sign.sign(zones=[zone], acting=acting())
    assert len(kept_metadata.act_on_kept(zone=zone, before=before, acting=acting())) == 1
    assert queries.signing_of(zone).cds == "2"
    assert kept_metadata.warning_about(zone, "PUBLISH-CDS", ["2"]) == ""
    sign.unsign(zones=[zone], acting=acting())
    assert kept_metadata.metadata_of(zone) == {"PUBLISH-CDS": ["2"], **USUAL}


def test_nsec3_is_shown_as_powerdns_keeps_it(zone: Zone) -> None:
    sign.sign(zones=[zone], acting=acting(), nsec3=Nsec3(1, b"\xab", opt_out=True, narrow=True))
    found = {"NSEC3PARAM": ["1 1 1 ab"], "NSEC3NARROW": ["1"], **USUAL}
    assert kept_metadata.metadata_of(zone) == found


def test_each_change_is_in_the_audit_log_without_the_values(zone: Zone, alice: User) -> None:
    kept_metadata.add_metadata(zone=zone, kind="X-A", values=["secret"], by=alice, now=NOW)
    kept_metadata.add_metadata(zone=zone, kind="X-A", values=["secret"], by=alice, now=NOW)
    entry = AuditEntry.objects.get(action="zone.metadata")
    assert (entry.user, entry.target) == (alice, "a.test.")
    assert "secret" not in str(entry.details)


def test_more_than_a_zone_needs_is_refused_and_nothing_is_lost(zone: Zone) -> None:
    add(zone, "X-A", "a")
    with pytest.raises(kept_metadata.TooMuchMetadata):
        add(zone, "X-B", "b" * kept_metadata.MOST_BYTES)
    assert kept_metadata.metadata_of(zone) == {"X-A": ["a"], **USUAL}


def test_a_zone_deleted_meanwhile_is_unknown(zone: Zone) -> None:
    edit.delete_zone(zone=zone, acting=Acting(None, Channel.API, NOW))
    with pytest.raises(Unknown):
        add(zone, "X-A", "a")


@pytest.mark.parametrize(
    ("kind", "writable", "readable"),
    [
        ("ALSO-NOTIFY", True, True),
        ("PRESIGNED", False, True),
        ("TSIG-ALLOW-AXFR", False, True),
        ("SOA-EDIT-API", False, False),
        ("API-RECTIFY", False, False),
        ("X-", True, True),
        ("X-anything at all", True, True),
        ("X-\0", False, False),
        ("X-ü", False, False),
        ("x-lower", False, False),
        ("", False, False),
    ],
)
def test_which_kinds_the_api_writes_and_shows(kind: str, writable: bool, readable: bool) -> None:
    found: Any = (kept_metadata.is_writable(kind), kept_metadata.is_readable(kind))
    assert found == (writable, readable)


def test_what_each_kind_does_is_decided_and_written_down() -> None:
    """Every writable kind has an effect, a warning or a refusal, and docs/use/apis.md lists it."""
    acting = kept_metadata.WRITABLE & {kept_metadata.SOA_EDIT, *acting_metadata.ACTS, *kept_metadata.OF_KEYS}
    assert {*kept_metadata.NO_EFFECT, *kept_metadata.REFUSED, *acting} == kept_metadata.WRITABLE
    text = (Path(__file__).parents[4] / "docs/use/apis.md").read_text()
    assert [kind for kind in sorted(kept_metadata.WRITABLE) if f"`{kind}`" not in text] == []
