"""The cost of signing: edits of a signed zone of a million records, a job that signs 10,000 zones, and signed answers.

Edits are single ones as in `push`, of random names in one zone, measured from before `publish()` to the answer of the
last of three real nodes. Each kind of denial (NSEC, NSEC3) is used in turn on the same zone. The seconds until every
node has the zone with the new kind are only reported. The job is the policy run that a person starts after a dry run,
for zones of the estate. Its clock stops when each node has answered for each zone with a signature over the SOA. Signed
answers are compared with unsigned answers and with other servers.

`--only edits|job|answers` runs one part; the results of other parts are then missing.
"""

import argparse
import json
import random
import socket
import statistics
import struct
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from replication.codec.dnssec import Nsec3
from replication.dns import names, rdtypes
from replication.dns.rrset import RRset, make
from tests.benchmarks import estate, signed_serving, stacks, timeline
from tests.benchmarks.answers import Address
from tests.benchmarks.say import say

ZONE = "million.test."
RECORDS = 1_000_000
EDITS = 100
JOB_ZONES = 10_000
JOB_SECONDS = 600
SWITCH_SECONDS = 1800
SERVED_ZONES = 2_000
POLL_SECONDS = 0.002
DENIALS: Mapping[str, Nsec3 | None] = {
    "nsec": None,
    "nsec3": Nsec3(),
    "optout": Nsec3(opt_out=True),
    "narrow": Nsec3(narrow=True),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=RECORDS, help="records of the edited zone")
    parser.add_argument("--edits", type=int, default=EDITS, help="edits for each kind of denial")
    parser.add_argument("--zones", type=int, default=JOB_ZONES, help="zones that the job signs")
    parser.add_argument("--served", type=int, default=SERVED_ZONES, help="zones that the servers have")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--only", choices=("edits", "job", "answers"))
    args = parser.parse_args()
    result: dict[str, Any] = {"bench": "dnssec"}
    if args.only in (None, "edits", "job"):
        with stacks.bench_stack("dnssec") as stack:
            if args.only != "edits":
                result["sign_10000_s"] = sign_by_a_job(stack, zones=args.zones)
            if args.only != "job":
                result |= edits_in_each_way(stack, records=args.records, edits=args.edits)
    if args.only in (None, "answers"):
        place = stacks.ROOT / "var" / "bench" / "dnssec-answers"
        compared = signed_serving.compare(place, zones=args.served, rounds=args.rounds, seconds=args.seconds)
        compared.say()
        result |= signed_serving.signing_costs(compared)
    say(json.dumps(result))


# One zone of a million records


def edits_in_each_way(stack: stacks.BenchStack, *, records: int, edits: int) -> dict[str, dict[str, float]]:
    """Return by kind of denial the p50 and p99 of edits in milliseconds, and the most bytes sent to a node per edit."""
    began = time.monotonic()
    zone_id = _create_large_zone(records)
    stack.wait_until_in_sync(timeout=SWITCH_SECONDS)
    say(f"{ZONE} with {records:,} records is at all nodes after {time.monotonic() - began:.0f} s")
    found: dict[str, dict[str, float]] = {"edit_p50_ms": {}, "edit_p99_ms": {}, "bytes_per_node": {}}
    for number, way in enumerate(("unsigned", *DENIALS)):
        if way != "unsigned":
            began = time.monotonic()
            _deny(zone_id, DENIALS[way])
            published = time.monotonic()
            stack.wait_until_in_sync(timeout=SWITCH_SECONDS)
            say(f"  {way}: published in {published - began:.1f} s, at all nodes {time.monotonic() - began:.1f} s")
        _edit(stack, zone_id, records=records, edits=min(edits, 20), seed=number)  # warms up connections and caches
        for key, value in _edit(stack, zone_id, records=records, edits=edits, seed=100 + number).items():
            found[key][way] = value
        say(f"  {way:>9}: " + ", ".join(f"{key} {of[way]}" for key, of in found.items()))
    worst = max(value / found["edit_p50_ms"]["unsigned"] for value in found["edit_p50_ms"].values())
    say(f"signed/unsigned p50 at most {worst:.2f} (target ≤ 1.3)")
    return found


def _create_large_zone(records: int) -> int:
    from django.utils import timezone

    from dnspanel.zones.acting import Acting
    from dnspanel.zones.models import Channel, Zone
    from dnspanel.zones.publishing import edit

    rrsets: list[RRset] = [
        make(ZONE, rdtypes.SOA, 3600, ["ns1.example.net. hostmaster.example.net. 1 10800 3600 604800 300"]),
        make(ZONE, rdtypes.NS, 3600, ["ns1.example.net.", "ns2.example.net."]),
        *(RRset(_name(number), rdtypes.A, estate.TTL, ("198.51.100.1",)) for number in range(records)),
    ]
    new = edit.NewZone(name=ZONE, rrsets=rrsets)
    edit.create_zones(zones=[new], acting=Acting(None, Channel.IMPORT, timezone.now(), "benchmark"))
    return Zone.objects.get(name=ZONE, deleted_at=None).pk


def _name(number: int) -> str:
    return f"n{number}.{ZONE}"


