"""Use Redis as the broker, without kombu's bookkeeping for messages that only wake a worker.

kombu records each message that it delivers to a worker in Redis, and deletes the record when the message is
acknowledged. If the worker dies, another worker gets the message `visibility_timeout` seconds later. That takes two
transactions per message, which used half of the push worker's CPU time for an edit. A message in one of WAKING_QUEUES
only means "look for work", and beat sends it again within seconds.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu.transport import redis, virtual
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

WAKING_QUEUES = frozenset({"publish", "push"})


# kombu has no type annotations.
_Noted: Any = redis.QoS
_OnlyHere: Any = virtual.QoS
_Channel: Any = redis.Channel


class QoS(_Noted):  # type: ignore[misc]
    """kombu's QoS, except that messages of WAKING_QUEUES are lost if their worker dies or rejects them.

    These messages still count toward the prefetch limit of a worker.
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
        """Stop counting the message, even if Redis doesn't answer.

        kombu would otherwise keep counting a message that it couldn't acknowledge, and idle workers would stop taking
        messages after Redis had hung for some seconds. The message is delivered again after `visibility_timeout`.
        """
        try:
            yield
        except RedisError:
            _OnlyHere.ack(self, delivery_tag)
            raise


class Channel(_Channel):  # type: ignore[misc]
    """kombu's Channel, except that a missing connection raises an error that makes workers reconnect.

    A worker that loses Redis twice in quick succession closes channels whose connection is already closed. kombu then
    reads the host name of a missing connection, and the AttributeError ends the worker. The same error was reported for
    older releases: celery/kombu#582, celery/kombu#970.
    """

    QoS = QoS

    def _connparams(self, asynchronous: bool = False) -> Any:  # noqa: FBT001, FBT002  # kombu passes it by position
        if self.connection is None or self.connection.client is None:
            raise RedisConnectionError("The connection to Redis was closed.")
        return super()._connparams(asynchronous=asynchronous)


def _only_wakes(message: Any | None) -> bool:
    return message is not None and message.delivery_info["routing_key"] in WAKING_QUEUES


def use() -> None:
    """Make this process use this module's Channel for all new Redis channels."""
    redis.Transport.Channel = Channel
