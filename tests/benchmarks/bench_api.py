"""API v1 compared with the HTTP API of a real pdns_server, on the same zones, machine and PostgreSQL server.

The rival is `pdns_server` with its PostgreSQL backend and `api=yes`. `zone2sql` loads its database with the same zones
as the panel's. Both get the same requests from one client, which keeps each connection as long as the server allows.
Requests alternate, so that both are disturbed equally. A write to the panel includes history, rules and the push to
three nodes. A write to the rival only changes rows in its tables.

    get      GET of one zone with its RRsets
    patch    PATCH that replaces one RRset
    bulk     PATCH that replaces 1,000 RRsets of one zone
    list     GET of all zones
    search   GET search-data for a part of a zone's name

`*_vs_pdns` is the rival's median divided by the panel's: above 1, the panel is faster. At the end, bulk PATCHes follow
each other for `--seconds`. The clock stops when every node has confirmed the last one. A sample of the written records
is then queried from each node.
"""

import argparse
import contextlib
import http.client
import json
import random
import secrets
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dnspanel.demo import ports
from tests import zonegen
from tests.benchmarks import answers, estate, rivals, stacks
from tests.benchmarks.say import say

ZONES = 10_000
RECORDS = 106_000
BULK_RRSETS = 1_000
BULK_ZONES = 4
SAMPLE = 50
PATIENCE = 60

PDNS_CONF = """\
launch=gpgsql
gpgsql-host=127.0.0.1
gpgsql-port={port}
gpgsql-user={user}
gpgsql-password={password}
gpgsql-dbname={database}
local-address=127.0.0.1
local-port={dns_port}
socket-dir={directory}
api=yes
api-key={key}
webserver=yes
webserver-address=127.0.0.1
webserver-port={api_port}
webserver-loglevel=none
loglevel=3
"""


class UnexpectedAnswer(Exception):
    """A server did not carry out a request, so the measured time is meaningless."""


@dataclass
class Api:
    """One of the two servers, and the milliseconds that each kind of request took."""

    name: str
    base: str
    key: str
    took: dict[str, list[float]] = field(default_factory=dict)
    _connection: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Send one request and return the JSON of its response."""
        content = None if body is None else json.dumps(body)
        headers = {"X-API-Key": self.key, "Accept": "application/json", "Content-Type": "application/json"}
        if self._connection is None:
            address = urlsplit(self.base)
            self._connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=PATIENCE)
        self._connection.request(method, f"/api/v1/servers/localhost{path}", content, headers)
        response = self._connection.getresponse()
        reply = response.read()
        if response.will_close:
            self._connection.close()
        if response.status not in (200, 201, 204):
            raise UnexpectedAnswer(f"{self.name}: {method} {path}: {response.status} {reply[:300]!r}")
        return json.loads(reply) if reply else None

    def timed(self, kind: str, method: str, path: str, body: object = None) -> Any:
        """Send a request like `ask`, and record its time in milliseconds."""
        began = time.monotonic()
        answer = self.ask(method, path, body)
        self.took.setdefault(kind, []).append((time.monotonic() - began) * 1000)
        return answer

    def median(self, kind: str) -> float:
        return statistics.median(self.took[kind])

    def percentile(self, kind: str, share: float) -> float:
        ordered = sorted(self.took[kind])
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


@contextlib.contextmanager
def rival(stack: stacks.BenchStack, directory: Path) -> Iterator[Api]:
    """Start a pdns_server with its PostgreSQL backend and the estate, on the panel's PostgreSQL server."""
    server = stack.stack.stores.database_url.rpartition("/")[0]
    address = urlsplit(server)
    files = directory / "zones"
    files.mkdir()
    conf = zonegen.write_estate(files, ZONES, RECORDS)
    rivals.zone2sql_seconds(conf, server=server, records=RECORDS)
    subprocess.run(["psql", "-q", "-c", "ANALYZE", f"{server}/{rivals.DATABASE}"], check=True)
    api_port = ports.choose(taken=set())
    dns_port = ports.choose(taken={api_port})
    key = secrets.token_hex(16)
    (directory / "pdns.conf").write_text(
        PDNS_CONF.format(
            port=address.port,
            user=address.username,
            password=address.password,
            database=rivals.DATABASE,
            dns_port=dns_port,
            api_port=api_port,
            directory=directory,
            key=key,
        )
    )
    with open(directory / "pdns.log", "wb") as log:
        command = ["pdns_server", f"--config-dir={directory}", "--daemon=no", "--guardian=no"]
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            api = Api("pdns_server", f"http://127.0.0.1:{api_port}", key)
            _wait_until_up(api)
            yield api
        finally:
            process.terminate()
            process.wait(10)


