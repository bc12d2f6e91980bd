import io
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnspanel.transfer.archives.decompress import Damaged, Entry, EntryKind
from dnspanel.transfer.archives.tar_reader import BLOCK, is_tar, tar_entries
from dnspanel.transfer.errors import UploadRefused
from tests.full import examples

MOST = 1 << 20
FORMATS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
names = st.text("abcö-._/ ", min_size=1, max_size=250).filter(
    lambda name: not name.startswith("/") and not name.endswith("/") and "//" not in name
)
files = st.lists(st.tuples(names, st.binary(max_size=1500)), max_size=6)


def chunks_of(packed: bytes, size: int) -> Iterator[bytes]:
    for at in range(0, len(packed), size):
        yield packed[at : at + size]


def entries(packed: bytes, chunk: int = 4096) -> list[Entry]:
    return list(tar_entries(chunks_of(packed, chunk), MOST))


def packed(*members: tuple[str, bytes], format: int = tarfile.PAX_FORMAT, **attributes: object) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            for attribute, value in attributes.items():
                setattr(member, attribute, value)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def read_by_tarfile(archive: bytes) -> list[Entry]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        return [
            Entry(member.name.encode("utf-8", "surrogateescape"), EntryKind.FILE, file.read())
            for member in opened
            if (file := opened.extractfile(member))
        ]


@settings(max_examples=examples(50, 150), deadline=None)
@given(members=files, format=st.sampled_from(FORMATS), chunk=st.integers(1, 3000))
def test_it_reads_what_tarfile_reads(members: list[tuple[str, bytes]], format: int, chunk: int) -> None:
    try:
        archive = packed(*members, format=format)
    except ValueError:  # a path that the oldest format cannot hold
        return

    assert entries(archive, chunk) == read_by_tarfile(archive)


@pytest.mark.parametrize("format", ["v7", "ustar", "gnu", "oldgnu", "pax"])
def test_it_reads_what_gnu_tar_writes(tmp_path: Path, format: str) -> None:
    long_path = "/".join(["folder" * 3] * 4) if format in ("v7", "ustar") else "/".join(["folder" * 6] * 9)
    for path, content in (("a.zone", b"a" * 512), ("b.zone", b""), (f"{long_path}/c.zone", b"c" * 5000)):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    archive = subprocess.run(
        ["tar", f"--format={format}", "--sort=name", "-C", tmp_path, "-cf", "-", "."], check=True, capture_output=True
    ).stdout

    assert [entry for entry in entries(archive) if entry.kind is EntryKind.FILE] == [
        Entry(b"./a.zone", EntryKind.FILE, b"a" * 512),
        Entry(b"./b.zone", EntryKind.FILE, b""),
        Entry(f"./{long_path}/c.zone".encode(), EntryKind.FILE, b"c" * 5000),
    ]


@pytest.mark.skipif(shutil.which("bsdtar") is None, reason="bsdtar is not installed")
@pytest.mark.parametrize("format", ["ustar", "pax", "gnutar"])
def test_it_reads_what_bsdtar_writes(tmp_path: Path, format: str) -> None:
    (tmp_path / "bücher.zone").write_bytes(b"x" * 700)
    archive = subprocess.run(
        ["bsdtar", f"--format={format}", "-C", tmp_path, "-cf", "-", "bücher.zone"], check=True, capture_output=True
    ).stdout

    assert entries(archive) == [Entry("bücher.zone".encode(), EntryKind.FILE, b"x" * 700)]


@pytest.mark.parametrize(
    ("type", "kind"),
    [
        (tarfile.SYMTYPE, EntryKind.LINK),
        (tarfile.LNKTYPE, EntryKind.LINK),
        (tarfile.CHRTYPE, EntryKind.DEVICE),
        (tarfile.BLKTYPE, EntryKind.DEVICE),
        (tarfile.FIFOTYPE, EntryKind.DEVICE),
        (tarfile.DIRTYPE, EntryKind.FOLDER),
        (b"M", EntryKind.UNKNOWN),
    ],
)
def test_what_is_no_file_has_no_content(type: bytes, kind: EntryKind) -> None:
    archive = packed(("a", b""), type=type, linkname="/etc/passwd")

    assert [entry.kind for entry in entries(archive)] == [kind]


@pytest.mark.parametrize("format", ["oldgnu", "gnu", "pax"])
def test_sparse_files_are_passed_over(tmp_path: Path, format: str) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        for at in range(0, 40 << 16, 1 << 16):
            file.seek(at)
            file.write(b"x" * 4096)
    (tmp_path / "z.zone").write_bytes(b"after")
    archive = subprocess.run(
        ["tar", f"--format={format}", "--sparse", "-C", tmp_path, "-cf", "-", "sparse", "z.zone"],
        check=True,
        capture_output=True,
    ).stdout

    assert [entry.kind for entry in entries(archive)] == [EntryKind.SPARSE, EntryKind.FILE]
    assert entries(archive)[1].content == b"after"


