"""Zone transfers: AXFR of a million records, IXFR of one change, NOTIFY to BIND, Knot and NSD, and a large catalog.

The same client takes an AXFR of the same zone from the gateway (with TSIG) and from Knot (without), and counts the
records. The servers alternate, and the best time of each counts. `peak_mb` is the peak memory of the gateway during
four parallel transfers. The IXFR has one changed record of that zone. NOTIFY is measured from before `publish()` to the
answer with the new serial, for single edits of one zone. The catalog has 10,000 members, and is measured from the start
of an empty Knot to its answer for each member.

`--only axfr|notify|catalog` runs one part; the results of other parts are then missing.
"""

import argparse
import json
import os
import shutil
import socket
import statistics
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import dns.message
import dns.rdatatype
import dns.rrset
import dns.tsig

from replication.dns import names, rdtypes
from replication.dns.rrset import RRset, make
from tests.benchmarks import stacks
from tests.benchmarks.say import say
from tests.foreign_servers import HERE, MAKERS, Foreign, running
from tests.ports import free_port

ZONE = "million.test."
NOTIFIED = "notified.test."
RECORDS, EDITS, MEMBERS = 1_000_000, 300, 10_000
ROUNDS = 3
AT_ONCE = 4
PATIENCE = 600.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--edits", type=int, default=EDITS)
    parser.add_argument("--members", type=int, default=MEMBERS)
    parser.add_argument("--only", choices=("axfr", "notify", "catalog"))
    args = parser.parse_args()
    os.environ["PANEL_SECONDARY_NETWORKS"] = "127.0.0.0/8"
    result: dict[str, Any] = {"bench": "transfer"}
    with stacks.bench_stack("transfer") as stack:
        place = stacks.ROOT / "var" / "bench" / "transfer-servers"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        bench = Bench(stack, place)
        if args.only in (None, "axfr"):
            result |= bench.transfers(args.records)
        if args.only in (None, "notify"):
            result |= bench.notices(args.edits)
        if args.only in (None, "catalog"):
            result |= bench.catalog(args.members)
        shutil.rmtree(place)
    say(json.dumps(result))


