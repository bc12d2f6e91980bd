"""Store the sealing keys, which decrypt the zones' DNSSEC keys, in a file that only this node's user can read.

`<state_dir>/sealing-keys.json` has the panel's last message. Root and PowerDNS can read the file, but they can also
read the decrypted keys in the LMDB files.
"""

import contextlib
import logging
from pathlib import Path

from replication.agent.agent_identity import write_atomically
from replication.codec.sealed import SealingKey
from replication.errors import BadBytes
from replication.wire.wire_sealing_keys import decode_sealing_keys, encode_sealing_keys

SEALING_KEYS_FILE = "sealing-keys.json"

logger = logging.getLogger(__name__)


class SealingKeys:
    """This node's sealing keys. All users of this object see a change immediately."""

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / SEALING_KEYS_FILE
        self._secrets: dict[int, bytes] = {}
        with contextlib.suppress(FileNotFoundError):
            try:
                self._secrets = {key.id: key.secret for key in decode_sealing_keys(self._path.read_bytes())}
            except BadBytes as exc:
                logger.error("the panel has to send the sealing keys again: %s", exc)

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of the known sealing keys, in ascending order."""
        return tuple(sorted(self._secrets))

    @property
    def newest(self) -> SealingKey | None:
        """The newest key, which is used for sealing, or None until the panel has sent a key."""
        return SealingKey(max(self._secrets), self._secrets[max(self._secrets)]) if self._secrets else None

    def secret(self, key_id: int) -> bytes | None:
        """Return the sealing key with this id, or None if it is unknown."""
        return self._secrets.get(key_id)

    def take(self, message: bytes) -> None:
        """Replace the stored keys with those in `message`, atomically. Raise BadBytes if it is invalid, or OSError."""
        keys = decode_sealing_keys(message)
        write_atomically(self._path, encode_sealing_keys(keys).decode("ascii"))
        self._secrets = {key.id: key.secret for key in keys}
        logger.info("sealing keys: %s", " ".join(map(str, self.ids)) or "none")