def _wait_until_up(api: Api) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            api.ask("GET", "")
            return
        except OSError:
            api._connection = None
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def panel(stack: stacks.BenchStack) -> Api:
    """Return the panel's API with a token that has all rights."""
    from dataclasses import replace

    from django.utils import timezone

    from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
    from dnspanel.accounts.models import Role, User
    from dnspanel.accounts.tokens.token_terms import TokenTerms
    from dnspanel.accounts.tokens.tokens import create_token

    owner = User.objects.create(username="bench", email="bench@people.test", role=Role.EDITOR)
    terms = replace(TokenTerms("bench"), scope=(Grant(EVERY_RIGHT, everywhere=True),), requests_per_minute=1_000_000)
    new = create_token(owner=owner, terms=terms, by=owner, now=timezone.now())
    return Api("panel", stack.stack.url, new.secret)


def alternate(stack: stacks.BenchStack, apis: tuple[Api, Api], times: int, act: Callable[[Api, int], object]) -> None:
    """Call `act` for both servers, one after the other, `times` times."""
    for number in range(times):
        for api in apis if number % 2 else reversed(apis):
            stack.wait_until_in_sync(timeout=PATIENCE)
            act(api, number)


def address_rrset(name: str, address: str) -> dict[str, object]:
    """Return the element of a PATCH that sets one A record."""
    records = [{"content": address, "disabled": False}]
    return {"name": name, "type": "A", "ttl": 300, "changetype": "REPLACE", "records": records}


def bulk(zone: str, number: int) -> dict[str, object]:
    """Return a PATCH with BULK_RRSETS addresses. Each `number` gives different addresses."""
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    return {"rrsets": [address_rrset(f"h{host}.{zone}", address) for host in range(BULK_RRSETS)]}


def make_bulk_zones(apis: tuple[Api, Api]) -> list[str]:
    """Create zones for the bulk PATCHes, including the RRsets to replace. Return the zone names."""
    names = [f"bulk{number}.test." for number in range(BULK_ZONES)]
    for api in apis:
        for name in names:
            body = {"name": name, "kind": "Native", "nameservers": ["ns1.provider.test."]}
            api.ask("POST", "/zones?rrsets=false", body)
            api.ask("PATCH", f"/zones/{name}", bulk(name, 0))
    return names


