"""Manage the keys that encrypt private DNSSEC keys in transit and at rest. Verbs.

A node gets these sealing keys when it needs them (`fleet.nodes.node_keys`). Without them, the DNSSEC keys in segments,
snapshots and the panel's LMDB can't be decrypted. A new key seals DNSSEC keys in later publications. Older keys are
kept, because files sealed with them still exist. If an attacker has a node's files, a new sealing key protects only
DNSSEC keys that are created later.
"""

import secrets
from datetime import datetime
from functools import cache

from django.db import transaction

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.audit import audit
from dnspanel.accounts.secrets.vault import decrypt_secret, encrypt_secret
from dnspanel.advisory_locks import Lock, lock_until_commit
from dnspanel.publish.models import SealingKey
from replication.codec import sealed


def sealing_key(*, now: datetime) -> sealed.SealingKey:
    """Return the newest sealing key, which seals later private keys. Create the first one if none exists."""
    newest = _newest()
    if newest is None:
        with transaction.atomic():
            lock_until_commit(Lock.SIGNING_KEY)
            newest = _newest() or _make(now)
    return _decrypt_key(newest.pk, bytes(newest.secret_encrypted))


def all_sealing_keys() -> list[sealed.SealingKey]:
    """Return all sealing keys, newest first, because any of them can still be in use."""
    return [_decrypt_key(key.pk, bytes(key.secret_encrypted)) for key in SealingKey.objects.order_by("-pk")]


def rotate(*, now: datetime, by: Author) -> None:
    """Create a new sealing key for later private keys. Do nothing if no sealing key exists yet."""
    with transaction.atomic():
        lock_until_commit(Lock.SIGNING_KEY)
        if _newest() is not None:
            audit.record(action="sealing_key.rotate", by=by, now=now, target=str(_make(now).pk))


def _newest() -> SealingKey | None:
    return SealingKey.objects.order_by("-pk").first()


def _make(now: datetime) -> SealingKey:
    """Create the next sealing key. Its id is the Unix time in seconds, or the newest id plus one if that is higher.

    A restored database may have lost keys that nodes still have. With the time as id, the id of a lost key isn't used
    again, so nodes can't confuse two keys.
    """
    newest = _newest()
    return SealingKey.objects.create(
        pk=max(int(now.timestamp()), newest.pk + 1 if newest else 1),
        secret_encrypted=encrypt_secret(secrets.token_bytes(sealed.SECRET_SIZE)),
        created_at=now,
    )


@cache
def _decrypt_key(id: int, encrypted: bytes) -> sealed.SealingKey:
    return sealed.SealingKey(id, decrypt_secret(encrypted))
