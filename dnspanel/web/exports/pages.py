"""Views of exports: one zone on the page or as a file, or many zones as a job with its own page."""

from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast

from django import forms
from django.db import connection, transaction
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission
from dnspanel.database.first_rows import first_or
from dnspanel.downloads import file_response
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.transfer.errors import PassphraseRefused, WrongState
from dnspanel.transfer.exports import bind, export_jobs
from dnspanel.transfer.exports import file as export_file
from dnspanel.transfer.exports.exported_zones import Selection
from dnspanel.transfer.exports.query_file import MOST_RANDOM_PERCENT, MOST_SAMPLED, QueryOptions
from dnspanel.transfer.models import ExportFormat, ExportJob
from dnspanel.transfer.sealed_keys import MOST_CHARACTERS, refuse_passphrase
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.frame.all_or_some import ALL, AllOrSome, AllOrSomeForm
from dnspanel.web.frame.forms import LONGEST_SEARCH, input_faults, number_field, secret_field, switch_field
from dnspanel.web.frame.layout import PanelRequest, is_fragment, reporting, say_done
from dnspanel.zones.errors import RightMissing
from dnspanel.zones.models import UNFINISHED_STATES, RunState, Zone
from dnspanel.zones.rights import access
from replication.dns import names

# A zone with more RRsets than this is exported by a job, not in the request.
MOST_AT_ONCE = 100_000
LONGEST_PREVIEW = 5_000
# A larger temporary file is written to disk.
MOST_IN_MEMORY = 1 << 20
COUNTED = 10_000
LISTED = 30

_CONTENT_TYPES = {"bind": "text/dns", "json": "application/json", "csv": "text/csv"}
TONES = {
    RunState.DONE: ("ok", "check"),
    RunState.FAILED: ("bad", "error"),
    RunState.CANCELLED: ("quiet", "minus"),
    RunState.RUNNING: ("info", "sync"),
    RunState.WAITING: ("quiet", "clock"),
}


class ExportForm(AllOrSomeForm):
    """The form for an export's zones and format, a passphrase for keys, and the options of a dnsperf query file."""

    all_or_some = (AllOrSome(("q",), default=ALL),)

    zone = forms.CharField(required=False, max_length=1100, widget=forms.HiddenInput)
    q = forms.CharField(
        label=gettext_lazy("Search"),
        required=False,
        max_length=LONGEST_SEARCH,
        widget=forms.TextInput(
            attrs={
                "type": "search",
                "class": "input",
                "spellcheck": "false",
                "autocomplete": "off",
                "hx-get": reverse_lazy("zone-exports"),
                "hx-trigger": "input changed delay:250ms",
                "hx-target": "#export-count",
                "hx-swap": "outerHTML",
                "hx-sync": "this:replace",
                "data-quiet": "",
            }
        ),
        help_text=gettext_lazy("Enter part of a zone name, or has:192.0.2.7 to search values."),
    )
    format = forms.ChoiceField(choices=ExportFormat.choices, widget=forms.RadioSelect, initial=ExportFormat.BIND)
    keys_passphrase = secret_field(
        gettext_lazy("Passphrase for private keys"),
        MOST_CHARACTERS,
        gettext_lazy(
            "At least 12 characters. With a passphrase, the file also contains the private DNSSEC keys, encrypted with "
            "it. The panel stores the passphrase encrypted until the export ends. You need the right to export keys."
        ),
        strip=False,
    )
    keys_passphrase_again = secret_field(gettext_lazy("Repeat passphrase"), MOST_CHARACTERS, strip=False)
    sample = number_field(
        gettext_lazy("Queries"),
        0,
        MOST_SAMPLED,
        gettext_lazy(
            "Number of names and types to pick at random. Leave empty to include all names and types in order."
        ),
    )
    each_zone_alike = switch_field(gettext_lazy("Sample zones equally regardless of size"))
    random_percent = number_field(
        gettext_lazy("Nonexistent names (%)"),
        0,
        MOST_RANDOM_PERCENT,
        gettext_lazy("Percentage of queries for random names that don’t exist in the zones."),
        initial=0,
    )
    seed = number_field(
        gettext_lazy("Seed"), 0, 2**31 - 1, gettext_lazy("The same seed always produces the same file."), initial=1
    )

    def clean_zone(self) -> str:
        with input_faults():
            return names.parse(self.cleaned_data["zone"]) if self.cleaned_data["zone"] else ""

    def _applies(self, each: AllOrSome) -> bool:
        return not self["zone"].value()

    def clean(self) -> dict[str, Any]:
        super().clean()
        cleaned: dict[str, Any] = self.cleaned_data
        passphrase, again = cleaned.get("keys_passphrase", ""), cleaned.get("keys_passphrase_again", "")
        if not passphrase and not again:
            return cleaned
        if cleaned.get("format") not in (None, ExportFormat.JSON):
            self.refuse("keys_passphrase", gettext("Private keys can be exported only as JSON."))
        elif passphrase != again:
            self.refuse("keys_passphrase_again", gettext("The passphrases don’t match."))
        else:
            with self.catching(PassphraseRefused, at="keys_passphrase"):
                refuse_passphrase(passphrase)
        return cleaned

    @property
    def selection(self) -> Selection:
        zone = self.cleaned_data["zone"]
        return Selection(names=(zone,)) if zone else Selection(search=self.cleaned_data["q"].strip())

    @property
    def query_options(self) -> QueryOptions:
        cleaned = self.cleaned_data
        seed = cleaned["seed"]
        return QueryOptions(
            sample=cleaned["sample"] or 0,
            each_zone_alike=cleaned["each_zone_alike"],
            random_percent=cleaned["random_percent"] or 0,
            seed=1 if seed is None else seed,
        )


