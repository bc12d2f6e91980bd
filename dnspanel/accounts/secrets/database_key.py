"""Track the master key that encrypts the database's secrets, by its fingerprint. Verbs.

The table `accounts_masterkey` has one row with the key's fingerprint. A process without this key refuses to start,
because the database could otherwise contain secrets with different keys, which no backup could fix.
"""

import time
from dataclasses import dataclass

from django.db import DatabaseError, connection, transaction

from dnspanel.accounts.secret_places import secret_places
from dnspanel.accounts.secrets.master_keys import WrongMasterKey, decrypts, fernet, own_keys
from dnspanel.database.sql import execute, fetch_one

# How often an encrypting process reads the row. A rotation waits for this time before it rewrites secrets.
FRESH_SECONDS = 5.0
# The number of tokens to try if a database has secrets but no row, after an upgrade from before the row existed.
_SAMPLES = 5

RUNBOOK = "docs/operate/runbooks/lost-master-key.md"

_seen: tuple[str, float] = ("", 0.0)  # fingerprint of the database's key, and the monotonic time of the last read


@dataclass(frozen=True, slots=True)
class DatabaseKey:
    """The fingerprints of the database's current key and of the former key that a rotation is replacing."""

    fingerprint: str  # of the encrypting key
    former: str  # of the key that a rotation is replacing; empty: no rotation


def database_key() -> DatabaseKey | None:
    """Return the stored fingerprints, or None if no key has been recorded yet."""
    row = fetch_one("SELECT fingerprint, former FROM accounts_masterkey")
    return DatabaseKey(*row) if row else None


def key_for_encrypting() -> str:
    """Return the database's master key. Raise WrongMasterKey if this process doesn't have it.

    If the database has no fingerprint yet, store the fingerprint of the configured key that decrypts the secrets. If
    the database has no secrets either, use PANEL_MASTER_KEY.
    """
    global _seen
    found, at = _seen
    keys = own_keys()
    if found not in keys or time.monotonic() - at > FRESH_SECONDS:
        fernet(next(iter(keys.values())))  # an invalid key gets no row
        found = (database_key() or _adopt()).fingerprint
        if found not in keys:
            raise WrongMasterKey(_reason(found))
        _seen = found, time.monotonic()
    return keys[found]


def refuse_another_key() -> None:
    """Raise WrongMasterKey if this process lacks a key that the database's secrets need.

    If the database has no fingerprint yet, store one, like `key_for_encrypting`. Don't raise an error if PostgreSQL is
    unavailable or has no tables yet. The key is then checked before the next secret is encrypted.
    """
    if problem := problem_with_key():
        raise WrongMasterKey(problem)


def problem_with_key() -> str:
    """Check the keys like `refuse_another_key`, but return the error message, or "" if the keys are valid."""
    try:
        with transaction.atomic():
            found = database_key() or _adopt()
    except WrongMasterKey as exc:
        return str(exc)
    except DatabaseError:
        return ""
    missing = [each for each in (found.fingerprint, found.former) if each and each not in own_keys()]
    if not missing:
        return ""
    return _reason(missing[0]) if missing[0] == found.fingerprint else _unfinished_reason(found)


def forget_what_was_seen() -> None:
    """Clear the cache. The next encryption reads the database's key again."""
    global _seen
    _seen = ("", 0.0)


def _adopt() -> DatabaseKey:
    """Store the fingerprint of `_key_of_secrets` if none is stored yet. Return the stored fingerprints.

    Raise WrongMasterKey if secrets exist and none of the configured keys decrypts them.
    """
    found = _key_of_secrets()
    execute(
        "INSERT INTO accounts_masterkey (id, fingerprint, former, changed_at) VALUES (1, %s, '', now())"
        " ON CONFLICT DO NOTHING",
        [found],
    )
    return database_key() or DatabaseKey(found, "")


def _key_of_secrets() -> str:
    """Return the fingerprint of the configured key that decrypts the database's secrets.

    If there are no secrets, return the fingerprint of PANEL_MASTER_KEY. Raise WrongMasterKey if no configured key
    decrypts the secrets.
    """
    keys = own_keys()
    tokens: list[bytes] = []
    with connection.cursor() as cursor:
        for place in secret_places():
            rows = next(place.batches(cursor), [])
            tokens += [token for _, value in rows[:_SAMPLES] for token in place.tokens(value)]
    for mark, key in keys.items():
        if any(decrypts(key, token) for token in tokens):
            return mark
    if tokens:
        raise WrongMasterKey(
            f"PANEL_MASTER_KEY (fingerprint {next(iter(keys))}) decrypts no secret of this database. {_WAYS_OUT}"
        )
    return next(iter(keys))


_WAYS_OUT = (
    "Nothing was changed. Set the PANEL_MASTER_KEY that this database had. If the database was restored from another"
    " panel's backup, that is the key of that panel. If you wanted to change the key, set the former one as"
    f" PANEL_MASTER_KEY_OLD and run manage.py rotate_master_key. If the key is lost, read {RUNBOOK}."
)


def _reason(needed: str) -> str:
    ours = next(iter(own_keys()))
    return (
        f"PANEL_MASTER_KEY is not the key of this database: its fingerprint is {ours}, and the database's secrets are"
        f" encrypted with the key of fingerprint {needed}. {_WAYS_OUT}"
    )


def _unfinished_reason(found: DatabaseKey) -> str:
    return (
        f"A rotation of the master key has not ended: some secrets are still encrypted with the key of fingerprint"
        f" {found.former}. Set that key as PANEL_MASTER_KEY_OLD and run manage.py rotate_master_key. If that key is"
        f" lost, read {RUNBOOK}."
    )
