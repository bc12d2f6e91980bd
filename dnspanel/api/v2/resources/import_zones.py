"""API resources for the contents of an import: zones with their planned actions, files, errors and remarks.

Errors and remarks have line numbers. Files are uploaded whole or in chunks; an upload can be resumed hours later.
"""

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from dnspanel.api.v2.http.etag import conditional_write
from dnspanel.api.v2.http.pages import cut, page_answer, page_request
from dnspanel.api.v2.http.problems import Problem, bad_parameter
from dnspanel.api.v2.http.view import JSONOnly, V2View, answer, api_operation, no_content, query_parameter
from dnspanel.api.v2.resources.imports import job_of, stable
from dnspanel.api.v2.schema.fields import (
    PAGED,
    Choice,
    Flag,
    OptionalText,
    Shape,
    ZoneName,
    choice_parameter,
    page_of,
    read,
    text_parameter,
)
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.transfer import import_limits
from dnspanel.transfer.files import upload
from dnspanel.transfer.imports import import_jobs, queries
from dnspanel.transfer.models import Action, ImportJob, ImportZone, State

SEVERITIES = ("error", "warning", "note")
CHOICES = [("default", "use import options"), *((choice, choice) for choice in import_jobs.CHOICES if choice)]
_LONGEST_NUMBER = 15
MOST_CHOSEN = 10_000
_OF_FAULTS = [
    query_parameter("severity", "Only errors and remarks of this severity.", enum=list(SEVERITIES)),
    query_parameter("code", "Only errors and remarks with this code."),
]


class ImportZoneSerializer(serializers.Serializer):
    """A zone of an import, with its planned or completed action."""

    id = serializers.IntegerField()
    name = serializers.CharField(help_text="Name of the zone; empty: unknown.")
    path = serializers.CharField(help_text="File of the source.")
    serial = serializers.IntegerField()
    records = serializers.IntegerField()
    rrsets = serializers.IntegerField()
    errors = serializers.IntegerField()
    warnings = serializers.IntegerField(help_text="Number of remarks about the zone.")
    choice = serializers.ChoiceField(choices=CHOICES, help_text="Choice for this zone.")
    action = serializers.ChoiceField(
        choices=[("undecided", "before the dry run"), *Action.choices], help_text="Action of the import."
    )
    added = serializers.IntegerField(help_text="Number of RRsets that are added.")
    changed = serializers.IntegerField(help_text="Number of RRsets that change.")
    removed = serializers.IntegerField(help_text="Number of RRsets that are removed.")


class FaultSerializer(serializers.Serializer):
    """An error or a remark, with its position in the source."""

    id = serializers.IntegerField()
    severity = serializers.ChoiceField(choices=[(word, word) for word in SEVERITIES])
    code = serializers.CharField(help_text="Stable code of the error or remark.")
    zone = serializers.CharField()
    path = serializers.CharField(help_text="File of the source.")
    line = serializers.IntegerField(help_text="Line, from 1; 0: the whole file.")
    column = serializers.IntegerField(help_text="Column in the line, from 1.")
    source = serializers.CharField(help_text="Text that caused the entry.")
    reason = serializers.CharField(help_text="Error or remark, in words.")
    fix = serializers.CharField(help_text="Suggested replacement for the line, or empty.")


class ChoicesSerializer(Shape):
    """A choice for some zones of an import: the named zones, or all zones that match the search."""

    choice = Choice(choices=CHOICES, help_text="Action for the zones; `default` follows the options.")
    zones = serializers.ListField(child=ZoneName(), required=False, min_length=1, max_length=MOST_CHOSEN)
    q = OptionalText(max_length=200, help_text="Part of the zone's name or of the file's path.")
    faulty = Flag(default=False, help_text="Only zones with errors or warnings.")
    existing = Flag(default=None, allow_null=True, help_text="True: only zones that exist here; false: only others.")


class ChosenSerializer(serializers.Serializer):
    """The number of zones whose choice changed."""

    changed = serializers.IntegerField(help_text="Number of zones whose choice changed.")


class Csv(JSONOnly):
    """A renderer that exists only to let content negotiation accept `text/csv`."""

    media_type = "text/csv"
    format = "csv"


