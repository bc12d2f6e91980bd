"""A TTL change for 10,000 RRsets in 1,000 zones, from the click to the answer of every node.

    ./dev bench bulk
    ./dev bench bulk --zones 100

The steps are those of a person who searches for the records: ask for the effect, add the changes to the draft, open the
review and publish. The result includes all waiting times, until all nodes have confirmed every zone and a sample of
RRsets was queried over DNS. This process renders the panel's pages. PostgreSQL, the workers and three nodes with ring 0
run in parallel.
"""

import argparse
import html
import json
import random
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.benchmarks import answers, stacks
from tests.benchmarks.say import say

ZONES, RRSETS_OF_ZONE = 1_000, 10
TTL, NEW_TTL = 300, 1_234
LOOKED_AT = 50  # zones, checked over DNS
STALLS_AFTER = 300.0
SEARCH = f"type:a ttl:{TTL} zone:bulk"


def create_zones(zones: int) -> list[str]:
    """Create zones with only the RRsets to change and the records of every zone. Return their names."""
    from django.utils import timezone

    from dnspanel.zones.acting import Acting
    from dnspanel.zones.models import Channel
    from dnspanel.zones.publishing import edit
    from replication.dns.rdtypes import A
    from replication.dns.rrset import make

    names = [f"bulk-{number}.test." for number in range(zones)]
    new = [
        edit.NewZone(name, [make(f"h{host}.{name}", A, TTL, [f"192.0.2.{host + 1}"]) for host in range(RRSETS_OF_ZONE)])
        for name in names
    ]
    edit.create_zones(zones=new, acting=Acting(None, Channel.SYSTEM, timezone.now()))
    return names


def change_all(stack: stacks.BenchStack, names: list[str], spent: dict[str, float]) -> None:
    """Change every RRset through the pages. `spent` gets the seconds of each step. Raise if an RRset didn't change."""
    client = _person()
    expected = len(names) * RRSETS_OF_ZONE
    data = {"act": "ttl", "ttl": str(NEW_TTL), "all": "1", "q": SEARCH}
    with _timed(spent, "asked what would change"):
        page = client.post("/changes/many/", data).content.decode()
    if f"<strong>{expected:,} records</strong>" not in page:
        raise RuntimeError("the page does not say that all records would change")
    with _timed(spent, "in the draft"):
        answer = client.post("/changes/many/", {**data, "preview": "1", "seen": _field(page, "seen")})
    if answer.status_code != 302:
        raise RuntimeError(f"not drafted: {answer.status_code}")
    with _timed(spent, "reviewed"):
        page = client.get("/changes/").content.decode()
    form = page[page.index('id="publish-form"') :]
    with _timed(spent, "published"):
        fields = {name: _field(form, name) for name in ("form_id", "seen")}
        answer = client.post("/changes/", {**fields, "reason": "benchmark"})
    if answer.status_code != 302:
        raise RuntimeError(f"not published: {answer.status_code}")
    with _timed(spent, "answered by all nodes"):
        stack.wait_until_in_sync(timeout=STALLS_AFTER)
        for name in random.Random(1).sample(names, min(LOOKED_AT, len(names))):
            for node in stack.dns_addresses:
                found = answers.ttls(node, f"h{RRSETS_OF_ZONE - 1}.{name}")
                if found != {NEW_TTL}:
                    raise RuntimeError(f"{node} is said to be in sync and answers {name} with {found}")


def _person() -> Any:
    from django.test import Client

    from dnspanel.accounts.models import Role, User

    stacks.answer_as_web()
    user = User.objects.create(username="bulk", email="bulk@people.test", role=Role.ADMINISTRATOR)
    client = Client(HTTP_HOST="localhost")
    client.force_login(user)
    return client


def _field(page: str, name: str) -> str:
    tag = re.search(rf'<input[^>]*name="{name}"[^>]*>', page)
    value = re.search(r'value="([^"]*)"', tag[0]) if tag else None
    if value is None:
        raise RuntimeError(f"the page has no field {name}")
    return html.unescape(value[1])


@contextmanager
def _timed(spent: dict[str, float], step: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    spent[step] = time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zones", type=int, default=ZONES)
    args = parser.parse_args()
    spent: dict[str, float] = {}
    with stacks.bench_stack("bulk") as stack:
        names = create_zones(args.zones)
        stack.wait_until_in_sync(timeout=STALLS_AFTER)
        stack.wait_until_searchable(timeout=STALLS_AFTER)
        change_all(stack, names, spent)
    for step, seconds in spent.items():
        say(f"  {seconds:6.2f} s  {step}")
    say(json.dumps({"bench": "bulk", "rrsets": args.zones * RRSETS_OF_ZONE, "seconds": round(sum(spent.values()), 1)}))


if __name__ == "__main__":
    main()
