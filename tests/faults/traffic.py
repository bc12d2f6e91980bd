"""Random edits from a seed, through the panel's own verbs; every saved edit is recorded.

    python -m tests.faults.traffic --seed 7 --edits 100 --record edits.jsonl

Runs in the environment of a stack. Each line of the record is written after
the verb returned, so it is an acknowledged edit: `{"sequence", "zone",
"name", "type", "rdata"}`, where `rdata` null means that the RRset, or with
`name` null the whole zone, is gone.
"""

import argparse
import json
import os
import random
import time
from pathlib import Path
from typing import TextIO

import django

ZONES = 4
NAMES = ("www", "mail", "api", "a.b.c", "deep.er", "*.wild", "_dmarc", "host1", "host2", "host3")


class Traffic:
    """A person who edits `traffic-<seed>-<n>.test.` zones at random."""

    def __init__(self, *, seed: int, record: TextIO) -> None:
        from dnspanel.accounts.models import User

        self.random = random.Random(seed)
        self.record = record
        self.author = User.objects.order_by("pk").first()
        self.zone_names = [f"traffic-{seed}-{n}.test." for n in range(ZONES)]

    def make_zones(self) -> None:
        for name in self.zone_names:
            self._create(name)

    def edit(self) -> None:
        """Make and record one random edit."""
        zone_name = self.random.choice(self.zone_names)
        kind = self.random.choices(("put", "delete", "recreate"), weights=(12, 4, 1))[0]
        if kind == "recreate":
            self._delete(zone_name)
            self._create(zone_name)
        elif kind == "delete":
            self._change(zone_name, self.random.choice(NAMES), None)
        else:
            address = f"192.0.2.{self.random.randrange(1, 255)}"
            self._change(zone_name, self.random.choice(NAMES), address)

    def _create(self, name: str) -> None:
        from django.utils import timezone

        from dnspanel.zones import edit
        from dnspanel.zones.models import Channel

        publication = edit.create_zone(
            name=name,
            author=self.author,
            channel=Channel.SYSTEM,
            now=timezone.now(),
            nameservers=["ns1.example.net.", "ns2.example.net."],
        )
        self._note(publication.sequence, name, "", "")

    def _delete(self, name: str) -> None:
        from django.utils import timezone

        from dnspanel.zones import edit
        from dnspanel.zones.models import Channel, Zone

        zone = Zone.objects.get(name=name, deleted_at=None)
        publication = edit.delete_zone(zone=zone, author=self.author, channel=Channel.SYSTEM, now=timezone.now())
        self._note(publication.sequence, name, None, None)

    def _change(self, zone_name: str, owner: str, address: str | None) -> None:
        from django.utils import timezone

        from dnspanel.zones import direct
        from dnspanel.zones.errors import NothingToPublish
        from dnspanel.zones.models import Channel, Zone
        from replication import rrset

        zone = Zone.objects.get(name=zone_name, deleted_at=None)
        name = f"{owner}.{zone_name}"
        wanted = None if address is None else rrset.make(name, 1, 300, [address])
        try:
            publication = direct.change_rrsets(
                zone=zone,
                changes={(name, 1): wanted},
                author=self.author,
                channel=Channel.SYSTEM,
                now=timezone.now(),
            )
        except NothingToPublish:
            return
        self._note(publication.sequence, zone_name, name, address)

    def _note(self, sequence: int, zone: str, name: str | None, rdata: str | None) -> None:
        line = {"sequence": sequence, "zone": zone, "name": name, "type": "A", "rdata": rdata}
        self.record.write(json.dumps(line) + "\n")
        self.record.flush()
        os.fsync(self.record.fileno())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--edits", type=int, required=True)
    parser.add_argument("--pause", type=float, default=0.02)
    parser.add_argument("--record", type=Path, required=True)
    args = parser.parse_args()
    django.setup()
    with args.record.open("a") as record:
        traffic = Traffic(seed=args.seed, record=record)
        traffic.make_zones()
        for _ in range(args.edits):
            traffic.edit()
            time.sleep(args.pause)


if __name__ == "__main__":
    main()