def _deny(zone_id: int, nsec3: Nsec3 | None) -> None:
    """Sign the zone with this kind of denial (None: NSEC)."""
    from django.utils import timezone

    from dnspanel.zones.acting import Acting
    from dnspanel.zones.models import Channel, Zone
    from dnspanel.zones.signing import sign

    zone = Zone.objects.get(pk=zone_id)
    acting = Acting(None, Channel.SYSTEM, timezone.now(), "benchmark")
    if not sign.sign(zones=[zone], acting=acting, nsec3=nsec3):
        sign.set_denial(zone=zone, nsec3=nsec3, acting=acting)


def _edit(stack: stacks.BenchStack, zone_id: int, *, records: int, edits: int, seed: int) -> dict[str, float]:
    chosen = random.Random(seed)
    before = stack.bytes_pushed()
    made = []
    for number, record in enumerate(chosen.sample(range(records), edits)):
        address = f"198.51.{seed % 100 + 101}.{number % 250 + 1}"
        made.append(timeline.publish(stack.dns_addresses, zone_id=zone_id, name=_name(record), address=address))
        time.sleep(chosen.uniform(0.0, 0.05))
    stack.wait_until_in_sync()
    milliseconds = sorted(edit.milliseconds for edit in made)
    return {
        "edit_p50_ms": round(statistics.median(milliseconds), 1),
        "edit_p99_ms": round(milliseconds[max(0, int(len(milliseconds) * 0.99) - 1)], 1),
        "bytes_per_node": round(max((b - a) / edits for a, b in zip(before, stack.bytes_pushed(), strict=True))),
    }


# 10,000 zones by one job


def sign_by_a_job(stack: stacks.BenchStack, *, zones: int) -> float:
    """Return the seconds from the start of the policy run until every node returns signatures for every zone."""
    from django.utils import timezone

    from dnspanel.zones.dnssec.policy import Terms
    from dnspanel.zones.models import Zone
    from dnspanel.zones.runs import policy_runs
    from dnspanel.zones.signing import policies

    records = estate.fill(first=0, zones=zones, of=zones, records=round(zones * 10.63), say=say)
    stack.wait_until_in_sync(timeout=JOB_SECONDS)
    say(f"{zones:,} zones, {records:,} records at all nodes, unsigned")
    policies.create_policy(name="Benchmark", terms=Terms(), is_default=True, by=None, now=timezone.now())
    dry_run = policy_runs.create_run(by=None, now=timezone.now(), dry_run=True)
    began = time.monotonic()
    _wait_for_run(dry_run.pk)
    dry_run.refresh_from_db()
    say(f"  dry run: {time.monotonic() - began:.1f} s, {dry_run.counts}")
    wanted = list(Zone.objects.filter(deleted_at=None).order_by("pk").values_list("name", flat=True))
    began = time.monotonic()
    run = policy_runs.start_run(dry_run=dry_run, by=None, now=timezone.now())
    _wait_until_signed(stack.dns_addresses, wanted, deadline=began + JOB_SECONDS)
    seconds = round(time.monotonic() - began, 1)
    _wait_for_run(run.pk)
    run.refresh_from_db()
    say(f"  every node answers signed after {seconds} s (target ≤ 60 s): {run.counts}")
    stack.wait_until_in_sync()
    return seconds


def _wait_for_run(run_id: int) -> None:
    """Wait until the run is done. Raise RuntimeError if it failed, or TimeoutError after `JOB_SECONDS`."""
    from dnspanel.zones.models import UNFINISHED_STATES, PolicyRun, RunState

    deadline = time.monotonic() + JOB_SECONDS
    while (run := PolicyRun.objects.get(pk=run_id)).state in UNFINISHED_STATES:
        if time.monotonic() > deadline:
            raise TimeoutError(f"run {run_id} is not done after {timedelta(seconds=JOB_SECONDS)}")
        time.sleep(0.05)
    if run.state != RunState.DONE:
        raise RuntimeError(f"run {run_id} is {run.state}: {run.failure}")


def _wait_until_signed(nodes: Sequence[Address], zones: Sequence[str], *, deadline: float) -> None:
    """Wait until each node returns the SOA of each zone with a signature. Raise TimeoutError after `deadline`."""
    for node in nodes:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(2)
            sock.connect(node)
            for zone in zones:
                while not _is_signed(sock, zone):
                    if time.monotonic() > deadline:
                        raise TimeoutError(f"{zone} is not signed at {node}")
                    time.sleep(POLL_SECONDS)


def _is_signed(sock: socket.socket, zone: str) -> bool:
    """Return True if the answer section has the SOA and another record, which with the DO bit is the signature."""
    identifier = random.randrange(65536)
    header = struct.pack(">HHHHHH", identifier, 0, 1, 0, 0, 1)
    opt = struct.pack(">BHHIH", 0, 41, 1232, 0x8000, 0)
    sock.send(header + names.to_wire(zone) + struct.pack(">HH", rdtypes.SOA, 1) + opt)
    while True:
        reply = sock.recv(4096)
        if struct.unpack_from(">H", reply)[0] == identifier:
            break
    return bool(struct.unpack_from(">H", reply, 6)[0] == 2)


if __name__ == "__main__":
    main()
