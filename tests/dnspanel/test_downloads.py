"""Tests of file downloads."""

from pathlib import Path
from typing import Any

import pytest
from django.http.response import HttpResponseBase
from django.test import RequestFactory

from dnspanel.downloads import file_response

# When an answer is closed, Django checks its database connection.
pytestmark = pytest.mark.django_db

TEXT = bytes(range(256)) * 3000


@pytest.fixture
def file(tmp_path: Path) -> Any:
    path = tmp_path / "file"
    path.write_bytes(TEXT)
    return path.open("rb")


def answer(file: Any, *, tag: str = "1-2", **headers: str) -> HttpResponseBase:
    request = RequestFactory().get("/", headers={name.replace("_", "-"): value for name, value in headers.items()})
    return file_response(request, file, size=len(TEXT), name="zones.tar.gz", content_type="application/gzip", tag=tag)


def body(response: Any) -> bytes:
    content = b"".join(response)
    response.close()
    return content


def test_a_file_comes_complete_with_its_length_and_name(file: Any) -> None:
    response = answer(file)
    assert response.status_code == 200
    assert response["Content-Length"] == str(len(TEXT))
    assert response["Content-Disposition"] == 'attachment; filename="zones.tar.gz"'
    assert (response["Accept-Ranges"], response["ETag"]) == ("bytes", '"1-2"')
    assert body(response) == TEXT
    assert file.closed


@pytest.mark.parametrize(
    ("requested", "part"),
    [
        ("bytes=0-9", range(10)),
        ("bytes=700000-", range(700_000, len(TEXT))),
        ("bytes=767999-768000", range(767_999, 768_000)),
        ("bytes=-5", range(len(TEXT) - 5, len(TEXT))),
        ("bytes=-99999999", range(len(TEXT))),
    ],
)
def test_a_broken_download_goes_on(file: Any, requested: str, part: range) -> None:
    response = answer(file, Range=requested, If_Range='"1-2"')
    assert response.status_code == 206
    assert response["Content-Range"] == f"bytes {part.start}-{part.stop - 1}/{len(TEXT)}"
    assert response["Content-Length"] == str(len(part))
    assert body(response) == TEXT[part.start : part.stop]


@pytest.mark.parametrize("requested", ["bytes=9-3", "bytes=-", "bytes=1-2,4-5", "lines=1-2", "bytes=a-b", "bytes=²-3"])
def test_a_range_that_says_nothing_is_ignored(file: Any, requested: str) -> None:
    assert body(answer(file, Range=requested)) == TEXT


def test_a_range_of_another_file_gets_all_of_this(file: Any) -> None:
    assert body(answer(file, Range="bytes=5-", If_Range='"0-2"')) == TEXT


@pytest.mark.parametrize("requested", ["bytes=768000-", "bytes=999999999-", "bytes=-0"])
def test_a_range_behind_the_end_is_refused(file: Any, requested: str) -> None:
    response = answer(file, Range=requested)
    assert response.status_code == 416
    assert response["Content-Range"] == f"bytes */{len(TEXT)}"
    assert file.closed


def test_a_file_without_a_tag_has_no_parts(file: Any) -> None:
    response = answer(file, tag="", Range="bytes=5-")
    assert "Accept-Ranges" not in response
    assert body(response) == TEXT


def test_a_long_file_comes_a_piece_at_a_time(file: Any) -> None:
    response = answer(file, Range="bytes=10-700000")
    pieces = list(response)
    response.close()
    assert b"".join(pieces) == TEXT[10:700_001]
    assert len(pieces) == 3
    assert file.closed
