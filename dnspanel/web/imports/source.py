"""The first step of the import wizard: choose the source."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import User
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.transfer import allowed_servers, import_limits
from dnspanel.transfer.errors import DiskFull, ServerRefused, TransferError
from dnspanel.transfer.imports import import_jobs
from dnspanel.transfer.models import ImportJob, SourceKind
from dnspanel.web.frame.layout import PanelRequest
from dnspanel.web.frame.near_quotas import near_quotas
from dnspanel.web.imports.source_forms import SOURCE_FORMS, PasteForm, SourceForm
from dnspanel.web.imports.steps import first_steps
from dnspanel.web.imports.upload import addresses_of, take_files
from dnspanel.zones.rights import access


@dataclass(frozen=True, slots=True)
class DisplaySource:
    kind: str
    text: str
    hint: str
    icon: str


# The sources that pages offer, in groups.
SOURCES = (
    (
        gettext_lazy("Files"),
        (
            DisplaySource(
                SourceKind.FILES,
                gettext_lazy("Zone files"),
                gettext_lazy("One or more zone files, a directory, zip, tar.gz or named.conf"),
                "folder",
            ),
            DisplaySource(
                SourceKind.PASTE, gettext_lazy("Pasted text"), gettext_lazy("A zone file from the clipboard"), "copy"
            ),
            DisplaySource(SourceKind.CSV, "CSV", gettext_lazy("Any table. Assign columns in the next step."), "table"),
            DisplaySource(SourceKind.JSON, "JSON", gettext_lazy("An export from this panel, or RRset lists"), "file"),
        ),
    ),
    (
        gettext_lazy("Running servers"),
        (
            DisplaySource(
                SourceKind.AXFR,
                gettext_lazy("Zone transfer"),
                gettext_lazy("AXFR from BIND, Knot DNS, NSD or any other name server"),
                "server",
            ),
            DisplaySource(
                SourceKind.POWERDNS_API,
                gettext_lazy("PowerDNS API"),
                gettext_lazy("All zones on a PowerDNS server"),
                "link",
            ),
            DisplaySource(
                SourceKind.POWERDNS_SQL,
                gettext_lazy("PowerDNS database"),
                gettext_lazy("Live PostgreSQL or MySQL database"),
                "database",
            ),
        ),
    ),
    (
        gettext_lazy("PowerDNS files"),
        (
            DisplaySource(
                SourceKind.POWERDNS_DUMP,
                gettext_lazy("Database dump"),
                gettext_lazy("From pg_dump, mysqldump or sqlite .dump"),
                "database",
            ),
            DisplaySource(SourceKind.POWERDNS_LMDB, "LMDB", gettext_lazy("pdns.lmdb and all shards"), "database"),
        ),
    ),
)


@sensitive_post_parameters("tsig_secret", "key", "password", "keys_passphrase")
@require_http_methods(["GET", "HEAD", "POST"])
def import_new(request: PanelRequest, source: str = SourceKind.FILES) -> HttpResponse:
    """Show the form for a source. A POST creates the import and receives the files, if no script sends them later."""
    access.require(request.user, Permission.EDIT)
    if source not in SOURCE_FORMS:
        raise Http404
    if source in allowed_servers.SERVER_SOURCES:
        allowed_servers.refuse_servers(request.user)
    if request.method != "POST":
        return _source_page(request, SOURCE_FORMS[source](initial=_initial(source)))
    form = SOURCE_FORMS[source](request.POST)
    by_script = request.POST.get("by") == "script"  # the script then sends the files in chunks
    if form.is_valid() and form.takes_files and not by_script and not request.FILES.getlist("files"):
        form.refuse(None, gettext("Choose at least one file."))
    if not form.is_valid():
        return _errors_response(request, form) if by_script else _source_page(request, form, status=422)
    try:
        job = _create(request, form)
        if by_script:
            return JsonResponse({"page": reverse("import-detail", args=[job.pk])} | addresses_of(job))
        page = take_files(request, job) if form.takes_files else reverse("import-detail", args=[job.pk])
        return redirect(page)
    except DiskFull:  # `SignedInMiddleware` shows the page with status 507
        raise
    except TransferError as exc:
        form.refuse(exc.field if isinstance(exc, ServerRefused) else None, str(exc))
        return _source_page(request, form, status=422)


def _initial(source: str) -> dict[str, Any]:
    return {name: field.initial for name, field in SOURCE_FORMS[source].base_fields.items()} | {"form_id": uuid4()}


def _source_page(request: PanelRequest, form: SourceForm, status: int = 200) -> HttpResponse:
    context = {
        "form": form,
        "near_quotas": near_quotas(request.user, Kind.IMPORTS, Kind.BYTES, Kind.ZONES),
        "steps": first_steps(),
        "groups": _offered_to(request.user),
        "kind": form.kind.value,
        "accept": form.accept,
        "chosen": next(display for _, group in SOURCES for display in group if display.kind == form.kind),
        "chunk_bytes": import_limits.CHUNK_BYTES,
        "limits": [import_limits.title(name) for name in ("upload", "entries", "ratio", "depth", "document")],
    }
    return render(request, "imports/new.html", context, status=status)


def _offered_to(person: User) -> list[tuple[str, tuple[DisplaySource, ...]]]:
    """Return the kinds of sources in groups, without servers for users who aren't allowed to contact servers."""
    hidden = () if allowed_servers.may_read_servers(person) else allowed_servers.SERVER_SOURCES
    kinds = [(title, tuple(one for one in group if one.kind not in hidden)) for title, group in SOURCES]
    return [(title, group) for title, group in kinds if group]


def _errors_response(request: PanelRequest, form: SourceForm) -> HttpResponse:
    errors = [str(error) for of_field in form.errors.values() for error in of_field]
    return JsonResponse({"errors": errors}, status=422)


def _create(request: PanelRequest, form: SourceForm) -> ImportJob:
    now = timezone.now()
    sent = [file.name or "" for file in request.FILES.getlist("files")]
    title = form.cleaned_data["title"] or (sent[0][-200:] if sent else form.default_title)
    if isinstance(form, PasteForm):
        return import_jobs.create_paste(
            title=title,
            text=form.cleaned_data["text"].encode(),
            zone=form.cleaned_data["origin"],
            author=request.user,
            now=now,
            form_id=form.id,
        )
    return import_jobs.create_job(
        source=form.kind,
        title=title,
        author=request.user,
        now=now,
        parameters=form.parameters,
        secret=form.secret,
        form_id=form.id,
    )
