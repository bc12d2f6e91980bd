"""Key rollovers in a parent zone and a child zone."""

import os
import random
import signal
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import connection
from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
from dnspanel.accounts.models import User
from dnspanel.accounts.rights import grant_edit
from dnspanel.fleet.dnssec import drive
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.dnssec.rollover import Kind
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import edit, zone_patches
from dnspanel.zones.signing import rollovers, sign
from replication.codec.dnssec import Nsec3
from replication.dns import rdata
from replication.dns.rrset import make


def begin(parent: str, child: str, split: str, algorithm: int, ttl: int, denial: str) -> Any:
    """Create a signed parent zone and a signed child, and return the parent's keys."""
    now = timezone.now()
    acting = Acting(author=None, channel="system", now=now)

    def created(name, *more):
        soa = f"ns.{parent} hostmaster.{parent} 1 10800 3600 604800 {ttl}"
        rrsets = [("", "SOA", soa), ("", "NS", f"ns.{parent}"), *more]
        rrsets = [make((label + name), rdata.type_from_text(type), ttl, [text]) for label, type, text in rrsets]
        edit.create_zone(zone=edit.NewZone(name, rrsets), acting=Acting(None, "system", now))
        return Zone.objects.get(name=name, deleted_at=None)

    above = Zone.objects.filter(name=parent, deleted_at=None).first()
    if above is None:
        above = created(parent, ("ns.", "A", "127.0.0.1"))
        sign.sign(zones=[above], acting=acting)
    below = created(
        child, ("www.", "A", "192.0.2.1"), ("*.wild.", "TXT", '"wild"'), ("alias.", "CNAME", "www." + child)
    )
    sign.sign(
        zones=[below],
        acting=acting,
        split=split == "split",
        algorithm=algorithm,
        nsec3=Nsec3() if denial == "nsec3" else None,
    )
    ds = [text for key in queries.keys_of(below) for text in key.ds[:1]]
    steps = [
        ((child, type), zone_patches.replace_with(make(child, type, ttl, texts)))
        for type, texts in ((2, [f"ns.{parent}"]), (43, ds))
    ]
    patch = zone_patches.patch_of_steps(above, steps)
    zone_patches.publish_patches(patches=[patch], acting=Acting(None, "system", now))
    return [key.dnskey for key in queries.keys_of(above)]


def roll(name: str, kind: str, algorithm: int, speed: int, seconds: float, folder: str, cancelled_at: str) -> Any:
    """Roll a zone's keys while the driving processes are killed. Return the steps and results."""
    chance, killed_drivers = random.Random(1), []

    def report(step):
        # The test reads the step and kills programs. Then a driving process is killed at a random time.
        number = len(killed_drivers)
        new = Path(folder, f"new{number}")
        new.write_text(step)
        new.rename(Path(folder, f"step{number}"))
        while not Path(folder, f"killed{number}").exists() and time.monotonic() < until:
            time.sleep(0.02)
        connection.close()  # otherwise both processes would use one connection
        child = os.fork()
        if not child:
            while True:
                drive.drive_rollovers(clock=clock, look_every=timedelta())
        time.sleep(chance.uniform(0, 0.1))
        os.kill(child, signal.SIGKILL)
        killed_drivers.append([step, os.WTERMSIG(os.waitpid(child, 0)[1])])

    began = timezone.now()

    def clock():
        return began + (timezone.now() - began) * speed

    zone = Zone.objects.get(name=name, deleted_at=None)
    acting = Acting(author=None, channel="system", now=clock())
    row = rollovers.begin(zone=zone, kind=Kind(kind), acting=acting, algorithm=algorithm or None)
    steps, waited, until = [row.step], [], time.monotonic() + seconds
    report(row.step)
    number = 0
    while row.ended_at is None and time.monotonic() < until:
        number += 1
        owner = f"n{number % 5}.{name}"
        step = zone_patches.replace_with(make(owner, 1, 2, [f"192.0.2.{number % 250 + 1}"]))
        patch = zone_patches.patch_of_steps(zone, [((owner, 1), step)])
        zone_patches.publish_patches(patches=[patch], acting=Acting(None, "system", timezone.now()))
        drive.drive_rollovers(clock=clock, look_every=timedelta())
        row.refresh_from_db()
        if row.step == steps[-1] == cancelled_at:
            rollovers.cancel(zone=zone, acting=Acting(author=None, channel="system", now=clock()), withdrawn=True)
            row.refresh_from_db()
        if steps[-1] != row.step:
            steps.append(row.step)
            report(row.step)
        if not waited or waited[-1] != row.waits_for:
            waited.append(row.waits_for)
        time.sleep(0.25)
    return {
        "ended": row.ended_at is not None,
        "steps": steps,
        "waited": waited,
        "edits": number,
        "cancelled": row.is_cancelled,
        "killed_drivers": killed_drivers,
        "keys": [key.dnskey for key in queries.keys_of(zone)],
    }


def roll_from_outside(name: str, parent: str, speed: int, ttl: int, seconds: float) -> Any:
    """Roll a child's key while others change its DS in the parent. Return the observations.

    The owner can sign the zone but not change its parent, where others put any DS. Each observation has the clock, the
    step, its condition and the earliest time.
    """
    began, until = timezone.now(), time.monotonic() + seconds

    def clock():
        return began + (timezone.now() - began) * speed

    zone, above = (Zone.objects.get(name=each, deleted_at=None) for each in (name, parent))
    owner = User.objects.create_user("childs-owner", role="member")
    grant_edit.give_grant(grant=Grant(EVERY_RIGHT, zones=frozenset({zone.pk})), to=owner, by=None, now=began)
    row = rollovers.begin(zone=zone, kind=Kind.CSK, acting=Acting(author=owner, channel="web", now=clock()))
    looks = []

    def look():
        drive.drive_rollovers(clock=clock, look_every=timedelta())
        row.refresh_from_db()
        found = [clock().timestamp(), row.step, row.waits_for, row.earliest and row.earliest.timestamp(), row.is_stuck]
        if not looks or looks[-1][1:] != found[1:]:
            looks.append(found)
        time.sleep(0.1)

    def look_until(holds):
        while not holds():
            assert time.monotonic() < until, looks[-3:]
            look()

    def at_parent(ds):
        step = zone_patches.replace_with(make(name, 43, ttl, ds))
        patch = zone_patches.patch_of_steps(above, [((name, 43), step)])
        zone_patches.publish_patches(patches=[patch], acting=Acting(None, "api", timezone.now()))

    look_until(lambda: row.step == "ds" and row.add_ds)
    old, new = row.old_ds[:1], row.new_ds[:1]
    at_parent(new)
    look_until(lambda: row.step != "ds" or row.earliest)
    earliest = row.earliest.timestamp()
    at_parent(old)
    look_until(lambda: row.step != "ds" or not row.earliest)
    seen = [row.step, row.waits_for, row.is_stuck, row.add_ds, row.remove_ds]
    look_until(lambda: row.step != "ds" or clock().timestamp() > earliest + 120)
    waited = [row.step, row.waits_for]
    again = clock().timestamp()
    at_parent(new)
    look_until(lambda: row.step != "ds")
    left = clock().timestamp()
    look_until(lambda: row.ended_at)
    return {
        "looks": looks,
        "said": earliest,
        "seen": seen,
        "waited": waited,
        "again": again,
        "left": left,
        "old": old,
        "new": new,
        "cancelled": row.is_cancelled,
    }
