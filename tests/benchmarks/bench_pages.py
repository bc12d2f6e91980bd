"""The server time of lists, searches and the editor, with 1,000 zones, the estate, and a zone of 1,000,000 records.

    ./dev bench pages
    ./dev bench pages --zones 20000 --records 212000 --large 100000     a smaller estate
    ./dev bench pages --without-bulk                                    pages alone

Server time is measured from the request to the last byte of the page, in this process, including permissions and
templates, with a local PostgreSQL and without a network. Each request is made as a person with all rights and as a
member who sees one zone in 300. If htmx requests only a part of the page while a person types, so does the benchmark.
Printed for each: median and p95 in milliseconds, the largest response in KB before compression, and the queries.

The texts that searches read are written first, as a worker does within seconds.

Before that, `bench_bulk` changes the TTL of 10,000 RRsets in its own stack.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from dnspanel.demo.stack import Stack, StackShape
from replication.dns import rdtypes
from replication.dns.rrset import RRset
from tests import zonegen
from tests.benchmarks import estate, stacks
from tests.benchmarks.say import say

SMALL_ZONES = 1_000
LARGE = "large.test."
COMPLAINED = 5
NARROW = 300  # the member sees one zone in this many
TARGETS = {
    "zones_ms": 100,
    "search_ms": 200,
    "filter_1m_ms": 200,
    "sort_1m_ms": 200,
    "editor_1m_ms": 100,
    "max_kb": 150,
}
BULK_TARGET = 10  # seconds
# Filters that match many, few or no zones, with and without a suitable index.
OF_ZONES = (
    "type:mx",
    "-type:mx",
    "type:mx -type:txt",
    "name:vpn",
    "com value:zz",
    "value:spf",
    "-value:spf",
    "ttl:17",
    "-ttl:300",
    "comment:x",
    "has:192.0.2.77",
    "198.51.0.0/16",
    "has:warning",
    "-has:warning",
    "has:warning type:mx",
)
OF_RRSETS = (
    "192.0.2.77",
    "192.0.2.0/24",
    "2001:db8::/32",
    "vpn",
    "absent-everywhere",
    "value:include:spf",
    "type:srv",
    "-type:a",
    "type:cname ttl:<400",
    "type:cname ttl:17",
    "ttl:17",
    "zone:0001 type:mx",
    "com value:zz",
    "has:192.0.2.77",
    "comment:x",
    "has:warning",
    "has:warning type:mx",
)
SORTS_OF_ZONES = ("-name", "dnssec", "-rrsets", "serial", "-changed", "author", "team", "-sync")
SORTS_OF_LARGE_ZONE = ("-name", "type", "-ttl", "-comment", "-changed")  # no sort by value, because there are too many
OF_LARGE_ZONE = (
    "absent",
    "10.7.7.7",
    "10.0.0.0/8",
    "type:mx",
    "-type:a",
    "ttl:<60",
    "h0",
    "value:zz",
    "comment:x",
    "-comment:x",
)


@dataclass(frozen=True, slots=True)
class Request:
    """One request: the result that it counts for, its path and its query. `target` is the part that htmx replaces."""

    figure: str
    path: str
    query: dict[str, str]
    target: str = ""

    def __str__(self) -> str:
        return f"{self.path} {' '.join(f'{name}={text}' for name, text in self.query.items())}".strip()


@dataclass
class Figures:
    """The milliseconds of the requests of each result, and the size of the largest response."""

    took: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    largest: int = 0

    def p95(self, figure: str) -> float:
        return percentile(self.took[figure], 0.95)


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def requests_of_estate(zones: int) -> Iterator[Request]:
    """Yield requests for lists and searches, with terms that match all, some and no zones."""
    middle = f"zone-{zones // 2:07d}"
    for query in ("", middle, "zone", "tag:customer", "sync:late", "changed:<1d", "dnssec:signed"):
        yield Request("zones_ms", "/zones/", {"q": query}, "zone-list" if query else "")
    yield Request("zones_ms", "/zones/", {"after": f"{middle}.com.test."}, "zone-more")
    for sort in SORTS_OF_ZONES:
        yield Request("zones_ms", "/zones/", {"sort": sort}, "zone-list")
    for query in OF_ZONES:
        yield Request("search_ms", "/zones/", {"q": query}, "zone-list")
    yield Request("search_ms", "/zones/", {"q": "-type:mx", "after": f"{middle}.com.test."}, "zone-more")
    for query in (middle, f"www.{middle}", *OF_RRSETS):
        yield Request("search_ms", "/search/", {"q": query})
    yield Request("search_ms", "/search/", {"q": "192.0.2.77"})
    yield Request("search_ms", "/search/offers/", {"q": middle}, "search-offers")


def requests_of_large_zone(records: int) -> Iterator[Request]:
    """Yield requests for the editor of a large zone, its filters and its jumps."""
    path = f"/zones/{LARGE}/"
    yield Request("editor_1m_ms", path, {})
    yield Request("editor_1m_ms", path, {"at": f"h{records // 2:07d}"})
    for query in (f"h{records - 7:07d}", *OF_LARGE_ZONE):
        yield Request("filter_1m_ms", path, {"q": query}, "rrset-table")
    yield Request("filter_1m_ms", path, {"type": "MX"}, "rrset-table")
    for sort in SORTS_OF_LARGE_ZONE:
        yield Request("sort_1m_ms", path, {"sort": sort}, "rrset-table")
    yield Request("filter_1m_ms", path, {"q": "h0", "after": f"{b'h0500000'.hex()}-1"}, "more-rows")


def create_large_zone(records: int) -> None:
    """Create a zone of `records` RRsets, all different."""
    from django.utils import timezone

    from dnspanel.zones.acting import Acting
    from dnspanel.zones.models import Channel
    from dnspanel.zones.publishing import edit

    rrsets = [
        RRset(LARGE, rdtypes.SOA, 3600, ("ns1.provider.test. hostmaster.provider.test. 1 10800 3600 604800 3600",)),
        RRset(LARGE, rdtypes.NS, 3600, ("ns1.provider.test.", "ns2.provider.test.")),
        *(
            RRset(f"h{number:07d}.{LARGE}", rdtypes.A, 300, (f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}",))
            for number in range(records - 2)
        ),
    ]
    edit.create_zone(zone=edit.NewZone(LARGE, rrsets), acting=Acting(None, Channel.IMPORT, timezone.now()))


def people() -> dict[str, Any]:
    """Return clients by name: a person with all rights, and a member who sees one zone in NARROW and the large zone."""
    from django.test import Client
    from django.utils import timezone

    from dnspanel.accounts.actors.actors import Grant, Right
    from dnspanel.accounts.models import GrantRow, Role, User
    from dnspanel.zones.models import Zone

    found = {}
    for name, role in (("wide", Role.ADMINISTRATOR), ("narrow", Role.MEMBER)):
        user, _ = User.objects.get_or_create(username=name, defaults={"email": f"{name}@people.test", "role": role})
        found[name] = Client(HTTP_HOST="localhost")
        found[name].force_login(user)
        if role == Role.MEMBER:
            ids = Zone.objects.order_by("pk").values_list("pk", flat=True)
            seen = frozenset(list(ids)[::NARROW]) | frozenset(ids.filter(name=LARGE))
            GrantRow.objects.filter(user=user).delete()
            GrantRow.objects.create(
                user=user, grant=Grant(frozenset({Right.READ}), zones=seen).to_json(), created_at=timezone.now()
            )
    return found


def measure(clients: dict[str, Any], request: Request, rounds: int, figures: Figures) -> None:
    """Make one request as each person `rounds` times, record the figures and print them."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    headers = {"HX-Request": "true", "HX-Target": request.target} if request.target else {}
    for name, client in clients.items():
        with CaptureQueriesContext(connection) as captured:  # also warms up
            client.get(request.path, request.query, headers=headers)
            queries = len(captured)
        took = []
        for _ in range(rounds):
            began = time.perf_counter()
            answer = client.get(request.path, request.query, headers=headers)
            took.append((time.perf_counter() - began) * 1000)
        if answer.status_code != 200:
            raise SystemExit(f"{request}: {answer.status_code}")
        figures.took[request.figure] += took
        figures.largest = max(figures.largest, len(answer.content))
        p50, p95 = statistics.median(took), percentile(took, 0.95)
        size = len(answer.content) / 1000
        say(f"  {name:>6} {p50:7.1f} {p95:7.1f} ms {size:6.1f} KB {queries:3} queries  {request}")


