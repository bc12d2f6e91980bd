"""API resources for exports. A worker writes zones into a file, which the panel keeps for a day."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Permission
from dnspanel.api.v2.http.etag import conditional_write, tag_of
from dnspanel.api.v2.http.pages import each_as, page_by_id
from dnspanel.api.v2.http.problems import Problem
from dnspanel.api.v2.http.view import JSONOnly, V2View, answer, api_operation, no_content
from dnspanel.api.v2.schema.field_faults import NOT_TOGETHER
from dnspanel.api.v2.schema.fields import (
    PAGED,
    Choice,
    Flag,
    Integer,
    OptionalText,
    Shape,
    Text,
    ZoneName,
    page_of,
    read,
)
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.database.first_rows import first_or
from dnspanel.downloads import file_response
from dnspanel.transfer.exports import export_jobs
from dnspanel.transfer.exports import file as export_file
from dnspanel.transfer.exports.exported_zones import Selection
from dnspanel.transfer.exports.query_file import MOST_RANDOM_PERCENT, MOST_SAMPLED, QueryOptions
from dnspanel.transfer.models import ExportFormat, ExportJob
from dnspanel.transfer.sealed_keys import FEWEST_CHARACTERS, MOST_CHARACTERS
from dnspanel.zones.models import RunState
from dnspanel.zones.rights import access

MOST_ZONES = 10_000


class QueriesSerializer(Shape):
    """The options of a dnsperf query file."""

    sample = Integer(default=0, min_value=0, max_value=MOST_SAMPLED, help_text="Number of names and types; 0: all.")
    each_zone_alike = Flag(default=False, help_text="Same number of queries for each zone.")
    random_percent = Integer(
        default=0, min_value=0, max_value=MOST_RANDOM_PERCENT, help_text="Percentage of nonexistent names."
    )
    seed = Integer(default=1, min_value=0, max_value=2**31 - 1, help_text="Equal seeds give the same queries.")


class ExportSerializer(Shape):
    """An export of the named zones, of the zones that a search finds, or of all zones."""

    id = serializers.IntegerField(read_only=True)
    format = Choice(choices=ExportFormat.choices)
    zones = serializers.ListField(child=ZoneName(), default=list, max_length=MOST_ZONES)
    q = OptionalText(max_length=200, help_text="Search; empty, without `zones`: all zones.")
    queries = QueriesSerializer(required=False, help_text="Options for the format `queries`.")
    keys_passphrase = Text(
        write_only=True,
        required=False,
        min_length=FEWEST_CHARACTERS,
        max_length=MOST_CHARACTERS,
        help_text="For the format `json`: passphrase that encrypts the private DNSSEC keys in the file. Needs the "
        "right `export-keys` over each signed zone.",
    )
    state = serializers.ChoiceField(choices=RunState.choices, read_only=True)
    failure = serializers.CharField(read_only=True, help_text="Reason of a failure; empty: none.")
    zones_done = serializers.IntegerField(read_only=True, help_text="Number of zones in the file so far.")
    zones_total = serializers.IntegerField(read_only=True, help_text="Number of zones to write.")
    records = serializers.IntegerField(read_only=True)
    keys = serializers.IntegerField(read_only=True, help_text="Number of encrypted private keys in the file.")
    size = serializers.IntegerField(read_only=True, help_text="Size of the file, in bytes.")
    file = serializers.CharField(read_only=True, allow_null=True, help_text="Path of the file; null: there is none.")
    created_at = serializers.DateTimeField(read_only=True)
    ended_at = serializers.DateTimeField(read_only=True, allow_null=True)

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if data["zones"] and data["q"]:
            raise serializers.ValidationError({"q": ["Send `zones` or `q`, not both."]}, NOT_TOGETHER)
        if "queries" in data and data["format"] != ExportFormat.QUERIES:
            raise serializers.ValidationError({"queries": ["Works only with the format queries."]}, NOT_TOGETHER)
        if "keys_passphrase" in data and data["format"] != ExportFormat.JSON:
            raise serializers.ValidationError({"keys_passphrase": ["Works only with the format json."]}, NOT_TOGETHER)
        return data


class Gzip(JSONOnly):
    """A renderer that exists only to let content negotiation accept `application/gzip`."""

    media_type = "application/gzip"
    format = "gz"


class Octets(Gzip):
    """A renderer for `application/octet-stream`. Every generated client can read files of this media type."""

    media_type = "application/octet-stream"
    format = "bin"


_PART = OpenApiResponse(OpenApiTypes.BINARY, "The part of the file that `Range` requested.")
_FILE = {
    (200, Gzip.media_type): OpenApiTypes.BINARY,
    (200, Octets.media_type): OpenApiTypes.BINARY,
    (206, Gzip.media_type): _PART,
    (206, Octets.media_type): _PART,
    416: OpenApiResponse(description="The requested part is outside the file."),
}


class Exports(V2View):
    @api_operation("listExports", page_of(ExportSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List exports.

        Lists your own exports, newest first. A token sees only exports that it created. Needs the permission `read`.
        """
        access.require(self.actor, Permission.READ)
        return page_by_id(request, _visible_to(self.actor), each_as(export_json), newest_first=True)

    @api_operation("createExport", {202: ExportSerializer}, request=ExportSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Create an export.

        A worker writes the chosen zones into one file. Read the export until its state is `done`, then get the file
        with `downloadExport`. Needs the permission `read`, and a token that sees whole zones. Returns 422 if no zone
        matches.
        """
        access.require(self.actor, Permission.READ)
        values = read(ExportSerializer, request.data)
        selection = Selection(names=tuple(dict.fromkeys(values["zones"])), search=values["q"].strip())
        if not selection.among(access.zones_visible_to(self.actor)).exists():
            raise serializers.ValidationError({"zones" if values["zones"] else "q": ["No zones match."]}, "not-found")
        options = QueryOptions(**values["queries"]) if "queries" in values else None
        job = export_jobs.create_export(
            selection=selection,
            export_format=values["format"],
            author=self.actor,
            now=timezone.now(),
            options=options,
            keys_passphrase=values.get("keys_passphrase", ""),
        )
        return _answer(job, 202, Location=f"{request.path}/{job.pk}")


class OneExport(V2View):
    @api_operation("getExport", ExportSerializer)
    def get(self, request: Request, export_id: int) -> HttpResponse:
        """Read an export.

        Returns the export's state and progress. Needs the permission `read`.
        """
        return _answer(_job_for(self.actor, export_id))

    @api_operation("cancelExport", {204: None})
    def delete(self, request: Request, export_id: int) -> HttpResponse:
        """Cancel an export.

        Stops an export that is still running. Returns 409 for a finished export. Needs the permission `read`.
        """
        job = _job_for(self.actor, export_id)
        with conditional_write(request, f"export/{export_id}", lambda: _stable(_job_for(self.actor, export_id))):
            export_jobs.cancel_export(job=job, now=timezone.now())
        return no_content()


class ExportFile(V2View):
    renderer_classes = (*V2View.renderer_classes, Gzip, Octets)

    @api_operation("downloadExport", _FILE)
    def get(self, request: Request, export_id: int) -> HttpResponseBase:
        """Download the file of an export.

        Returns a gzip file. The file exists for a day after the export is done; before and after that the status is
        404. Supports `Range`. Needs the permission `read`, and for a file with private DNSSEC keys the right
        `export-keys`.
        """
        job = _job_for(self.actor, export_id)
        try:
            file = export_jobs.open_file(job=job, person=self.actor)
        except access.Unknown:
            raise Problem("not-found", "The file does not exist yet, or was deleted after a day.") from None
        name = f"export-{job.pk}.{export_file.suffix(job.format)}.gz"
        return file_response(
            request._request,
            file,
            size=job.size,
            name=name,
            content_type=Octets.media_type if request.accepted_media_type == Octets.media_type else Gzip.media_type,
            tag=f"{job.pk}-{job.size}",
        )


def export_json(job: ExportJob) -> dict[str, Any]:
    """Return the JSON form of an export."""
    selection = Selection.from_json(job.selection)
    has_file = job.state == RunState.DONE and job.forgotten_at is None
    value = row_json(
        ExportSerializer,
        job,
        zones=list(selection.names),
        q=selection.search,
        queries=job.options,
        zones_done=job.zones,
        file=f"/api/v2/exports/{job.pk}/file" if has_file else None,
    )
    if job.format != ExportFormat.QUERIES:
        del value["queries"]
    return value


def _visible_to(actor: Actor) -> "QuerySet[ExportJob]":
    """Select the actor's own exports. For a token, select only exports that the token created."""
    own = ExportJob.objects.filter(author=actor.user)
    return own if actor.token is None else own.filter(token=actor.token)


def _job_for(actor: Actor, export_id: int) -> ExportJob:
    access.require(actor, Permission.READ)
    return first_or(_visible_to(actor).filter(pk=export_id), lambda: access.Unknown(f"export {export_id}"))


def _stable(job: ExportJob) -> dict[str, Any]:
    return {"id": job.pk, "state": job.state}


def _answer(job: ExportJob, status: int = 200, **headers: str) -> HttpResponse:
    return answer(export_json(job), status, headers={"ETag": tag_of(_stable(job)), **headers})
