"""BIND, Knot and NSD as secondaries of a whole panel, configured by nothing but what its page gives to copy.

Some hundred random edits over a few zones: each is announced by NOTIFY and fetched, mostly by IXFR, and in the end
every one of the three has record for record what is published. Members come and go by the catalog zone.
"""

import json
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
from tests.stack import ask, make_person, run_script, until
from tests.unbound import unbound

pytestmark = pytest.mark.flow

ZONES = [f"z{number}.abroad.test." for number in range(4)]
LEAVES = "leaves.abroad.test."  # nobody edits it
ROLLED = "rolled.abroad.test."
SIGNED = ["nsec.abroad.test.", "nsec3.abroad.test."]
# For a full run; every fifth is signed, half of these with NSEC3.
MANY = [f"{'nsec3-' if number % 10 == 0 else ''}m{number}.abroad.test." for number in range(200)]
OF_MANY_SIGNED = MANY[::5]
OF_SIGNERS = {"RRSIG", "DNSKEY", "NSEC", "NSEC3", "NSEC3PARAM", "CDS", "CDNSKEY"}
EDITS = 120
EDITS_OF_MANY = 2_000

SET_UP = """
import json, sys, django
django.setup()
from django.conf import settings
from django.utils import timezone
from dnspanel.accounts.models import User
from dnspanel.secondaries import set_up
from dnspanel.secondaries.configuration import parts_for
from dnspanel.zones.acting import Acting
from dnspanel.zones.publishing import edit
from dnspanel.zones.models import Zone
from replication.dns.rrset import make
SOA, NS = 6, 2
owner, ports, zones = User.objects.get(username="secunda"), json.loads(sys.argv[1]), json.loads(sys.argv[2])
for name in zones:
    short = [make(name, SOA, 2, [f"ns.test. hostmaster.test. 1 10800 3600 604800 2"]),
        make(name, NS, 2, ["ns.test."])] if name.startswith("rolled") else None
    edit.create_zone(zone=edit.NewZone(name, short), acting=Acting(owner, "web", timezone.now()))
Zone.objects.filter(name__in=zones).update(tags=["foreign"])
found = {}
for kind, port in ports.items():
    terms = set_up.Terms(kind, [f"127.0.0.1:{port}"], kind=kind, choice="tag", tag="foreign")
    made = set_up.create_secondary(terms=terms, by=owner, now=timezone.now())
    parts = parts_for(made.secondary, gateways=settings.GATEWAY_ADDRESSES, secret=made.secret, zones=zones)
    found[kind] = [part.text for part in parts]
print(json.dumps(found))
"""

EDIT = """
import json, random, sys, django
django.setup()
from django.utils import timezone
from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.publishing import zone_patches
from dnspanel.zones.models import Zone
from replication.dns import rdata
from replication.dns.rrset import make
username, seed, count, names = json.loads(sys.argv[1])
owner = User.objects.get(username=username)
chance = random.Random(seed)
TEXTS = {
    "A": lambda: f"192.0.2.{chance.randrange(1, 255)}",
    "AAAA": lambda: f"2001:db8::{chance.randrange(1, 9999):x}",
    "TXT": lambda: f'"{chance.random()}" "two words"',
    "MX": lambda: f"{chance.randrange(99)} mail{chance.randrange(9)}.example.net.",
}
published = 0
while published < count:
    zone = Zone.objects.get(name=chance.choice(names), deleted_at=None)
    changes = {}
    for _ in range(chance.randrange(1, 4)):
        name, type_ = f"h{chance.randrange(12)}.{zone.name}", chance.choice(list(TEXTS))
        number = rdata.type_from_text(type_)
        texts = {TEXTS[type_]() for _ in range(chance.randrange(0, 4))}
        disabled = [text for text in texts if chance.random() < 0.1]
        rrset = make(name, number, chance.choice([60, 300]), sorted(texts), disabled) if texts else None
        changes[name, number] = rrset
    patch = zone_patches.Patch(zone, lambda current: changes, {name for name, _ in changes})
    outcome = zone_patches.publish_patches(patches=[patch], acting=Acting(owner, "api", timezone.now()), confirmed=True)
    published += outcome.publication is not None
"""