def write_texts() -> None:
    """Write all data that searches read, and analyze the tables in PostgreSQL."""
    from django.db import connection
    from django.utils import timezone

    from dnspanel.zones.search import texts_upkeep
    from dnspanel.zones.store import waiting_entries

    began = time.perf_counter()
    quiet = timezone.now() + timedelta(minutes=1)  # late enough that no publication is recent
    while texts_upkeep.catch_up(now=quiet):
        pass
    waiting_entries.sort_in(waiting_entries.RDATA)
    say(f"  texts written in {time.perf_counter() - began:.1f} s")
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def write_complaints() -> None:
    """Add complaints about aliases and mail to one zone in COMPLAINED, and mark all zones as checked."""
    from django.db import connection
    from django.utils import timezone

    from dnspanel.zones.models import ComplaintProgress, LogHead

    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE zones_complaint")
        cursor.execute(
            'INSERT INTO zones_complaint (zone_id, owner_key, type, "into", message)'
            " SELECT zone_id, owner_key, type, 0, 'points at what does not exist' FROM zones_rrset"
            " WHERE type IN (5, 15) AND hashint4(zone_id) %% %s = 0",
            [COMPLAINED],
        )
    head = LogHead.objects.values_list("sequence", flat=True).get()
    done = {"sequence": head, "is_complete": True, "walk_began_at": timezone.now(), "zone_id": None}
    ComplaintProgress.objects.update_or_create(pk=1, defaults=done)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zones", type=int, default=zonegen.PROVIDER_ZONES)
    parser.add_argument("--records", type=int, default=zonegen.PROVIDER_RECORDS)
    parser.add_argument("--large", type=int, default=1_000_000, help="RRsets of the large zone")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--without-bulk", action="store_true", help="skip the change of 10,000 RRsets")
    args = parser.parse_args()
    bulk = None if args.without_bulk else bulk_seconds()
    directory = stacks.ROOT / "var" / "bench" / "pages"
    shutil.rmtree(directory, ignore_errors=True)
    with Stack(directory, StackShape(stores_only=True, durable=False)) as stack, stacks.panel_of(stack):
        figures = run(args.zones, args.records, args.large, args.rounds)
    shutil.rmtree(directory, ignore_errors=True)
    result: dict[str, float] = {name: round(figures.p95(name)) for name in TARGETS if name in figures.took}
    result["max_kb"] = round(figures.largest / 1000)
    if bulk is not None:
        result["bulk_10000_s"] = bulk
    targets = {**TARGETS, "bulk_10000_s": BULK_TARGET}
    say(f"Targets: {', '.join(f'{name} ≤ {most}' for name, most in targets.items())}")
    say(json.dumps({"bench": "pages", **result}))


