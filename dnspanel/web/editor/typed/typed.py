"""The side panel for an RRset: the fields of its type, and its values as text on another tab.

The panel changes only the draft, with the same functions as a row's form. Each request contains all input, so tabs,
types and values can be changed without a script as well.
"""

import json
from dataclasses import dataclass, replace
from typing import Literal

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from dnspanel.texts import gettext, ngettext
from dnspanel.web.editor import rrsets
from dnspanel.web.editor.lines.additions import FALLBACK_TTL, Occupied, add_entry
from dnspanel.web.editor.lines.fields import Unreadable, word_at
from dnspanel.web.editor.lines.quick_add import TXT_TYPES, AmbiguousName, Reading, read_line
from dnspanel.web.editor.lines.rrset_form import RRsetForm, without_comments
from dnspanel.web.editor.ptr import PtrTick, tell_of_left, tick_for, tick_of_row, with_offer
from dnspanel.web.editor.rows.type_filter import TYPE_NAMES
from dnspanel.web.editor.table import LONGEST_LINE, default_ttl, table_rows, violations_of
from dnspanel.web.editor.typed.typed_helpers import COMPUTING, Helper, compute, helper_of
from dnspanel.web.editor.typed.typed_values import TypedValues, typed_values, values_of_lines
from dnspanel.web.editor.zone_head import focus_after, render_zone, with_draft_state
from dnspanel.web.frame.forms import split_list
from dnspanel.web.frame.layout import PanelRequest, is_fragment, say_done
from dnspanel.web.frame.rows import row_id
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access
from dnspanel.zones.rules.violations import Violation
from dnspanel.zones.typed.fields import Layout
from dnspanel.zones.typed.layouts import LAYOUTS
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import RRset
from replication.errors import ReplicationError

TYPED_NAMES = sorted(map(rdata.type_to_text, LAYOUTS))


