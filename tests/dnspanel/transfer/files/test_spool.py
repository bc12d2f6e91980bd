from pathlib import Path

import pytest

from dnspanel.transfer.documents import Document
from dnspanel.transfer.errors import TransferError
from dnspanel.transfer.files.spool import SpoolWriter, read_document, read_documents

DOCUMENTS = [
    Document(path="zones/ä.test.zone", text=b"@ SOA ...\n"),
    Document(path="empty", text=b"", zone="example.test."),
    Document(path="hosts.csv", text=b"one\ntwo\n", zone="example.test.", lines=[2, 70_000]),
]


def spooled(path: Path) -> list[int]:
    writer = SpoolWriter(path)
    for document in DOCUMENTS:
        writer.add(document)
    assert not path.exists()
    writer.finish()
    assert writer.documents == 3
    assert writer.size == path.stat().st_size
    return [offset for offset, _ in read_documents(path)]


def test_documents_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "imports" / "spool-1"
    offsets = spooled(path)
    for offset, document in zip(offsets, DOCUMENTS, strict=True):
        found = read_document(path, offset)
        assert (found.path, found.zone, found.text) == (document.path, document.zone, document.text)
        assert found.lines is None or list(found.lines) == document.lines


def test_a_file_that_was_cut_short_is_told(tmp_path: Path) -> None:
    path = tmp_path / "spool-1"
    spooled(path)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(TransferError, match="damaged"):
        list(read_documents(path))


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(TransferError, match="missing from the panel’s disk"):
        list(read_documents(tmp_path / "spool-9"))


def test_an_abandoned_file_leaves_nothing(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "spool-1")
    writer.add(DOCUMENTS[0])
    writer.abandon()
    assert list(tmp_path.iterdir()) == []
