import io
import itertools
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from dnspanel.transfer.archives import decompress
from dnspanel.transfer.documents import Document, SourceFault
from dnspanel.transfer.errors import UploadRefused
from dnspanel.transfer.sources.files import FileSource, Members
from dnspanel.zones.rules.violations import Severity

SOA = b"@ 3600 IN SOA ns1.isp.test. hostmaster.isp.test. 1 7200 3600 1209600 3600\n"
NS = b"@ 3600 IN NS ns1.isp.test.\n"
ZONE = SOA + NS

Files = dict[str, bytes]


def as_tar(files: Files, mode: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def as_zip(files: Files) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


@pytest.fixture(params=["folder", "w", "w:gz", "w:xz", "zip", "files"])
def upload(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Files], tuple[list[Path], list[str]]]:
    """Return a function that stores files as a folder or an archive, in each supported form."""

    def uploaded(files: Files) -> tuple[list[Path], list[str]]:
        if request.param == "folder":
            for name, content in files.items():
                (tmp_path / "estate" / name).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / "estate" / name).write_bytes(content)
            return [tmp_path / "estate"], ["estate"]
        if request.param == "files":
            for number, content in enumerate(files.values()):
                (tmp_path / f"{number:04d}").write_bytes(content)
            return [tmp_path / f"{number:04d}" for number in range(len(files))], list(files)
        packed = as_zip(files) if request.param == "zip" else as_tar(files, request.param)
        (tmp_path / "0001").write_bytes(packed)
        return [tmp_path / "0001"], ["estate"]

    return uploaded


def documents(source: FileSource) -> list[tuple[str, str]]:
    return sorted((found.path, found.zone) for found in source.items() if isinstance(found, Document))


def faults(source: FileSource) -> list[tuple[str, str, Severity]]:
    return sorted(
        (found.path, found.code, found.severity) for found in source.items() if isinstance(found, SourceFault)
    )


def test_every_zone_file_is_a_document_and_litter_is_not(upload) -> None:
    source = FileSource(
        *upload(
            {
                "zones/a.test.zone": ZONE,
                "zones/b.test": b"$TTL 3600\n" + ZONE,
                "zones/no-soa": b"www 3600 IN A 192.0.2.1\n",
                "README": b"Our zones, with an SOA record each\n",
                "zones/a.test.zone.jnl": b";BIND LOG V9\n\0\0",
                "SHA256SUMS": b"0123  zones/a.test.zone\n",
                "logo.png": b"\x89PNG\r\n\x1a\n\0",
                "__MACOSX/zones/._a.test.zone": b"\0\5\26\7",
                "empty.txt": b"",
            }
        )
    )

    assert documents(source) == [("zones/a.test.zone", ""), ("zones/b.test", ""), ("zones/no-soa", "")]
    assert faults(source) == []


def test_what_was_meant_to_be_imported_and_cannot_be_is_reported(upload) -> None:
    source = FileSource(
        *upload(
            {
                "a.zone": ZONE,
                "a.zone.bak": ZONE,
                "b.zone": b"",
                "c.zone": b"\0\0\0\2\0\0\0\1rest",
                "d.zone": "a. IN SOA".encode("utf-16"),
                "e.zone": b"\0binary",
                "f.zone": b"<html>not found</html>\n",
                "Ka.test.+013+00001.private": b"Private-key-format: v1.3\n",
            }
        )
    )

    assert documents(source) == [("a.zone", "")]
    assert faults(source) == [
        ("Ka.test.+013+00001.private", "dnssec-key", Severity.NOTE),
        ("a.zone.bak", "backup", Severity.NOTE),
        ("b.zone", "empty", Severity.WARNING),
        ("c.zone", "raw", Severity.ERROR),
        ("d.zone", "encoding", Severity.ERROR),
        ("e.zone", "binary", Severity.WARNING),
        ("f.zone", "no-records", Severity.WARNING),
    ]


def test_a_configuration_says_what_is_imported_wherever_it_lies_in_the_upload(upload) -> None:
    conf = b"""zone "a.test" { type master; file "/etc/bind/zones/a"; };
zone "b.test" { type master; file "/etc/bind/zones/shared"; };
zone "c.test" { type master; file "/etc/bind/zones/shared"; };
zone "d.test" { type master; file "/etc/bind/zones/gone"; };
zone "e.test" { type slave; file "/etc/bind/zones/e"; };
"""
    source = FileSource(
        *upload({"zones/a": ZONE, "zones/e": ZONE, "zones/shared": ZONE, "zones/z": ZONE, "zz/any.name": conf})
    )

    assert documents(source) == [("zones/a", "a.test."), ("zones/shared", "b.test."), ("zones/shared", "c.test.")]
    assert faults(source) == [
        ("zones/z", "unlisted", Severity.NOTE),
        ("zz/any.name", "zone-file", Severity.ERROR),
        ("zz/any.name", "zone-type", Severity.NOTE),
    ]


