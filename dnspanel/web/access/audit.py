"""Views of the audit log: the list of actions, one action, file exports, and the check of the hash chain."""

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from io import TextIOWrapper
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission, can
from dnspanel.database.statement_time import searching_for
from dnspanel.downloads import file_response
from dnspanel.texts import gettext, gettext_lazy, ngettext
from dnspanel.transfer.exports.csv_export import harmless_cell
from dnspanel.web.frame.forms import LONGEST_SEARCH, id_in
from dnspanel.web.frame.layout import PanelRequest, actor_for, say, say_done
from dnspanel.web.frame.row_diffs import DisplayDiff
from dnspanel.zones.audit import audit_links, audit_trail
from dnspanel.zones.audit.audit_chain import PUBLICATION
from dnspanel.zones.log.history import diff
from dnspanel.zones.models import AuditChain, AuditLink
from dnspanel.zones.search.terms import split_search, unknown_filters
from dnspanel.zones.store.stored_changes import change_of

MOST_ENTRIES = 100
MOST_EXPORTED = 100_000
MOST_CHANGES = 50
# A larger temporary file is written to disk.
_MOST_IN_MEMORY = 1 << 20
FILTERS = ("who", "action", "from", "session")
# The most common searches.
CHIPS = (
    (gettext_lazy("Failed sign-ins"), "action:sign-in.failed"),
    ("Sign-ins", "sign-in"),
    (gettext_lazy("Publications"), "action:publish"),
    (gettext_lazy("Tokens"), "action:token."),
    (gettext_lazy("People"), "action:person."),
    (gettext_lazy("Teams"), "action:team."),
    (gettext_lazy("Grants"), "action:grant."),
    (gettext_lazy("Nodes"), "action:node."),
    (gettext_lazy("Webhooks"), "action:webhook."),
    (gettext_lazy("Secondaries"), "action:secondary."),
)


@dataclass(frozen=True, slots=True)
class DisplayAct:
    """An action in the audit log, with its changes as (name, before, after) and its other details as (name, text)."""

    act: audit_trail.Act
    changes: tuple[tuple[str, str, str], ...]
    details: tuple[tuple[str, str], ...]


@require_safe
def audit_log(request: PanelRequest) -> HttpResponse:
    """List the audit log's matching actions, newest first, or only the user's own without the permission `audit`."""
    actor, search = actor_for(request), _search(request)
    with searching_for(search):
        acts, next_place = audit_trail.acts_page(
            actor, filters=filters_of(search), after=_place(request), limit=MOST_ENTRIES
        )
    context = {
        "acts": [_display(act) for act in acts],
        "next_after": _cursor(next_place) if next_place else "",
        "search": search,
        "filters": FILTERS,
        "unknown_filters": unknown_filters(search, FILTERS),
        "chips": CHIPS,
        "sees_all": can(actor, Permission.AUDIT),
        "chain": AuditChain.objects.filter(pk=1).first(),
        "head": AuditLink.objects.order_by("-number").first(),
    }
    target = request.htmx.target if request.htmx else None
    if target == "audit-more":
        return render(request, "access/_audit_rows.html", context)
    if target == "audit-list":
        found = ngettext("{acts} entry found", "{acts} entries found", len(acts))
        found = (gettext("At least {acts} entries found") if next_place else found).format(acts=len(acts))
        return say(render(request, "access/_audit_list.html", context), speak=found)
    return render(request, "access/audit.html", context)


@require_safe
def audit_act(request: PanelRequest, kind: str, id: int) -> HttpResponse:
    """Show one action in the audit log: its author, time, origin and changes, and its link in the hash chain."""
    actor = actor_for(request)
    act = audit_trail.act_of(actor, kind=kind, id=id)
    if act is None:
        raise Http404
    changes = audit_trail.rrset_changes(actor, act.id, MOST_CHANGES + 1) if act.kind == PUBLICATION else []
    context = {
        "act": act,
        "display": _display(act),
        "diffs": [DisplayDiff(row.revision.zone.name, diff(change_of(row))) for row in changes[:MOST_CHANGES]],
        "has_more": len(changes) > MOST_CHANGES,
    }
    return render(request, "access/audit_act.html", context)


