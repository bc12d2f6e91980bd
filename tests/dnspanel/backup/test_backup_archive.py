"""Tests of backup archives: incomplete, foreign and wrongly keyed ones are refused before anything is changed."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from dnspanel.accounts.secrets.master_keys import fingerprint
from dnspanel.backup.backup_archive import (
    DUMP,
    MANIFEST,
    Manifest,
    digest_of,
    read_archive,
    refuse_another_key,
    write_archive,
)
from dnspanel.backup.errors import BadArchive, WrongKey
from tests.people import NOW

KEY = "q2Vt8r1Yb9gGm3wq0sUu7Zr3t5yXv1KcN8dPfEhJlAo="


def manifest_of(dump: Path) -> Manifest:
    size, sha256 = digest_of(dump)
    return Manifest(
        made_at=NOW.isoformat(),
        panel="0.1.0",
        postgresql="15",
        cluster="c",
        epoch="e",
        sequence=7,
        master_key=fingerprint(KEY),
        migrations={"zones": ("0001_initial",)},
        counts={"zones": 2},
        size=size,
        sha256=sha256,
    )


@pytest.fixture
def archive(tmp_path: Path) -> bytes:
    dump = tmp_path / "made"
    dump.write_bytes(b"PGDMP" * 1000)
    file = io.BytesIO()
    write_archive(file, manifest_of(dump), dump, made_at=NOW)
    return file.getvalue()


def test_what_was_written_is_read_back(archive: bytes, tmp_path: Path) -> None:
    found = read_archive(io.BytesIO(archive), tmp_path / "read")
    assert found == manifest_of(tmp_path / "made")
    assert (tmp_path / "read").read_bytes() == (tmp_path / "made").read_bytes()


def test_a_plain_tar_program_can_look_into_it(archive: bytes) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        assert tar.getnames() == [MANIFEST, DUMP]
        content = tar.extractfile(MANIFEST)
        assert content is not None
        assert json.load(content)["sequence"] == 7


def test_the_key_is_not_in_it_and_its_fingerprint_does_not_tell_it(archive: bytes) -> None:
    assert KEY.encode() not in archive
    assert fingerprint(KEY) != fingerprint(KEY.replace("q", "r"))
    assert len(fingerprint(KEY)) == 16


def test_a_wrong_key_is_refused_with_both_fingerprints(archive: bytes, tmp_path: Path) -> None:
    found = read_archive(io.BytesIO(archive), tmp_path / "read")
    refuse_another_key(found, [fingerprint("in use"), fingerprint(KEY)])
    other = KEY.replace("q", "r")
    with pytest.raises(WrongKey, match=f"{fingerprint(KEY)}, not {fingerprint(other)}"):
        refuse_another_key(found, [fingerprint(other)])


@pytest.mark.parametrize("at", [2048, 4000, 5200])
def test_a_flipped_bit_in_the_dump_is_found(archive: bytes, tmp_path: Path, at: int) -> None:
    damaged = bytearray(archive)
    damaged[archive.index(b"PGDMP") + at % 4000] ^= 1
    with pytest.raises(BadArchive, match="SHA-256"):
        read_archive(io.BytesIO(bytes(damaged)), tmp_path / "read")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.8])
def test_a_cut_archive_is_refused(archive: bytes, tmp_path: Path, share: float) -> None:
    cut = archive[: int(archive.rindex(b"PGDMP") * share)]
    with pytest.raises(BadArchive):
        read_archive(io.BytesIO(cut), tmp_path / "read")


def test_another_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadArchive, match="not a complete tar file"):
        read_archive(io.BytesIO(b"-- a dump in plain SQL\n" * 500), tmp_path / "read")
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("../etc/passwd"))
    with pytest.raises(BadArchive, match=r"doesn’t contain manifest\.json"):
        read_archive(io.BytesIO(file.getvalue()), tmp_path / "read")


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"format": 1}', b'{"format": 99}', b"\xff"])
def test_a_manifest_that_is_none_is_refused(text: bytes) -> None:
    with pytest.raises(BadArchive):
        Manifest.from_json(text)
