"""BIND, Knot and NSD as secondaries of a complete panel, configured only by the text on their pages.

NOTIFY announces some hundred random edits in a few zones, and transfers fetch them, mostly by IXFR. Finally all three
servers have exactly the published records. Zones come and go through the catalog zone.
"""

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import dns.exception
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import dns.zone
import pytest

from dnspanel.demo.stack import Stack
from tests.foreign_servers import HERE, MAKERS, Foreign, Record, in_canonical_form, running
from tests.full import Sample
from tests.ports import free_port
from tests.stack import ask, make_person, run_inside, until
from tests.unbound import unbound

pytestmark = pytest.mark.flow

ZONES = [f"z{number}.abroad.test." for number in range(4)]
LEAVES = "leaves.abroad.test."  # this zone is never edited
ROLLED = "rolled.abroad.test."
SIGNED = ["nsec.abroad.test.", "nsec3.abroad.test."]
# In a full run. Every fifth zone is signed, half of these with NSEC3.
MANY = [f"{'nsec3-' if number % 10 == 0 else ''}m{number}.abroad.test." for number in range(200)]
OF_MANY_SIGNED = MANY[::5]
OF_SIGNERS = {"RRSIG", "DNSKEY", "NSEC", "NSEC3", "NSEC3PARAM", "CDS", "CDNSKEY"}
EDITS = 120
EDITS_OF_MANY = 2_000


