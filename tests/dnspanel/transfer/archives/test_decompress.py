import bz2
import gzip
import io
import lzma
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnspanel.transfer.archives import decompress
from dnspanel.transfer.archives.decompress import Damaged, Meter, compression_of, unpacked_chunks
from dnspanel.transfer.errors import UploadRefused

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "": lambda content: content,
}
kinds = pytest.mark.parametrize("kind", list(COMPRESS))
compressed_kinds = pytest.mark.parametrize("kind", [kind for kind in COMPRESS if kind])


def unpacked(packed: bytes, kind: str) -> bytes:
    return b"".join(unpacked_chunks(io.BytesIO(packed), kind, Meter(len(packed))))


@kinds
@given(content=st.binary(max_size=5000))
def test_what_was_packed_comes_out(kind: str, content: bytes) -> None:
    packed = COMPRESS[kind](content)

    assert unpacked(packed, kind) == content
    if kind:
        assert compression_of(packed) == kind


@kinds
def test_large_content_comes_in_small_chunks(kind: str) -> None:
    content = b"example.test. 3600 IN A 192.0.2.1\n" * 100_000
    packed = COMPRESS[kind](content)
    chunks = list(unpacked_chunks(io.BytesIO(packed), kind, Meter(len(packed))))

    assert b"".join(chunks) == content
    assert max(map(len, chunks)) <= decompress.CHUNK_BYTES


@compressed_kinds
def test_several_streams_behind_each_other_are_one(kind: str) -> None:
    packed = COMPRESS[kind](b"one ") + COMPRESS[kind](b"two")

    assert unpacked(packed, kind) == b"one two"
    assert unpacked(packed + bytes(1024), kind) == b"one two"


@compressed_kinds
def test_a_cut_stream_is_damaged_wherever_it_is_cut(kind: str) -> None:
    packed = COMPRESS[kind](bytes(range(256)) * 20)
    for size in range(1, len(packed)):
        with pytest.raises(Damaged):
            unpacked(packed[:size], kind)


@compressed_kinds
def test_a_wrong_checksum_is_damage(kind: str) -> None:
    packed = bytearray(COMPRESS[kind](b"example.test." * 100))
    packed[-6 if kind == "gzip" else len(packed) // 2] ^= 0xFF
    with pytest.raises(Damaged):
        unpacked(bytes(packed), kind)


@compressed_kinds
def test_a_bomb_is_refused_while_it_unpacks(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompress, "RATIO_FREE_BYTES", 1 << 20)
    packed = COMPRESS[kind](bytes(32 << 20))
    meter = Meter(len(packed))
    with pytest.raises(UploadRefused) as refused:
        list(unpacked_chunks(io.BytesIO(packed), kind, meter))

    assert refused.value.limit == "ratio"
    assert meter.unpacked <= max(1 << 20, 200 * len(packed)) + decompress.CHUNK_BYTES


def test_more_than_an_archive_may_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompress, "MOST_UNPACKED_BYTES", 1000)
    with pytest.raises(UploadRefused) as refused:
        Meter(10_000).count(1001)
    assert refused.value.limit == "unpacked"


def test_a_small_file_of_zeros_is_no_bomb() -> None:
    assert len(unpacked(gzip.compress(bytes(8 << 20)), "gzip")) == 8 << 20


def test_text_is_not_taken_for_compressed() -> None:
    assert compression_of(b"BZh3.test. 3600 IN A 192.0.2.1") == ""
    assert compression_of(b"") == ""
