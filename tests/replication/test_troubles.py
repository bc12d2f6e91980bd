"""A problem that comes and goes causes two log lines in total, not two each time."""

import logging

import pytest

from replication.troubles import OVER_SECONDS, Troubles

logger = logging.getLogger("tests.troubles")


def test_what_comes_and_goes_several_times_a_second_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    troubles = Troubles(logger)
    with caplog.at_level(logging.INFO, logger=logger.name):
        for tenth in range(100):
            troubles.say("redis", "Redis is full" if tenth % 2 else "", tenth / 10)
        assert caplog.messages == ["Redis is full"]
        troubles.say("redis", "", 9.9 + OVER_SECONDS - 0.1)
        assert len(caplog.messages) == 1
        troubles.say("redis", "", 9.9 + OVER_SECONDS)
        troubles.say("redis", "", 9.9 + OVER_SECONDS + 1)
        assert caplog.messages == ["Redis is full", "over: Redis is full"]
        troubles.say("redis", "Redis is full again", 60.0)
        assert caplog.messages[2:] == ["Redis is full again"]


def test_each_thing_has_its_own_trouble(caplog: pytest.LogCaptureFixture) -> None:
    troubles = Troubles(logger)
    with caplog.at_level(logging.INFO, logger=logger.name):
        troubles.say("ns1", "no numbers of ns1", 0.0)
        troubles.say("ns2", "", 0.0)
        troubles.say("ns2", "no numbers of ns2", 1.0)
    assert caplog.messages == ["no numbers of ns1", "no numbers of ns2"]
