"""The paste panel, which accepts many lines or table rows at once and shows the effect or error of each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.counted_lines import TooManyLines
from dnspanel.texts import gettext, ngettext
from dnspanel.transfer.sources.columns import CsvMapping
from dnspanel.web.editor.lines.additions import Addition, Occupied, about_the_ttl, add_entries
from dnspanel.web.editor.lines.pasted_table import mapping_of, read_table
from dnspanel.web.editor.lines.quick_add import PastedLine, Reading, read_lines
from dnspanel.web.editor.ptr import PtrTick, is_ticked, summary_of, tick_for_many
from dnspanel.web.editor.table import default_ttl
from dnspanel.web.editor.zone_head import focus_after, render_zone
from dnspanel.web.frame.layout import PanelRequest, is_fragment, open_page, say_done
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import pointers
from dnspanel.zones.rights import access
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import make
from replication.errors import ReplicationError

LONGEST_PASTE = 2_000_000
# The panel's names for the columns of a table.
TITLES = {
    "zone": "zone",
    "name": "name",
    "rdclass": "class",
    "type": "type",
    "ttl": "TTL",
    "priority": "priority",
    "value": "value",
    "disabled": "disabled",
    "comment": "comment",
}


@dataclass(frozen=True, slots=True)
class CheckedLine:
    """A pasted line, as shown in the paste panel."""

    line: PastedLine
    error: str
    note: str
    ticked: bool

    @property
    def usable(self) -> bool:
        return self.line.entry is not None and not self.error

    @property
    def name(self) -> str:
        return names.display(self.line.entry.name) if self.line.entry else ""

    @property
    def type(self) -> str:
        return rdata.type_to_text(self.line.entry.type) if self.line.entry else ""


@dataclass(frozen=True, slots=True)
class Paste:
    """A pasted text, as shown in the paste panel. `error` is set if the text is too long."""

    text: str = ""
    lines: Sequence[CheckedLine] = ()
    means: str = ""
    mapping: CsvMapping | None = None
    error: str = ""


@require_http_methods(["GET", "HEAD", "POST"])
def zone_paste(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show an empty paste panel. A POST checks the pasted text, and `act=add` adds chosen valid lines to the draft."""
    zone = access.zone_for_editing(request.user, zone_name)
    if request.method != "POST":
        return _show(request, zone, Paste())
    text = request.POST.get("text", "")
    means = request.POST.get("means", "")
    if len(text) > LONGEST_PASTE:
        error = gettext(
            "The text has {text:,} characters. You can paste at most {longest_paste:,} characters at a time."
        ).format(text=len(text), longest_paste=LONGEST_PASTE)
        return _show(request, zone, Paste(error=error), status=422)
    mapping = mapping_of(text, zone.name)
    try:
        lines = _read(text, zone, means, mapping)
    except TooManyLines as exc:
        error = gettext("The text has {lines:,} lines. You can paste at most {most_lines:,} lines at a time.").format(
            lines=exc.count, most_lines=exc.most
        )
        return _show(request, zone, Paste(text, error=error), status=422)
    ticked = set(request.POST.getlist("line")) if "checked" in request.POST else None
    chosen = [line for line in lines if line.entry and (ticked is None or str(line.number) in ticked)]
    additions, refused, notes = _additions(request, zone, chosen)
    if request.POST.get("act") == "add" and additions:
        return _add(request, zone, additions, added=len(chosen) - len(refused), of=len(lines))
    checked = [
        CheckedLine(
            line,
            refused.get(line.number, line.error),
            notes.get(line.number, ""),
            ticked is None or str(line.number) in ticked,
        )
        for line in lines
    ]
    return _show(request, zone, Paste(text, checked, means, mapping))


def _read(text: str, zone: Zone, means: str, mapping: CsvMapping | None) -> list[PastedLine]:
    """Parse a table, or lines in zone file syntax. Raise TooManyLines before parsing if there are too many lines."""
    if mapping:
        return read_table(text, zone.name, mapping)
    return read_lines(text, zone.name, means=Reading(means) if means in set(Reading) else None)


