import io
import stat
import struct
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dnspanel.transfer.archives import decompress, zip_reader
from dnspanel.transfer.archives.decompress import Damaged, Entry, EntryKind, Meter
from dnspanel.transfer.archives.zip_reader import is_zip, zip_entries
from dnspanel.transfer.errors import UploadRefused

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
MOST = 4 << 20
one_file = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def packed(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def entries(archive: bytes, tmp_path: Path) -> list[Entry]:
    path = tmp_path / "archive.zip"
    path.write_bytes(archive)
    with path.open("rb") as file:
        return list(zip_entries(file, Meter(len(archive)), MOST))


@one_file
@given(
    members=st.lists(
        st.tuples(st.text("abcö/. ", min_size=1, max_size=50).map(lambda name: name + "z"), st.binary(max_size=3000)),
        max_size=5,
        unique_by=lambda member: member[0],
    ),
    method=st.sampled_from(METHODS),
)
def test_it_reads_what_zipfile_writes(members: list[tuple[str, bytes]], method: int, tmp_path: Path) -> None:
    assert entries(packed(*members, method=method), tmp_path) == [
        Entry(name.encode(), EntryKind.FILE, content) for name, content in members
    ]


def test_large_content_is_complete(tmp_path: Path) -> None:
    content = bytes(range(256)) * 10_000
    for method in METHODS:
        assert entries(packed(("a", content), method=method), tmp_path)[0].content == content


def test_it_reads_zip64_and_streamed_archives(tmp_path: Path) -> None:
    class Unseekable(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: object) -> int:
            raise io.UnsupportedOperation

    out = Unseekable()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("a.zone", "w", force_zip64=True) as file:
            file.write(b"streamed")
        archive.writestr("b.zone", "b")

    assert [entry.content for entry in entries(out.getvalue(), tmp_path)] == [b"streamed", b"b"]


def test_old_archives_have_paths_in_the_code_page_of_the_first_pcs(tmp_path: Path) -> None:
    archive = packed(("bXcher.zone", b"x")).replace(b"bXcher", b"b\x81cher")

    assert entries(archive, tmp_path)[0].path == "bücher.zone".encode()


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        (stat.S_IFLNK, EntryKind.LINK),
        (stat.S_IFIFO, EntryKind.DEVICE),
        (stat.S_IFDIR, EntryKind.FOLDER),
        (stat.S_IFREG, EntryKind.FILE),
    ],
)
def test_what_is_no_file_is_not_read(mode: int, kind: EntryKind, tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        member = zipfile.ZipInfo("a")
        member.create_system, member.external_attr = 3, (mode | 0o644) << 16
        archive.writestr(member, "/etc/passwd")

    assert [entry.kind for entry in entries(out.getvalue(), tmp_path)] == [kind]


def test_encrypted_entries_and_unknown_methods_are_left_out_alone(tmp_path: Path) -> None:
    archive = bytearray(packed(("a", b"a"), ("b", b"b"), ("c", b"c"), method=zipfile.ZIP_STORED))
    first = archive.index(b"PK\1\2")
    second = archive.index(b"PK\1\2", first + 1)
    archive[first + 8] |= 1
    archive[second + 10] = 93

    assert [entry.kind for entry in entries(bytes(archive), tmp_path)] == [
        EntryKind.ENCRYPTED,
        EntryKind.METHOD,
        EntryKind.FILE,
    ]


@pytest.mark.parametrize(
    ("where", "offset"),
    [(b"PK\1\2", 16), (b"PK\1\2", 24), (b"PK\3\4", 8), (b"PK\3\4", 30), (b"PK\3\4", 31), (b"PK\1\2", 10)],
)
def test_a_header_that_lies_costs_only_its_entry(where: bytes, offset: int, tmp_path: Path) -> None:
    archive = bytearray(packed(("a", b"content of a" * 10), ("b", b"b")))
    archive[archive.index(where) + offset] ^= 0x08

    found = entries(bytes(archive), tmp_path)
    assert found[0].kind in (EntryKind.DAMAGED, EntryKind.METHOD)
    assert found[1] == Entry(b"b", EntryKind.FILE, b"b")


def test_an_entry_that_unpacks_to_more_than_it_says_is_not_unpacked_further(tmp_path: Path) -> None:
    content = bytes(3 << 20)
    archive = bytearray(packed(("a", content)))
    struct.pack_into("<L", archive, archive.index(b"PK\1\2") + 24, 10)

    path = tmp_path / "lies.zip"
    path.write_bytes(archive)
    meter = Meter(len(archive))
    with path.open("rb") as file:
        assert [entry.kind for entry in zip_entries(file, meter, MOST)] == [EntryKind.DAMAGED]
    assert meter.unpacked <= decompress.CHUNK_BYTES


def test_entries_that_share_bytes_are_refused(tmp_path: Path) -> None:
    archive = packed(("a", b"x" * 100), ("b", b"y" * 100), method=zipfile.ZIP_STORED)
    second = archive.index(b"PK\1\2", archive.index(b"PK\1\2") + 1)
    overlapping = bytearray(archive)
    struct.pack_into("<L", overlapping, second + 42, 0)

    with pytest.raises(Damaged, match="share the same bytes"):
        entries(bytes(overlapping), tmp_path)


def test_entries_in_another_order_than_the_directory_are_fine(tmp_path: Path) -> None:
    archive = packed(("a", b"first"), ("b", b"second"), method=zipfile.ZIP_STORED)
    start, end = archive.index(b"PK\1\2"), archive.index(b"PK\5\6")
    half = (end - start) // 2
    swapped = archive[:start] + archive[start + half : end] + archive[start : start + half] + archive[end:]

    assert [entry.content for entry in entries(swapped, tmp_path)] == [b"second", b"first"]


def test_a_cut_archive_is_damaged(tmp_path: Path) -> None:
    archive = packed(("a", b"x" * 1000), ("b", b"y"))
    for size in (4, 30, archive.index(b"PK\1\2"), archive.index(b"PK\5\6"), len(archive) - 1):
        with pytest.raises(Damaged):
            entries(archive[:size], tmp_path)


def test_too_many_entries_are_refused_before_any_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_reader, "MOST_ENTRIES", 2)
    with pytest.raises(UploadRefused) as refused:
        entries(packed(("a", b""), ("b", b""), ("c", b"")), tmp_path)
    assert refused.value.limit == "entries"


def test_a_bomb_is_refused_while_it_unpacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompress, "RATIO_FREE_BYTES", 1 << 20)
    with pytest.raises(UploadRefused) as refused:
        entries(packed(*((str(number), bytes(3 << 20)) for number in range(3))), tmp_path)
    assert refused.value.limit == "ratio"


def test_an_entry_beyond_the_size_of_a_document_is_not_read(tmp_path: Path) -> None:
    assert entries(packed(("a", bytes(MOST + 1))), tmp_path) == [Entry(b"a", EntryKind.TOO_LARGE)]


@one_file
@given(data=st.data())
def test_no_changed_byte_breaks_the_reader(data: st.DataObject, tmp_path: Path) -> None:
    archive = bytearray(packed(("a.zone", b"content" * 30), ("b.zone", b"y")))
    for _ in range(data.draw(st.integers(1, 4))):
        archive[data.draw(st.integers(0, len(archive) - 1))] = data.draw(st.integers(0, 255))
    with suppress(UploadRefused):
        entries(bytes(archive), tmp_path)


def test_an_empty_archive_has_no_entries(tmp_path: Path) -> None:
    assert entries(packed(), tmp_path) == []
    assert is_zip(packed())
    assert not is_zip(b"PKtest. 3600 IN A 192.0.2.1")
