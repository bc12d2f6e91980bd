"""Redis as the broker, without the notes that nobody needs of messages that only wake somebody.

kombu notes each message that it hands to a worker in Redis, and strikes it out when it is acknowledged, so that
somebody else gets it `visibility_timeout` seconds after a worker died with it: two transactions each, which were half
of what the push worker computed for an edit. A message in one of WAKING_QUEUES says no more than "look": beat says it
again within seconds.
"""

from typing import Any

from kombu.transport import redis, virtual

WAKING_QUEUES = frozenset({"publish", "push"})


# kombu has no types.
_Noted: Any = redis.QoS
_OnlyHere: Any = virtual.QoS


class QoS(_Noted):  # type: ignore[misc]
    """As kombu's, but messages of WAKING_QUEUES are lost with the worker that has them, or that does not want them.

    They count as any other for how many a worker may have at a time.
    """

    def append(self, message: Any, delivery_tag: str) -> None:
        way = _OnlyHere if _only_wakes(message) else _Noted
        way.append(self, message, delivery_tag)

    def ack(self, delivery_tag: str) -> None:
        way = _OnlyHere if _only_wakes(self._delivered.get(delivery_tag)) else _Noted
        way.ack(self, delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        if _only_wakes(self._delivered.get(delivery_tag)):
            _OnlyHere.ack(self, delivery_tag)
        else:
            _Noted.reject(self, delivery_tag, requeue=requeue)


def _only_wakes(message: Any | None) -> bool:
    return message is not None and message.delivery_info["routing_key"] in WAKING_QUEUES


def use() -> None:
    """Every channel to Redis that this process opens from now on works like this."""
    redis.Channel.QoS = QoS
