import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.codec.comments import (
    CommentObject,
    decode_comment,
    decode_comment_key,
)
from replication.errors import BadBytes
from tests.golden.powerdns_objects import comment_key, encode_comment

# What PowerDNS 5.1.5 wrote for a comment "my comment" of account "acct1"; only the time is ours.
WRITTEN = bytes.fromhex("09 0700000000000000 12 05 6163637431 1a 0a 6d7920636f6d6d656e74")


def test_the_bytes_are_those_of_powerdns() -> None:
    comment = CommentObject("my comment", "acct1", 7)
    assert encode_comment(comment) == WRITTEN
    assert decode_comment(WRITTEN) == comment


@given(
    st.builds(
        CommentObject, text=st.text(max_size=400), account=st.text(max_size=200), modified_at=st.integers(0, 2**40)
    )
)
def test_decoding_gives_what_was_encoded(comment: CommentObject) -> None:
    assert decode_comment(encode_comment(comment)) == comment


@given(st.binary(max_size=40))
def test_any_bytes_are_a_comment_or_refused(body: bytes) -> None:
    try:
        comment = decode_comment(body)
    except BadBytes:
        return
    assert decode_comment(encode_comment(comment)) == comment


def test_every_shortened_or_lengthened_body_is_refused() -> None:
    for body in [WRITTEN[:size] for size in range(len(WRITTEN))] + [WRITTEN + b"x"]:
        with pytest.raises(BadBytes):
            decode_comment(body)


def test_the_key_leads_back_to_the_rrset() -> None:
    key = comment_key(b"\0\0\0\x01www\0\0\0\x01", WRITTEN)
    assert decode_comment_key(key) == b"\0\0\0\x01www\0\0\0\x01"
    with pytest.raises(BadBytes):
        decode_comment_key(bytes(32))