def test_a_configuration_without_zones_lists_nothing(upload) -> None:
    source = FileSource(*upload({"named.conf.options": b'options {\n directory "/x";\n};\n', "a.zone": ZONE}))

    assert documents(source) == [("a.zone", "")]


def test_files_that_others_include_are_parts_and_not_zones(upload) -> None:
    source = FileSource(
        *upload(
            {
                "zones/a.test": b'$INCLUDE soa.inc\n$include "/etc/bind/zones/www.inc" www\n' + NS,
                "zones/soa.inc": SOA,
                "zones/www.inc": b"@ 300 IN A 192.0.2.1\n",
            }
        )
    )

    assert documents(source) == [("zones/a.test", "")]
    assert faults(source) == [
        ("zones/soa.inc", "included", Severity.NOTE),
        ("zones/www.inc", "included", Severity.NOTE),
    ]


def test_included_files_are_found_as_bind_finds_them(upload) -> None:
    files = {
        "zones/a.test": b"$INCLUDE inc/one\n$INCLUDE /etc/bind/inc/two\n$INCLUDE three\n$INCLUDE ../../etc/passwd\n",
        "zones/inc/one": b"$INCLUDE deeper\n",
        "zones/inc/deeper": b"deeper\n",
        "inc/two": b"two\n",
        "x/three": b"3",
        "y/three": b"3",
        "zones/not-included": b"z",
    }
    members = Members(*upload(files))

    assert members.document("zones/a.test", "inc/one") == Document("zones/inc/one", b"$INCLUDE deeper\n")
    assert members.document("zones/inc/one", "deeper") == Document("zones/inc/deeper", b"deeper\n")
    assert members.document("zones/a.test", "/etc/bind/inc/two") == Document("inc/two", b"two\n")
    assert members.document("zones/a.test", "three") is None  # ambiguous: either file could be meant
    assert members.document("zones/a.test", "../../etc/passwd") is None
    assert members.document("zones/a.test", "/etc/hostname") is None


def test_includes_are_relative_to_the_servers_directory_too(upload) -> None:
    members = Members(
        *upload(
            {
                "etc/named.conf": b'options { directory "/var/named"; };\n'
                b'zone "a.test" { type master; file "z/a"; };\n',
                "var/named/z/a": b"$INCLUDE ns.inc\n",
                "var/named/ns.inc": NS,
                "old/ns.inc": b"old\n",
            }
        )
    )

    assert members.document("var/named/z/a", "ns.inc") == Document("var/named/ns.inc", NS)


def test_the_order_is_the_same_each_time_and_skipping_leaves_out_the_beginning(upload) -> None:
    paths, names = upload({f"{number}.zone": ZONE if number % 3 else b"" for number in range(10)})
    all_items = list(FileSource(paths, names).items())

    assert len(all_items) == 10
    for skip in range(11):
        assert list(FileSource(paths, names).items(skip=skip)) == all_items[skip:]


def test_progress_runs_from_nothing_to_everything(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(as_tar({f"{number}.zone": ZONE for number in range(2000)}, "w:gz"))
    source = FileSource([tmp_path / "x"], ["x.tar.gz"])
    seen = [source.done]
    for _ in itertools.islice(source.items(), 1000):
        seen.append(source.done)
    list(source.items())

    assert seen[0] == 0
    assert seen == sorted(seen)
    assert source.done == source.total == (tmp_path / "x").stat().st_size


@pytest.mark.parametrize("text", [ZONE, b"not a zone at all\n", b"<html>"])
def test_a_single_text_is_a_document_whatever_it_holds(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "0001").write_bytes(text)
    found = list(FileSource([tmp_path / "0001"], ["anything"]).items())

    if text == ZONE:
        assert found == [Document("anything", ZONE)]
    else:
        assert [(fault.code, fault.severity) for fault in found] == [("no-records", Severity.ERROR)]  # type: ignore[union-attr]


def test_a_bomb_is_refused_before_anything_is_yielded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompress, "RATIO_FREE_BYTES", 1 << 20)
    (tmp_path / "x").write_bytes(as_tar({"a.zone": ZONE, "b.zone": bytes(8 << 20)}, "w:gz"))
    with pytest.raises(UploadRefused) as refused:
        next(FileSource([tmp_path / "x"], ["x"]).items())
    assert refused.value.limit == "ratio"


def test_several_uploads_are_one(tmp_path: Path) -> None:
    (tmp_path / "1").write_bytes(b'zone "a.test" { type master; file "/srv/zones/a"; };\n')
    (tmp_path / "2").write_bytes(as_zip({"zones/a": ZONE}))
    source = FileSource([tmp_path / "1", tmp_path / "2"], ["named.conf", "zones.zip"])

    assert documents(source) == [("zones.zip/zones/a", "a.test.")]


def test_binary_files_that_a_configuration_lists_are_errors(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(
        as_tar({"named.conf": b'zone "a.test" { type master; file "a"; };\n', "a": b"\0\0\0\2\0\0\0\0"}, "w")
    )
    assert faults(FileSource([tmp_path / "x"], ["x"])) == [("a", "raw", Severity.ERROR)]
