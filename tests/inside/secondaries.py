"""Zones that secondaries transfer."""

import random
import time
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.fleet.dnssec import drive
from dnspanel.secondaries import set_up_secondaries, signed_zones
from dnspanel.secondaries.configuration import parts_for
from dnspanel.secondaries.models import Member, Secondary
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.rollover import Kind
from dnspanel.zones.models import Rollover, RRset, Zone
from dnspanel.zones.publishing import edit, zone_patches
from dnspanel.zones.signing import rollovers, sign
from replication.codec.dnssec import Nsec3
from replication.dns import rdata
from replication.dns.rrset import make


def set_up_servers(ports: dict[str, int], zones: list[str]) -> Any:
    """Create zones, and a secondary for each kind of server. Return their configurations."""
    SOA, NS = 6, 2
    owner = User.objects.get(username="secunda")
    for name in zones:
        short = (
            [make(name, SOA, 2, ["ns.test. hostmaster.test. 1 10800 3600 604800 2"]), make(name, NS, 2, ["ns.test."])]
            if name.startswith("rolled")
            else None
        )
        edit.create_zone(zone=edit.NewZone(name, short), acting=Acting(owner, "web", timezone.now()))
    Zone.objects.filter(name__in=zones).update(tags=["foreign"])
    found = {}
    for kind, port in ports.items():
        terms = set_up_secondaries.Terms(kind, [f"127.0.0.1:{port}"], kind=kind, choice="tag", tag="foreign")
        made = set_up_secondaries.create_secondary(terms=terms, by=owner, now=timezone.now())
        parts = parts_for(made.secondary, gateways=settings.GATEWAY_ADDRESSES, secret=made.secret, zones=zones)
        found[kind] = [part.text for part in parts]
    return found


def edit_at_random(username: str, seed: int, count: int, names: list[str]) -> None:
    """Publish `count` random changes to these zones."""
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
        patch = zone_patches.Patch(zone, lambda current, changes=changes: changes, {name for name, _ in changes})
        outcome = zone_patches.publish_patches(
            patches=[patch], acting=Acting(owner, "api", timezone.now()), confirmed=True
        )
        published += outcome.publication is not None


def published(zones: list[str]) -> Any:
    """Return the published records of each zone."""
    return {
        zone.name: [
            [row.name, row.ttl, rdata.type_to_text(row.type), text]
            for row in RRset.objects.filter(zone=zone)
            for text in row.rdata
            if text not in row.disabled
        ]
        for zone in Zone.objects.filter(name__in=zones, deleted_at=None)
    }


def members() -> Any:
    """Return the transfer state of each secondary's zones."""
    return list(
        Member.objects.filter(until=None).values(
            "secondary__kind",
            "zone_name",
            "transferred_how",
            "behind_since",
            "notified_at",
            "notify_error",
            "served_serial",
            "zone__serial",
            "question_error",
        )
    )


def replace_zone(gone: str, come: str) -> None:
    """Delete a zone, and create another with the secondaries' tag."""
    owner = User.objects.get(username="secunda")
    zone = Zone.objects.get(name=gone, deleted_at=None)
    edit.delete_zone(zone=zone, acting=Acting(owner, "web", timezone.now()))
    edit.create_zone(zone=edit.NewZone(come), acting=Acting(owner, "web", timezone.now()))
    Zone.objects.filter(name=come, deleted_at=None).update(tags=["foreign"])


def sign_zones(step: str, names: list[str]) -> Any:
    """Sign zones or roll their keys. Return the number of zones with new signatures after a week."""
    owner = User.objects.get(username="secunda")
    acting = Acting(owner, "api", timezone.now())
    for name in names:
        zone = Zone.objects.get(name=name, deleted_at=None)
        if step in {"sign", "split"}:
            rrset = make(f"www.{name}", 1, 2, ["192.0.2.1"])
            patch = zone_patches.Patch(zone, lambda current, one=rrset: {(one.name, 1): one}, {rrset.name})
            zone_patches.publish_patches(patches=[patch], acting=Acting(owner, "api", timezone.now()))
            zone.refresh_from_db()
            nsec3 = Nsec3(0, b"", False, False) if name.startswith("nsec3") else None
            sign.sign(zones=[zone], nsec3=nsec3, acting=acting, split=step == "split")
        elif step == "roll":
            rollovers.begin(zone=zone, kind=Kind.CSK, acting=acting)
    if step == "week":
        return signed_zones.publish_due_signatures(now=timezone.now() + timedelta(days=8))
    return 0


def roll_past(step: str, name: str) -> Any:
    """Roll a key while a secondary is cut off, or after that.

    In the step "cut off", BIND cannot transfer while a zone-signing key is replaced; later it can. The rollover's clock
    is fifteen times as fast, so a minute takes four seconds.
    """
    owner, zone = User.objects.get(username="secunda"), Zone.objects.get(name=name, deleted_at=None)
    bind = Secondary.objects.get(name="bind")
    began, until = timezone.now(), time.monotonic() + 90
    networks = ["192.0.2.0/24"] if step == "cut off" else []
    terms = replace(set_up_secondaries.terms_of(bind), networks=networks)
    set_up_secondaries.change_secondary(secondary=bind, terms=terms, by=owner, now=began)
    if step == "cut off":
        Rollover.objects.exclude(zone=zone).delete()  # of other tests, whose parents would be queried each time
        rollovers.begin(zone=zone, kind=Kind.ZSK, acting=Acting(owner, "api", began))
    else:
        set_up_secondaries.notify_now(secondary=bind, by=owner, now=began)
    row = Rollover.objects.select_related("zone").get(zone=zone)
    start = max(began, row.looked_at)

    def clock():
        return start + (timezone.now() - began) * 15

    looks = []

    def look():
        drive.drive_rollovers(clock=clock, look_every=timedelta())
        row.refresh_from_db()
        if not looks or looks[-1] != [row.step, row.waits_for]:
            looks.append([row.step, row.waits_for])
        assert time.monotonic() < until, looks[-5:]
        time.sleep(0.1)

    if step == "cut off":
        while not (row.late_secondaries == ["bind"] and "answers with serial" in row.waits_for):
            look()
        cut_off_at = clock()
        while clock() - cut_off_at < timedelta(seconds=100):  # longer than the wait for caches
            look()
    else:
        while row.ended_at is None:
            look()
    return {"looks": looks, "late": row.late_secondaries, "cancelled": row.is_cancelled}
