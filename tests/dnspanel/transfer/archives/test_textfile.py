import gzip
from pathlib import Path

import pytest

from dnspanel.transfer.archives.textfile import TextFile
from dnspanel.transfer.errors import SourceRefused

MOST = 1 << 20


def text_file(tmp_path: Path, content: bytes) -> TextFile:
    path = tmp_path / "text"
    path.write_bytes(content)
    return TextFile(path)


@pytest.mark.parametrize("content", ["", "a", "a\n", "ä\r\nb\rb\n\nc", "x\u2028y\x0bz\n"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_lines_end_with_line_feeds_only(tmp_path: Path, content: str, pack) -> None:
    file = text_file(tmp_path, pack(content.encode()))

    assert "".join(file.lines(MOST)) == "".join(file.pieces()) == content
    assert [line for line in file.lines(MOST) if "\n" in line[:-1]] == []


def test_long_texts_are_cut_nowhere_else(tmp_path: Path) -> None:
    lines = [f"zeile {number} ä\n" for number in range(200_000)]
    file = text_file(tmp_path, "".join(lines).encode())

    assert list(file.lines(MOST)) == lines
    assert "".join(file.pieces()) == "".join(lines)
    assert file.read == file.size


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    assert list(text_file(tmp_path, b"\xef\xbb\xbfzone\n").lines(MOST)) == ["zone\n"]


def test_a_slip_is_noted_with_its_offset(tmp_path: Path) -> None:
    file = text_file(tmp_path, b"good\nb\xe4d\ngood\n")

    assert list(file.lines(MOST)) == ["good\n", "b\udce4d\n", "good\n"]
    assert file.bad == {2: 6}


def test_a_byte_order_mark_counts_in_offsets(tmp_path: Path) -> None:
    file = text_file(tmp_path, b"\xef\xbb\xbfgood\nb\xe4d\n")
    assert list(file.lines(MOST)) == ["good\n", "b\udce4d\n"]
    assert file.bad == {2: 9}
    with pytest.raises(SourceRefused, match=r"byte at offset 9 is invalid"):
        list(file.pieces())


def test_another_encoding_is_refused_with_the_first_offset(tmp_path: Path) -> None:
    file = text_file(tmp_path, b"name\n" + b"b\xfccher\n" * 200)
    with pytest.raises(SourceRefused, match=r"must be UTF-8\. .* offset 6 \(line 2\)"):
        list(file.lines(MOST))
    with pytest.raises(SourceRefused, match=r"byte at offset 6 is invalid"):
        list(file.pieces())


def test_the_offset_of_a_wrong_byte_is_right_across_chunks(tmp_path: Path) -> None:
    content = ("ä" * 600_000).encode() + b"x"
    with pytest.raises(SourceRefused, match="offset 1,200,001"):
        list(text_file(tmp_path, content + b"\xc3").pieces())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("zone".encode("utf-16"), "UTF-16"),
        (b"zone\0name", "byte at offset 4 is a null byte"),
        (b"PK\3\4", "zip archive"),
        (gzip.compress(b"zone", mtime=0)[:-3], "damaged: the gzip stream ends too early"),
        (b"x" * (MOST + 2), "isn’t a text file"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(SourceRefused, match=message):
        list(text_file(tmp_path, content).lines(MOST))
