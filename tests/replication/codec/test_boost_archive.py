"""Tests of the codec of Boost archives."""

import struct

import pytest

from replication.codec import boost_archive
from replication.errors import BadBytes, BadName


def test_what_is_encoded_is_read_back() -> None:
    body = (
        boost_archive.encode_class(1)
        + boost_archive.encode_string(b"text")
        + boost_archive.encode_name("a.test.")
        + b"\1"
    )
    reader = boost_archive.Reader(body, "test")
    assert (reader.class_version((1,)), reader.text(), reader.name(), reader.flag()) == (1, "text", "a.test.", True)
    reader.finish()


def test_an_unset_name_is_an_empty_string() -> None:
    assert boost_archive.encode_name("") == bytes(8)
    assert boost_archive.encode_name(".") == struct.pack("<Q", 1) + b"\0"


def test_bytes_left_over_are_refused() -> None:
    with pytest.raises(BadBytes, match="1 bytes follow"):
        boost_archive.Reader(b"x", "test").finish()


def test_an_unknown_class_version_is_refused() -> None:
    with pytest.raises(BadBytes, match="class version 7"):
        boost_archive.Reader(boost_archive.encode_class(7), "test").class_version((0, 1))


def test_a_string_longer_than_the_value_is_refused() -> None:
    with pytest.raises(BadBytes, match="ends too early"):
        boost_archive.Reader(struct.pack("<Q", 2**63) + b"x", "test").string()


def test_a_flag_is_0_or_1() -> None:
    with pytest.raises(BadBytes, match="a flag is 2"):
        boost_archive.Reader(b"\2", "test").flag()


def test_text_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(BadBytes, match="UTF-8"):
        boost_archive.Reader(boost_archive.encode_string(b"\xff"), "test").text()


def test_a_name_that_is_not_one_is_refused() -> None:
    with pytest.raises(BadName):
        boost_archive.Reader(boost_archive.encode_string(b"\3ab"), "test").name()
