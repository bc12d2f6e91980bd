"""Each signed message is taken once, also by several gateways and over their restarts. Verbs.

Whoever has seen a message on its way can send it again for as long as its
signature is good: an update that was withdrawn meanwhile would come back, and
a zone would be transferred to them. The store holds no more than the messages
of that time, and only those with a good signature within a token's rate.
"""

from datetime import datetime, timedelta
from threading import Lock
from uuid import UUID, uuid5

from dnspanel.gateway.models import TakenMessage
from dnspanel.gateway.signatures import FUDGE, Signed, SignedBySecondary

_MESSAGES = UUID("a0a1d9a4-0a3f-4f0d-9a54-5a1b7c6f6f2e")
_FORGET_EVERY = timedelta(minutes=1)


def id_of(signed: Signed | SignedBySecondary, message_id: int) -> UUID:
    """What a message is known by: only who has the key can make another one with the same."""
    return uuid5(_MESSAGES, f"{signed.holder}:{message_id}:{signed.tsig.mac.hex()}")


def take(*, id: UUID, time_signed: int, now: datetime) -> TakenMessage | None:
    """The message is taken; returns what it was taken as before, None for the first time."""
    _forgetting.forget_old(now)
    until = datetime.fromtimestamp(time_signed, tz=now.tzinfo) + timedelta(seconds=FUDGE)
    taken, is_first = TakenMessage.objects.get_or_create(id=id, defaults={"until": until})
    return None if is_first else taken


def note_answer(*, id: UUID, rcode: int) -> None:
    """A retransmission of the message is answered with this rcode."""
    TakenMessage.objects.filter(pk=id).update(rcode=rcode)


class _Forgetting:
    """Now and then, what is too old to be taken again is forgotten."""

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
