"""Tests of sealing keys, which encrypt private DNSSEC keys in transit and in storage."""

import pytest
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry
from dnspanel.publish.keys import sealing_keys
from dnspanel.publish.models import SealingKey
from replication.codec.sealed import SECRET_SIZE

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_key_is_made_once_and_not_readable_in_the_database() -> None:
    one, two = (sealing_keys.sealing_key(now=timezone.now()) for _ in range(2))
    assert one == two
    stored = SealingKey.objects.get()
    assert len(one.secret) == SECRET_SIZE
    assert one.secret not in bytes(stored.secret_encrypted)
    assert stored.pk == one.id


def test_a_new_key_seals_and_nodes_keep_the_old_ones() -> None:
    old = sealing_keys.sealing_key(now=timezone.now())
    sealing_keys.rotate(now=timezone.now(), by=None)
    new = sealing_keys.sealing_key(now=timezone.now())
    assert new.secret != old.secret
    assert sealing_keys.all_sealing_keys() == [new, old]
    assert AuditEntry.objects.get().action == "sealing_key.rotate"


def test_where_nothing_was_ever_sealed_there_is_nothing_to_rotate() -> None:
    sealing_keys.rotate(now=timezone.now(), by=None)
    assert not SealingKey.objects.exists()
