"""BIND, Knot and NSD as secondaries over TLS only, with their own certificates, and queried over TLS (RFC 9103).

They are configured only by the text on their pages. Debian 12's Knot lacks TLS, so Knot is from a newer Debian, as is a
second NSD that consumes the catalog zone. kdig is another client.
"""

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
from tests.stack import make_person, run_inside, until

pytestmark = pytest.mark.flow

ZONES = ["one.private.test.", "two.private.test."]
KINDS = ("bind", "nsd")  # and the newer ones, if a root of their suite can be created


@pytest.fixture(scope="module")
def made(stack: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Estate, dict[str, Any], Path]]:
    """Return the estate, the one-time text of each secondary's page, and the directory of their certificate."""
    make_person(stack, "secundus")
    kinds = [*KINDS, *newer_kinds()]
    ports, tls_ports = ({kind: free_port() for kind in kinds} for _ in range(2))
    place, own = tmp_path_factory.mktemp("over-tls"), own_certificate()
    (place / CERTIFICATE).write_text(own.certificate)
    (place / KEY).write_text(own.key)
    found = run_inside(stack, "secondaries_over_tls.set_up_servers", ports, tls_ports, ZONES, own.certificate)
    parts = {kind: each["parts"] for kind, each in found.items()}
    with running(place, ports, parts, kinds=kinds, tls_ports=tls_ports) as foreign:
        estate = Estate(stack, foreign)
        estate.are_equal(ZONES, seconds=60)
        yield estate, found, place


def members(estate: Estate) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run_inside(estate.stack, "secondaries_over_tls.members")
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
    # Debian's NSD presents its certificate from the second connection on, and starts with several zones at once.
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
