"""View that shows zones that failed to import, with their errors and proposed fixes, and imports them again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.texts import gettext
from dnspanel.transfer.errors import TransferError
from dnspanel.transfer.imports import import_jobs, queries
from dnspanel.transfer.models import Action, ImportFault, ImportJob, ImportZone
from dnspanel.web.frame.forms import PublishingForm
from dnspanel.web.frame.layout import PanelRequest, reporting
from dnspanel.web.imports.report import DisplayFault

ZONES_PER_PAGE = 20
FAULTS_PER_ZONE = 50
QUOTED_LENGTH = 190  # an error quotes at most 200 characters, including whitespace at the ends


@dataclass(frozen=True, slots=True)
class FixableFault:
    """An import error, displayed next to the zone's text. `line` is its line in the edited text, or 0 if unknown."""

    item: DisplayFault
    line: int

    @property
    def has_fix(self) -> bool:
        return bool(self.item.fault.fix and self.line)


@dataclass(frozen=True, slots=True)
class FailedZone:
    """A zone that failed to import. `text` is None if the zone can't be edited here, for the reason in `obstacle`."""

    row: ImportZone
    text: str | None
    obstacle: str
    faults: list[FixableFault]

    @property
    def lines(self) -> int:
        """The height of the text field, in lines."""
        return min(24, max(6, (self.text or "").count("\n") + 2))


@require_http_methods(["GET", "HEAD", "POST"])
def import_fix(request: PanelRequest, job_id: int) -> HttpResponse:
    """Show the zones that failed to import. A POST applies a proposed fix, or imports selected zones' texts again."""
    job = queries.job_for(request.user, job_id)
    after = request.GET.get("after", "")[:1200]
    page = queries.zones_page(job, action=Action.FAILED, after=after, limit=ZONES_PER_PAGE)
    typed = {row.pk: request.POST[f"text-{row.pk}"] for row in page.zones if f"text-{row.pk}" in request.POST}
    faults = _faults_of(job, page.zones)
    if request.POST.get("fix"):
        typed = _with_fix(typed, faults, request.POST["fix"])
    elif request.method == "POST":
        answer = _retry(request, job, typed)
        if answer is not None:
            return answer
    context = {
        "job": job,
        "zones": [_failed_zone(job, row, typed, faults.get(row.pk, [])) for row in page.zones],
        "next_after": page.after,
        "after": after,
        "form_id": request.POST.get("form_id") or uuid4(),
    }
    return render(request, "imports/fix.html", context)


def _retry(request: PanelRequest, job: ImportJob, typed: Mapping[int, str]) -> HttpResponse | None:
    """Import the selected zones again. If this is rejected, add a message and return None."""
    form = PublishingForm(request.POST)
    ticked = {int(text) for text in request.POST.getlist("zone") if text.isdecimal() and len(text) < 18}
    texts = {pk: text.replace("\r\n", "\n") for pk, text in typed.items() if pk in ticked}
    if not texts or not form.is_valid():
        messages.warning(request, gettext("Select the zones to import again."))
        return None
    with reporting(request, TransferError):
        again = import_jobs.retry_failed(job=job, texts=texts, author=request.user, now=timezone.now(), form_id=form.id)
        return redirect("import-detail", again.pk)
    return None


def _faults_of(job: ImportJob, zones: Sequence[ImportZone]) -> dict[int, list[ImportFault]]:
    """Return each zone's first errors, keyed by its id. Errors without a zone name belong to their file's zone."""
    found: dict[int, list[ImportFault]] = {row.pk: [] for row in zones}
    by_name = {row.name: row.pk for row in zones if row.name}
    by_path = {row.path: row.pk for row in zones}
    faults = ImportFault.objects.filter(job=job, severity="error", piece__in={row.piece for row in zones})
    relevant = faults.filter(zone__in=by_name) | faults.filter(zone="", path__in=by_path)
    for fault in relevant.order_by("pk")[: FAULTS_PER_ZONE * ZONES_PER_PAGE]:
        pk = by_name.get(fault.zone) or by_path.get(fault.path)
        if pk is not None and len(found[pk]) < FAULTS_PER_ZONE:
            found[pk].append(fault)
    return found


def _failed_zone(
    job: ImportJob, row: ImportZone, typed: Mapping[int, str], faults: Sequence[ImportFault]
) -> FailedZone:
    text, obstacle = typed.get(row.pk), ""
    if text is None:
        try:
            text = queries.zone_text(job, row)
        except TransferError as exc:
            obstacle = str(exc)
        else:
            obstacle = (
                ""
                if text is not None
                else gettext("The zone file is too large to edit on this page. Correct the file and import it again.")
            )
    lines = (text or "").splitlines()
    item = [FixableFault(DisplayFault(fault), line_of(fault, lines, row.path)) for fault in faults]
    return FailedZone(row, text, obstacle, item)


def _with_fix(typed: dict[int, str], faults: Mapping[int, Sequence[ImportFault]], fault_id: str) -> dict[int, str]:
    """Return the edited texts, with one error's line replaced by the proposed fix."""
    for pk, of_zone in faults.items():
        for fault in of_zone:
            if str(fault.pk) == fault_id and pk in typed:
                typed[pk] = with_fix(typed[pk], fault)
    return typed


def with_fix(text: str, fault: ImportFault) -> str:
    """Return the text with the error's line replaced by the proposed fix, or unchanged if the line isn't found."""
    lines = text.replace("\r\n", "\n").split("\n")
    number = line_of(fault, lines, fault.path)
    if number and fault.fix:
        lines[number - 1] = fault.fix
    return "\n".join(lines)


def line_of(fault: ImportFault, lines: Sequence[str], path: str) -> int:
    """Return the error's line number (from 1) in these lines, or 0 if it can't be determined.

    The error's own line number can be wrong here, because lines were added or the text was converted from CSV. If that
    line doesn't match, exactly one other line must match.
    """
    source = fault.source.strip()
    if fault.path != path or not source:
        return 0
    found = [number for number, line in enumerate(lines, 1) if _says(line, source)]
    if fault.line in found:
        return fault.line
    return found[0] if len(found) == 1 else 0


def _says(line: str, source: str) -> bool:
    """Return True if `source` is an error's quotation of this line. Errors quote only the beginning of a long line."""
    line = line.strip()
    return line == source or (len(source) >= QUOTED_LENGTH and line.startswith(source))
