"""Manage the Ed25519 keys that sign segments, and rotate them. Verbs.

A key is created, sent to every node (`fleet.nodes.node_keys`), then used for sealing. It is retired once nodes no
longer need anything that it signed:

    new            nodes are getting it; segments are still sealed with the previous key
    in use         the newest one seals; nodes accept all of them
    retired        nodes no longer accept it

The list of keys is signed with a key that the node already has. A node that was unavailable during a whole rotation can
therefore catch up.
"""

from datetime import datetime, timedelta
from functools import cache

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import transaction
from django.db.models import Count

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.audit import audit
from dnspanel.accounts.secrets.vault import decrypt_secret, encrypt_secret
from dnspanel.advisory_locks import Lock, lock_until_commit
from dnspanel.publish.errors import KeyStillNeeded, RotationUnderWay
from dnspanel.publish.models import Segment, SigningKey, Snapshot
from dnspanel.texts import gettext
from dnspanel.zones.models import LogHead
from replication.wire.keyring import Keyring, encode_keyring, signer_for

# After this time every process seals with the new key. Processes read the key again every `publisher.KEY_KEPT`.
SWITCHED_AFTER = timedelta(minutes=1)


def ensure_signing_key(*, now: datetime) -> SigningKey:
    """Return the newest signing key in use. Create the first one if none exists."""
    if key := _in_use():
        return key
    with transaction.atomic():
        lock_until_commit(Lock.SIGNING_KEY)
        return _in_use() or _make_key(now, in_use_at=now)


def rotate(*, now: datetime, by: Author) -> SigningKey:
    """Create the next signing key. It isn't used before `begin_use`. Raise RotationUnderWay if a new key exists."""
    ensure_signing_key(now=now)
    with transaction.atomic():
        lock_until_commit(Lock.SIGNING_KEY)
        if new_key() is not None:
            raise RotationUnderWay
        key = _make_key(now, in_use_at=None)
        audit.record(action="signing_key.rotate", by=by, now=now, target=short(key))
    return key


def begin_use(*, now: datetime, by: Author) -> SigningKey | None:
    """Start sealing with the new key, and return the key. Return None if no rotation is in progress.

    A node that doesn't have the new key yet keeps serving, but doesn't accept segments until it gets the key.
    """
    with transaction.atomic():
        key = new_key()
        if key is None or not SigningKey.objects.filter(pk=key.pk, in_use_at=None).update(in_use_at=now):
            return None
        audit.record(action="signing_key.use", by=by, now=now, target=short(key))
    return key


def retire_former(*, now: datetime, by: Author) -> int:
    """Retire all former keys. Nodes then no longer accept them. Return the number of retired keys.

    Raise KeyStillNeeded while a snapshot or an undamaged segment exists that a former key may have signed, because
    nodes can't accept it without that key.
    """
    current = ensure_signing_key(now=now)
    assert current.in_use_at is not None
    before = current.in_use_at + SWITCHED_AFTER
    if Segment.objects.filter(sealed_at__lt=before, damaged=False).exists():
        raise KeyStillNeeded(gettext("Nodes that are behind still need segments sealed with the previous key."))
    if Snapshot.objects.filter(made_at__lt=before).exists():
        raise KeyStillNeeded(gettext("New nodes still need a snapshot sealed with the previous key."))
    former = SigningKey.objects.filter(retired_at=None, in_use_at__lt=current.in_use_at)
    with transaction.atomic():
        names = [short(key) for key in former]
        retired = former.update(retired_at=now)
        if retired:
            audit.record(action="signing_key.retire", by=by, now=now, target=" ".join(names))
    return retired


def new_key() -> SigningKey | None:
    """Return the key that is being sent to the nodes, or None if no rotation is in progress."""
    return SigningKey.objects.filter(retired_at=None, in_use_at=None).order_by("-pk").first()


def short(key: SigningKey) -> str:
    """Return the first 16 hex digits of the public key, which identify the key for people."""
    return bytes(key.public).hex()[:16]


@cache
def _private_key(encrypted: bytes) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(decrypt_secret(encrypted))


def private_key(key: SigningKey) -> Ed25519PrivateKey:
    """Return the private key for signing. It is decrypted only once per process."""
    return _private_key(bytes(key.private_encrypted))


def public_keys() -> tuple[bytes, ...]:
    """Return the raw public keys that a node must accept, newest first."""
    keys = SigningKey.objects.filter(retired_at=None).order_by("-created_at", "-pk")
    return tuple(bytes(public) for public in keys.values_list("public", flat=True))


def all_public_keys() -> tuple[bytes, ...]:
    """Return all raw public keys, newest first, including retired keys that signed old segments."""
    return tuple(
        bytes(public) for public in SigningKey.objects.order_by("-created_at").values_list("public", flat=True)
    )


def keys_generation() -> int:
    """Return a number that increases whenever a key is created or retired. It orders the lists sent to nodes."""
    counts = SigningKey.objects.aggregate(made=Count("pk"), retired=Count("retired_at"))
    return int(counts["made"] + counts["retired"])


def sealed_keyring(known: tuple[bytes, ...]) -> bytes | None:
    """Return the signed list of keys for a node that has the keys `known`.

    Return None if the node has none of the panel's keys. The node must then enroll again.
    """
    signer = signer_for(known, all_public_keys())
    if signer is None:
        return None
    keyring = Keyring(LogHead.objects.get().cluster, keys_generation(), public_keys())
    return encode_keyring(keyring, private_key(SigningKey.objects.get(public=signer)))


def _in_use() -> SigningKey | None:
    return SigningKey.objects.filter(retired_at=None).exclude(in_use_at=None).order_by("-in_use_at", "-pk").first()


def _make_key(now: datetime, *, in_use_at: datetime | None) -> SigningKey:
    private = Ed25519PrivateKey.generate()
    return SigningKey.objects.create(
        public=private.public_key().public_bytes_raw(),
        private_encrypted=encrypt_secret(private.private_bytes_raw()),
        created_at=now,
        in_use_at=in_use_at,
    )
