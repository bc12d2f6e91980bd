"""Redis as the broker, without kombu's notes about messages that only wake a worker.

kombu notes in Redis each message that it gives to a worker, and deletes the note when the message is acknowledged. If a
worker died with the message, another one gets it `visibility_timeout` seconds later. That takes two transactions each,
which were half of the push worker's computing time for an edit. A message in one of WAKING_QUEUES only means "look":
beat sends it again within seconds.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu.transport import redis, virtual
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

WAKING_QUEUES = frozenset({"publish", "push"})


# kombu has no types.
_Noted: Any = redis.QoS
_OnlyHere: Any = virtual.QoS
_Channel: Any = redis.Channel


class QoS(_Noted):  # type: ignore[misc]
    """As kombu's, but messages of WAKING_QUEUES are lost with the worker that has them, or that does not want them.

    They count as any other for how many a worker may have at a time.
    """

    def append(self, message: Any, delivery_tag: str) -> None:
        way = _OnlyHere if _only_wakes(message) else _Noted
        way.append(self, message, delivery_tag)

    def ack(self, delivery_tag: str) -> None:
        if _only_wakes(self._delivered.get(delivery_tag)):
            _OnlyHere.ack(self, delivery_tag)
        else:
            with self._let_go(delivery_tag):
                _Noted.ack(self, delivery_tag)

    def reject(self, delivery_tag: str, *, requeue: bool = False) -> None:
        if _only_wakes(self._delivered.get(delivery_tag)):
            _OnlyHere.ack(self, delivery_tag)
        else:
            with self._let_go(delivery_tag):
                _Noted.reject(self, delivery_tag, requeue=requeue)

    @contextmanager
    def _let_go(self, delivery_tag: str) -> Iterator[None]:
        """Stop counting the message, whether Redis answered or not.

        kombu counts a message that it could not acknowledge for ever. After a Redis that hung for some seconds, workers
        without running messages then took no other one. The message comes again after `visibility_timeout`.
        """
        try:
            yield
        except RedisError:
            _OnlyHere.ack(self, delivery_tag)
            raise


class Channel(_Channel):  # type: ignore[misc]
    """As kombu's, but without its connection it says so by an error after which workers connect again.

    A worker that loses Redis twice within moments closes channels whose connection is closed already. kombu then looks
    for the host name of no connection, and the worker ended by the AttributeError. The same was reported of its older
    releases: celery/kombu#582, celery/kombu#970.
    """

    QoS = QoS

    def _connparams(self, asynchronous: bool = False) -> Any:  # noqa: FBT001, FBT002  # kombu passes it by position
        if self.connection is None or self.connection.client is None:
            raise RedisConnectionError("The connection to Redis was closed.")
        return super()._connparams(asynchronous=asynchronous)


def _only_wakes(message: Any | None) -> bool:
    return message is not None and message.delivery_info["routing_key"] in WAKING_QUEUES


def use() -> None:
    """Make every new channel of this process to Redis work like this."""
    redis.Transport.Channel = Channel
