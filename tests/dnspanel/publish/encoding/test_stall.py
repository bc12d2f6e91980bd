"""Tests of stalls of publishing, and of their messages."""

from datetime import timedelta

import pytest

from dnspanel.publish.encoding.stall import clear_stall, record_stall, stalls
from tests.people import NOW

pytestmark = pytest.mark.django_db


def stall(message: str, minutes: int = 0) -> None:
    now = NOW + timedelta(minutes=minutes)
    record_stall(schema=4, sequence=7, zone_name="example.test.", message=message, now=now)


def test_the_same_trouble_keeps_its_beginning() -> None:
    stall("bad rdata")
    stall("bad rdata", minutes=5)
    [found] = stalls()
    assert (found.since, found.tried_at) == (NOW, NOW + timedelta(minutes=5))


def test_another_trouble_takes_its_place() -> None:
    stall("bad rdata")
    stall("disk full", minutes=5)
    [found] = stalls()
    assert (found.message, found.zone_name, found.sequence) == ("disk full", "example.test.", 7)


def test_words_that_change_with_every_attempt_are_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clear_stall(schema=4)
    for attempt in range(50):
        stall(f"no space for file {attempt}")
    assert len(caplog.messages) == 1
    assert stalls()[0].message == "no space for file 49"
    stall("no space for file 50", minutes=1)
    assert len(caplog.messages) == 2


def test_it_ends_when_publishing_goes_on() -> None:
    stall("bad rdata")
    clear_stall(schema=5)
    assert len(stalls()) == 1
    clear_stall(schema=4)
    assert stalls() == []
