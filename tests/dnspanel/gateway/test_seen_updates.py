"""Tests of replay protection: a signed message is accepted once, in bounded memory."""

from datetime import timedelta
from uuid import uuid4

import dns.message
import dns.rcode
import pytest

from dnspanel.gateway import seen_updates
from dnspanel.gateway.models import TakenMessage
from dnspanel.zones.models import Zone
from tests.dnspanel.gateway.conftest import Key, replies
from tests.people import NOW


@pytest.mark.django_db(transaction=True)
def test_a_transfer_is_given_once_for_each_signature(zone: Zone, key: Key) -> None:
    """Regression test: an eavesdropper could repeat the signed query and get the zone."""
    query = dns.message.make_query("example.test.", "AXFR")
    wire = key.sign(query)
    for expected in ("NOERROR", "REFUSED"):
        first, *_ = replies(wire, over_tcp=True)
        assert dns.rcode.to_text(key.read(first, query).rcode()) == expected
    assert TakenMessage.objects.count() == 1


@pytest.mark.django_db
def test_what_is_too_old_to_come_again_is_forgotten() -> None:
    seen_updates._forgetting._next = None
    first = uuid4()
    at = int(NOW.timestamp())
    assert seen_updates.take(id=first, time_signed=at, now=NOW) is None
    again = seen_updates.take(id=first, time_signed=at, now=NOW + timedelta(seconds=300))
    assert again is not None
    seen_updates.note_answer(id=first, rcode=3)
    again = seen_updates.take(id=first, time_signed=at, now=NOW + timedelta(seconds=300))
    assert again is not None
    assert again.rcode == 3
    for number in range(20):
        late = NOW + timedelta(seconds=700 * (number + 1))
        assert seen_updates.take(id=uuid4(), time_signed=int(late.timestamp()), now=late) is None
    assert TakenMessage.objects.count() == 1
