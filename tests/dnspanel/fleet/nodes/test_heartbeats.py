"""Tests of process heartbeats: the newest one counts."""

from datetime import timedelta

import pytest

from dnspanel.fleet.nodes.heartbeats import COLLECTOR, WATCH, beat, heartbeats
from tests.dnspanel.fleet.conftest import NOW

pytestmark = pytest.mark.django_db


def test_each_process_has_its_own_beat_and_the_newest_counts() -> None:
    assert heartbeats() == {}
    beat(process=COLLECTOR, now=NOW)
    beat(process=WATCH, now=NOW + timedelta(seconds=1))
    beat(process=COLLECTOR, now=NOW + timedelta(seconds=5))
    beat(process=COLLECTOR, now=NOW + timedelta(seconds=3))  # from a second, slower collector
    assert heartbeats() == {COLLECTOR: NOW + timedelta(seconds=5), WATCH: NOW + timedelta(seconds=1)}
