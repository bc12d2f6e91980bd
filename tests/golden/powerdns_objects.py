"""Rows of PowerDNS that the panel only reads, as PowerDNS writes them: comments, metadata, keys and TSIG keys."""

import hashlib
import struct

from replication.codec import archive
from replication.codec.comments import CommentObject
from replication.codec.dnssec import KeyObject, MetadataObject, TsigObject
from replication.errors import UnknownSchema

_TIME = struct.Struct("<q")
_U32 = struct.Struct("<I")
_TIME_TAG, _ACCOUNT_TAG, _TEXT_TAG = 0x09, 0x12, 0x1A


def encode_comment(comment: CommentObject) -> bytes:
    """The body of a comment's row."""
    return (
        bytes((_TIME_TAG,))
        + _TIME.pack(comment.modified_at)
        + _encode_string(_ACCOUNT_TAG, comment.account)
        + _encode_string(_TEXT_TAG, comment.text)
    )


def comment_key(record_key: bytes, body: bytes) -> bytes:
    """The key of a comment's row."""
    return record_key + hashlib.sha256(body).digest()


def encode_metadata(obj: MetadataObject, schema: int) -> bytes:
    """The body of a metadata row."""
    return (
        archive.encode_class(0)
        + _encode_zone(obj.zone, obj.variant, schema)
        + archive.encode_string(obj.kind.encode())
        + archive.encode_string(obj.value.encode())
    )


def encode_key(obj: KeyObject, schema: int) -> bytes:
    """The body of a keydata row."""
    return (
        archive.encode_class(1)
        + _encode_zone(obj.zone, obj.variant, schema)
        + archive.encode_string(obj.content.encode())
        + _U32.pack(obj.flags)
        + bytes((obj.active, obj.published))
    )


def encode_tsig(obj: TsigObject) -> bytes:
    """The body of a tsig row, the same in every schema."""
    return (
        archive.encode_class(0)
        + archive.encode_class(0)
        + archive.encode_name(obj.name)
        + archive.encode_name(obj.algorithm)
        + archive.encode_string(obj.secret.encode())
    )


def _encode_zone(zone: str, variant: str, schema: int) -> bytes:
    if schema in (4, 5):
        return archive.encode_class(0) + archive.encode_name(zone)
    if schema == 6:
        head = archive.encode_class(1) + archive.encode_class(0)
        return head + archive.encode_name(zone) + archive.encode_string(variant.encode())
    raise UnknownSchema(schema=schema)


def _encode_string(tag: int, text: str) -> bytes:
    body = text.encode()
    out = bytearray((tag,))
    size = len(body)
    while size > 0x7F:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    out.append(size)
    return bytes(out) + body
