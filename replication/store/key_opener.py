"""Decrypt sealed DNSSEC keys just before they are written to files that PowerDNS serves from.

The panel's own store has no opener and keeps sealed keys. A node's store has an opener, so the node's files contain no
sealed keys. Rows are decrypted before they are compared with stored rows, and digests only include a key's fingerprint.
"""

from replication.codec import keys
from replication.codec.schema import Dbi, Schema
from replication.codec.sealed import SecretOf, is_sealed_body, opened_body
from replication.errors import BadBytes, BadName


class KeyOpener:
    """A decrypter for one store's rows. If `secret_of` is None, it leaves rows unchanged."""

    def __init__(self, schema: Schema, secret_of: SecretOf | None = None) -> None:
        self._schema, self._secret_of = schema, secret_of

    @property
    def is_active(self) -> bool:
        """True if this store must contain decrypted keys."""
        return self._secret_of is not None

    def open_body(self, dbi: Dbi, key: bytes, body: bytes) -> bytes:
        """Return the body to write for a row. Raise UnknownSealingKey or BadBytes if its key can't be decrypted."""
        if dbi is not Dbi.KEYDATA or self._secret_of is None:
            return body
        try:
            return opened_body(body, self._secret_of, row_id=self._row_id(key))
        except BadName as exc:
            raise BadBytes(what="key object", reason=str(exc)) from exc

    def opened_value(self, dbi: Dbi, key: bytes, value: bytes) -> bytes:
        """Return a value with its key decrypted as in `open_body`, and with the same header."""
        if dbi is not Dbi.KEYDATA or self._secret_of is None:
            return value
        body = self._schema.unwrap(value)
        return value[: len(value) - len(body)] + self.open_body(dbi, key, body)

    def is_wrongly_sealed(self, dbi: Dbi, body: bytes) -> bool:
        """Return True if the row contains a sealed key although PowerDNS needs decrypted keys in this store."""
        return dbi is Dbi.KEYDATA and self.is_active and is_sealed_body(body)

    def _row_id(self, key: bytes) -> int:
        return keys.decode_row_id(key, big_endian=self._schema.has_header)
