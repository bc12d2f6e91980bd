"""What must hold when an outage is over.

    python -m tests.faults.promises --record edits.jsonl --deadline 30

Runs in the environment of a stack and exits 0 only if, before the deadline:

1. every node has acknowledged the head of the log;
2. no acknowledged edit is missing from PostgreSQL, and the log has no gap;
3. every node answers every name of every zone of the record as PostgreSQL
   holds it, and does not answer for deleted names and zones;
4. the panel's LMDB equals a full compile of PostgreSQL, and every node's
   digest equals the panel's;
5. no node's acknowledged position ever went back.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import django
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import dns.rrset

A = 1


def recorded(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def nodes_at_head() -> bool:
    from dnspanel.fleet.models import Node
    from dnspanel.zones.models import LogHead

    head = LogHead.objects.get()
    nodes = list(Node.objects.all())
    return bool(nodes) and all(n.epoch == head.epoch and n.acked == head.sequence for n in nodes)


def broken_log(record: list[dict[str, object]]) -> Iterator[str]:
    from dnspanel.zones.models import LogHead, Publication

    sequences = list(Publication.objects.order_by("sequence").values_list("sequence", flat=True))
    head = LogHead.objects.get().sequence
    if sequences != list(range(1, head + 1)):
        yield f"the log has a gap: {len(sequences)} publications, head {head}"
    missing = {line["sequence"] for line in record} - set(sequences)
    if missing:
        yield f"acknowledged edits are missing: {sorted(missing, key=str)}"


def lost_edits(record: list[dict[str, object]]) -> Iterator[str]:
    """The last acknowledged edit of each name must be what PostgreSQL holds."""
    from dnspanel.zones.models import RRset

    last: dict[tuple[str, str], str | None] = {}
    for line in record:
        zone, name = str(line["zone"]), line["name"]
        if name in (None, ""):  # deleted or created: names of the earlier life are gone
            last = {key: (None if key[0] == zone else value) for key, value in last.items()}
        else:
            last[(zone, str(name))] = line["rdata"]  # type: ignore[assignment]
    for (zone, name), rdata in last.items():
        held = RRset.objects.filter(zone__name=zone, zone__deleted_at=None, name=name, type=A).first()
        if (held.rdata if held else None) != ([rdata] if rdata else None):
            yield f"{name}: saved {rdata}, PostgreSQL holds {held.rdata if held else None}"


def wrong_answers(record: list[dict[str, object]]) -> Iterator[str]:
    from dnspanel.fleet.models import Node
    from dnspanel.zones.models import RRset, Zone

    names = {(str(line["zone"]), str(line["name"])) for line in record if line["name"]}
    for node in Node.objects.all():
        for zone_name, name in sorted(names):
            zone = Zone.objects.filter(name=zone_name, deleted_at=None).first()
            held = RRset.objects.filter(zone=zone, name=name, type=A).first() if zone else None
            reply = ask(node.dns_address, node.dns_port, name)
            found = sorted(str(r) for answer in reply.answer for r in answer if answer.rdtype == dns.rdatatype.A)
            if found != (sorted(held.rdata) if held else []):
                yield f"{node.name} answers {found} for {name}, PostgreSQL holds {held.rdata if held else None}"
            if zone and reply.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
                yield f"{node.name} answers {dns.rcode.to_text(reply.rcode())} for {name}"


def ask(address: str, port: int, name: str) -> dns.message.Message:
    return dns.query.udp(dns.message.make_query(name, "A"), address, port=port, timeout=2)


def differing_stores() -> Iterator[str]:
    from django.core.management import CommandError, call_command

    from dnspanel.fleet.models import Node
    from dnspanel.publish.models import Segment

    try:
        call_command("audit_lmdb", verbosity=0)
    except (CommandError, SystemExit) as exc:
        yield f"the panel's LMDB differs from PostgreSQL: {exc}"
    for node in Node.objects.all():
        newest = Segment.objects.filter(schema=node.schema, epoch=node.epoch).order_by("-last").first()
        if newest is None or bytes(node.digest or b"") != bytes(newest.digest):
            yield f"{node.name}: its digest differs from the panel's"


def positions_that_went_back() -> Iterator[str]:
    from dnspanel.fleet.models import Ack, Node

    for node in Node.objects.all():
        acked = list(Ack.objects.filter(node=node).order_by("at", "pk").values_list("sequence", flat=True))
        if acked != sorted(acked):
            yield f"{node.name}: an acknowledged position went back"


def broken_promises(record: list[dict[str, object]], *, deadline: float) -> list[str]:
    while not nodes_at_head():
        if time.monotonic() > deadline:
            return ["not every node reached the head of the log in time"]
        time.sleep(0.1)
    return [
        *broken_log(record),
        *lost_edits(record),
        *wrong_answers(record),
        *differing_stores(),
        *positions_that_went_back(),
    ]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("--deadline", type=float, default=30)
    args = parser.parse_args()
    django.setup()
    broken = broken_promises(recorded(args.record), deadline=time.monotonic() + args.deadline)
    for sentence in broken:
        sys.stdout.write(sentence + "\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
