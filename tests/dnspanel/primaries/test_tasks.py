"""Tests of the workers that transfer due zones, and remove expired zones from the nodes."""

import pytest

from dnspanel.primaries import tasks
from dnspanel.primaries.models import TransferredZone
from dnspanel.zones.models import Zone
from tests.dnspanel.primaries.conftest import Primary, records_here
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_turn_transfers_what_is_due_and_expires_what_nobody_confirmed(transferred: Zone, primary: Primary) -> None:
    primary.update(("replace", ("task", 60, "TXT", '"due"')))
    TransferredZone.objects.update(due_at=NOW, expires_at=None)
    tasks.drive_transfers_in()
    assert records_here(transferred) == primary.records()
    TransferredZone.objects.update(due_at=None, expires_at=NOW)
    tasks.drive_transfers_in()
    transferred.refresh_from_db()
    assert not transferred.is_served