PUBLISHED = """
import json, sys, django
django.setup()
from dnspanel.zones.models import RRset, Zone
from replication.dns import rdata
print(json.dumps({
    zone.name: [
        [row.name, row.ttl, rdata.type_to_text(row.type), text]
        for row in RRset.objects.filter(zone=zone) for text in row.rdata if text not in row.disabled
    ] for zone in Zone.objects.filter(name__in=json.loads(sys.argv[1]), deleted_at=None)
}))
"""

MEMBERS = """
import json, django
django.setup()
from dnspanel.secondaries.models import Member
print(json.dumps(list(Member.objects.filter(until=None).values(
    "secondary__kind", "zone_name", "transferred_how", "behind_since", "notified_at", "notify_error", "served_serial",
    "zone__serial", "question_error")), default=str))
"""

REPLACE_ZONE = """
import sys, django
django.setup()
from django.utils import timezone
from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.publishing import edit
from dnspanel.zones.models import Zone
owner = User.objects.get(username="secunda")
gone, come = sys.argv[1:]
zone = Zone.objects.get(name=gone, deleted_at=None)
edit.delete_zone(zone=zone, author=owner, channel="web", now=timezone.now())
edit.create_zone(zone=edit.NewZone(come), acting=Acting(owner, "web", timezone.now()))
Zone.objects.filter(name=come, deleted_at=None).update(tags=["foreign"])
"""


SIGN = """
import json, sys, django
django.setup()
from datetime import timedelta
from django.utils import timezone
from dnspanel.accounts.models import User
from dnspanel.secondaries import signed
from dnspanel.zones.acting import Acting
from dnspanel.zones.publishing import zone_patches
from dnspanel.zones.signing import rollovers, sign
from dnspanel.zones.dnssec.rollover import Kind
from dnspanel.zones.models import Zone
from replication.codec.dnssec import Nsec3
from replication.dns.rrset import make
owner = User.objects.get(username="secunda")
acting = Acting(owner, "api", timezone.now())
step, names = sys.argv[1], json.loads(sys.argv[2])
for name in names:
    zone = Zone.objects.get(name=name, deleted_at=None)
    if step in {"sign", "split"}:
        rrset = make(f"www.{name}", 1, 2, ["192.0.2.1"])
        patch = zone_patches.Patch(zone, lambda current: {(rrset.name, 1): rrset}, {rrset.name})
        zone_patches.publish_patches(patches=[patch], acting=Acting(owner, "api", timezone.now()))
        zone.refresh_from_db()
        nsec3 = Nsec3(0, b"", False, False) if name.startswith("nsec3") else None
        sign.sign(zones=[zone], nsec3=nsec3, acting=acting, split=step == "split")
    elif step == "roll":
        rollovers.begin(zone=zone, kind=Kind.CSK, acting=acting)
if step == "week":
    print(signed.publish_due_signatures(now=timezone.now() + timedelta(days=8)))
"""

