"""Encode and decode the keys that decrypt DNSSEC keys (`codec.sealed`), sent to nodes over TLS by the panel. Pure.

    {"keys": [{"id": 1, "secret": "Base64 of 64 bytes"}, …]}

The node deletes all keys that are not in the message. Error messages never contain any part of a message.
"""

import base64
import json
from collections.abc import Iterable

from replication.codec.sealed import SealingKey
from replication.errors import BadBytes

MAX_KEYS = 64


def encode_sealing_keys(keys: Iterable[SealingKey]) -> bytes:
    """Encode these keys as the message for a node."""
    listed = [{"id": key.id, "secret": base64.b64encode(key.secret).decode("ascii")} for key in keys]
    return json.dumps({"keys": listed}, separators=(",", ":")).encode("ascii")


def decode_sealing_keys(message: bytes) -> tuple[SealingKey, ...]:
    """Decode the message of `encode_sealing_keys`. Raise BadBytes if it is invalid."""
    try:
        listed = json.loads(message)["keys"]
        if any(type(each["id"]) is not int for each in listed):
            raise TypeError("an id is not a number")
        keys = tuple(SealingKey(each["id"], base64.b64decode(each["secret"], validate=True)) for each in listed)
    except (ValueError, KeyError, TypeError, RecursionError) as exc:
        reason = f"the message is none ({type(exc).__name__})"
        raise BadBytes(what="sealing keys", reason=reason) from exc
    if len(keys) > MAX_KEYS or len({key.id for key in keys}) < len(keys):
        raise BadBytes(what="sealing keys", reason=f"there are more than {MAX_KEYS}, or two with one id")
    return keys
