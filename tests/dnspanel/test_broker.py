"""Messages on their way from Redis to a worker: which of them outlive a worker that is killed."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from kombu import Connection, Queue
from redis import Redis

from dnspanel.broker import WAKING_QUEUES
from dnspanel.celery import app

NOTES = "unacked"


@pytest.fixture
def redis() -> Iterator[Any]:
    with Redis.from_url(settings.REDIS_URL) as client:
        client.flushdb()
        yield client
        client.flushdb()


def receive(connection: Any, queue: str) -> Any:
    """One message that was sent to the queue, not acknowledged yet."""
    simple = connection.SimpleQueue(Queue(queue, routing_key=queue))
    simple.put("look")
    return simple.get(timeout=5)


def test_a_message_that_only_wakes_is_noted_nowhere(redis: Any) -> None:
    with Connection(settings.CELERY_BROKER_URL) as connection:
        for queue in sorted(WAKING_QUEUES):
            message = receive(connection, queue)
            assert not redis.exists(NOTES)
            message.ack()
            assert not redis.exists(queue)
            assert message.channel.qos.can_consume()


def test_any_other_message_outlives_its_worker(redis: Any) -> None:
    with Connection(settings.CELERY_BROKER_URL) as connection:
        message = receive(connection, "bulk")
        assert redis.hlen(NOTES) == 1
        message.ack()
        assert not redis.exists(NOTES)


def test_a_message_that_a_worker_does_not_want_comes_again_unless_it_only_wakes(redis: Any) -> None:
    with Connection(settings.CELERY_BROKER_URL) as connection:
        for queue, comes_again in (("push", 0), ("bulk", 1)):
            receive(connection, queue).requeue()
            assert (redis.llen(queue), redis.exists(NOTES)) == (comes_again, 0)


def test_a_worker_has_no_more_messages_at_a_time_than_it_may(redis: Any) -> None:
    with Connection(settings.CELERY_BROKER_URL) as connection:
        message = receive(connection, "push")
        message.channel.basic_qos(0, 1, False)
        assert not message.channel.qos.can_consume()
        message.ack()
        assert message.channel.qos.can_consume()


def test_what_somebody_asked_for_once_is_in_no_waking_queue() -> None:
    assert app.amqp.router.route({}, "dnspanel.fleet.tasks.check_node")["queue"].name not in WAKING_QUEUES
