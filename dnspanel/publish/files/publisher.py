"""Keep the objects that a process needs for publishing open between tasks.

The publish worker is one process with one thread (`--pool=solo`). The connection, the LMDB files and the signing key
are therefore already open when an edit arrives.
"""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings

from dnspanel.publish.keys import segment_signing
from dnspanel.publish.reading.publisher_session import Session
from replication.store.store import Store

# Address space, not disk: PowerDNS reserves the same by default.
MAP_SIZE = 16_000 << 20
# After a rotation a process seals with the former key for up to this time. Nodes accept both keys.
KEY_KEPT = timedelta(seconds=20)


class Publisher:
    """A process's own database session, stores and signing key."""

    map_size = MAP_SIZE

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.session = Session()
        self._stores: dict[int, Store] = {}
        self._inodes: dict[int, int | None] = {}
        self._key: Ed25519PrivateKey | None = None
        self._key_read_at = datetime.min.replace(tzinfo=UTC)

    def store(self, schema: int, cluster: UUID) -> Store:
        """Return the panel's open LMDB for this schema. Create an empty one if it doesn't exist.

        If a rebuild replaced the open files, open the new ones instead.
        """
        path = store_path(self.directory, schema)
        if schema in self._stores and self._inodes[schema] != _inode(path):
            self.close_store(schema)
        if schema not in self._stores:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stores[schema] = Store.open(path, schema, self.map_size, cluster=cluster)
            self._inodes[schema] = _inode(path)
        return self._stores[schema]

    def close_store(self, schema: int) -> None:
        """Close the files of this schema. The next call of `store` opens them again."""
        if store := self._stores.pop(schema, None):
            store.close()

    def signing_key(self, *, now: datetime) -> Ed25519PrivateKey:
        """Return the current signing key. It is read again after KEY_KEPT, so a rotation needs no restart."""
        if self._key is None or abs(now - self._key_read_at) > KEY_KEPT:
            self._key, self._key_read_at = segment_signing.private_key(segment_signing.ensure_signing_key(now=now)), now
        return self._key

    def close(self) -> None:
        for schema in list(self._stores):
            self.close_store(schema)
        self.session.close()


_publisher: Publisher | None = None
_owner: int | None = None


def this_publisher() -> Publisher:
    """Return this process's publisher. Each process has its own, because LMDB must not be used after a fork."""
    global _publisher, _owner
    directory = Path(settings.PUBLISHER_DIR)
    if _publisher is None or _owner != os.getpid() or _publisher.directory != directory:
        if _publisher is not None and _owner == os.getpid():
            _publisher.close()
        _publisher, _owner = Publisher(directory), os.getpid()
    return _publisher


def store_path(directory: Path, schema: int) -> Path:
    return directory / str(schema) / "pdns.lmdb"


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None
