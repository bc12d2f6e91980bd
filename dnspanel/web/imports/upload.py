"""Views for uploading an import's files: return the offset to resume from, receive chunks, and complete the upload."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from dnspanel.texts import gettext
from dnspanel.transfer import import_limits
from dnspanel.transfer.errors import DiskFull, TransferError, WrongState
from dnspanel.transfer.files import upload
from dnspanel.transfer.imports import import_jobs, queries
from dnspanel.transfer.models import ImportJob, SourceKind, State
from dnspanel.web.frame.layout import PanelRequest

LONGEST_NAME = 4 * import_limits.MOST_PATH_BYTES


def upload_context(request: PanelRequest, job: ImportJob) -> dict[str, Any]:
    """Return the template context of the upload: the received files, and the URLs for the script."""
    return {
        "files": upload.uploaded_files(job),
        "addresses": addresses_of(job),
        "chunk_bytes": import_limits.CHUNK_BYTES,
        "kind": job.source,
        "accept": "",
    }


def addresses_of(job: ImportJob) -> dict[str, str]:
    """Return the URLs for sending chunks of the import's files and for completing the upload."""
    return {"upload": reverse("import-upload", args=[job.pk]), "finish": reverse("import-uploaded", args=[job.pk])}


@require_http_methods(["GET", "HEAD", "POST"])
def import_upload(request: PanelRequest, job_id: int) -> HttpResponse:
    """Return the offset of a file's next chunk. A POST stores the request body as a chunk."""
    job = queries.job_for(request.user, job_id)
    name = request.GET.get("name", "")[:LONGEST_NAME]
    try:
        if request.method != "POST":
            return JsonResponse({"offset": upload.offset_of(job, name)})
        offset, size = _number(request.GET.get("offset", "")), _number(request.headers.get("Content-Length") or "0")
        if offset is None or size is None or size > import_limits.CHUNK_BYTES:
            message = gettext("A chunk must include an offset and must not exceed {value} MiB.").format(
                value=import_limits.CHUNK_BYTES >> 20
            )
            return JsonResponse({"errors": [message]}, status=400)
        return JsonResponse(
            {"offset": upload.receive_chunk(job=job, name=name, offset=offset, stream=request, size=size)}
        )
    except upload.WrongOffset as exc:
        return JsonResponse({"errors": [str(exc)], "offset": exc.offset}, status=409)
    except upload.ChunkUnderWay as exc:  # an older request for this file still runs, although its sender gave up
        return JsonResponse({"errors": [str(exc)]}, status=503)
    except DiskFull as exc:
        return JsonResponse({"errors": [str(exc)]}, status=507)
    except TransferError as exc:
        return JsonResponse({"errors": [str(exc)]}, status=422)


@require_POST
def import_uploaded(request: PanelRequest, job_id: int) -> HttpResponse:
    """Complete the upload. If the browser sent files without scripts, receive them first."""
    job = queries.job_for(request.user, job_id)
    by_script = request.accepts("application/json") and not request.accepts("text/html")
    try:
        next_page = take_files(request, job)
    except DiskFull:  # `SignedInMiddleware` shows the page with status 507
        raise
    except TransferError as exc:
        if by_script:
            return JsonResponse({"errors": [str(exc)]}, status=422)
        messages.error(request, str(exc))
        return redirect("import-detail", job.pk)
    return JsonResponse({"next": next_page}) if by_script else redirect(next_page)


def take_files(request: PanelRequest, job: ImportJob) -> str:
    """Receive the form's files, start the scan, and return the URL of the next page.

    A second call doesn't start another scan. A CSV import isn't scanned until the user has assigned the columns. Raise
    TransferError if a file is rejected or no file has arrived.
    """
    page = reverse("import-detail", args=[job.pk])
    if job.state != State.UPLOADING:
        return page
    for file in request.FILES.getlist("files"):
        upload.receive_file(job=job, name=file.name or "", stream=file)
    if not upload.uploaded_files(job):
        raise WrongState(gettext("No files uploaded yet. Choose at least one file."))
    if job.source == SourceKind.CSV:
        return reverse("import-columns", args=[job.pk])
    import_jobs.start_scan(job=job, now=timezone.now())
    return page


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 16 else None
