"""Create responses that download a file in pieces, have a known length, and can be resumed (with one `Range`)."""

import re
from collections.abc import Iterator
from typing import BinaryIO

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header

_PIECE = 1 << 18
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


def file_response(
    request: HttpRequest, file: BinaryIO, *, size: int, name: str, content_type: str, tag: str = ""
) -> HttpResponseBase:
    """Return a response that downloads `file` under `name`, and closes the file afterwards.

    If there is a `tag`, a client can request one byte range, for example to resume a download. A range past the end
    gets status 416. The tag must change when the bytes change.
    """
    part = _requested_part(request, size, tag) if tag else None
    if part is not None and part.start >= size:
        file.close()
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    requested = part if part is not None else range(size)
    file.seek(requested.start)
    status = 200 if part is None else 206
    response: HttpResponseBase
    if len(requested) <= _PIECE:
        with file:
            response = HttpResponse(file.read(len(requested)), status=status, content_type=content_type)
    else:
        response = StreamingHttpResponse(_Pieces(file, len(requested)), status=status, content_type=content_type)
    response["Content-Length"] = str(len(requested))
    disposition = content_disposition_header(as_attachment=True, filename=name)
    assert disposition is not None
    response["Content-Disposition"] = disposition
    response["Cache-Control"] = "no-store"
    if tag:
        response["ETag"] = f'"{tag}"'
        response["Accept-Ranges"] = "bytes"
    if part is not None:
        response["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
    return response


def _requested_part(request: HttpRequest, size: int, tag: str) -> range | None:
    """Return the requested byte range, or None for all bytes. A range past the end is empty and begins at `size`."""
    match = _RANGE.fullmatch(request.headers.get("Range", ""))
    if match is None or request.headers.get("If-Range", f'"{tag}"') != f'"{tag}"':
        return None
    first, last = match.groups()
    if not first:
        return range(max(0, size - int(last)), size) if last else None
    if last and int(last) < int(first):
        return None
    return range(min(int(first), size), min(int(last) + 1, size) if last else size)


class _Pieces:
    """An iterator that yields the next `left` bytes of a file, in pieces."""

    def __init__(self, file: BinaryIO, left: int) -> None:
        self._file = file
        self._left = left

    def __iter__(self) -> Iterator[bytes]:
        while piece := self._file.read(min(self._left, _PIECE)):
            self._left -= len(piece)
            yield piece

    def close(self) -> None:
        self._file.close()