class Bench:
    """The parts of the benchmark, run on one stack."""

    def __init__(self, stack: stacks.BenchStack, place: Path) -> None:
        from django.utils import timezone

        from dnspanel.accounts.models import Role, User

        self._stack, self._place = stack, place
        self._gateway = stack.stack.update_port
        self._owner = User.objects.create(
            username="bench", email="bench@people.test", role=Role.ADMINISTRATOR, date_joined=timezone.now()
        )

    # AXFR and IXFR

    def transfers(self, records: int) -> dict[str, Any]:
        key = self._secondary("client", free_port(), zones=[self._create_large_zone(records)])[1]
        rates: dict[str, list[float]] = {"gateway": [], "knot": []}
        total = records + 4  # SOA twice, NS
        with self._knot_with_the_zone(records) as knot_port:
            for _ in range(ROUNDS):
                for name, port, signing in (("gateway", self._gateway, key), ("knot", knot_port, None)):
                    began = time.monotonic()
                    found, _size = transfer(port, ZONE, signing)
                    assert found == total, f"{name} sent {found} records of {total}"
                    rates[name].append(found / (time.monotonic() - began))
        say(f"AXFR records/s: {', '.join(f'{name} {max(each):,.0f}' for name, each in rates.items())}")
        with ThreadPoolExecutor(AT_ONCE) as pool:
            assert set(pool.map(lambda _: transfer(self._gateway, ZONE, key)[0], range(AT_ONCE))) == {total}
        milliseconds, size = self._one_change(key)
        return {
            "axfr_out_records_per_s": round(max(rates["gateway"])),
            "axfr_vs_knot": round(max(rates["gateway"]) / max(rates["knot"]), 3),
            "peak_mb": round(self._peak_of_gateway(), 1),
            "ixfr_ms": round(milliseconds, 1),
            "ixfr_bytes": size,
        }

    def _one_change(self, key: dns.tsig.Key) -> tuple[float, int]:
        """Return the median time in seconds of an IXFR with one changed record, and its size in bytes."""
        from dnspanel.zones.models import Zone

        times, size = [], 0
        for number in range(20):
            serial = Zone.objects.get(name=ZONE).serial
            self._publish(ZONE, f"n{number}.{ZONE}", f"203.0.113.{number + 1}")
            began = time.monotonic()
            found, size = transfer(self._gateway, ZONE, key, since=serial)
            times.append((time.monotonic() - began) * 1000)
            assert found == 6, f"{found} records in place of the old and new one and four SOA"
        return statistics.median(times), size

    def _create_large_zone(self, records: int) -> str:
        from django.utils import timezone

        from dnspanel.zones.acting import Acting
        from dnspanel.zones.models import Channel
        from dnspanel.zones.publishing import edit

        rrsets: list[RRset] = [
            make(ZONE, rdtypes.SOA, 3600, ["ns1.example.net. hostmaster.example.net. 1 10800 3600 604800 300"]),
            make(ZONE, rdtypes.NS, 3600, ["ns1.example.net.", "ns2.example.net."]),
            *(RRset(f"n{number}.{ZONE}", rdtypes.A, 300, ("198.51.100.1",)) for number in range(records)),
        ]
        began = time.monotonic()
        new = edit.NewZone(name=ZONE, rrsets=rrsets)
        edit.create_zones(zones=[new], acting=Acting(None, Channel.IMPORT, timezone.now(), "benchmark"))
        self._stack.wait_until_in_sync(timeout=1800)
        say(f"{ZONE} with {records:,} records is at all nodes after {time.monotonic() - began:.0f} s")
        return ZONE

    @contextmanager
    def _knot_with_the_zone(self, records: int) -> Iterator[int]:
        directory, port = self._place / "primary", free_port()
        directory.mkdir()
        with (directory / "zone").open("w") as file:
            file.write(f"$ORIGIN {ZONE}\n@ 3600 SOA ns1.example.net. hostmaster.example.net. 1 10800 3600 604800 300\n")
            file.write("@ 3600 NS ns1.example.net.\n@ 3600 NS ns2.example.net.\n")
            file.writelines(f"n{number} 300 A 198.51.100.1\n" for number in range(records))
        (directory / "knot.conf").write_text(
            f"server:\n    listen: {HERE}@{port}\n    rundir: {directory}\n    user: root\n"
            f"database:\n    storage: {directory}\nacl:\n  - id: all\n    address: {HERE}\n    action: transfer\n"
            f"zone:\n  - domain: {ZONE}\n    storage: {directory}\n    file: zone\n    acl: all\n"
        )
        with (directory / "log").open("wb") as log:
            process = subprocess.Popen(["knotd", "-c", str(directory / "knot.conf")], stdout=log, stderr=log)
        try:
            server = Foreign("knot", port, directory / "log", lambda zone: "")
            wait_for(lambda: server.serial_of(ZONE) is not None, what="Knot with the zone")
            yield port
        finally:
            process.terminate()
            process.wait(30)

    def _peak_of_gateway(self) -> float:
        """Return the peak memory of the gateway's process, in MiB."""
        pid = self._stack.stack.supervisor.pid("update")
        status = Path(f"/proc/{pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024

    # NOTIFY

    def notices(self, edits: int) -> dict[str, Any]:
        from django.utils import timezone

        from dnspanel.zones.acting import Acting
        from dnspanel.zones.models import Channel
        from dnspanel.zones.publishing import edit

        edit.create_zone(zone=edit.NewZone(NOTIFIED), acting=Acting(None, Channel.WEB, timezone.now()))
        ports = {kind: free_port() for kind in MAKERS}
        parts = {kind: self._secondary(kind, port, zones=[NOTIFIED])[0] for kind, port in ports.items()}
        found: dict[str, list[float]] = {kind: [] for kind in MAKERS}
        with running(self._place, ports, parts) as servers, ThreadPoolExecutor(len(servers)) as pool:
            for server in servers:
                wait_for(lambda server=server: server.serial_of(NOTIFIED) is not None, what=server.kind)  # type: ignore[misc]
            for number in range(edits):
                began = time.monotonic()
                serial = self._publish(NOTIFIED, f"h{number % 50}.{NOTIFIED}", f"203.0.113.{number % 250 + 1}")
                answered = partial(answered_after, zone=NOTIFIED, serial=serial, began=began)
                for server, seconds in zip(servers, pool.map(answered, servers), strict=True):
                    found[server.kind].append(seconds * 1000)
        quantiles = {kind: statistics.quantiles(times, n=100) for kind, times in found.items()}
        return {
            "notify_p50_ms": {kind: round(each[49], 1) for kind, each in quantiles.items()},
            "notify_p99_ms": {kind: round(each[98], 1) for kind, each in quantiles.items()},
        }

    # A catalog

    def catalog(self, members: int) -> dict[str, Any]:
        from django.utils import timezone

        from dnspanel.zones.acting import Acting
        from dnspanel.zones.models import Channel, Zone
        from dnspanel.zones.publishing import edit

        zones = [f"m{number}.members.test." for number in range(members)]
        for start in range(0, members, 1000):
            new = [edit.NewZone(name=name, rrsets=None) for name in zones[start : start + 1000]]
            edit.create_zones(zones=new, acting=Acting(None, Channel.IMPORT, timezone.now(), "benchmark"))
        Zone.objects.filter(name__endswith=".members.test.").update(tags=["members"])
        self._stack.wait_until_in_sync(timeout=PATIENCE)
        port = free_port()
        began = time.monotonic()
        parts = self._secondary("knot", port, name="members", tag="members")[0]
        say(f"a secondary of {members:,} zones is set up in {time.monotonic() - began:.1f} s")
        place = self._place / "catalog"
        place.mkdir()
        began = time.monotonic()
        with running(place, {"knot": port}, {"knot": parts}, kinds=["knot"]) as (knot,):
            for zone in zones:
                wait_for(lambda zone=zone: knot.serial_of(zone) is not None, what=zone)  # type: ignore[misc]
            seconds = time.monotonic() - began
        return {f"catalog_{members}_s": round(seconds, 1)}

    # Both

    def _publish(self, zone_name: str, name: str, address: str) -> int:
        """Publish this record and return the zone's new serial."""
        from django.utils import timezone

        from dnspanel.zones.acting import Acting
        from dnspanel.zones.models import Zone
        from dnspanel.zones.publishing import zone_patches

        zone = Zone.objects.get(name=zone_name)
        rrset = make(name, rdtypes.A, 300, [address])
        patch = zone_patches.Patch(zone, lambda current: {(name, rdtypes.A): rrset}, {name})
        zone_patches.publish_patches(patches=[patch], acting=Acting(None, "api", timezone.now()))
        zone.refresh_from_db()
        return zone.serial

    def _secondary(
        self, kind: str, port: int, *, zones: Sequence[str] = (), tag: str = "", name: str = ""
    ) -> tuple[list[str], dns.tsig.Key]:
        """Create a secondary, and return its configuration and TSIG key."""
        from django.conf import settings
        from django.utils import timezone

        from dnspanel.secondaries import secondary_keys, set_up_secondaries
        from dnspanel.secondaries.configuration import parts_for

        known = kind if kind in MAKERS else "other"
        choice: Mapping[str, Any] = {"choice": "tag", "tag": tag} if tag else {"choice": "list", "zones": zones}
        terms = set_up_secondaries.Terms(name or kind, [f"{HERE}:{port}"], kind=known, **choice)
        made = set_up_secondaries.create_secondary(terms=terms, by=self._owner, now=timezone.now())
        parts = parts_for(made.secondary, gateways=settings.GATEWAY_ADDRESSES, secret=made.secret, zones=zones)
        return [part.text for part in parts], secondary_keys.key_of(made.secondary)


def transfer(port: int, zone: str, key: dns.tsig.Key | None, *, since: int | None = None) -> tuple[int, int]:
    """Return the numbers of records and bytes in a transfer. Only headers are parsed, so as to measure the server."""
    query = dns.message.make_query(zone, "AXFR" if since is None else "IXFR", flags=0)
    if since is not None:
        query.authority.append(dns.rrset.from_text(zone, 0, "IN", "SOA", f". . {since} 0 0 0 0"))
    if key is not None:
        query.use_tsig(key, algorithm=key.algorithm)
    wire = query.to_wire()
    records = size = serials = 0
    with socket.create_connection((HERE, port), timeout=60) as connection, connection.makefile("rb") as stream:
        connection.sendall(struct.pack(">H", len(wire)) + wire)
        while True:
            message = stream.read(int.from_bytes(stream.read(2), "big"))
            assert message[3] & 15 == 0, f"rcode {message[3] & 15}"
            count = int.from_bytes(message[6:8], "big")
            records, size = records + count, size + len(message) + 2
            serials += _is_last(message, zone, count)
            if serials:
                return records, size


def _is_last(message: bytes, zone: str, count: int) -> bool:
    """Return True if the message ends with an SOA that isn't the transfer's first record."""
    soa = struct.pack(">HH", dns.rdatatype.SOA, 1)
    return count > 1 and soa in message[-300 - len(names.to_wire(zone)) :]


def answered_after(server: Foreign, zone: str, serial: int, began: float) -> float:
    """Return the seconds from `began` until the server answers with this serial."""
    wait_for(lambda: server.serial_of(zone) == serial, what=f"{server.kind} {serial}", every=0.001)
    return time.monotonic() - began


def wait_for(condition: Any, *, what: str, every: float = 0.01) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(every)


if __name__ == "__main__":
    main()
