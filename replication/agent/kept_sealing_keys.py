"""The keys that open the DNSSEC keys of this node's zones, as the panel sent them, in a file only for this user.

`<state_dir>/sealing-keys.json` holds the panel's last message. Root and PowerDNS can read it, and the opened keys
in the LMDB as well.
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
    """The sealing keys that are known now; seen at once by all who share this object."""

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
        """Which keys are known, in order."""
        return tuple(sorted(self._secrets))

    @property
    def newest(self) -> SealingKey | None:
        """The key to seal with; None before the panel gave any."""
        return SealingKey(max(self._secrets), self._secrets[max(self._secrets)]) if self._secrets else None

    def secret(self, key_id: int) -> bytes | None:
        """Return the key of this id, or None while it is unknown."""
        return self._secrets.get(key_id)

    def take(self, message: bytes) -> None:
        """Store exactly these keys, also for the time after a crash. Raise BadBytes, OSError."""
        keys = decode_sealing_keys(message)
        write_atomically(self._path, encode_sealing_keys(keys).decode("ascii"))
        self._secrets = {key.id: key.secret for key in keys}
        logger.info("sealing keys: %s", " ".join(map(str, self.ids)) or "none")