def test_a_file_that_is_too_large_is_passed_over_and_not_kept() -> None:
    archive = packed(("large", bytes(MOST + 1)), ("small", b"x"))

    assert entries(archive) == [Entry(b"large", EntryKind.TOO_LARGE), Entry(b"small", EntryKind.FILE, b"x")]


def test_a_size_in_base_256_is_read() -> None:
    header = bytearray(packed(("a", b"content"), format=tarfile.GNU_FORMAT))
    header[124:136] = b"\x80" + (7).to_bytes(11, "big")
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + sum(header[156:512]) + 256)

    assert entries(bytes(header)) == [Entry(b"a", EntryKind.FILE, b"content")]


@pytest.mark.parametrize("size", [b"-0000001000", b"0000_001000", b"0x000000010", b"00000000009", b"\xff" * 12])
def test_a_size_that_is_no_number_is_damage(size: bytes) -> None:
    header = bytearray(packed(("a", b"content"), format=tarfile.GNU_FORMAT))
    header[124:136] = size.ljust(12, b"\0")
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + sum(header[156:512]) + 256)

    with pytest.raises(Damaged, match=r"entry 1.*: .*size"):
        entries(bytes(header))


def test_sums_of_signed_bytes_are_right_too() -> None:
    header = bytearray(packed(("bücher", b"content"), format=tarfile.GNU_FORMAT))
    signed = sum(byte - 256 * (byte > 127) for byte in header[:148] + header[156:512]) + 256
    header[148:156] = b"%06o\0 " % signed

    assert entries(bytes(header)) == [Entry("bücher".encode(), EntryKind.FILE, b"content")]


def test_every_wrong_byte_of_a_header_is_noticed() -> None:
    archive = packed(("a.zone", b"content"), format=tarfile.USTAR_FORMAT)
    for at in range(148):
        broken = bytearray(archive)
        broken[at] ^= 0x01
        assert not is_tar(bytes(broken))
        with pytest.raises(Damaged, match="entry 1: wrong header checksum"):
            entries(bytes(broken))


@pytest.mark.parametrize("chunk", [1, 100, 512, 10_000])
def test_where_an_archive_breaks_off_is_reported(chunk: int) -> None:
    archive = packed(*((f"{number}.zone", b"x" * 700) for number in range(5)), format=tarfile.USTAR_FORMAT)
    third = 2 * (BLOCK + 1024)

    with pytest.raises(Damaged, match=r"entry 3 \(2\.zone\): truncated"):
        entries(archive[: third + BLOCK + 100], chunk)
    with pytest.raises(Damaged, match="entry 3: truncated"):
        entries(archive[: third + 100], chunk)
    assert len(entries(archive[:third], chunk)) == 2  # whole members, without the final zeros


def test_an_endless_path_is_refused() -> None:
    with pytest.raises(UploadRefused) as refused:
        entries(packed(("a" * (2 << 20), b""), format=tarfile.GNU_FORMAT), 1 << 16)
    assert refused.value.limit == "path"


@pytest.mark.parametrize("record", [b"999999 path=x\n", b"11 path=abc", b"x", b"0 a=b\n", b"-5 path=x\n", b"3 a=\n"])
def test_broken_attributes_are_damage(record: bytes) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        member = tarfile.TarInfo("attributes")
        member.type, member.size = tarfile.XHDTYPE, len(record)
        archive.addfile(member, io.BytesIO(record))

    with pytest.raises(Damaged):
        entries(out.getvalue())


@settings(max_examples=examples(50, 200), deadline=None)
@given(st.binary(max_size=3000), st.integers(1, 700))
def test_no_garbage_breaks_the_reader(garbage: bytes, chunk: int) -> None:
    with suppress(UploadRefused):
        entries(garbage, chunk)


@settings(max_examples=examples(50, 200), deadline=None)
@given(st.data())
def test_no_changed_byte_breaks_the_reader(data: st.DataObject) -> None:
    archive = bytearray(packed(("a" * 120, b"x" * 700), ("b", b"y")))
    for _ in range(data.draw(st.integers(1, 4))):
        archive[data.draw(st.integers(0, 3000))] = data.draw(st.integers(0, 255))
    with suppress(UploadRefused):
        entries(bytes(archive))


def test_text_is_no_tar() -> None:
    assert not is_tar(b"$ORIGIN example.test.\n" * 50)
    assert not is_tar(bytes(BLOCK))
    assert not is_tar(b"")
