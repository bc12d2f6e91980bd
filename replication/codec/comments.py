"""Decode the comments table of PowerDNS 5.1, `comments_v7`, which is in the shard files. Pure.

    key    record key of the RRset (see `keys`), 32 bytes SHA-256 of the value's body
    value  header, body: a protobuf message whose three fields are always present, in this order
           field 1 (sfixed64) time of the last change, field 2 (string) account, field 3 (string) text

The table has version 7 although the schema is 6.
"""

import struct
from dataclasses import dataclass

from replication.errors import BadBytes

COMMENTS_DBI = b"comments_v7"
HASH_SIZE = 32

_TIME = struct.Struct("<q")
_TIME_TAG, _ACCOUNT_TAG, _TEXT_TAG = 0x09, 0x12, 0x1A


@dataclass(frozen=True, slots=True)
class CommentObject:
    text: str
    account: str = ""
    modified_at: int = 0


def decode_comment(body: bytes) -> CommentObject:
    """Decode a comment that PowerDNS wrote. Raise BadBytes if the bytes are invalid."""
    at = 1 + _TIME.size
    if len(body) < at or body[0] != _TIME_TAG:
        raise BadBytes(what="comment", reason="it does not begin with a time")
    account, at = _decode_string(body, at, _ACCOUNT_TAG)
    text, at = _decode_string(body, at, _TEXT_TAG)
    if at != len(body):
        raise BadBytes(what="comment", reason=f"{len(body) - at} bytes follow its end")
    return CommentObject(text, account, _TIME.unpack_from(body, 1)[0])


def decode_comment_key(key: bytes) -> bytes:
    """Return the record key of the comment's RRset. Raise BadBytes if the key is invalid."""
    if len(key) <= HASH_SIZE:
        raise BadBytes(what="comment key", reason=f"it has only {len(key)} bytes")
    return key[:-HASH_SIZE]


def _decode_string(body: bytes, at: int, tag: int) -> tuple[str, int]:
    if body[at : at + 1] != bytes((tag,)):
        raise BadBytes(what="comment", reason=f"field {tag >> 3} is not where it belongs")
    size = shift = 0
    while True:
        at += 1
        if at >= len(body) or shift > 28:
            raise BadBytes(what="comment", reason="it ends too early")
        size |= (body[at] & 0x7F) << shift
        shift += 7
        if body[at] < 0x80:
            break
    start, end = at + 1, at + 1 + size
    if end > len(body):
        raise BadBytes(what="comment", reason="it ends too early")
    try:
        return body[start:end].decode(), end
    except UnicodeDecodeError as exc:
        raise BadBytes(what="comment", reason="a text is not UTF-8") from exc
