"""Tests of zone metadata for transfers: it takes effect, and impossible values are refused."""

from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.primaries.models import TransferredZone
from dnspanel.secondaries.models import NoticeAddress, OpenZone
from dnspanel.zones.models import TsigPermission, Zone
from tests.dnspanel.api.v1.conftest import Caller, texts

pytestmark = pytest.mark.django_db(transaction=True)

METADATA = "/zones/example.test./metadata"
SECRET = "c2l4dGVlbiBieXRlcyBub3c="
ABROAD = {"name": "abroad.test.", "kind": "Slave", "masters": ["9.9.9.9"]}


def put(call: Caller, kind: str, *values: str, zone: str = "example.test.") -> Any:
    return call("PUT", f"/zones/{zone}/metadata/{kind}", {"metadata": list(values)})


def test_networks_may_transfer_and_addresses_are_told_for_as_long_as_they_are_named(call: Caller, zone: Zone) -> None:
    assert "warning" not in put(call, "ALLOW-AXFR-FROM", "192.0.2.0/24", "2001:db8::1").json()
    assert OpenZone.objects.get().networks == ["192.0.2.0/24", "2001:db8::1/128"]
    added = call("POST", METADATA, {"kind": "ALSO-NOTIFY", "metadata": ["9.9.9.9", "9.9.9.10:5300"]})
    assert (added.status_code, "warning" in added.json()) == (201, False)
    assert sorted(NoticeAddress.objects.values_list("address", flat=True)) == ["9.9.9.10:5300", "9.9.9.9"]
    assert call("PUT", "/zones/example.test./notify").json() == {"result": "Notification queued"}
    for kind in ("ALLOW-AXFR-FROM", "ALSO-NOTIFY"):
        assert call("DELETE", f"{METADATA}/{kind}").status_code == 204
    assert not OpenZone.objects.exists()
    assert not NoticeAddress.objects.exists()


def test_what_was_kept_before_it_had_an_effect_has_one_once_it_is_written_again(call: Caller, zone: Zone) -> None:
    put(call, "ALSO-NOTIFY", "9.9.9.9")
    NoticeAddress.objects.all().delete()
    put(call, "ALSO-NOTIFY", "9.9.9.9")
    assert NoticeAddress.objects.count() == 1


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        ("ALLOW-AXFR-FROM", ["AUTO-NS"], "nobody looks up the zone's name servers"),
        ("ALLOW-AXFR-FROM", ["192.0.2.1/24"], "isn’t a valid network"),
        ("ALSO-NOTIFY", ["127.0.0.1"], "PANEL_SECONDARY_NETWORKS"),
        ("ALSO-NOTIFY", ["ns1.example.net"], "isn’t a valid address"),
        ("IXFR", ["0"], "the zone's primary is this panel"),
        ("IXFR", ["sometimes"], "it is 0 or 1"),
        ("SLAVE-RENOTIFY", ["0"], "NOTIFY is sent after each publication"),
        ("NOTIFY-DNSUPDATE", ["no"], "NOTIFY is sent after each publication"),
    ],
)
def test_what_cannot_be_is_refused_and_not_kept(
    call: Caller, zone: Zone, kind: str, values: list[str], words: str
) -> None:
    refused = put(call, kind, *values)
    assert refused.status_code == 422
    assert words in texts(refused)
    assert call.get(f"{METADATA}/{kind}")["metadata"] == []


def test_what_is_so_anyway_may_be_said(call: Caller, zone: Zone) -> None:
    for kind in ("IXFR", "SLAVE-RENOTIFY", "NOTIFY-DNSUPDATE"):
        said = put(call, kind, "1")
        assert (said.status_code, "warning" in said.json()) == (200, False)


def test_a_signed_zone_that_nobody_can_give_signed_is_transferred_to_nobody_and_the_answer_says_so(
    call: Caller, zone: Zone
) -> None:
    assert call("PUT", "/zones/example.test.", {"dnssec": True}).status_code == 204
    assert "there is no canary" in put(call, "ALSO-NOTIFY", "9.9.9.9").json()["warning"]


def test_ixfr_0_has_a_zone_transferred_whole_and_1_or_nothing_as_changes(call: Caller) -> None:
    assert call("POST", "/zones", ABROAD).status_code == 201
    assert put(call, "IXFR", "0", zone="abroad.test.").status_code == 200
    assert not TransferredZone.objects.get().uses_ixfr
    put(call, "IXFR", zone="abroad.test.")
    assert TransferredZone.objects.get().uses_ixfr


def test_a_zone_names_the_keys_that_may_transfer_it(call: Caller, zone: Zone) -> None:
    call("POST", "/tsigkeys", {"name": "out", "algorithm": "hmac-sha256", "key": SECRET})
    assert call("PUT", "/zones/example.test.", {"master_tsig_key_ids": ["out."]}).status_code == 204
    assert list(TsigPermission.objects.values_list("key_name", "act")) == [("out.", "transfer")]


def test_the_key_of_a_zone_from_elsewhere_is_a_tsig_key_of_ones_own(call: Caller, alice: User) -> None:
    for name, algorithm in (("in", "hmac-sha256"), ("next", "hmac-sha512")):
        call("POST", "/tsigkeys", {"name": name, "algorithm": algorithm, "key": SECRET})
    made = call("POST", "/zones", {**ABROAD, "slave_tsig_key_ids": ["in."]})
    assert (made.status_code, made.json()["slave_tsig_key_ids"]) == (201, ["in."])
    assert call.get("/zones/abroad.test./metadata/AXFR-MASTER-TSIG")["metadata"] == ["in."]
    row = TransferredZone.objects.get()
    TransferredZone.objects.update(serial=7, wants_all=False)
    read = call.get("/zones/abroad.test.?rrsets=false")
    assert call("PUT", "/zones/abroad.test.", read).status_code == 204
    assert TransferredZone.objects.get().serial == 7, "what is sent back as it was read changes nothing"
    assert call("PUT", "/zones/abroad.test.", {"slave_tsig_key_ids": ["next."]}).status_code == 204
    row.refresh_from_db()
    assert (row.tsig_name, row.tsig_algorithm, row.wants_all) == ("next.", "hmac-sha512", True)
    assert call("PUT", "/zones/abroad.test.", {"slave_tsig_key_ids": []}).status_code == 204
    row.refresh_from_db()
    assert (row.tsig_name, row.tsig_secret) == ("", None)


def test_no_key_two_keys_and_anothers_key_are_refused(call: Caller, zone: Zone, make_caller: Any, bob: User) -> None:
    call("POST", "/tsigkeys", {"name": "in", "algorithm": "hmac-sha256", "key": SECRET})
    for ids, words in ((["none."], "does not exist for zone transfers"), (["in.", "in."], "one TSIG key for all")):
        refused = call("POST", "/zones", {**ABROAD, "slave_tsig_key_ids": ids})
        assert refused.status_code == 422
        assert words in texts(refused)
    refused = call("PUT", "/zones/example.test.", {"slave_tsig_key_ids": ["in."]})
    assert "has no masters" in texts(refused)
    assert not Zone.objects.filter(name="abroad.test.").exists()
