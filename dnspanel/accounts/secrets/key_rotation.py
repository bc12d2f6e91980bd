"""Rotate the master key while the panel runs. Verbs.

1. `begin_rotation`: store the new key's fingerprint. Processes then encrypt with the new key and decrypt with both
   keys.
2. `wait_for_writers`: wait until no process can still encrypt with the former key.
3. `rewrite`: re-encrypt the former key's secrets row by row, except rows that another process changed in the meantime.
4. `end_rotation`: remove the former key's fingerprint from the database.

To continue a rotation that was killed, start it again. Secrets that use the new key aren't rewritten.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import connection, transaction

from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import RotationRefused
from dnspanel.accounts.models import MasterKey
from dnspanel.accounts.secret_places import SecretPlace, secret_places
from dnspanel.accounts.secrets.database_key import FRESH_SECONDS, DatabaseKey, forget_what_was_seen
from dnspanel.accounts.secrets.master_keys import decrypt, decrypts, fernet, is_readable, own_keys

_OLDER = """
SELECT pid, coalesce(nullif(application_name, ''), usename) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND xact_start < %s
ORDER BY xact_start LIMIT 1"""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Counts for one column: secrets found, rows rewritten, and lost secrets, which no key of this process decrypts."""

    place: SecretPlace
    found: int  # secrets in the column
    rewritten: int
    lost: int  # secrets that no key of this process decrypts


def begin_rotation(*, now: datetime) -> DatabaseKey:
    """Make PANEL_MASTER_KEY the database's key, and the previous key its former key. Return both fingerprints.

    A repeated call has no effect. Raise RotationRefused if the database has no key yet, if the former key isn't in
    PANEL_MASTER_KEY_OLD, or if another rotation hasn't ended.
    """
    new = next(iter(own_keys()))
    with transaction.atomic(durable=True):
        row = MasterKey.objects.select_for_update().first()
        if row is None:
            raise RotationRefused("This database has no key yet: PANEL_MASTER_KEY counts from the first secret on.")
        needed = [each for each in (row.fingerprint, row.former) if each]
        if missing := [each for each in needed if each not in own_keys()]:
            raise RotationRefused(f"Set the key with the fingerprint {missing[0]} as PANEL_MASTER_KEY_OLD.")
        if row.fingerprint != new:
            if row.former:
                raise RotationRefused(
                    f"The rotation to the key with the fingerprint {row.fingerprint} has not ended: set that key as"
                    " PANEL_MASTER_KEY and run this command first."
                )
            row.former, row.fingerprint, row.changed_at = row.fingerprint, new, now
            row.save()
            audit.record(action="master-key.rotate", by=None, now=now, target=row.fingerprint, former=row.former)
    forget_what_was_seen()
    return DatabaseKey(row.fingerprint, row.former)


def wait_for_writers(*, patience: float = 60.0) -> None:
    """Wait until every process has read the new key and all older transactions have ended.

    Raise RotationRefused if a transaction lasts longer than `patience` seconds.
    """
    time.sleep(FRESH_SECONDS)
    deadline = time.monotonic() + patience
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (since,) = cursor.fetchone()
        while True:
            cursor.execute(_OLDER, [since])
            oldest = cursor.fetchone()
            if oldest is None:
                return
            if time.monotonic() > deadline:
                pid, name = oldest
                raise RotationRefused(
                    f"A transaction of {name} (process {pid} of PostgreSQL) does not end, and may still use the former"
                    " key. Nothing is lost: run this command again later."
                )
            time.sleep(0.2)


def rewrite() -> Iterator[Rewritten]:
    """Re-encrypt the secrets of older keys with PANEL_MASTER_KEY. Yield the counts after each column.

    Each batch is one short transaction. A row that another process changes at the same time is left for the next call.
    """
    new = next(iter(own_keys().values()))
    for place in secret_places():
        found = rewritten = lost = 0
        with connection.cursor() as cursor:
            for rows in place.batches(cursor):
                with transaction.atomic(durable=True):
                    for key, value in rows:
                        tokens = place.tokens(value)
                        old = [token for token in tokens if not decrypts(new, token)]
                        dead = [token for token in old if not is_readable(token)]
                        found, lost = found + len(tokens), lost + len(dead)
                        if len(old) > len(dead):
                            rewritten += place.replace(cursor, key, value, place.change_tokens(value, _under(new)))
        yield Rewritten(place, found, rewritten, lost)


def end_rotation(*, now: datetime, secrets: int) -> str:
    """Delete and return the former key's stored fingerprint, or return "" if no rotation was in progress."""
    with transaction.atomic(durable=True):
        row = MasterKey.objects.select_for_update().get()
        former, row.former, row.changed_at = row.former, "", now
        row.save()
        if former:
            audit.record(
                action="master-key.rotated", by=None, now=now, target=row.fingerprint, former=former, secrets=secrets
            )
    return former


def _under(key: str) -> Callable[[bytes], bytes]:
    """Return a function that re-encrypts a token with this key. The function returns unreadable tokens unchanged."""

    def change(token: bytes) -> bytes:
        if decrypts(key, token) or not is_readable(token):
            return token
        return fernet(key).encrypt(decrypt(token))

    return change