def compare(
    stack: stacks.BenchStack, apis: tuple[Api, Api], zones: list[str], *, rounds: int, say: Callable[[str], None]
) -> None:
    """Measure all five kinds of request on both servers."""
    chosen = random.Random(1).sample(zones, rounds)
    bulk_zones = make_bulk_zones(apis)

    def patch(api: Api, number: int) -> None:
        rrset = address_rrset(f"www.{chosen[number]}", f"198.51.{number >> 8}.{number & 255}")
        api.timed("patch", "PATCH", f"/zones/{chosen[number]}", {"rrsets": [rrset]})

    def search(api: Api, number: int) -> None:
        label = chosen[number].split(".")[0]
        found = api.timed("search", "GET", f"/search-data?q=*{label}*&max=20&object_type=zone")
        if not any(each["zone_id"] == chosen[number] for each in found):
            raise UnexpectedAnswer(f"{api.name} does not find {label}")

    def list_zones(api: Api, number: int) -> None:
        if len(api.timed("list", "GET", "/zones")) != len(zones) + BULK_ZONES:
            raise UnexpectedAnswer(f"{api.name} does not list all zones")

    kinds: list[tuple[str, int, Callable[[Api, int], object]]] = [
        ("get", rounds, lambda api, number: api.timed("get", "GET", f"/zones/{chosen[number]}")),
        ("patch", rounds, patch),
        (
            "bulk",
            8,
            lambda api, number: api.timed(
                "bulk",
                "PATCH",
                f"/zones/{bulk_zones[number % BULK_ZONES]}",
                bulk(bulk_zones[number % BULK_ZONES], number + 1),
            ),
        ),
        ("list", 6, list_zones),
        ("search", 100, search),
    ]
    for kind, times, act in kinds:
        alternate(stack, apis, 3 if times > 20 else 1, act)  # warms up connections, plans and caches
        for api in apis:
            api.took.pop(kind, None)
        alternate(stack, apis, times, act)
        for api in apis:
            rate = 1000 * len(api.took[kind]) / sum(api.took[kind])
            p50, p99 = api.median(kind), api.percentile(kind, 0.99)
            say(f"  {kind:>7} {api.name:>12} {rate:10.1f} requests/s   p50 {p50:8.1f} ms   p99 {p99:8.1f} ms")


def sustained(stack: stacks.BenchStack, api: Api, *, seconds: float, say: Callable[[str], None]) -> float:
    """Send bulk PATCHes in sequence, until every node answers with the last one. Return record changes per second."""
    zones = [f"bulk{number}.test." for number in range(BULK_ZONES)]
    changes, number = 0, 1000
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        number += 1
        api.ask("PATCH", f"/zones/{zones[number % BULK_ZONES]}", bulk(zones[number % BULK_ZONES], number))
        changes += BULK_RRSETS
    saved = time.monotonic()
    stack.wait_until_in_sync(timeout=300)
    ended = time.monotonic()
    for host in random.Random(2).sample(range(BULK_RRSETS), SAMPLE):
        wanted = str(bulk("x.", number)["rrsets"][0]["records"][0]["content"])  # type: ignore[index]
        answers.wait_for(stack.dns_addresses, f"h{host}.{zones[number % BULK_ZONES]}", wanted)
    say(f"  {changes:,} changes saved in {saved - began:.1f} s, answered by all nodes {ended - saved:.1f} s later")
    return changes / (ended - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300, help="GETs and single PATCHes of each server")
    parser.add_argument("--seconds", type=float, default=20, help="how long bulk PATCHes are sent")
    args = parser.parse_args()
    with stacks.bench_stack("api") as stack, tempfile.TemporaryDirectory() as scratch:
        estate.fill(first=0, zones=ZONES, of=ZONES, records=RECORDS, say=say)
        stack.wait_until_in_sync(timeout=600)
        with rival(stack, Path(scratch)) as other:
            ours = panel(stack)
            say(f"{ZONES:,} zones, {RECORDS:,} records")
            zones = [name for name, _ in zonegen.estate(ZONES, RECORDS)]
            compare(stack, (ours, other), zones, rounds=args.rounds, say=say)
        stack.wait_until_in_sync(timeout=300)
        per_second = sustained(stack, ours, seconds=args.seconds, say=say)
    result = {
        "bench": "api",
        "patch_p50_ms": round(ours.median("patch"), 1),
        "patch_p99_ms": round(ours.percentile("patch", 0.99), 1),
        **{f"{kind}_vs_pdns": round(other.median(kind) / ours.median(kind), 2) for kind in ("get", "bulk", "list")},
        "search_vs_pdns": round(other.median("search") / ours.median("search"), 2),
        "patch_vs_pdns": round(other.median("patch") / ours.median("patch"), 2),
        "bulk_changes_per_s": round(per_second),
    }
    say("Targets: patch_p50_ms ≤ 15, get, bulk and list at least equal (≥ 1), bulk_changes_per_s ≥ 2000")
    say(json.dumps(result))


if __name__ == "__main__":
    main()
