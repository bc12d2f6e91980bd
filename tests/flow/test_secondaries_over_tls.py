"""BIND, Knot and NSD as secondaries over TLS alone, by certificates of their own, and asked over TLS (RFC 9103).

Configured by nothing but what their pages give to copy. Knot is that of a newer Debian, since that of Debian 12 speaks
no TLS, and so is a second NSD, which reads the catalog zone; kdig is another client.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.flow.test_secondaries import Estate, edit_at_random
from tests.foreign_servers import AUTHORITY, CERTIFICATE, HERE, KEY, newer_kinds, running
from tests.own_certificates import own_certificate
from tests.ports import free_port
from tests.stack import make_person, run_script, until

pytestmark = pytest.mark.flow

ZONES = ["one.private.test.", "two.private.test."]
KINDS = ("bind", "nsd")  # and the newer ones, where a root of their suite can be made

SET_UP = """
import json, sys, django
django.setup()
from django.conf import settings
from django.utils import timezone
from dnspanel.accounts.models import User
from dnspanel.secondaries import set_up
from dnspanel.secondaries.configuration import parts_for
from dnspanel.secondaries.server_certificate import tls_endpoint
from dnspanel.zones.acting import Acting
from dnspanel.zones.publishing import edit
from dnspanel.zones.models import Zone
owner, ports, tls_ports, zones, certificate = User.objects.get(username="secundus"), *json.loads(sys.argv[1])
for name in zones:
    edit.create_zone(zone=edit.NewZone(name), acting=Acting(owner, "web", timezone.now()))
found = {}
for kind, port in ports.items():
    terms = set_up.Terms(f"{kind}-tls", [f"127.0.0.1:{port}"], kind=kind.removeprefix("newer-"), zones=zones,
        choice="list", transport="certificate", certificate=certificate, tls_port=tls_ports[kind])
    made = set_up.create_secondary(terms=terms, by=owner, now=timezone.now())
    parts = parts_for(made.secondary, gateways=settings.GATEWAY_ADDRESSES, secret=made.secret, zones=zones,
        tls=tls_endpoint(now=timezone.now()))
    found[kind] = {"parts": [part.text for part in parts], "key": made.secondary.tsig_name, "secret": made.secret}
print(json.dumps(found))
"""

MEMBERS = """
import json, django
django.setup()
from dnspanel.secondaries.models import Member
print(json.dumps(list(Member.objects.filter(until=None, secondary__name__endswith="-tls").values(
    "secondary__name", "secondary__refusals", "secondary__refused_reason", "zone_name", "transferred_how",
    "transferred_over_tls", "behind_since", "served_serial", "zone__serial", "question_error")), default=str))
"""


@pytest.fixture(scope="module")
def made(stack: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Estate, dict[str, Any], Path]]:
    """Return the estate, what each secondary's page said once, and the directory of their certificate."""
    make_person(stack, "secundus")
    kinds = [*KINDS, *newer_kinds()]
    ports, tls_ports = ({kind: free_port() for kind in kinds} for _ in range(2))
    place, own = tmp_path_factory.mktemp("over-tls"), own_certificate()
    (place / CERTIFICATE).write_text(own.certificate)
    (place / KEY).write_text(own.key)
    found = json.loads(run_script(stack, SET_UP, json.dumps([ports, tls_ports, ZONES, own.certificate])))
    parts = {kind: each["parts"] for kind, each in found.items()}
    with running(place, ports, parts, kinds=kinds, tls_ports=tls_ports) as foreign:
        estate = Estate(stack, foreign)
        estate.are_equal(ZONES, seconds=60)
        yield estate, found, place


def members(estate: Estate) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run_script(estate.stack, MEMBERS))
    return found


def refusals(estate: Estate) -> dict[str, int]:
    return {member["secondary__name"].removesuffix("-tls"): member["secondary__refusals"] for member in members(estate)}


def test_edits_come_over_tls_as_differences_and_are_confirmed_over_tls(
    made: tuple[Estate, dict[str, Any], Path],
) -> None:
    estate, *_ = made
    ours = estate.stack.directory / "log/update.log"
    before, refused = len(ours.read_text()), refusals(estate)
    for seed in range(3):
        edit_at_random(estate, seed=seed, count=4, zones=ZONES, by="secundus")
        published = estate.are_equal(ZONES, seconds=30)
    for one in estate.foreign:
        assert {zone: one.records_of(zone) for zone in ZONES} == published, one.kind
    since = ours.read_text()[before:]
    for kind in refused:
        transfers = re.findall(rf"secondary={kind}-tls to=\S+ how=(\S+) over=(\S+)", since)
        assert ("IXFR", "tls") in transfers, since
        assert {over for _, over in transfers} == {"tls"}

    def is_in_sync() -> bool:
        return all(
            member["behind_since"] is None and member["served_serial"] == member["zone__serial"]
            for member in members(estate)
        )

    until(is_in_sync, seconds=60, what=lambda: str(members(estate)))
    assert all(member["transferred_over_tls"] for member in members(estate))
    # Debian's NSD shows its certificate from the second connection on, and begins with several zones at once.
    bearable = refused | {"nsd": len(ZONES)}
    assert all(count <= bearable[kind] for kind, count in refusals(estate).items()), members(estate)


@pytest.mark.skipif(shutil.which("kdig") is None, reason="kdig asks here")
def test_over_tcp_without_its_certificate_or_with_another_it_gets_nothing(
    made: tuple[Estate, dict[str, Any], Path], tmp_path: Path
) -> None:
    estate, found, place = made
    before = refusals(estate)["bind"]
    stranger = own_certificate()
    (tmp_path / CERTIFICATE).write_text(stranger.certificate)
    (tmp_path / KEY).write_text(stranger.key)
    signed = ["-y", f"hmac-sha256:{found['bind']['key']}:{found['bind']['secret']}"]
    authority = place / AUTHORITY

    def kdig(port: int, *options: str) -> str:
        done = subprocess.run(
            ["kdig", f"@{HERE}", "-p", str(port), *signed, *options, ZONES[0], "AXFR"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        return done.stdout + done.stderr

    def shows(where: Path) -> list[str]:
        return [f"+tls-certfile={where / CERTIFICATE}", f"+tls-keyfile={where / KEY}"]

    over_tls = [f"+tls-ca={authority}", "+tls-hostname=gateway.dnspanel"]
    tls_port = estate.stack.ports["update-tls"]
    assert "IN\tSOA" in kdig(tls_port, *over_tls, *shows(place)).replace(" ", "")
    refused = (
        kdig(estate.stack.update_port),
        kdig(tls_port, *over_tls),
        kdig(tls_port, *over_tls, *shows(tmp_path)),
        kdig(tls_port, f"+tls-ca={authority}", "+tls-hostname=another.test", *shows(place)),
    )
    assert not any("SOA\tns" in text.replace(" ", "") for text in refused)

    until(lambda: refusals(estate)["bind"] == before + 3, seconds=10, what=lambda: str(members(estate)))