@dataclass(frozen=True, slots=True)
class Panel:
    """The side panel's contents: the RRset's form, and its values as fields unless they are edited as text."""

    form: RRsetForm
    layout: Layout | None = None
    values: TypedValues | None = None
    rrset: RRset | None = None  # the RRset that the draft would get
    violations: tuple[Violation, ...] = ()
    helper: Helper | None = None
    ptr: PtrTick | None = None  # the checkbox for PTRs of these addresses
    told: Literal["", "typed", "all"] = ""  # the shown errors: none, in typed fields, or also about missing fields

    @property
    def purpose(self) -> str:
        return self.layout.purpose if self.layout else ""

    @property
    def tab(self) -> str:
        return "fields" if self.values is not None else "raw"

    @property
    def type(self) -> str:
        return str(self.form["type"].value() or "").strip().upper()

    @property
    def owner(self) -> str:
        """The owner name, as typed."""
        return str(self.form["name"].value() or "")

    @property
    def is_new(self) -> bool:
        return not self.form["old_name"].value()

    @property
    def title(self) -> str:
        return gettext("New record") if self.is_new else f"{self.owner} {self.type}"

    @property
    def is_soa(self) -> bool:
        return self.layout is not None and self.layout.type == rdtypes.SOA

    @property
    def is_text(self) -> bool:
        return self.layout is not None and self.layout.type in TXT_TYPES

    @property
    def results(self) -> list[tuple[str, str]]:
        """The rdata that saving adds to the draft, each with a remark: a TXT's length and strings, or ""."""
        if self.rrset is None:
            return []
        return [(each, _sizes(self.rrset.type, each) if self.is_text else "") for each in self.rrset.rdata]

    @property
    def typed_names(self) -> list[str]:
        return TYPED_NAMES

    @property
    def other_names(self) -> list[str]:
        """The current type, if it has no fields."""
        return [self.type] if self.type and self.type not in TYPED_NAMES else []

    @property
    def name_fault(self) -> str:
        return self._fault("name")

    @property
    def type_fault(self) -> str:
        return self._fault("type")

    @property
    def ttl_fault(self) -> str:
        return self._fault("ttl")

    @property
    def values_fault(self) -> str:
        """The error about the values that doesn't belong to a single field, or ""."""
        if self.values is not None and not (self.values.is_valid and self.told == "all"):
            return ""
        return "" if self.form.question else self._fault("values")

    def _fault(self, field: str) -> str:
        if not self.told or (self.told == "typed" and not self.form[field].value()):
            return ""
        return " ".join(map(str, self.form[field].errors))

    @property
    def lines(self) -> int:
        text = str(self.form["values"].value() or "")
        return min(max(text.count("\n") + 2 + len(text) // 60, 4), 16)


@require_http_methods(["GET", "HEAD", "POST"])
def zone_typed(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the fields of an existing or a new RRset. A POST checks, changes, computes or saves the input."""
    zone = access.zone_for_editing(request.user, zone_name)
    if request.method != "POST":
        return _show(request, zone, _open_panel(request, zone))
    panel = _panel_as_sent(request, zone)
    act = request.GET.get("act") or request.POST.get("act", "")
    if act == "check":
        return _show_checks(request, zone, _check_panel(request, zone, panel))
    # If the helper's field is filled in, Enter uses that field, so that Enter doesn't save an incomplete record.
    act = act or (panel.helper.pending if panel.helper else "")
    if act in ("", "save"):
        return _save(request, zone, panel)
    if act in COMPUTING and panel.helper is not None and panel.values is not None:
        values, helper = compute(request, zone, panel.owner, panel.values, panel.helper, act)
        return _show(request, zone, replace(panel, values=values, helper=helper))
    return _show(request, zone, _apply_act(zone, panel, act))


def _sizes(type: int, text: str) -> str:
    wire = rdata.to_wire(type, text)
    sizes, at = [], 0
    while at < len(wire):
        sizes.append(wire[at])
        at += 1 + wire[at]
    total = ngettext("{sizes} byte", "{sizes} bytes", sum(sizes)).format(sizes=sum(sizes))
    return (
        f"{total}."
        if len(sizes) == 1
        else gettext("{total}, split into strings of {list} bytes.").format(
            total=total, list=", ".join(map(str, sizes))
        )
    )


# Opening


def _open_panel(request: PanelRequest, zone: Zone) -> Panel:
    """Return the panel for the RRset in the URL, for a quick-add line, or for a new RRset (MX by default)."""
    initial: dict[str, object] = {"base_revision": zone.revision}
    line = request.GET.get("line", "")[:LONGEST_LINE].strip()
    key = rrsets.rrset_of_request(request, zone)
    row = rrsets.row_of(request, zone, key) if key else None
    display = (row.change.after or row.change.before) if row else None
    if display is not None:
        initial = RRsetForm.initial_for(zone.name, display, base_revision=zone.revision, in_lines=False)
    elif line:
        initial |= _initial_of_line(request, zone, line)
    else:
        initial |= {"name": request.GET.get("name", ""), "type": request.GET.get("type", "MX").upper()[:20]}
    form = RRsetForm(initial=initial, zone_name=zone.name, default_ttl=default_ttl(request, zone))
    return _in_fields(zone, form, str(initial.get("values", "")))


def _initial_of_line(request: PanelRequest, zone: Zone, line: str) -> dict[str, object]:
    """Return the form's initial values from a quick-add line, even if the line is incomplete.

    If the RRset exists, return its values plus the line's value.
    """
    try:
        entry = read_line(line, zone.name)
        current = rrsets.row_of(request, zone, (entry.name, entry.type)).change.after
        addition = add_entry(entry, current, entry.ttl or FALLBACK_TTL)
    except (Unreadable, AmbiguousName, Occupied, ReplicationError):
        return _guess_of_line(line)
    if current is None:
        key = {"name": names.owner_text(entry.name, zone.name), "type": rdata.type_to_text(entry.type)}
        return {**key, "ttl": entry.ttl or "", "values": entry.rdata, "comment": entry.comment}
    before = RRsetForm.initial_for(zone.name, current, base_revision=zone.revision, in_lines=False)
    after = RRsetForm.initial_for(zone.name, addition.rrset, base_revision=zone.revision, in_lines=False)
    return before | {name: after[name] for name in ("ttl", "values", "comment")}


def _guess_of_line(line: str) -> dict[str, object]:
    """Return initial values from an incomplete line: name, type (by default MX), and the text after the type."""
    name, position = word_at(line, 0) or (None, 0)
    at = position
    while word := word_at(line, at):
        at = word[1]
        if word[0].text.upper() in TYPE_NAMES:
            return {"name": name.text if name else "", "type": word[0].text.upper(), "values": line[at:].strip()}
    return {"name": name.text if name else "", "type": "MX"}


def _in_fields(zone: Zone, form: RRsetForm, text: str) -> Panel:
    """Return the panel with the text split into fields, or with the text itself if it doesn't fit the fields."""
    layout = _layout_of(form)
    if layout is None:
        return Panel(form)
    try:
        values = values_of_lines(layout, text, zone.name)
        return Panel(form, layout, values, helper=helper_of(layout, zone, str(form["name"].value() or ""), {}))
    except (Unreadable, AmbiguousName):
        return Panel(form, layout)


def _layout_of(form: RRsetForm) -> Layout | None:
    try:
        return LAYOUTS.get(rdata.type_from_text(str(form["type"].value() or "")))
    except ReplicationError:
        return None


# Reading the submitted input


def _panel_as_sent(request: PanelRequest, zone: Zone) -> Panel:
    """Return the panel with all input from the request, valid or not."""
    typed = request.POST.copy()
    if "tags" in typed:  # input from a row's form, whose lines can have comments, which the panel stores as notes
        type_ = _type_number(typed.get("type", ""))
        typed["values"], remarks = without_comments(typed.get("values", ""), type_, zone.name)
        typed["notes"] = json.dumps({"tags": split_list(str(typed["tags"])), "value_comments": remarks})
        del typed["tags"]
    before = LAYOUTS.get(_type_number(typed.get("fields_of", "")))
    values = typed_values(before, dict(typed.items())) if before is not None and typed.get("tab") == "fields" else None
    form = _form(request, zone, typed)
    layout = _layout_of(form)
    if values is None:
        return Panel(form, layout)
    if layout is None:
        typed["values"] = values.lines(zone.name)
        return Panel(_form(request, zone, typed))
    values = values.as_type(layout)
    typed["values"] = values.lines(zone.name)
    helper = helper_of(layout, zone, typed.get("name", ""), dict(typed.items()))
    return Panel(_form(request, zone, typed), layout, values, helper=helper)


def _form(request: PanelRequest, zone: Zone, typed: QueryDict) -> RRsetForm:
    form = RRsetForm(typed, zone_name=zone.name, default_ttl=FALLBACK_TTL)
    if not typed.get("ttl", "").strip():
        form.default_ttl = default_ttl(request, zone)
    return form


def _type_number(text: str) -> int:
    try:
        return rdata.type_from_text(text)
    except ReplicationError:
        return 0


def _apply_act(zone: Zone, panel: Panel, act: str) -> Panel:
    """Return the panel after a click that switches tabs, adds a value, or removes a value."""
    verb, _, number = act.partition("-")
    if act == "raw":
        return replace(panel, values=None)
    if act == "fields" and panel.values is None and panel.layout is not None:
        return _into_fields(zone, panel, panel.layout)
    if panel.values is None:
        return panel
    if act == "add" and panel.values.may_have_more:
        return replace(panel, values=panel.values.with_blank())
    if verb == "remove" and number.isdigit() and len(number) < 4:
        return replace(panel, values=panel.values.without(int(number)))
    return panel


def _into_fields(zone: Zone, panel: Panel, layout: Layout) -> Panel:
    means = str(panel.form["means"].value() or "")
    try:
        text = str(panel.form["values"].value() or "")
        values = values_of_lines(layout, text, zone.name, means=Reading(means) if means in set(Reading) else None)
        return replace(panel, values=values, helper=helper_of(layout, zone, panel.owner, {}))
    except Unreadable as exc:
        panel.form.full_clean()
        panel.form.errors.pop("values", None)
        panel.form.add_error("values", exc.message)
        return replace(panel, told="typed")
    except AmbiguousName as exc:
        panel.form.full_clean()
        panel.form.question = exc
    return panel


def _check_panel(request: PanelRequest, zone: Zone, panel: Panel) -> Panel:
    """Return the panel with the errors in its input, or with the RRset that saving adds and its violations."""
    values = panel.values.check_fields(zone.name) if panel.values is not None else None
    is_valid = panel.form.is_valid() and panel.form.rrset is not None and (values is None or values.is_valid)
    found = replace(panel, values=values.without_missing() if values is not None else None, told="typed")
    if not is_valid or panel.form.rrset is None:
        return found
    violations = violations_of(request, zone, panel.form.rrset)
    return replace(found, rrset=panel.form.rrset, violations=violations, ptr=tick_for(request, panel.form.rrset))


# Saving


def _save(request: PanelRequest, zone: Zone, panel: Panel) -> HttpResponse:
    """Add the RRset to the draft. If a field is invalid or the RRset is refused, show the panel again."""
    panel = replace(panel, told="all")
    if panel.values is not None:
        panel = replace(panel, values=panel.values.check_fields(zone.name))
        if panel.values is not None and not panel.values.is_valid:
            panel.form.full_clean()
            return _show(request, zone, panel, status=422)
    before = rrsets.rrsets_before(request, zone, panel.form)
    if not rrsets.put_into_draft(request, zone, panel.form):
        return _show(request, zone, panel, status=422)
    rrset, replaces = panel.form.rrset, panel.form.replaces
    assert rrset is not None
    key, message = (rrset.name, rrset.type), rrsets.drafted_message(request, zone, rrset, before)
    if not is_fragment(request):
        tell_of_left(request, zone, before)
        say_done(request, f"{message}.")
        to = rrsets.way_back(zone, request.POST.get("from", ""))
        return redirect(to) if to else rrsets.back_to_row(zone, key)
    response = HttpResponse('<div id="typed-panel"></div>')
    rows = [key]
    if replaces not in (None, key):
        assert replaces is not None
        if rrsets.row_of(request, zone, replaces).change.before is not None:
            rows.append(replaces)
        else:  # only the draft had that RRset
            response.write(f'<table hx-swap-oob="delete:#{row_id(*replaces)}"></table>')
    response.write(table_rows(request, zone, rows))
    with_offer(request, zone, response, before)
    focus_after(response, f"#{row_id(*key)} .row-link")
    return with_draft_state(request, zone, response, speak=message)


# Showing


def _context(request: PanelRequest, zone: Zone, panel: Panel) -> dict[str, object]:
    came_from = (request.POST if request.method == "POST" else request.GET).get("from", "")
    back = rrsets.way_back(zone, came_from) or f"{reverse('zone-detail', args=[zone.name])}#{panel.form.row_id}"
    return {
        "panel": panel,
        "form": panel.form,
        "ptr": _tick(request, zone, panel),
        "in_place": is_fragment(request),
        "came_from": came_from,
        "back": back,
    }


def _tick(request: PanelRequest, zone: Zone, panel: Panel) -> PtrTick | None:
    key = rrsets.rrset_of_request(request, zone)
    current = rrsets.row_of(request, zone, key).change.after if key and panel.type in ("A", "AAAA") else None
    return tick_of_row(request, panel.type, current)


def _show(request: PanelRequest, zone: Zone, panel: Panel, status: int = 200) -> HttpResponse:
    context = _context(request, zone, panel)
    if not is_fragment(request):
        return render_zone(request, zone, "records", "editor/typed.html", context, status)
    response = render(request, "editor/_typed.html", {"zone": zone, **context}, status=status)
    if status != 200:
        return focus_after(response, "#typed-side [aria-invalid=true], #typed-side .choice")
    return focus_after(response, f"#typed-side {_first_field(request, panel)}")


def _first_field(request: PanelRequest, panel: Panel) -> str:
    """Return the CSS selector of the field that has the focus when the panel opens."""
    if panel.helper is not None and panel.helper.fault:
        return ":is([name=help-certificate], [name=help-keys], [value=hints])"
    if request.GET.get("act") == "type":  # arrow keys select other types on the way to the intended one
        return "#typed-type"
    if panel.is_new and not panel.owner:
        return "#typed-name"
    return ":is(.typed-fields :is(input, select, textarea), #typed-values)"


def _show_checks(request: PanelRequest, zone: Zone, panel: Panel) -> HttpResponse:
    return render(request, "editor/_typed_checks.html", {"zone": zone, **_context(request, zone, panel)})
