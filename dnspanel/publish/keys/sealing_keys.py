"""The keys under which private DNSSEC keys travel and rest. Verbs.

Every node has them (`fleet.nodes.keys`), so that what lies in segments, snapshots and the panel's LMDB opens beside a
PowerDNS and nowhere else. A new one seals what is published from then on; older ones stay, because files that were
sealed with them do. Who had a node's files has the keys of its zones: a new sealing key protects those that come later.
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
    """Return the key to seal with, the newest; make one, once, when there is none. Idempotent."""
    newest = _newest()
    if newest is None:
        with transaction.atomic():
            lock_until_commit(Lock.SIGNING_KEY)
            newest = _newest() or _make(now)
    return _opened(newest.pk, bytes(newest.secret_encrypted))


def all_sealing_keys() -> list[sealed.SealingKey]:
    """Return every key that something may be sealed with, newest first."""
    return [_opened(key.pk, bytes(key.secret_encrypted)) for key in SealingKey.objects.order_by("-pk")]


def rotate(*, now: datetime, by: Author) -> None:
    """Private keys that are published from now on are sealed with a new key, if anything was sealed at all."""
    with transaction.atomic():
        lock_until_commit(Lock.SIGNING_KEY)
        if _newest() is not None:
            audit.record(action="sealing_key.rotate", by=by, now=now, target=str(_make(now).pk))


def _newest() -> SealingKey | None:
    return SealingKey.objects.order_by("-pk").first()


def _make(now: datetime) -> SealingKey:
    """The next key. Its id is the time, in Unix seconds: a database that was restored makes no other key under an id
    that nodes know of a key which it lost, and they would take the one for the other."""
    newest = _newest()
    return SealingKey.objects.create(
        pk=max(int(now.timestamp()), newest.pk + 1 if newest else 1),
        secret_encrypted=encrypt_secret(secrets.token_bytes(sealed.SECRET_SIZE)),
        created_at=now,
    )


@cache
def _opened(id: int, encrypted: bytes) -> sealed.SealingKey:
    return sealed.SealingKey(id, decrypt_secret(encrypted))
