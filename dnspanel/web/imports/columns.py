"""View that lets the user assign a meaning to each column of a CSV import, with sample rows."""

from collections import Counter
from dataclasses import asdict
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.texts import gettext, gettext_lazy
from dnspanel.transfer.errors import SourceRefused, WrongState
from dnspanel.transfer.files import upload
from dnspanel.transfer.imports import import_jobs, queries
from dnspanel.transfer.models import ImportJob, SourceKind, State
from dnspanel.transfer.sources import csv_table
from dnspanel.transfer.sources.columns import FIELDS, CsvMapping
from dnspanel.web.frame.forms import PanelForm, mono_field, switch_field
from dnspanel.web.frame.layout import PanelRequest, reporting
from dnspanel.web.imports.source_forms import MOST_NAMED_ZONES, name_or_nothing, names_by_line
from dnspanel.web.imports.steps import badge_of, steps_of

MOST_COLUMNS = 60
_COLUMN_LABELS = {
    "zone": "zone",
    "name": "name",
    "type": "type",
    "ttl": "TTL",
    "value": "value",
    "priority": "priority",
    "disabled": "disabled",
    "comment": "comment",
    "value_comment": gettext_lazy("value comment"),
    "tags": "tags",
    "rdclass": "class",
}
_DELIMITER_LABELS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_MEANINGS = [("", gettext_lazy("Not used")), *((field, _COLUMN_LABELS[field]) for field in FIELDS)]


class ColumnsForm(PanelForm):
    """The form for each column's meaning (`column-N`), and for the zones if no column names the zone."""

    fixed_zone = mono_field(
        gettext_lazy("Zone for all rows"),
        1100,
        gettext_lazy("For a table without a zone column. Names are relative to this zone."),
    )
    zones = mono_field(
        gettext_lazy("Multiple zones"),
        300 * MOST_NAMED_ZONES,
        gettext_lazy("For a table with full names. Enter one zone per line."),
        rows=3,
    )
    header = switch_field(gettext_lazy("First row is a header"))

    def __init__(self, *args: Any, sample: csv_table.CsvSample, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sample = sample
        width = max(map(len, [sample.header, *sample.rows]), default=0)
        self.width = min(width, MOST_COLUMNS)
        for number in range(self.width):
            self.fields[f"column-{number}"] = forms.ChoiceField(
                choices=_MEANINGS,
                required=False,
                label=gettext("Meaning of column {value}").format(value=number + 1),
                initial=next((field for field in FIELDS if getattr(sample.mapping, field) == number), ""),
                widget=forms.Select(attrs={"class": "select"}),
            )

    @property
    def columns(self) -> list[forms.BoundField]:
        return [self[f"column-{number}"] for number in range(self.width)]

    @property
    def used_columns(self) -> list[bool]:
        """True for each column that has a meaning, False for the others."""
        return [bool(column.value()) for column in self.columns]

    def clean_fixed_zone(self) -> str:
        return name_or_nothing(self.cleaned_data["fixed_zone"])

    def clean_zones(self) -> list[str]:
        return names_by_line(self.cleaned_data["zones"])

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = self.cleaned_data
        used = Counter(cleaned.get(f"column-{number}") or "" for number in range(self.width))
        for field in FIELDS:
            if used[field] > 1:
                self.refuse(
                    None, gettext("Only one column can be assigned to {field}.").format(field=_COLUMN_LABELS[field])
                )
        if self.errors:
            return cleaned
        missing = [_COLUMN_LABELS[field] for field in self.mapping.missing]
        if missing == [_COLUMN_LABELS["zone"]]:
            self.refuse("fixed_zone", gettext("Assign the zone column, or enter a zone here."))
        elif missing:
            self.refuse(None, gettext("Assign a column for: {list}.").format(list=", ".join(missing)))
        return cleaned

    @property
    def mapping(self) -> CsvMapping:
        found = {self.cleaned_data[f"column-{number}"]: number for number in range(self.width)}
        found.pop("", None)
        return CsvMapping(
            **found,
            fixed_zone=self.cleaned_data["fixed_zone"],
            zones=self.cleaned_data["zones"],
            delimiter=self.sample.delimiter,
            header=self.cleaned_data["header"],
        )


@require_http_methods(["GET", "HEAD", "POST"])
def import_columns(request: PanelRequest, job_id: int) -> HttpResponse:
    """Show a CSV upload's first rows with guessed column meanings. A POST saves the meanings and starts the scan."""
    job = queries.job_for(request.user, job_id)
    files = upload.uploaded_files(job)
    if job.source != SourceKind.CSV or job.state != State.UPLOADING or len(files) != 1:
        if len(files) > 1:
            messages.error(
                request,
                gettext(
                    "A CSV import reads one file, but {files} files were uploaded. Cancel the import and upload one "
                    "file."
                ).format(files=len(files)),
            )
        return redirect("import-detail", job.pk)
    try:
        sample = csv_table.sample(files[0].path)
    except SourceRefused as exc:
        messages.error(request, str(exc))
        return redirect("import-detail", job.pk)
    form = ColumnsForm(request.POST or None, sample=sample, initial={"header": sample.mapping.header})
    if form.is_valid():
        return _start(request, job, form.mapping)
    head = {"job": job, "badge": badge_of(job), "steps": steps_of(job), "may_cancel": True}
    context = head | {
        "form": form,
        "file": files[0],
        "rows": [_cells(row, form.used_columns) for row in sample.rows],
        "header": _cells(sample.header, form.used_columns) if sample.header else [],
        "delimiter": _DELIMITER_LABELS.get(sample.delimiter, sample.delimiter),
    }
    return render(request, "imports/columns.html", context, status=422 if form.is_bound else 200)


def _start(request: PanelRequest, job: ImportJob, mapping: CsvMapping) -> HttpResponse:
    now = timezone.now()
    with reporting(request, WrongState, level=messages.WARNING):
        import_jobs.set_parameters(job=job, parameters={**job.parameters, "mapping": asdict(mapping)}, now=now)
        import_jobs.start_scan(job=job, now=now)
    return redirect("import-detail", job.pk)


def _cells(row: list[str], mapped: list[bool]) -> list[tuple[str, bool]]:
    """Return (cell, whether the column is used) for each column of the table. Missing cells are empty."""
    return [(row[number] if number < len(row) else "", used) for number, used in enumerate(mapped)]