@dataclass(frozen=True, slots=True)
class Estate:
    """A panel with three secondaries."""

    stack: Stack
    foreign: list[Foreign]

    def members(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = run_inside(self.stack, "secondaries.members")
        return found

    def published(self, zones: list[str]) -> dict[str, set[Record]]:
        rows = run_inside(self.stack, "secondaries.published", zones)
        return {
            zone: in_canonical_form(zone, "\n".join(" ".join(map(str, (n, t, "IN", k, v))) for n, t, k, v in records))
            for zone, records in rows.items()
        }

    def are_equal(self, zones: list[str], *, seconds: float) -> dict[str, set[Record]]:
        """Wait until all secondaries have the published serials, and check their records. Return the published ones."""
        published = self.published(zones)
        serials = {
            zone: int(next(text for _, _, kind, text in records if kind == "SOA").split()[2])
            for zone, records in published.items()
        }

        def late() -> list[str]:
            return [
                f"{one.kind} {zone} has {one.serial_of(zone)} in place of {serial}; {one.log.read_text()[-1500:]}"
                for one in self.foreign
                for zone, serial in serials.items()
                if one.serial_of(zone) != serial
            ]

        until(lambda: not late(), seconds=seconds, what=lambda: "\n".join(late()))
        return published


@pytest.fixture(scope="module")
def estate(stack: Stack, tmp_path_factory: pytest.TempPathFactory, sample: Sample) -> Iterator[Estate]:
    make_person(stack, "secunda")
    ports = {kind: free_port() for kind in MAKERS}
    zones = [*ZONES, LEAVES, ROLLED, *SIGNED, *(MANY if sample.full else [])]
    parts = run_inside(stack, "secondaries.set_up_servers", ports, zones)
    with running(tmp_path_factory.mktemp("foreign"), ports, parts) as foreign:
        estate = Estate(stack, foreign)
        estate.are_equal(ZONES, seconds=60)
        yield estate


def edit_at_random(estate: Estate, *, seed: int, count: int, zones: list[str], by: str = "secunda") -> None:
    run_inside(estate.stack, "secondaries.edit_at_random", by, seed, count, zones)


def test_after_many_edits_each_has_record_for_record_what_is_published(estate: Estate) -> None:
    began = time.monotonic()
    for seed in range(4):
        edit_at_random(estate, seed=seed, count=EDITS // 4, zones=ZONES)
    published = estate.are_equal(ZONES, seconds=30)
    # Refresh and retry times are hours, so only NOTIFY can have brought changes within a minute.
    assert time.monotonic() - began < 300
    for one in estate.foreign:
        for zone in ZONES:
            assert one.records_of(zone) == published[zone], f"{one.kind} {zone}"

    def members() -> list[dict[str, Any]]:
        return [member for member in estate.members() if member["zone_name"] in ZONES]

    until(
        lambda: all(
            member["behind_since"] is None and member["served_serial"] == member["zone__serial"] for member in members()
        ),
        seconds=30,  # the panel finds this by queries, at growing intervals
        what=lambda: str(members()),
    )
    assert all(member["notified_at"] for member in members())


def test_single_edits_come_as_differences_by_their_own_logs_and_ours(estate: Estate) -> None:
    ours = estate.stack.directory / "log/update.log"
    before = len(ours.read_text())
    for seed in range(100, 106):
        edit_at_random(estate, seed=seed, count=1, zones=ZONES)
        published = estate.are_equal(ZONES, seconds=30)
    for one in estate.foreign:
        assert {zone: one.records_of(zone) for zone in ZONES} == published, one.kind
    since = ours.read_text()[before:]
    for kind in MAKERS:
        transfers = re.findall(rf"zone=z\d\S+ secondary={kind} to=\S+ how=([A-Z]+)", since)
        assert transfers.count("IXFR") == 6, f"{kind}: {since}"
        assert "AXFR" not in transfers
    logs = {one.kind: one.log.read_text() for one in estate.foreign}
    assert re.search(r"IXFR, incoming.*finished", logs["knot"])
    assert "received notify for zone" in logs["bind"]
    assert list(estate.foreign[0].log.parent.glob("*.jnl")), "BIND keeps a journal of what came as a difference"
    assert re.search(r"notify for \S+ from 127.0.0.1", logs["nsd"])


def test_a_zone_that_goes_and_one_that_comes_go_and_come_by_the_catalog(estate: Estate) -> None:
    new = "new.abroad.test."
    run_inside(estate.stack, "secondaries.replace_zone", LEAVES, new)
    readers = [one for one in estate.foreign if one.kind != "nsd"]  # Debian's NSD doesn't support catalog zones
    for one in readers:  # a changed tag takes effect within half a minute
        until(lambda one=one: one.serial_of(new) is not None, seconds=60, what=f"{new} at {one.kind}")  # type: ignore[misc]

        def is_gone(one: Foreign = one) -> bool:
            answer = one.answer(LEAVES)
            return answer is not None and answer.rcode() == dns.rcode.REFUSED

        until(is_gone, seconds=30, what=f"{LEAVES} gone from {one.kind}")
    answer = estate.foreign[-1].answer(LEAVES)
    assert answer is not None


def validates(one: Foreign, zone: str, dnskey: str) -> None:
    """Check that the secondary's answers validate with this key, including those for nonexistent names."""
    with unbound({zone: [one.port]}, [f"{zone} DNSKEY {dnskey}"]) as resolver:
        for name, type_ in ((f"www.{zone}", "A"), (zone, "SOA"), (f"www.{zone}", "MX"), (f"nothing.{zone}", "A")):
            assert resolver.ask(name, type_).is_secure, (one.kind, name, type_, resolver.bogus)


def test_signed_zones_are_served_signed_through_a_rollover_and_a_new_week(estate: Estate) -> None:
    run_inside(estate.stack, "secondaries.sign_zones", "sign", SIGNED)
    published = estate.are_equal(SIGNED, seconds=60)
    anchors = {zone: " ".join(ask(estate.stack.nodes[0], zone, "DNSKEY").rdata[0].split()) for zone in SIGNED}
    for one in estate.foreign:
        for zone in SIGNED:
            validates(one, zone, anchors[zone])
            content = {record for record in one.records_of(zone) if record[2] not in OF_SIGNERS}
            assert content == {record for record in published[zone] if record[2] not in OF_SIGNERS}
    run_inside(estate.stack, "secondaries.sign_zones", "roll", SIGNED)
    estate.are_equal(SIGNED, seconds=60)
    for one in estate.foreign:
        for zone in SIGNED:
            answer = one.answer(zone, "DNSKEY")
            assert answer is not None
            assert len(answer.answer[0]) == 2, "the new key stands beside the old one"
            validates(one, zone, anchors[zone])
    signed = [zone for zone in [*SIGNED, ROLLED] if ask(estate.stack.nodes[0], zone, "DNSKEY").rdata]
    assert run_inside(estate.stack, "secondaries.sign_zones", "week", []) == len(signed)
    estate.are_equal(SIGNED, seconds=60)


def test_a_rollover_waits_for_a_secondary_that_still_answers_with_the_old_keys(estate: Estate) -> None:
    run_inside(estate.stack, "secondaries.sign_zones", "split", [ROLLED])
    estate.are_equal([ROLLED], seconds=60)
    [bind] = [one for one in estate.foreign if one.kind == "bind"]
    keys = [text for text in ask(estate.stack.nodes[0], ROLLED, "DNSKEY").rdata if text.startswith("257")]
    anchor = " ".join(keys[0].split())
    before = bind.serial_of(ROLLED)
    assert before is not None
    waiting = run_inside(estate.stack, "secondaries.roll_past", "cut off", ROLLED)
    assert {step for step, _ in waiting["looks"]} == {"publish"}
    waits_for = waiting["looks"][-1][1]
    assert waits_for.startswith("Waiting for all of the zone’s secondaries to serve this step."), waiting
    assert f"bind (BIND) answers with serial {before} instead of" in waits_for
    assert bind.serial_of(ROLLED) == before
    validates(bind, ROLLED, anchor)
    released = run_inside(estate.stack, "secondaries.roll_past", "go on", ROLLED)
    assert {step for step, _ in released["looks"]} == {"publish", "sign", "remove"}, released
    assert (released["late"], released["cancelled"]) == ([], False)
    for one in estate.foreign:
        validates(one, ROLLED, anchor)


@pytest.mark.full(reason="edits over two hundred zones that secondaries have, signed and not")
def test_after_thousands_of_edits_over_hundreds_of_zones_each_has_every_record(estate: Estate) -> None:
    run_inside(estate.stack, "secondaries.sign_zones", "sign", OF_MANY_SIGNED)
    estate.are_equal(MANY, seconds=300)
    ours = estate.stack.directory / "log/update.log"
    before = len(ours.read_text())
    for seed in range(20):
        edit_at_random(estate, seed=1_000 + seed, count=EDITS_OF_MANY // 20, zones=MANY)
    published = estate.are_equal(MANY, seconds=120)
    for one in estate.foreign:
        for zone in MANY:
            left_out = OF_SIGNERS if zone in OF_MANY_SIGNED else set()
            content = {record for record in one.records_of(zone) if record[2] not in left_out}
            assert content == {record for record in published[zone] if record[2] not in left_out}, f"{one.kind} {zone}"
    since = ours.read_text()[before:]
    for kind in MAKERS:
        transfers = re.findall(rf"zone=(\S*m\d+\.abroad\S+) secondary={kind} to=\S+ how=([A-Z]+)", since)
        unsigned = [how for zone, how in transfers if zone not in OF_MANY_SIGNED]
        # Edits during a transfer are sent as one difference, and one longer than the zone as a full transfer.
        assert unsigned.count("IXFR") > len(MANY), kind
        assert unsigned.count("AXFR") < unsigned.count("IXFR") / 10, kind
        assert {how for zone, how in transfers if zone in OF_MANY_SIGNED} == {"AXFR"}, kind
    for zone in OF_MANY_SIGNED[:4]:
        anchor = " ".join(ask(estate.stack.nodes[0], zone, "DNSKEY").rdata[0].split())
        for one in estate.foreign:
            validates(one, zone, anchor)


@pytest.mark.skipif(shutil.which("kdig") is None, reason="kdig asks here")
def test_a_wrong_key_gets_nothing_and_is_counted(estate: Estate) -> None:
    found = subprocess.run(
        ["kdig", f"@{HERE}", "-p", str(estate.stack.update_port), "-y", "hmac-sha256:nobody.secondaries.dnspanel.:AAAA",
         ZONES[0], "AXFR"],
        capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip
    assert "192.0.2." not in found.stdout
    assert "BADKEY" in found.stdout + found.stderr or "NOTAUTH" in found.stdout + found.stderr