# BIND may transfer from nowhere where it is while a zone-signing key is replaced, and then again. The rollover's clock
# runs fifteen times as fast, so that the minute that each wait is longer than TTLs passes in four seconds.
ROLL_PAST = """
import json, sys, time, django
django.setup()
from dataclasses import replace
from datetime import timedelta
from django.utils import timezone
from dnspanel.accounts.models import User
from dnspanel.fleet.dnssec import drive
from dnspanel.secondaries import set_up
from dnspanel.secondaries.models import Secondary
from dnspanel.zones.acting import Acting
from dnspanel.zones.signing import rollovers
from dnspanel.zones.dnssec.rollover import Kind
from dnspanel.zones.models import Rollover, Zone
step, name = sys.argv[1:]
owner, zone = User.objects.get(username="secunda"), Zone.objects.get(name=name, deleted_at=None)
bind = Secondary.objects.get(name="bind")
began, until = timezone.now(), time.monotonic() + 90
networks = ["192.0.2.0/24"] if step == "cut off" else []
terms = replace(set_up.terms_of(bind), networks=networks)
set_up.change_secondary(secondary=bind, terms=terms, by=owner, now=began)
if step == "cut off":
    Rollover.objects.exclude(zone=zone).delete()  # of other tests: their parents would be asked at each look
    rollovers.begin(zone=zone, kind=Kind.ZSK, acting=Acting(owner, "api", began))
else:
    set_up.notify_now(secondary=bind, by=owner, now=began)
row = Rollover.objects.select_related("zone").get(zone=zone)
start = max(began, row.looked_at)
clock = lambda: start + (timezone.now() - began) * 15
looks = []
def look():
    drive.drive_rollovers(clock=clock, look_every=timedelta())
    row.refresh_from_db()
    if not looks or looks[-1] != [row.step, row.waits_for]:
        looks.append([row.step, row.waits_for])
    assert time.monotonic() < until, looks[-5:]
    time.sleep(0.1)
if step == "cut off":
    while not (row.late_secondaries == ["bind"] and "answers serial" in row.waits_for):
        look()
    held = clock()
    while clock() - held < timedelta(seconds=100):  # longer than what caches are waited for
        look()
else:
    while row.ended_at is None:
        look()
print(json.dumps({"looks": looks, "late": row.late_secondaries, "cancelled": row.is_cancelled}))
"""


