"""Tests of database constraints."""

import pytest
from django.db import IntegrityError, transaction

from dnspanel.fleet.models import Ack, Authority
from tests.dnspanel.fleet.conftest import NOW, MakeNode

pytestmark = pytest.mark.django_db


def test_there_is_one_authority() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Authority.objects.create(pk=2, ca_key_encrypted=b"", client_key_encrypted=b"", created_at=NOW)


def test_a_position_is_proved_once(active_node: MakeNode) -> None:
    from uuid import uuid4

    node, epoch = active_node(), uuid4()
    Ack.objects.create(node=node, epoch=epoch, sequence=1, at=NOW)
    with pytest.raises(IntegrityError), transaction.atomic():
        Ack.objects.create(node=node, epoch=epoch, sequence=1, at=NOW)
    assert str(node) == "ns1"