def bulk_seconds() -> float:
    """Return the seconds of `bench_bulk` for 10,000 RRsets, run in a separate process because it has its own stack."""
    command = [sys.executable, "-m", "tests.benchmarks.bench_bulk"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True, cwd=stacks.ROOT).stdout.splitlines()
    for line in lines[:-1]:
        say(line)
    return float(json.loads(lines[-1])["seconds"])


def run(zones: int, records: int, large: int, rounds: int) -> Figures:
    """Measure everything at both sizes and in the large zone. Return the figures of the larger size."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    stacks.answer_as_web()
    figures = Figures()
    first = 0
    for size, records_of_it in (
        (min(SMALL_ZONES, zones), zonegen.provider_records(min(SMALL_ZONES, zones))),
        (zones, records),
    ):
        if size > first:
            estate.fill(first=first, zones=size, of=zones, records=records, say=say)
        say(f"{size:,} zones of an estate of {records_of_it:,} records")
        first = size
        write_complaints()
        write_texts()
        counted = figures if size == zones else Figures()
        for request in requests_of_estate(size):
            measure(people(), request, rounds, counted)
    create_large_zone(large)
    write_texts()
    say(f"a zone of {large:,} RRsets")
    for request in requests_of_large_zone(large):
        measure(people(), request, rounds, figures)
    return figures


if __name__ == "__main__":
    main()