@require_safe
def audit_export(request: PanelRequest, file_format: str) -> HttpResponseBase:
    """Download the actions that match the search as CSV or JSON, newest first, at most MOST_EXPORTED."""
    if file_format not in _WRITERS:
        raise Http404
    write, content_type = _WRITERS[file_format]
    acts = audit_trail.all_acts(actor_for(request), filters=filters_of(_search(request)), most=MOST_EXPORTED)
    spooled = SpooledTemporaryFile(_MOST_IN_MEMORY)  # noqa: SIM115  (the answer closes it)
    text = TextIOWrapper(cast(BinaryIO, spooled), "utf-8", "surrogateescape", newline="", write_through=True)
    write(text, acts)
    text.detach()
    size = spooled.tell()
    name = f"audit-{timezone.now():%Y-%m-%d}.{file_format}"
    return file_response(request, cast(BinaryIO, spooled), size=size, name=name, content_type=content_type)


@require_POST
def audit_check(request: PanelRequest) -> HttpResponse:
    """Request a check of the whole hash chain."""
    audit_links.ask_for_check(by=request.user, now=timezone.now())
    say_done(request, gettext("Checking the chain. The result will be shown on this page."))
    return redirect("audit-log")


def _search(request: PanelRequest) -> str:
    return request.GET.get("q", "").strip()[:LONGEST_SEARCH]


def filters_of(search: str) -> audit_trail.Filters:
    """Parse a search into filters, such as `who:`. Other words match the action, target, author, reason or details."""
    named: dict[str, str] = {}
    texts = []
    for word in split_search(search.replace("\0", " ")):
        key, colon, value = word.partition(":")
        if colon and key.lower() in FILTERS:
            named[key.lower()] = value.strip('"')
        else:
            texts.append(word.strip('"'))
    action = named.get("action", "").lower()
    return audit_trail.Filters(
        action=action,
        user=named.get("who", ""),
        texts=tuple(texts),
        address=named.get("from", ""),
        session=named.get("session", "").lower(),
    )


def _place(request: PanelRequest) -> audit_trail.Place:
    """Return the cursor from the request. An invalid cursor means the first page."""
    entry, _, publication = request.GET.get("after", "").partition("-")
    return audit_trail.Place(id_in(entry), id_in(publication))


def _cursor(place: audit_trail.Place) -> str:
    return f"{'' if place.entry is None else place.entry}-{'' if place.publication is None else place.publication}"


def _display(act: audit_trail.Act) -> DisplayAct:
    """Return an action for display, without empty details."""
    changes = [(value.name, _text(value.before), _text(value.after)) for value in act.changes]
    details = [(name, _text(value)) for name, value in act.other_details.items()]
    return DisplayAct(act, tuple(changes), tuple((name, text) for name, text in details if text))


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    if isinstance(value, dict):
        return "; ".join(f"{name} {text}" for name, one in value.items() if (text := _text(one)))
    return "" if value is None or value is False else gettext("yes") if value is True else str(value)


def _write_csv(file: TextIOWrapper, acts: Iterable[audit_trail.Act]) -> None:
    table = csv.writer(file)
    table.writerow(audit_trail.COLUMNS)
    for act in acts:
        # Details are JSON in the table too.
        row = audit_trail.row_of(act) | {"details": json.dumps(act.details, ensure_ascii=False, sort_keys=True)}
        # Targets and reasons can contain text from other people.
        table.writerow(map(harmless_cell, row.values()))


def _write_json(file: TextIOWrapper, acts: Iterable[audit_trail.Act]) -> None:
    """Write the actions as one JSON array, one action at a time."""
    separator = "[\n"
    for act in acts:
        file.write(separator + json.dumps(audit_trail.document_of(act), ensure_ascii=False, sort_keys=True))
        separator = ",\n"
    file.write("\n]\n" if separator == ",\n" else "[]\n")


_WRITERS: Mapping[str, tuple[Callable[[TextIOWrapper, Iterable[audit_trail.Act]], None], str]] = {
    "csv": (_write_csv, "text/csv; charset=utf-8"),
    "json": (_write_json, "application/json"),
}