@dataclass(frozen=True, slots=True)
class Estate:
    """The panel and its three secondaries."""

    stack: Stack
    foreign: list[Foreign]

    def members(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(run_script(self.stack, MEMBERS))
        return found

    def published(self, zones: list[str]) -> dict[str, set[Record]]:
        rows = json.loads(run_script(self.stack, PUBLISHED, json.dumps(zones)))
        return {
            zone: in_canonical_form(zone, "\n".join(" ".join(map(str, (n, t, "IN", k, v))) for n, t, k, v in records))
            for zone, records in rows.items()
        }

    def are_equal(self, zones: list[str], *, seconds: float) -> dict[str, set[Record]]:
        """Check that every secondary answers with the published serial of each zone within `seconds` seconds."""
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
    parts = json.loads(run_script(stack, SET_UP, json.dumps(ports), json.dumps(zones)))
    with running(tmp_path_factory.mktemp("foreign"), ports, parts) as foreign:
        estate = Estate(stack, foreign)
        estate.are_equal(ZONES, seconds=60)
        yield estate


def edit_at_random(estate: Estate, *, seed: int, count: int, zones: list[str], by: str = "secunda") -> None:
    run_script(estate.stack, EDIT, json.dumps([by, seed, count, zones]))


def test_after_many_edits_each_has_record_for_record_what_is_published(estate: Estate) -> None:
    began = time.monotonic()
    for seed in range(4):
        edit_at_random(estate, seed=seed, count=EDITS // 4, zones=ZONES)
    published = estate.are_equal(ZONES, seconds=30)
    # The SOA's refresh is hours and its retry an hour: only NOTIFY can have brought what came within a minute.
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
        seconds=30,  # that it answers so is found by asking it, after a second and then ever later
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
    run_script(estate.stack, REPLACE_ZONE, LEAVES, new)
    readers = [one for one in estate.foreign if one.kind != "nsd"]  # Debian's reads no catalog zones
    for one in readers:  # a tag is followed within half a minute
        until(lambda one=one: one.serial_of(new) is not None, seconds=60, what=f"{new} at {one.kind}")  # type: ignore[misc]

        def is_gone(one: Foreign = one) -> bool:
            answer = one.answer(LEAVES)
            return answer is not None and answer.rcode() == dns.rcode.REFUSED

        until(is_gone, seconds=30, what=f"{LEAVES} gone from {one.kind}")
    answer = estate.foreign[-1].answer(LEAVES)
    assert answer is not None


def validates(one: Foreign, zone: str, dnskey: str) -> None:
    """Check that what the secondary answers validates from this key, names that are not there included."""
    with unbound({zone: [one.port]}, [f"{zone} DNSKEY {dnskey}"]) as resolver:
        for name, type_ in ((f"www.{zone}", "A"), (zone, "SOA"), (f"www.{zone}", "MX"), (f"nothing.{zone}", "A")):
            assert resolver.ask(name, type_).is_secure, (one.kind, name, type_, resolver.bogus)


def test_signed_zones_are_served_signed_through_a_rollover_and_a_new_week(estate: Estate) -> None:
    run_script(estate.stack, SIGN, "sign", json.dumps(SIGNED))
    published = estate.are_equal(SIGNED, seconds=60)
    anchors = {zone: " ".join(ask(estate.stack.nodes[0], zone, "DNSKEY").rdata[0].split()) for zone in SIGNED}
    for one in estate.foreign:
        for zone in SIGNED:
            validates(one, zone, anchors[zone])
            content = {record for record in one.records_of(zone) if record[2] not in OF_SIGNERS}
            assert content == {record for record in published[zone] if record[2] not in OF_SIGNERS}
    run_script(estate.stack, SIGN, "roll", json.dumps(SIGNED))
    estate.are_equal(SIGNED, seconds=60)
    for one in estate.foreign:
        for zone in SIGNED:
            answer = one.answer(zone, "DNSKEY")
            assert answer is not None
            assert len(answer.answer[0]) == 2, "the new key stands beside the old one"
            validates(one, zone, anchors[zone])
    signed = [zone for zone in [*SIGNED, ROLLED] if ask(estate.stack.nodes[0], zone, "DNSKEY").rdata]
    assert int(run_script(estate.stack, SIGN, "week", "[]")) == len(signed)
    estate.are_equal(SIGNED, seconds=60)


def test_a_rollover_waits_for_a_secondary_that_still_answers_with_the_old_keys(estate: Estate) -> None:
    run_script(estate.stack, SIGN, "split", json.dumps([ROLLED]))
    estate.are_equal([ROLLED], seconds=60)
    [bind] = [one for one in estate.foreign if one.kind == "bind"]
    keys = [text for text in ask(estate.stack.nodes[0], ROLLED, "DNSKEY").rdata if text.startswith("257")]
    anchor = " ".join(keys[0].split())
    before = bind.serial_of(ROLLED)
    assert before is not None
    waiting = json.loads(run_script(estate.stack, ROLL_PAST, "cut off", ROLLED))
    assert {step for step, _ in waiting["looks"]} == {"publish"}
    waits_for = waiting["looks"][-1][1]
    assert waits_for.startswith("Every secondary that has the zone has to answer with this step."), waiting
    assert f"bind (BIND) answers serial {before} in place of" in waits_for
    assert bind.serial_of(ROLLED) == before
    validates(bind, ROLLED, anchor)
    released = json.loads(run_script(estate.stack, ROLL_PAST, "go on", ROLLED))
    assert {step for step, _ in released["looks"]} == {"publish", "sign", "remove"}, released
    assert (released["late"], released["cancelled"]) == ([], False)
    for one in estate.foreign:
        validates(one, ROLLED, anchor)


@pytest.mark.full(reason="edits over two hundred zones that secondaries have, signed and not")
def test_after_thousands_of_edits_over_hundreds_of_zones_each_has_every_record(estate: Estate) -> None:
    run_script(estate.stack, SIGN, "sign", json.dumps(OF_MANY_SIGNED))
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
        # Edits that come while a zone is fetched are one difference, and one that is longer than the zone is the zone.
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
