"""Messages on their way from Redis to a worker: which of them outlive a worker that is killed."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from kombu import Connection, Queue
from kombu.exceptions import OperationalError
from redis import Redis
from redis.exceptions import RedisError

from dnspanel.celery import app
from dnspanel.demo import unprivileged
from dnspanel.processes.broker import WAKING_QUEUES
from tests.ports import free_port
from tests.stack import until

NOTES = "unacked"


@pytest.fixture
def redis() -> Iterator[Any]:
    with Redis.from_url(settings.REDIS_URL) as client:
        client.flushdb()
        yield client
        client.flushdb()


def receive(connection: Any, queue: str) -> Any:
    """Return one message that was sent to the queue, not acknowledged yet."""
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


def test_a_channel_whose_connection_is_gone_closes_with_an_error_of_connections(redis: Any) -> None:
    """A worker that lost Redis twice within moments ended by an AttributeError, because None has no `hostname`."""
    connection = Connection(settings.CELERY_BROKER_URL)
    channel = receive(connection, "bulk").channel
    # As of a worker that connects: its pools are not there yet.
    channel._pool = channel._async_pool = None
    connection.transport.client = None
    with pytest.raises(connection.connection_errors):
        channel.qos.restore_unacked()
    connection.close()


def test_a_message_that_cannot_be_acknowledged_makes_room_for_another_one(redis: Any) -> None:
    with Connection(settings.CELERY_BROKER_URL) as connection:
        message = receive(connection, "bulk")
        message.channel.basic_qos(0, 1, False)
        assert not message.channel.qos.can_consume()
        # The next connection goes to a port where nobody listens.
        message.channel.pool.connection_kwargs["port"] = 1
        message.channel.pool.reset()
        with pytest.raises(connection.connection_errors):
            message.ack()
        assert message.channel.qos.can_consume()
    assert redis.hlen(NOTES) == 1


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator["OwnRedis"]:
    server = OwnRedis(tmp_path)
    server.start()
    yield server
    server.stop()


class OwnRedis:
    """A Redis that tests may kill."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._directory = directory
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        options = ("--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self._directory), "--save", "")
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig=KILL", "--", "redis-server", *options], stdout=subprocess.DEVNULL
        )
        until(self.answers, seconds=30, what="a Redis")

    def stop(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def answers(self) -> bool:
        try:
            with Redis.from_url(self.url, socket_timeout=1) as client:
                return bool(client.ping())
        except RedisError:
            return False


@pytest.mark.parametrize(
    ("pool", "queue"),
    [
        ("threads", "push"),
        pytest.param("solo", "publish", marks=pytest.mark.full(reason="one pool of workers is as another")),
        pytest.param("prefork", "bulk", marks=pytest.mark.full(reason="one pool of workers is as another")),
    ],
)
def test_a_worker_outlives_whatever_becomes_of_redis(
    pool: str, queue: str, own_redis: OwnRedis, tmp_path: Path
) -> None:
    """Killed twice within moments, hanging, emptied, full: the same process takes messages afterwards."""
    environment = {name: value for name, value in os.environ.items() if name != "PANEL_REDIS_URL_FILE"}
    environment |= {"PANEL_REDIS_URL": own_redis.url, "PYTHONPATH": str(unprivileged.CHECKOUT)}
    done, log = tmp_path / "done", tmp_path / "log"
    environment["NAPS_FILE"] = str(done)
    command = ["celery", "-A", "tests.alone.naps", "worker", "-Q", queue, "--pool", pool, "--concurrency", "2"]
    options = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--hostname=naps@x", "--loglevel=INFO"]
    with log.open("w") as out, app.connection_for_write(own_redis.url) as connection:
        worker = subprocess.Popen(
            ["setpriv", "--pdeathsig=KILL", "--", *command, *options], env=environment, stdout=out, stderr=out
        )

        def send(text: str) -> None:
            with contextlib.suppress(connection.connection_errors + connection.channel_errors + (OperationalError,)):
                app.send_task("nap", (text,), queue=queue, connection=connection, retry=False)

        def takes_messages(text: str) -> bool:
            send(text)
            time.sleep(0.5)
            return done.exists() and text in done.read_text().split()

        try:
            until(lambda: takes_messages("begin"), seconds=90, what=log.read_text)
            for name, fault in FAULTS.items():
                for _ in range(20):
                    send("before")
                fault(own_redis)
                until(partial(takes_messages, name), seconds=90, what=log.read_text)
                assert worker.poll() is None, (name, log.read_text())
        finally:
            worker.kill()
            worker.wait()


def _kill_twice(server: OwnRedis) -> None:
    for _ in range(3):
        server.stop()
        time.sleep(1)
        server.start()
        time.sleep(1.2)  # only time lets the worker connect again, and lose Redis again moments later


def _hang(server: OwnRedis) -> None:
    """Hang longer than `socket_timeout`."""
    assert server.process is not None
    server.process.send_signal(signal.SIGSTOP)
    time.sleep(8)  # longer than `socket_timeout`
    server.process.send_signal(signal.SIGCONT)


def _empty(server: OwnRedis) -> None:
    with Redis.from_url(server.url) as client:
        client.flushall()


def _fill(server: OwnRedis) -> None:
    with Redis.from_url(server.url) as client:
        client.config_set("maxmemory", "1")
        time.sleep(3)  # only time lets the worker meet a Redis that is full
        client.config_set("maxmemory", "0")


FAULTS = {"killed": _kill_twice, "hung": _hang, "emptied": _empty, "full": _fill}
