"""Tests of expired zones, which leave the nodes and come back, and of the encoded result.

Tests `publishing.transferred` too.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dnspanel.primaries import apply_transfer
from dnspanel.publish.checks.expected_state import expected_state
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.models import Segment
from dnspanel.publish.reading.publisher_session import reading
from dnspanel.zones.models import Revision, RevisionKind, Zone
from tests.dnspanel.primaries.conftest import Primary, row_of, take_turn
from tests.dnspanel.publish.conftest import publisher_directory as publisher_directory
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)


def encoded_zones() -> set[str]:
    """Encode all publications. Return the zones that every file must have, after comparing both computations."""
    while encode_step(now=NOW):
        pass
    with reading() as conn:
        expected = expected_state(conn)
    assert expected is not None
    segment = Segment.objects.latest("last")
    assert bytes(segment.digest) == expected.main_digest(segment.schema) + expected.records_digest
    return {zone.name for zone in expected.zones.values()}


def test_a_zone_expires_when_its_primary_is_away_for_too_long_and_comes_back(
    transferred: Zone, primary: Primary, publisher_directory: Path, settings: Any
) -> None:
    assert encoded_zones() == {transferred.name}
    address = row_of(transferred).addresses
    type(row_of(transferred)).objects.filter(pk=transferred.pk).update(addresses=["127.0.0.1:1024"])
    assert "127.0.0.1 port 1024" in take_turn(transferred, after=timedelta(hours=1))
    row = row_of(transferred)
    assert row.due_at == NOW + timedelta(hours=1, minutes=10)
    assert row.alert_at == NOW + timedelta(hours=1) + apply_transfer.SILENT_FOR
    assert apply_transfer.expire_due(now=NOW + timedelta(hours=23, minutes=59)) == 0
    assert apply_transfer.expire_due(now=NOW + timedelta(days=1)) == 1
    assert apply_transfer.expire_due(now=NOW + timedelta(days=1)) == 0
    transferred.refresh_from_db()
    assert not transferred.is_served
    assert Revision.objects.filter(zone=transferred).latest("number").kind == RevisionKind.EXPIRE
    assert encoded_zones() == set()
    type(row).objects.filter(pk=transferred.pk).update(addresses=address)
    assert take_turn(transferred, after=timedelta(days=2)) == "axfr"
    assert encoded_zones() == {transferred.name}
