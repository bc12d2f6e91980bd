"""Tests of stored segments."""

from pathlib import Path
from uuid import UUID

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages

from dnspanel.publish.storage.objects import delete_object, object_name, open_object, put_object
from replication.errors import BadSegment


def name(content: bytes, first: int = 1) -> str:
    return object_name(schema=4, epoch=UUID(int=7), first=first, last=first, content=content)


def files(directory: Path) -> list[Path]:
    return [path for path in (directory / "segments").rglob("*") if path.is_file()]


def test_an_object_is_stored_once_and_read_back(publisher_directory: Path) -> None:
    for _ in range(2):
        put_object(name(b"segment"), b"segment")
    with open_object(name(b"segment")) as file:
        assert file.read() == b"segment"
    assert len(files(publisher_directory)) == 1


def test_names_sort_by_sequence_and_differ_by_content() -> None:
    assert name(b"a", 9) < name(b"a", 10)
    assert name(b"a") != name(b"b")


def test_a_damaged_object_is_an_alarm_and_never_overwritten(publisher_directory: Path) -> None:
    put_object(name(b"segment"), b"segment")
    files(publisher_directory)[0].write_bytes(b"seg")
    with pytest.raises(BadSegment, match="damaged"):
        put_object(name(b"segment"), b"segment")
    assert files(publisher_directory)[0].read_bytes() == b"seg"


def test_a_missing_object_is_named() -> None:
    with pytest.raises(BadSegment, match="missing"):
        open_object(name(b"segment"))


def test_of_two_writers_of_one_name_the_first_one_stays(publisher_directory: Path) -> None:
    storage = storages["segments"]
    storage._save("4/x", ContentFile(b"first"))
    storage._save("4/x", ContentFile(b"second"))
    assert [path.read_bytes() for path in files(publisher_directory)] == [b"first"]


def test_an_object_can_be_removed_twice() -> None:
    put_object(name(b"segment"), b"segment")
    for _ in range(2):
        delete_object(name(b"segment"))
    with pytest.raises(BadSegment, match="missing"):
        open_object(name(b"segment"))
