"""Rollovers in a restored panel."""

import time
from datetime import timedelta
from typing import Any

from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.fleet.dnssec import drive
from dnspanel.fleet.errors import WrongDecision
from dnspanel.fleet.integrity import unknown_history
from dnspanel.fleet.models import Choice
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.rollover import Kind
from dnspanel.zones.models import Rollover, Zone
from dnspanel.zones.signing import rollovers


def roll(act: str, name: str, speed: int, seconds: float) -> Any:
    """Begin the zone's rollover, or drive all rollovers for some seconds or to their end. Return their progress.

    The rollovers' clock is `speed` times as fast as the real one.
    """
    began = timezone.now()

    def clock():
        return began + (timezone.now() - began) * speed

    if act == "begin":
        acting = Acting(author=None, channel="system", now=clock())
        rollovers.begin(zone=Zone.objects.get(name=name, deleted_at=None), kind=Kind.CSK, acting=acting)
    else:
        until = time.monotonic() + seconds
        while Rollover.objects.filter(ended_at=None).exists() and time.monotonic() < until:
            drive.drive_rollovers(clock=clock, look_every=timedelta())
            time.sleep(0.25)
    rows = Rollover.objects.order_by("pk")
    return [[row.zone.name, row.step, row.ended_at is not None, row.is_cancelled] for row in rows]


def decide() -> Any:
    """Try to keep the panel's content, then take over the nodes' content.

    Return the zones that each decision would break, and the form field with the refusal.
    """
    report, refused = unknown_history.newest_report(), ""

    def decide(choice):
        unknown_history.decide(
            report=report,
            choice=choice,
            typed=unknown_history.TYPED[choice],
            reason="a test",
            by=User.objects.get(username="rita"),
            now=timezone.now(),
        )

    try:
        decide(Choice.KEEP)
    except WrongDecision as exc:
        refused = exc.field
    decide(Choice.TAKE_OVER)
    breaks = {zone.name: zone.breaks for zone in report.zones.all() if zone.breaks}
    return {"breaks": breaks, "refused": refused}
