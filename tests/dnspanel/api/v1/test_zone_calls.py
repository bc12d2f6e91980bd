"""Tests of notify, rectify, export and axfr-retrieve."""

import pytest

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.zones.models import Zone
from dnspanel.zones.signals import published
from replication.dns import rdtypes
from tests.dnspanel.api.v1.conftest import Caller, MakeCaller, replace, texts

ZONE = "/zones/example.test."


def test_notify_rings_the_bell_and_does_not_claim_to_have_notified(call: Caller, zone: Zone) -> None:
    heard: list[int] = []

    def hear(sequence: int, **signal: object) -> None:
        heard.append(sequence)

    published.connect(hear)
    try:
        done = call("PUT", f"{ZONE}/notify")
    finally:
        published.disconnect(hear)
    assert (done.status_code, done.json()["warning"]) == (200, "No NOTIFY was sent to anybody.")
    assert "queued" not in done.content.decode()
    assert heard == [zone.sequence]


def test_rectify_has_nothing_to_do(call: Caller, zone: Zone) -> None:
    done = call("PUT", f"{ZONE}/rectify", accept=None)
    assert (done.status_code, done.content) == (200, b'{"result": "Rectified"}')


def test_no_zone_here_is_retrieved(call: Caller, zone: Zone) -> None:
    refused = call("PUT", f"{ZONE}/axfr-retrieve")
    assert refused.status_code == 422
    assert texts(refused) == "Domain 'example.test.' is not a slave domain (or has no master defined)"


def test_an_export_is_one_record_a_line(call: Caller, zone: Zone) -> None:
    text = call("GET", f"{ZONE}/export", accept="*/*")
    assert text["Content-Type"] == "text/plain; charset=us-ascii"
    lines = text.content.decode().splitlines()
    assert "www.example.test.\t300\tIN\tA\t192.0.2.1" in lines
    assert "example.test.\t3600\tIN\tMX\t10 mail.example.test." in lines
    assert call.get(f"{ZONE}/export", accept="application/json;q=0.9,*/*;q=0.8") == {"zone": text.content.decode()}


def test_an_export_can_be_made_a_zone_again(call: Caller, zone: Zone) -> None:
    call.patch("example.test.", replace("t.example.test.", "TXT", '"a\\"b;c"', '"two" "strings"'))
    text = call.get(f"{ZONE}/export")["zone"]
    assert call("DELETE", ZONE).status_code == 204
    # With another value, the serial of the text would change, as in PowerDNS.
    body = {"name": "example.test.", "kind": "Native", "nameservers": [], "zone": text, "soa_edit_api": ""}
    assert call("POST", "/zones", body).status_code == 201
    # Secondaries with the deleted zone accept this one, because its serial begins above the one that they have.
    assert call.get(f"{ZONE}/export")["zone"] == text.replace(" 2 10800 ", " 3 10800 ")


def test_an_export_has_what_the_token_sees(make_caller: MakeCaller, zone: Zone) -> None:
    narrow = make_caller(Grant(frozenset({Right.READ}), everywhere=True, types=frozenset({rdtypes.MX})))
    assert narrow("GET", f"{ZONE}/export", accept=None).content.decode().count("\n") == 1


@pytest.mark.parametrize("path", ["/notify", "/rectify", "/axfr-retrieve", "/export"])
def test_zones_that_are_not_there(call: Caller, path: str) -> None:
    assert call("GET" if path == "/export" else "PUT", f"/zones/absent.test.{path}").status_code == 404
