"""Accept each signed message only once, even with several gateways and after restarts (replay protection). Verbs.

An attacker can capture a message and send it again while its signature is valid. Without protection, an update that was
undone would be applied again, or the attacker would receive a zone transfer. The table only contains messages that
could still be replayed. Each message in it has a valid signature and was within a token's rate.
"""

from datetime import datetime, timedelta
from threading import Lock
from uuid import UUID, uuid5

from dnspanel.gateway.models import TakenMessage
from dnspanel.gateway.tsig_signatures import FUDGE, Signed, SignedBySecondary

_MESSAGES = UUID("a0a1d9a4-0a3f-4f0d-9a54-5a1b7c6f6f2e")
_FORGET_EVERY = timedelta(minutes=1)


def id_of(signed: Signed | SignedBySecondary, message_id: int) -> UUID:
    """Return a message's id. Only a client with the key can produce another message with the same id."""
    return uuid5(_MESSAGES, f"{signed.holder}:{message_id}:{signed.tsig.mac.hex()}")


def take(*, id: UUID, time_signed: int, now: datetime) -> TakenMessage | None:
    """Store the message and return None. If the message was already accepted, return its stored row."""
    _forgetting.forget_old(now)
    until = datetime.fromtimestamp(time_signed, tz=now.tzinfo) + timedelta(seconds=FUDGE)
    taken, is_first = TakenMessage.objects.get_or_create(id=id, defaults={"until": until})
    return None if is_first else taken


def note_answer(*, id: UUID, rcode: int) -> None:
    """Store the rcode of the answer, for retransmissions of the message."""
    TakenMessage.objects.filter(pk=id).update(rcode=rcode)


class _Forgetting:
    """The periodic deletion of messages that are too old to be accepted again."""

    def __init__(self) -> None:
        self._next: datetime | None = None
        self._lock = Lock()

    def forget_old(self, now: datetime) -> None:
        with self._lock:
            if self._next is not None and self._next - _FORGET_EVERY <= now < self._next:
                return
            self._next = now + _FORGET_EVERY
        TakenMessage.objects.filter(until__lt=now).delete()


_forgetting = _Forgetting()
