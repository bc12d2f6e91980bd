"""Tests of database constraints."""

from uuid import UUID

import pytest
from django.db import IntegrityError, transaction

from dnspanel.publish.models import Segment
from tests.people import NOW

pytestmark = pytest.mark.django_db


def segment(first: int, last: int, name: str, schema: int = 4) -> Segment:
    return Segment.objects.create(
        epoch=UUID(int=1), schema=schema, first=first, last=last, object_name=name, size=1, digest=b"", sealed_at=NOW
    )


def test_two_publishers_cannot_both_claim_a_sequence() -> None:
    segment(1, 3, "a")
    segment(1, 3, "b", schema=5)
    for first, last in ((1, 2), (2, 3), (1, 9)):
        with pytest.raises(IntegrityError), transaction.atomic():
            segment(first, last, f"{first}-{last}")


def test_a_segment_does_not_end_before_it_begins() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        segment(3, 2, "a")
