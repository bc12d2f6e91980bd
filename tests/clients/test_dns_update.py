"""nsupdate changes zones by DNS UPDATE with TSIG, over UDP and TCP, and dig and kdig transfer them."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.clients.services import LOOPBACK, Service, TsigKey, call, create_zone, expect_answers, rrset

pytestmark = pytest.mark.flow

ZONE = "update.test."
WWW = f"www.{ZONE}"


@pytest.fixture
def key(service: Service) -> Iterator[TsigKey]:
    """Create the zone, and yield a key that is allowed to update and transfer it."""
    create_zone(service, ZONE, rrset(WWW, "A", "192.0.2.1"))
    yield service.tsig_key(ZONE)
    call(service, "DELETE", f"zones/{ZONE}")


def nsupdate(service: Service, key: TsigKey, *lines: str, tcp: bool = False) -> tuple[bool, str]:
    """Send one update with nsupdate. Return True if it was accepted, and the output."""
    script = [f"server {LOOPBACK} {service.update_port}", f"zone {ZONE}", *lines, "send", ""]
    command = ["nsupdate", *(["-v"] if tcp else []), "-t", "10", "-y", str(key)]
    done = subprocess.run(
        command, input="\n".join(script), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60
    )
    return done.returncode == 0, done.stdout


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_nsupdate_adds_changes_and_deletes(service: Service, key: TsigKey, tcp: bool) -> None:
    assert nsupdate(service, key, f"add new.{ZONE} 60 A 192.0.2.2", f"add new.{ZONE} 60 A 192.0.2.3", tcp=tcp)[0]
    expect_answers(service, f"new.{ZONE}", "A", "192.0.2.2", "192.0.2.3")
    assert nsupdate(service, key, f"del new.{ZONE} A 192.0.2.2", f"add new.{ZONE} 60 TXT hello", tcp=tcp)[0]
    expect_answers(service, f"new.{ZONE}", "A", "192.0.2.3")
    expect_answers(service, f"new.{ZONE}", "TXT", '"hello"')
    assert nsupdate(service, key, f"del new.{ZONE}", tcp=tcp)[0]
    expect_answers(service, f"new.{ZONE}", "A")
    expect_answers(service, f"new.{ZONE}", "TXT")


def test_a_prerequisite_that_does_not_hold_changes_nothing(service: Service, key: TsigKey) -> None:
    taken, output = nsupdate(service, key, f"prereq nxdomain {WWW}", f"add {WWW} 60 A 192.0.2.9")
    assert not taken
    assert "YXDOMAIN" in output
    taken, output = nsupdate(service, key, f"prereq yxrrset {WWW} A 192.0.2.7", f"add {WWW} 60 A 192.0.2.9")
    assert not taken
    assert "NXRRSET" in output
    expect_answers(service, WWW, "A", "192.0.2.1")
    assert nsupdate(service, key, f"prereq yxrrset {WWW} A 192.0.2.1", f"add {WWW} 60 A 192.0.2.9")[0]
    expect_answers(service, WWW, "A", "192.0.2.1", "192.0.2.9")


def test_a_wrong_secret_changes_nothing(service: Service, key: TsigKey) -> None:
    wrong = TsigKey(key.name, "d3JvbmcgIHNlY3JldCAgd3JvbmcgIHNlY3JldCAgdw==", key.algorithm)
    assert not nsupdate(service, wrong, f"add {WWW} 60 A 192.0.2.9")[0]
    expect_answers(service, WWW, "A", "192.0.2.1")


@pytest.mark.parametrize("program", ["dig", "kdig"])
def test_the_zone_is_transferred_with_the_key_and_not_without(service: Service, key: TsigKey, program: str) -> None:
    assert nsupdate(service, key, f"add new.{ZONE} 60 A 192.0.2.2")[0]
    question = [program, f"@{LOOPBACK}", "-p", str(service.update_port), ZONE, "AXFR"]
    signed = subprocess.run([*question, "-y", str(key)], capture_output=True, text=True, timeout=60).stdout
    lines = [line.split() for line in signed.splitlines() if line and not line.startswith(";")]
    records = {(line[0], line[3], " ".join(line[4:])) for line in lines}
    assert {(WWW, "A", "192.0.2.1"), (f"new.{ZONE}", "A", "192.0.2.2")} <= records
    assert [line[3] for line in lines].count("SOA") == 2
    unsigned = subprocess.run(question, capture_output=True, text=True, timeout=60).stdout
    assert WWW not in unsigned