class ImportZones(V2View):
    @api_operation(
        "listImportZones",
        page_of(ImportZoneSerializer),
        query_parameter("action", "Only zones with this action.", enum=["undecided", *Action.values]),
        query_parameter("q", "Part of the zone's name or of the file's path."),
        *PAGED,
    )
    def get(self, request: Request, import_id: int) -> HttpResponse:
        """List the zones of an import.

        Lists the zones by name, each with the planned or completed action. Needs the permission `edit`.
        """
        job, requested = job_of(request, import_id), page_request(request, str, int)
        action = choice_parameter(request.query_params, "action", ("undecided", *Action.values))
        page = queries.zones_page(
            job,
            action="" if action == "undecided" else action or None,
            search=text_parameter(request.query_params, "q"),
            after="|".join(map(str, requested.after)),
            limit=requested.limit,
        )
        last = page.zones[-1] if page.after else None
        return page_answer(request, [_zone_json(row) for row in page.zones], (last.name, last.pk) if last else None)


class ImportChoices(V2View):
    conditional = True

    @api_operation("chooseImportZones", ChosenSerializer, request=ChoicesSerializer)
    def post(self, request: Request, import_id: int) -> HttpResponse:
        """Choose the action for zones of an import.

        The choice applies to the named zones, or to the zones that match the search. Run `plan` again afterwards.
        Returns the number of zones that changed. Needs the permission `edit`.
        """
        job = job_of(request, import_id)
        values = read(ChoicesSerializer, request.data)
        choice = "" if values["choice"] == "default" else values["choice"]
        ids = _ids(job, values["zones"]) if "zones" in values else None
        with conditional_write(request, f"import/{import_id}", lambda: stable(job_of(request, import_id))):
            changed = import_jobs.choose(
                job=job,
                choice=choice,
                now=timezone.now(),
                ids=ids,
                search=values["q"],
                faulty=values["faulty"],
                existing=values["existing"],
            )
        return answer({"changed": changed})


class ImportFaults(V2View):
    @api_operation(
        "listImportFaults",
        page_of(FaultSerializer),
        *_OF_FAULTS,
        query_parameter("zone", "Only errors and remarks about this zone."),
        *PAGED,
    )
    def get(self, request: Request, import_id: int) -> HttpResponse:
        """List the errors and remarks of an import.

        Lists errors and remarks in the order of the source, with file, line and column. Needs the permission `edit`.
        """
        job, requested = job_of(request, import_id), page_request(request, int)
        query = request.query_params
        faults = queries.faults_page(
            job,
            severity=choice_parameter(query, "severity", SEVERITIES),
            code=text_parameter(query, "code"),
            zone=text_parameter(query, "zone", longest=1100),
            after=requested.after[0] if requested.after else 0,
            limit=requested.limit + 1,
        )
        rows, more = cut(faults, requested.limit)
        return page_answer(
            request, [row_json(FaultSerializer, fault) for fault in rows], (rows[-1].pk,) if more else None
        )


class ImportFaultsCsv(V2View):
    renderer_classes = (*V2View.renderer_classes, Csv)

    @api_operation("downloadImportFaults", {(200, "text/csv"): OpenApiTypes.STR}, *_OF_FAULTS)
    def get(self, request: Request, import_id: int) -> HttpResponse:
        """Download the errors and remarks of an import as CSV.

        Returns the same entries as `listImportFaults`, in one file. Needs the permission `edit`.
        """
        job, query = job_of(request, import_id), request.query_params
        lines: Iterator[str] = queries.faults_csv(
            job, severity=choice_parameter(query, "severity", SEVERITIES), code=text_parameter(query, "code")
        )
        # There are at most `import_limits.MOST_FAULTS` lines, which are a few megabytes.
        text = "".join(lines).encode(errors="backslashreplace")
        disposition = f'attachment; filename="import-{job.pk}-faults.csv"'
        headers = {"Content-Disposition": disposition}
        return HttpResponse(text, content_type="text/csv; charset=utf-8", headers=headers)


def _ids(job: ImportJob, names: list[str]) -> "QuerySet[ImportZone, int]":
    return ImportZone.objects.filter(job=job, name__in=names).values_list("pk", flat=True)


def _zone_json(row: ImportZone) -> dict[str, Any]:
    return row_json(ImportZoneSerializer, row, choice=row.choice or "default", action=row.action or "undecided")


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