@dataclass(frozen=True, slots=True)
class DisplayExport:
    """An export, as shown in a list or on its page."""

    job: ExportJob
    title: str
    tone: str
    icon: str
    has_file: bool
    is_unfinished: bool
    file_name: str
    percent: int
    seconds: float

    @property
    def page_version(self) -> str:
        """A string that changes whenever the page changes."""
        return f"{self.job.state}-{self.job.zones}-{self.job.records}"


@require_safe
def zone_export(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the zone file for copying. For a long zone file, show only the download link."""
    zone = access.zone_for_reading(request.user, zone_name)
    text = ""
    if zone.rrset_count <= LONGEST_PREVIEW:
        with _zone_file(zone, ExportFormat.BIND) as file:
            text = file.read().decode()
    context = {"text": text, "too_large": zone.rrset_count > MOST_AT_ONCE, "longest_preview": LONGEST_PREVIEW}
    return render_zone(request, zone, "", "exports/zone.html", context)


@require_safe
def zone_export_file(request: PanelRequest, zone_name: str, file_format: str) -> HttpResponseBase:
    """Download the zone as a file. For a large zone, redirect to the form for an export job."""
    zone = access.zone_for_reading(request.user, zone_name)
    if file_format not in _CONTENT_TYPES:
        raise Http404(f"There is no format {file_format}.")
    if zone.rrset_count > MOST_AT_ONCE:
        return redirect(f"{reverse('zone-exports')}?zone={zone.name}&format={file_format}")
    file = _zone_file(zone, file_format)
    size = file.seek(0, 2)
    stem = bind.file_name(zone.name).removesuffix(".zone")
    name = f"{stem}.{'zone' if file_format == ExportFormat.BIND else export_file.suffix(file_format)}"
    return file_response(
        request, file, size=size, name=name, content_type=f"{_CONTENT_TYPES[file_format]}; charset=utf-8"
    )


def _zone_file(zone: Zone, file_format: str) -> BinaryIO:
    """Write the zone to a temporary file, so that a slow download doesn't keep a transaction open."""
    file = cast(BinaryIO, SpooledTemporaryFile(MOST_IN_MEMORY))  # noqa: SIM115
    zones = Zone.objects.filter(pk=zone.pk)
    with transaction.atomic():
        connection.ensure_connection()
        if file_format == ExportFormat.BIND:
            export_file.write_zone_file(connection.connection, zones, file)
        else:
            export_file.write_export(connection.connection, zones, file, export_format=file_format, mtime=0)
    file.seek(0)
    return file


@sensitive_post_parameters("keys_passphrase", "keys_passphrase_again")
@require_http_methods(["GET", "HEAD", "POST"])
def export_list(request: PanelRequest) -> HttpResponse:
    """Show the form for a new export and the person's recent exports. A POST starts an export."""
    access.require(request.user, Permission.READ)
    if request.method != "POST":
        return _export_list_page(request, ExportForm(initial=_initial(request), counted_for=request.user))
    form = ExportForm(request.POST, counted_for=request.user)
    if form.is_valid() and (job := _create(request, form)) is not None:
        return redirect("zone-export-job", job.pk)
    return _export_list_page(request, form, status=422)


def _initial(request: PanelRequest) -> dict[str, Any]:
    """Return the form's initial values. Values in the URL replace the defaults."""
    initial = {name: field.initial for name, field in ExportForm.base_fields.items() if field.initial is not None}
    return initial | {name: request.GET[name] for name in ("q", "zone", "format") if request.GET.get(name)}


def _create(request: PanelRequest, form: ExportForm) -> ExportJob | None:
    """Create the export job. If it is refused, add the error to the form and return None."""
    selection = form.selection
    if not selection.among(access.zones_visible_to(request.user)).exists():
        form.refuse("q", gettext("No zones match."))
        return None
    with form.catching(RightMissing, at="keys_passphrase"), form.catching(WrongState):
        return export_jobs.create_export(
            selection=selection,
            export_format=form.cleaned_data["format"],
            author=request.user,
            now=timezone.now(),
            options=form.query_options,
            keys_passphrase=form.cleaned_data["keys_passphrase"],
        )
    return None


def _export_list_page(request: PanelRequest, form: ExportForm, status: int = 200) -> HttpResponse:
    jobs = ExportJob.objects.filter(author=request.user).order_by("-pk")[:LISTED]
    zone_name = str(form["zone"].value() or "")
    selection = Selection(names=(zone_name,)) if zone_name else Selection(search=str(form["q"].value() or ""))
    found = selection.among(access.zones_visible_to(request.user)).order_by()[: COUNTED + 1].count()
    context = {
        "form": form,
        "exports": [_display(job) for job in jobs],
        "zone_name": zone_name,
        "found": found,
        "is_more": found > COUNTED,
    }
    if is_fragment(request) and request.htmx.target == "export-count":
        return render(request, "exports/_count.html", context)
    return render(request, "exports/list.html", context, status=status)


def _display(job: ExportJob) -> DisplayExport:
    tone, icon = TONES[RunState(job.state)]
    title = Selection.from_json(job.selection).title
    ended = job.ended_at or timezone.now()
    has_file = job.state == RunState.DONE and job.forgotten_at is None and export_jobs.export_path(job).exists()
    return DisplayExport(
        job=job,
        title=title,
        tone=tone,
        icon=icon,
        has_file=has_file,
        is_unfinished=job.state in UNFINISHED_STATES,
        file_name=_download_name(job),
        percent=100 * job.zones // job.zones_total if job.zones_total else 0,
        seconds=(ended - job.started_at).total_seconds() if job.started_at else 0,
    )


def _download_name(job: ExportJob) -> str:
    selection = Selection.from_json(job.selection)
    stem = bind.file_name(selection.names[0]).removesuffix(".zone") if len(selection.names) == 1 else "zones"
    what = "queries" if job.format == ExportFormat.QUERIES else "export"
    return f"{stem}-{what}-{job.created_at:%Y%m%d-%H%M%S}.{export_file.suffix(job.format)}.gz"


def _job_for(request: PanelRequest, export_id: int) -> ExportJob:
    """Return the person's own export. Raise Unknown if it doesn't exist or is another person's."""
    access.require(request.user, Permission.READ)
    return first_or(
        ExportJob.objects.filter(pk=export_id, author=request.user), lambda: access.Unknown(f"export {export_id}")
    )


@require_safe
def export_job(request: PanelRequest, export_id: int) -> HttpResponse:
    """Show an export's progress and file. htmx fetches only the changing part, or gets 204 if nothing changed."""
    display = _display(_job_for(request, export_id))
    context = {"export": display, "address": request.build_absolute_uri()}
    if not is_fragment(request):
        return render(request, "exports/export.html", context)
    if request.GET.get("seen") == display.page_version:
        return HttpResponse(status=204)
    return render(request, "exports/_progress.html", context)


@require_POST
def export_cancel(request: PanelRequest, export_id: int) -> HttpResponse:
    """Cancel the export."""
    job = _job_for(request, export_id)
    with reporting(request, WrongState):
        export_jobs.cancel_export(job=job, now=timezone.now())
        say_done(request, gettext("Export cancelled."))
    return redirect("zone-export-job", job.pk)


@require_safe
def export_download(request: PanelRequest, export_id: int) -> HttpResponseBase:
    """Download a finished export's file. For a file with keys, the right to export them is checked again."""
    job = _job_for(request, export_id)
    return file_response(
        request,
        export_jobs.open_file(job=job, person=request.user),
        size=job.size,
        name=_download_name(job),
        content_type="application/gzip",
        tag=f"{job.pk}-{job.size}",
    )
