"""Views that change many RRsets of a zone at once: the selected RRsets, or all RRsets that match the filter."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from dnspanel.counted_lines import numbered_lines
from dnspanel.database.statement_time import searching_for
from dnspanel.texts import gettext, gettext_lazy, ngettext
from dnspanel.web.editor.ptr import tell_of_left
from dnspanel.web.editor.rows.blocking import blocking_of
from dnspanel.web.editor.table import FILTER_NAMES, filters_of
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.frame.forms import PanelForm, split_list, text_field
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.web.frame.rows import capitalize
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists.selection import MOST_SELECTED, Outcome, Selection, TooMany, outcome_of
from dnspanel.zones.models import Zone
from dnspanel.zones.plan import many_rrsets
from dnspanel.zones.rights import access
from dnspanel.zones.values.readable_texts import readable_text
from replication.dns import names, rdata
from replication.dns.rrset import MAX_TTL, Change, Key, RRset

EXAMPLES = 10
MOST_REFUSED = 20  # refused RRsets in the list
LONGEST_COMMENT = 1_000
LONGEST_VALUES = 20_000
LONGEST_TAGS = 1_000
# The fields of a bulk change, which the confirmation form submits again.
FIELDS = ("act", "ttl", "comment", "find", "replacement", "pattern", "lines", "tags")

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}

_WITH_VALUES = {"values": many_rrsets.set_values, "add": many_rrsets.add_values, "remove": many_rrsets.remove_values}
_FIELD_OF = {"replace": "find", "add-tags": "tags", "remove-tags": "tags"}  # the field that gets the error of a change
_WITH_TAGS = {"add-tags": many_rrsets.add_tags, "remove-tags": many_rrsets.remove_tags}
_PREVIEWED = frozenset({"replace", *_WITH_VALUES})


class ManyForm(PanelForm):
    """The form for a bulk change to RRsets, with the fields for each kind of change."""

    ACTS = (
        ("ttl", gettext_lazy("Set TTL")),
        ("values", gettext_lazy("Replace all values")),
        ("add", gettext_lazy("Add values")),
        ("remove", gettext_lazy("Remove values")),
        ("replace", gettext_lazy("Find and replace")),
        ("comment", gettext_lazy("Comment")),
        ("add-tags", gettext_lazy("Add tags")),
        ("remove-tags", gettext_lazy("Remove tags")),
        ("on", gettext_lazy("Enable")),
        ("off", gettext_lazy("Disable")),
        ("delete", gettext_lazy("Delete")),
    )
    act = forms.ChoiceField(choices=ACTS)
    ttl = text_field(None, 20)
    comment = text_field(None, LONGEST_COMMENT)
    find = forms.CharField(max_length=many_rrsets.LONGEST_TEXT, required=False, strip=False)
    replacement = forms.CharField(max_length=many_rrsets.LONGEST_TEXT, required=False, strip=False)
    pattern = forms.BooleanField(required=False)
    lines = text_field(None, LONGEST_VALUES)
    tags = text_field(None, LONGEST_TAGS)
    preview = forms.BooleanField(required=False)

    @property
    def title(self) -> str:
        """The chosen bulk change's title."""
        return dict(self.ACTS).get(self.data.get("act", ""), gettext("Action"))

    @property
    def sent_fields(self) -> list[tuple[str, str]]:
        """The submitted fields and values, which a confirmation form submits again."""
        return [(name, self.data[name]) for name in FIELDS if name in self.data]

    def clean_ttl(self) -> int | None:
        text = self.cleaned_data["ttl"].strip().lower()
        if self.data.get("act") != "ttl":
            return None
        number, unit = (text[:-1], _UNITS[text[-1]]) if text[-1:] in _UNITS else (text, 1)
        if not (number.isascii() and number.isdigit()) or int(number) * unit > MAX_TTL:
            raise forms.ValidationError(gettext("Enter seconds, or a number with s, m, h, d or w, such as 300 or 1h."))
        return int(number) * unit

    def clean(self) -> None:
        act = self.cleaned_data.get("act")
        try:
            if act == "replace":
                self._replacing()
            elif act in _WITH_VALUES:
                self._with_values(act)
            elif act in _WITH_TAGS:
                self._with_tags(act)
        except ValueError as exc:
            self.add_error(_FIELD_OF.get(str(act), "lines"), f"{capitalize(str(exc))}.")

    def _replacing(self) -> many_rrsets.Act:
        data = self.cleaned_data
        return many_rrsets.replace_text(
            data.get("find", ""), data.get("replacement", ""), is_pattern=bool(data.get("pattern"))
        )

    def _with_values(self, act: str) -> many_rrsets.Act:
        lines = (line.strip() for line in self.cleaned_data.get("lines", "").splitlines())
        return _WITH_VALUES[act](list(filter(None, lines)))

    def _with_tags(self, act: str) -> many_rrsets.Act:
        return _WITH_TAGS[act](split_list(self.cleaned_data.get("tags", "")))

    def chosen_act(self) -> many_rrsets.Act:
        """Return the bulk change that the form requests. The form must be valid."""
        data = self.cleaned_data
        match data["act"]:
            case "ttl":
                return many_rrsets.set_ttl(data["ttl"])
            case "replace":
                return self._replacing()
            case "comment":
                return many_rrsets.set_comment(data["comment"].strip())
            case "delete":
                return many_rrsets.delete
            case act if act in _WITH_VALUES:
                return self._with_values(act)
            case act if act in _WITH_TAGS:
                return self._with_tags(act)
            case act:
                return many_rrsets.switch(on=act == "on")


@dataclass(frozen=True, slots=True)
class Example:
    """One RRset before and after the change."""

    owner: str
    type: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    zone: str


