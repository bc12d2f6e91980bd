import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from dnspanel.transfer.archives import upload_files
from dnspanel.transfer.archives.decompress import Meter
from dnspanel.transfer.archives.upload_files import Contents
from dnspanel.transfer.documents import SourceFault
from dnspanel.transfer.errors import UploadRefused

ZONE = b"example.test. 3600 IN A 192.0.2.1\n"


def tar(*members: tuple[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def zipped(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


@pytest.fixture
def walk(tmp_path: Path):  # type: ignore[no-untyped-def]
    def walk_uploads(*uploads: tuple[str, bytes]) -> list[tuple[str, bytes] | SourceFault]:
        paths = []
        for number, (_, content) in enumerate(uploads):
            paths.append(tmp_path / f"{number:04d}")
            paths[-1].write_bytes(content)
        opened = Contents(paths, [name for name, _ in uploads])
        return list(opened.walk(Meter(opened.size)))

    return walk_uploads


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_the_kind_of_an_archive_is_seen_in_its_content(walk, mode: str) -> None:
    assert walk(("whatever", tar(("./a.zone", ZONE), ("b/c.zone", b""), mode=mode))) == [
        ("a.zone", ZONE),
        ("b/c.zone", b""),
    ]


def test_zips_are_opened(walk) -> None:
    assert walk(("whatever", zipped(("a.zone", ZONE)))) == [("a.zone", ZONE)]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_file_is_named_without_its_ending(walk, compress) -> None:
    suffix = {gzip: ".gz", bz2: ".bz2", lzma: ".xz"}[__import__(compress.__module__)]

    assert walk(("a.zone" + suffix, compress(ZONE))) == [("a.zone", ZONE)]
    assert walk(("a.zone", compress(ZONE))) == [("a.zone", ZONE)]


def test_archives_beside_others_keep_their_contents_apart(walk) -> None:
    assert walk(("one.zip", zipped(("a", ZONE))), ("two.tar", tar(("a", b""))), ("a", b"x")) == [
        ("one.zip/a", ZONE),
        ("two.tar/a", b""),
        ("a", b"x"),
    ]


def test_a_folder_is_walked_in_order_and_its_archives_opened(tmp_path: Path) -> None:
    (tmp_path / "estate/b").mkdir(parents=True)
    (tmp_path / "estate/b/z.zone").write_bytes(ZONE)
    (tmp_path / "estate/b/a.zone").write_bytes(b"a")
    (tmp_path / "estate/more.tar.gz").write_bytes(tar(("x.zone", b"x"), mode="w:gz"))
    folder = Contents([tmp_path / "estate"], ["estate"])

    assert list(folder.walk(Meter(folder.size))) == [
        ("more.tar.gz/x.zone", b"x"),
        ("b/a.zone", b"a"),
        ("b/z.zone", ZONE),
    ]


def test_links_and_pipes_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    folder = tmp_path / "estate"
    folder.mkdir()
    (folder / "link").symlink_to(secret)
    (folder / "folder").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    found = list(Contents([folder], ["estate"]).walk(Meter(0)))

    assert [(fault.path, fault.code) for fault in found if isinstance(fault, SourceFault)] == [
        ("folder", "link"),
        ("link", "link"),
        ("pipe", "device"),
    ]
    assert len(found) == 3


def test_links_of_an_archive_are_faults_and_the_rest_goes_on(walk) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        link = tarfile.TarInfo("a.zone")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        member = tarfile.TarInfo("b.zone")
        member.size = len(ZONE)
        archive.addfile(member, io.BytesIO(ZONE))
    fault, good = walk(("a.tar", out.getvalue()))

    assert (fault.path, fault.code, fault.reason) == ("a.zone", "link", "links are not imported")
    assert good == ("b.zone", ZONE)


@pytest.mark.parametrize("path", ["/etc/bind/a", "../a", "x/../../a", "C:/a", "a\\b", "x" * 2000])
def test_path_tricks_are_faults_and_the_rest_goes_on(walk, path: str) -> None:
    fault, good = walk(("a.tar", tar((path, b"trick"), ("b.zone", ZONE))))

    assert (fault.path, fault.code) == ("a.tar", "path")
    assert "entry 1" in fault.reason
    assert good == ("b.zone", ZONE)


def test_what_is_packed_twice_is_not_unpacked(walk) -> None:
    (fault,) = walk(("a.gz", gzip.compress(gzip.compress(ZONE))))
    assert (fault.code, fault.reason) == ("depth", "nested archives are not opened")


@pytest.mark.parametrize("magic", [b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07\x00", b"\x28\xb5\x2f\xfd", b"!<arch>\n"])
def test_archives_that_are_not_read_are_named(walk, magic: bytes) -> None:
    (fault,) = walk(("a", magic + bytes(100)))
    assert "archives are not supported" in fault.reason


def test_a_broken_archive_is_refused_with_the_entry(walk) -> None:
    content = tar(*((f"{number}.zone", os.urandom(700)) for number in range(20)), mode="w:gz")
    with pytest.raises(
        UploadRefused,
        match=r"a\.tgz is damaged: .*gzip stream ends too early\. The last of \d+ readable entries .* Upload the file",
    ):
        walk(("a.tgz", content[: len(content) // 2]))
    with pytest.raises(UploadRefused, match=r"b\.zip is damaged: the archive directory is missing"):
        walk(("b.zip", zipped(("a", ZONE))[:-30]))
    with pytest.raises(UploadRefused, match=r"c\.gz is damaged: the gzip stream ends too early"):
        walk(("c.gz", gzip.compress(ZONE)[:-4]))


def test_too_many_entries_are_refused(walk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_files, "MOST_ENTRIES", 2)
    with pytest.raises(UploadRefused, match="at most") as refused:
        walk(("a", tar(("1", b""), ("2", b""))), ("b", b""))
    assert refused.value.limit == "entries"


def test_a_file_too_large_for_a_document_is_a_fault(walk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_files, "MOST_DOCUMENT_BYTES", 1000)
    large = bytes(5000)
    found = walk(("a", large), ("b.tar", tar(("c", large), ("d", b""))), ("e.zip", zipped(("f", large))))

    assert [fault.path for fault in found if isinstance(fault, SourceFault) and fault.code == "document"] == [
        "a",
        "b.tar/c",
        "e.zip/f",
    ]


def test_names_of_files_are_made_plain_or_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")
    with pytest.raises(UploadRefused):
        Contents([tmp_path / "x"], ["../x"])
