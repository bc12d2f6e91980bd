"""Rows of PowerDNS that the panel only reads, as PowerDNS writes them: comments and TSIG keys."""

import hashlib
import struct

from replication.codec import boost_archive
from replication.codec.comments import CommentObject
from replication.codec.dnssec import TsigObject

_TIME = struct.Struct("<q")
_TIME_TAG, _ACCOUNT_TAG, _TEXT_TAG = 0x09, 0x12, 0x1A


def encode_comment(comment: CommentObject) -> bytes:
    """Encode the body of a comment's row."""
    return (
        bytes((_TIME_TAG,))
        + _TIME.pack(comment.modified_at)
        + _encode_string(_ACCOUNT_TAG, comment.account)
        + _encode_string(_TEXT_TAG, comment.text)
    )


def comment_key(record_key: bytes, body: bytes) -> bytes:
    """Return the key of a comment's row."""
    return record_key + hashlib.sha256(body).digest()


def encode_tsig(obj: TsigObject) -> bytes:
    """Encode the body of a tsig row, the same in every schema."""
    return (
        boost_archive.encode_class(0)
        + boost_archive.encode_class(0)
        + boost_archive.encode_name(obj.name)
        + boost_archive.encode_name(obj.algorithm)
        + boost_archive.encode_string(obj.secret.encode())
    )


def _encode_string(tag: int, text: str) -> bytes:
    body = text.encode()
    out = bytearray((tag,))
    size = len(body)
    while size > 0x7F:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    out.append(size)
    return bytes(out) + body
