"""A Redis that answers PING and refuses writes is not well, and its reason is named."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings as panel_settings
from redis import Redis

from dnspanel.processes.redis_health import RedisProblem, redis_problem


@pytest.fixture
def server() -> Iterator[Any]:
    with Redis.from_url(panel_settings.REDIS_URL, decode_responses=True) as client:
        before = client.config_get("maxmemory")["maxmemory"]
        yield client
        client.config_set("maxmemory", before)


def test_one_that_takes_writes_is_well_and_keeps_one_key_for_a_minute(server: Any) -> None:
    assert redis_problem() is None
    assert 0 < server.ttl("dnspanel:write-test") <= 60


def test_a_full_one_answers_and_is_named_full(server: Any) -> None:
    server.config_set("maxmemory", "1")
    assert server.ping()
    assert redis_problem() is RedisProblem.FULL
    server.config_set("maxmemory", "0")
    assert redis_problem() is None


def test_a_replica_refuses_writes(server: Any) -> None:
    server.replicaof("127.0.0.1", 1)
    try:
        assert redis_problem() is RedisProblem.REFUSES
    finally:
        server.replicaof("NO", "ONE")


def test_no_connection_is_away(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert redis_problem() is RedisProblem.AWAY
