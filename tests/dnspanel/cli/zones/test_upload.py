"""Tests of file uploads for imports, against a server that loses answers."""

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from dnspanel.cli.client import Client
from dnspanel.cli.config import Config
from dnspanel.cli.errors import Refused
from dnspanel.cli.session import Session
from dnspanel.cli.zones import upload as module
from dnspanel.cli.zones.upload import upload
from tests.dnspanel.cli.test_client import Server, server

__all__ = ["server"]


@pytest.fixture
def session(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setattr(module, "CHUNK_BYTES", 4)
    made = Session()
    made.__dict__["client"] = Client(Config(server.url, "dnsp_x"), pause=lambda _: None)
    yield made
    made.client.close()


def test_a_file_travels_in_pieces(server: Server, session: Session, tmp_path: Path) -> None:
    file = tmp_path / "a b.zone"
    file.write_bytes(b"0123456789")
    for size in (4, 8, 10):
        server.say(200, {"size": size})
    upload(session, 7, [file], pack=False)
    assert [(path, body) for _, path, _, body in server.requests] == [
        ("/api/v2/imports/7/files/a%20b.zone?offset=0", b"0123"),
        ("/api/v2/imports/7/files/a%20b.zone?offset=4", b"4567"),
        ("/api/v2/imports/7/files/a%20b.zone?offset=8", b"89"),
    ]


def test_a_piece_that_is_there_already_is_passed_over(server: Server, session: Session, tmp_path: Path) -> None:
    file = tmp_path / "a.zone"
    file.write_bytes(b"01234567")
    server.say(409, {"detail": "it has 6 bytes so far", "code": "conflict", "offset": 6})
    server.say(200, {"size": 8})
    upload(session, 7, [file], pack=False)
    assert [body for *_, body in server.requests] == [b"0123", b"67"]


def test_an_offset_that_leads_nowhere_is_a_refusal(server: Server, session: Session, tmp_path: Path) -> None:
    file = tmp_path / "a.zone"
    file.write_bytes(b"01234567")
    for offset in (0, 9, "x"):
        server.say(409, {"detail": "it has other bytes", "code": "conflict", "offset": offset})
        with pytest.raises(Refused, match="other bytes"):
            upload(session, 7, [file], pack=False)


def test_an_empty_file_arrives_too(server: Server, session: Session, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    server.say(200, {"size": 0})
    upload(session, 7, [tmp_path / "empty"], pack=False)
    assert len(server.requests) == 1


def test_files_of_one_name_keep_their_folders(server: Server, session: Session, tmp_path: Path) -> None:
    files = [tmp_path / "x" / "z", tmp_path / "y" / "z"]
    for file in files:
        file.parent.mkdir()
        file.write_text("abc")
        server.say(200, {"size": 3})
    upload(session, 7, files, pack=False)
    assert [path.split("?")[0].split("/files")[1] for _, path, *_ in server.requests] == [str(file) for file in files]


def test_a_folder_travels_as_an_archive_without_its_owner(
    server: Server, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK_BYTES", 1 << 20)
    folder = tmp_path / "zones"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "a.zone").write_text("abc")

    def arrive() -> None:
        upload(session, 7, [folder], pack=True)

    server.say(409, {"detail": "no", "code": "conflict"})
    with pytest.raises(Refused):
        arrive()
    [(_, path, _, body)] = server.requests
    assert path == "/api/v2/imports/7/files/files.tar.gz?offset=0"
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        [member] = archive.getmembers()
        assert (member.name, member.uid, member.uname) == ("zones/deep/a.zone", 0, "")


def test_a_folder_where_only_files_make_sense_is_wrong_usage(session: Session, tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="not folders"):
        upload(session, 7, [tmp_path], pack=False)
