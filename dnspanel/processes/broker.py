"""Redis as the broker, without the notes that nobody needs of messages that only wake somebody.

kombu notes each message that it hands to a worker in Redis, and strikes it out when it is acknowledged, so that
somebody else gets it `visibility_timeout` seconds after a worker died with it: two transactions each, which were half
of what the push worker computed for an edit. A message in one of WAKING_QUEUES says no more than "look": beat says it
again within seconds.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu.transport import redis, virtual
from redis.exceptions import ConnectionError, RedisError

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

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        if _only_wakes(self._delivered.get(delivery_tag)):
            _OnlyHere.ack(self, delivery_tag)
        else:
            with self._let_go(delivery_tag):
                _Noted.reject(self, delivery_tag, requeue=requeue)

    @contextmanager
    def _let_go(self, delivery_tag: str) -> Iterator[None]:
        """Count the message no longer, whether Redis could be told or not.

        kombu counts one that it could not acknowledge for ever. After a Redis that hung for some seconds, workers whose
        messages had all ended then took no other one. The message comes again after `visibility_timeout`.
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

    def _connparams(self, asynchronous: bool = False) -> Any:
        if self.connection is None or self.connection.client is None:
            raise ConnectionError("The connection to Redis was closed.")
        return super()._connparams(asynchronous=asynchronous)


def _only_wakes(message: Any | None) -> bool:
    return message is not None and message.delivery_info["routing_key"] in WAKING_QUEUES


def use() -> None:
    """Every channel to Redis that this process opens from now on works like this."""
    redis.Transport.Channel = Channel