def _additions(
    request: PanelRequest, zone: Zone, lines: Iterable[PastedLine]
) -> tuple[list[Addition], dict[int, str], dict[int, str]]:
    """Return the resulting RRsets, the errors of refused lines, and notes on other lines (both by line number)."""
    by_rrset: dict[tuple[str, int], list[PastedLine]] = {}
    refused: dict[int, str] = {}
    notes: dict[int, str] = {}
    for line in lines:
        assert line.entry is not None
        if line.entry.type == rdtypes.SOA:
            refused[line.number] = gettext("The SOA cannot be pasted. Edit the SOA row instead.")
            continue
        by_rrset.setdefault((line.entry.name, line.entry.type), []).append(line)
    ttl = default_ttl(request, zone)
    additions = []
    for (name, type_), members in by_rrset.items():
        now = rrset_pages.rrset_row(zone=zone, author=request.user, name=name, type=type_).change.after
        try:
            addition = add_entries([line.entry for line in members if line.entry], now, ttl)
            additions.append(addition)
            if now is not None and now.ttl != addition.rrset.ttl:
                notes[members[-1].number] = about_the_ttl(now, addition.rrset)
        except Occupied as exc:
            refused |= {line.number: exc.message for line in members}
        except ReplicationError as exc:
            refused |= {line.number: str(exc) for line in members}
    return additions, refused, notes


def _add(request: PanelRequest, zone: Zone, additions: list[Addition], *, added: int, of: int) -> HttpResponse:
    now = timezone.now()
    for addition in additions:
        if not addition.changes_nothing:
            draft.replace_rrset(author=request.user, zone=zone, rrset=addition.rrset, now=now)
    message = ngettext("{added} of {of} line added to draft", "{added} of {of} lines added to draft", of).format(
        added=added, of=of
    )
    if is_ticked(request):
        drafted = pointers.bring_in_step(
            author=request.user, pairs=pointers.pairs_of(*(each.rrset for each in additions)), now=now
        )
        message = "; ".join(filter(None, (message, summary_of(drafted))))
    say_done(request, f"{message}.")
    to = f"{reverse('zone-detail', args=[zone.name])}?in=draft"
    return open_page(request, to)


def _columns(mapping: CsvMapping) -> list[str]:
    """Return the titles of the recognized columns, in the table's order."""
    found = {field: getattr(mapping, field) for field in TITLES}
    return [TITLES[field] for field in sorted(TITLES, key=lambda each: found[each] or 0) if found[field] is not None]


def _tick(request: PanelRequest, lines: Sequence[CheckedLine]) -> PtrTick | None:
    """Return the checkbox "PTR too" with a preview for the first addresses, or None if no line has an address."""
    found = [line.line.entry for line in lines if line.usable and line.ticked and line.line.entry]
    rrsets = {
        (entry.name, entry.type, entry.rdata): make(entry.name, entry.type, 0, [entry.rdata])
        for entry in found
        if entry.type in pointers.ADDRESS_TYPES
    }
    return tick_for_many(request, list(rrsets.values())) if rrsets else None


def _show(request: PanelRequest, zone: Zone, paste: Paste, *, status: int = 200) -> HttpResponse:
    lines, mapping = paste.lines, paste.mapping
    context = {
        "text": paste.text,
        "lines": lines,
        "means": paste.means,
        "error": paste.error,
        "is_too_much": bool(paste.error),
        "columns": _columns(mapping) if mapping and lines else (),
        "usable": sum(line.usable and line.ticked for line in lines),
        "faulty": sum(not line.usable for line in lines),
        "ptr": _tick(request, lines),
        "doubled": bool(paste.means) or any(line.line.doubled for line in lines),
    }
    if not is_fragment(request):
        return render_zone(request, zone, "records", "editor/paste.html", context, status)
    response = render(request, "editor/_paste.html", {"zone": zone, **context}, status=status)
    return focus_after(response, "#paste-add, #paste-text")
