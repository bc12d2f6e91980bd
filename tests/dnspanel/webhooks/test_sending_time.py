"""Tests of the sending time of messages to people."""

from datetime import UTC, datetime, time

import pytest

from dnspanel.accounts.models import User
from dnspanel.webhooks.models import Webhook
from dnspanel.webhooks.sending_time import due_at


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-11-{text}:00").replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("minutes", "zone", "now", "due"),
    [
        (15, "UTC", "25 10:00", "25 10:15"),
        (15, "UTC", "25 10:14", "25 10:15"),
        (60, "Asia/Kolkata", "25 10:00", "25 10:30"),
        (1440, "UTC", "25 23:59", "26 00:00"),
        (1440, "Asia/Tokyo", "25 14:00", "25 15:00"),
        (1440, "Europe/Gone", "25 14:00", "26 00:00"),
    ],
)
def test_what_is_gathered_comes_at_the_end_of_its_span(minutes: int, zone: str, now: str, due: str) -> None:
    webhook = Webhook(format="mail", gather_minutes=minutes, owner=User(time_zone=zone))
    assert due_at(webhook, at(now)) == at(due)


def test_quiet_hours_are_those_of_the_owners_clock_and_a_program_has_none() -> None:
    terms = {"owner": User(time_zone="Asia/Tokyo"), "quiet_from": time(20), "quiet_until": time(7, 30)}
    assert due_at(Webhook(format="slack", **terms), at("25 12:00")) == at("25 22:30")
    assert due_at(Webhook(format="slack", **terms), at("25 02:00")) == at("25 02:00").replace(second=10)
    assert due_at(Webhook(format="slack", gather_minutes=1440, **terms), at("25 02:00")) == at("25 22:30")
    assert due_at(Webhook(format="events", **terms), at("25 12:00")) == at("25 12:00")
