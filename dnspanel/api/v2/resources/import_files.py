"""API resources for an import's files. Files are uploaded whole or in chunks; an upload can be resumed hours later."""

from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from dnspanel.api.v2.http.pages import page_answer
from dnspanel.api.v2.http.problems import Problem, bad_parameter
from dnspanel.api.v2.http.view import V2View, answer, api_operation, no_content, query_parameter
from dnspanel.api.v2.resources.imports import job_of
from dnspanel.api.v2.schema.fields import page_of
from dnspanel.transfer import import_limits
from dnspanel.transfer.files import upload
from dnspanel.transfer.models import State

_LONGEST_NUMBER = 15


class UploadedSerializer(serializers.Serializer):
    """An uploaded file and the number of bytes received."""

    name = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes received; the next chunk begins here.")


class Octets(BaseParser):
    """A parser that leaves the request body unread, because the view reads it in pieces."""

    media_type = "application/octet-stream"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        return stream


class ImportFiles(V2View):
    @api_operation("listImportFiles", page_of(UploadedSerializer))
    def get(self, request: Request, import_id: int) -> HttpResponse:
        """List the files of an import.

        Lists the uploaded files with their sizes. Needs the permission `edit`.
        """
        found = upload.uploaded_files(job_of(request, import_id))
        return page_answer(request, [{"name": file.name, "size": file.size} for file in found])


class ImportFile(V2View):
    parser_classes = (Octets,)
    conditional = False

    @api_operation(
        "uploadImportFile",
        UploadedSerializer,
        query_parameter(
            "offset",
            "Start of the chunk: the current size of the file. Without it, the body is the whole file.",
            {"type": "integer", "minimum": 0},
        ),
        request={"application/octet-stream": OpenApiTypes.BINARY},
    )
    def put(self, request: Request, import_id: int, name: str) -> HttpResponse:
        """Upload a file of an import.

        The request body is the whole file, or, with `offset`, one chunk of the file. An interrupted chunk does not
        change the file, but an interrupted whole file removes the previous one. If the status is 409, continue at the
        `offset` in the response. Needs the permission `edit`.
        """
        job = job_of(request, import_id)
        offset = _number(request, "offset")
        stream = request._request
        try:
            if offset is None:
                size = upload.receive_file(job=job, name=name, stream=stream)
            else:
                length = _length(request)
                size = upload.receive_chunk(job=job, name=name, offset=offset, stream=stream, size=length)
        except upload.WrongOffset as exc:
            raise Problem("conflict", str(exc), extensions={"offset": exc.offset}) from exc
        except upload.ChunkUnderWay as exc:
            raise Problem("unavailable", str(exc), headers={"Retry-After": "1"}) from exc
        return answer({"name": name, "size": size})

    @api_operation("deleteImportFile", {204: None})
    def delete(self, request: Request, import_id: int, name: str) -> HttpResponse:
        """Delete a file of an import.

        Files can be deleted only while the import waits for files. Needs the permission `edit`.
        """
        job = job_of(request, import_id)
        if job.state != State.UPLOADING:
            raise Problem("conflict", "This import no longer waits for files, so its files cannot be deleted.")
        upload.remove_file(job=job, name=name)
        return no_content()


def _number(request: Request, name: str) -> int | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER):
        raise bad_parameter(name, "Use a whole number of bytes.")
    return int(text)


def _length(request: Request) -> int:
    """Return the size of a chunk from `Content-Length`. Raise Problem if it is invalid or too large."""
    text = request.headers.get("Content-Length") or "0"
    if not text.isdecimal() or len(text) > _LONGEST_NUMBER or int(text) > import_limits.CHUNK_BYTES:
        raise Problem("too-large", f"A chunk can have at most {import_limits.CHUNK_BYTES >> 20} MiB.")
    return int(text)