@require_POST
def zone_many(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Add a bulk change to the draft. If it changes values or is refused for some RRsets, show a preview first."""
    zone = access.zone_for_editing(request.user, zone_name)
    form = ManyForm(request.POST)
    selection = selection_of(request, zone)
    if selection is None:
        messages.warning(request, gettext("Nothing was selected, so nothing was changed."))
        return redirect(address_with_filter(request.POST, zone))
    if not form.is_valid():
        return _show(request, zone, form, None, status=422)
    try:
        with searching_for(selection.filters.text if selection.filters else ""):
            outcome = outcome_of(act=form.chosen_act(), selection=selection, zone=zone, author=request.user)
    except TooMany:
        form.add_error(
            None,
            gettext("More than {most_selected:,} records are selected. Use a more specific filter.").format(
                most_selected=MOST_SELECTED
            ),
        )
        return _show(request, zone, form, None, status=422)
    wants_preview = form.cleaned_data["act"] in _PREVIEWED or outcome.refused
    if not outcome.changes or (wants_preview and not form.cleaned_data["preview"]):
        return _show(request, zone, form, outcome, status=200)
    draft.change_rrsets(author=request.user, zone=zone, afters=outcome.afters, now=timezone.now())
    tell_of_left(request, zone, (change.before for change in outcome.changes))
    count = len(outcome.changes)
    say_done(
        request,
        ngettext("{count:,} record changed in your draft.", "{count:,} records changed in your draft.", count),
        count=count,
    )
    return redirect(f"{reverse('zone-detail', args=[zone.name])}?in=draft")


def selection_of(request: PanelRequest, zone: Zone) -> Selection | None:
    """Return the selection in the request, or None if nothing is selected."""
    if request.POST.get("all") and request.POST.get("in") == "warnings":
        return Selection(tuple(blocking_of(request, zone).keys_with_warnings))
    if request.POST.get("all"):
        return Selection(filters=filters_of(request.POST))
    keys = tuple(dict.fromkeys(key for line in ticked_lines(request) if (key := _key(line))))
    return Selection(keys) if keys else None


def ticked_lines(request: PanelRequest) -> Iterator[str]:
    """Yield the lines that identify selected RRsets: at most MOST_SELECTED + 1, so callers can detect an excess."""
    lines = (line for _, line in numbered_lines(request.POST.get("rrs", "")) if line)
    return itertools.islice(itertools.chain(request.POST.getlist("rr"), lines), MOST_SELECTED + 1)


def _key(line: str) -> Key | None:
    """Parse a checkbox value: name and type number. Return None if it is invalid."""
    name, _, type_ = line.strip().rpartition(" ")
    return (name, int(type_)) if name and type_.isascii() and type_.isdigit() and len(type_) < 6 else None


def address_with_filter(parameters: QueryDict, zone: Zone) -> str:
    """Return the URL of the zone's page with the filter that was active during the selection."""
    filters = {name: parameters[name] for name in FILTER_NAMES if parameters.get(name)}
    address = reverse("zone-detail", args=[zone.name])
    return f"{address}?{urlencode(filters)}" if filters else address


def _show(request: PanelRequest, zone: Zone, form: ManyForm, outcome: Outcome | None, *, status: int) -> HttpResponse:
    """Show a preview with examples of the changes and refused records, and a form that keeps the selection."""
    changes = outcome.changes if outcome else []
    refused = outcome.refused if outcome else []
    context = {
        "form": form,
        "act": form.title,
        "count": len(changes),
        "unchanged": outcome.unchanged if outcome else 0,
        "examples": [example_of(zone, change) for change in changes[:EXAMPLES]],
        "refused": refused_rows(zone, refused),
        "more_refused": max(0, len(refused) - MOST_REFUSED),
        "selected": selected_fields(request),
        "kept": form.sent_fields,
        "back": address_with_filter(request.POST, zone),
    }
    return render_zone(request, zone, "records", "editor/many.html", context, status)


def selected_fields(request: PanelRequest) -> list[tuple[str, str]]:
    """Return the form fields with the selection, to repeat them in the next form."""
    return [(name, value) for name in ("rr", "rrs", "all", *FILTER_NAMES) for value in request.POST.getlist(name)]


def refused_rows(zone: Zone, refused: Sequence[many_rrsets.Refused]) -> list[tuple[str, str, str]]:
    """Return owner, type and reason of the first MOST_REFUSED refused RRsets."""
    return [
        (names.owner_text(each.rrset.name, zone.name), _type(each.rrset), each.reason)
        for each in refused[:MOST_REFUSED]
    ]


def example_of(zone: Zone, change: Change) -> Example:
    """Return the change as an example, with the owner name relative to the zone."""
    rrset = change.before or change.after
    assert rrset is not None
    owner = names.owner_text(rrset.name, zone.name)
    return Example(owner, _type(rrset), _lines(change.before), _lines(change.after), zone.name)


def _type(rrset: RRset) -> str:
    return rdata.type_to_text(rrset.type)


def _lines(rrset: RRset | None) -> tuple[str, ...]:
    """Format the RRset as lines: each value with the TTL, then the comment and tags. Disabled values are marked."""
    if rrset is None:
        return ()
    off = set(rrset.disabled)
    lines = [f"{rrset.ttl}  {readable_text(text)}{'  (off)' if text in off else ''}" for text in rrset.rdata]
    if rrset.comment:
        lines.append(f"; {rrset.comment}")
    if rrset.notes.tags:
        lines.append(gettext("tags: {list}").format(list=" ".join(rrset.notes.tags)))
    return tuple(lines)
