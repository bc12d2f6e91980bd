"""Views for a hold on publishing. They show publications that exist only on nodes, and save the decision about them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission, can
from dnspanel.fleet.errors import WrongDecision
from dnspanel.fleet.integrity import unknown_history
from dnspanel.fleet.models import AheadReport, AheadRRset, AheadZone, Choice
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.frame.forms import DecisionForm
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.web.frame.row_diffs import DisplayDiff
from dnspanel.zones.log.history import diff
from dnspanel.zones.log.publish_hold import current_hold
from dnspanel.zones.models import TRASH_DAYS, Epoch
from dnspanel.zones.rights import access
from replication.dns.rrset import Change, RRset

ZONES_PER_PAGE = 100
RRSETS_PER_PAGE = 100

_KINDS = {
    "": gettext_lazy("All"),
    "nodes": gettext_lazy("Only on nodes"),
    "panel": gettext_lazy("Only in the panel"),
    "differs": gettext_lazy("Different"),
    "breaks": gettext_lazy("Breaks validation"),
}
_AFTER = {
    Choice.TAKE_OVER.value: gettext_lazy("After import from nodes"),
    Choice.KEEP.value: gettext_lazy("After keeping the panel’s content"),
}


@dataclass(frozen=True, slots=True)
class Mark:
    """The CSS classes, icon and text that show where a zone exists."""

    row_class: str
    tone: str
    icon: str
    text: str


_MARKS = {
    "nodes": Mark("is-add", "ok", "plus", gettext_lazy("only on nodes")),
    "panel": Mark("is-delete", "bad", "minus", gettext_lazy("only in the panel")),
    "differs": Mark("is-change", "warn", "alert", gettext_lazy("different")),
}


@dataclass(frozen=True, slots=True)
class DisplayZone:
    """A zone that differs between the panel and the nodes, as a row of the list."""

    pk: int
    name: str
    kind: str
    serial_here: int | None
    serial_on_nodes: int | None
    size: int
    in_trash: bool
    error: str
    is_signed_otherwise: bool = False
    signing_error: str = ""
    breaks: tuple[tuple[str, str], ...] = ()  # each choice with the reason why the zone would no longer validate

    @property
    def mark(self) -> "Mark":
        return _MARKS[self.kind]


@require_safe
def hold_page(request: PanelRequest) -> HttpResponse:
    """Show the hold. While a worker is processing the hold, htmx fetches only the changing part."""
    access.require(request.user, Permission.FLEET)
    if request.htmx and "after" in request.GET:
        return render(request, "fleet/_hold_rows.html", _zones_context(request, unknown_history.newest_report()))
    return _page(request)


@require_safe
def hold_zone(request: PanelRequest, pk: int) -> HttpResponse:
    """Show the RRsets that differ in one zone. htmx inserts them below the zone's row."""
    access.require(request.user, Permission.NODES)
    zone = unknown_history.zone_of_report(pk)
    rrsets = unknown_history.rrsets_page(zone, after=_number(request, "after"), limit=RRSETS_PER_PAGE + 1)
    context = {
        "zone": zone,
        "diffs": [_display_rrset(zone, rrset) for rrset in rrsets[:RRSETS_PER_PAGE]],
        "next_after": rrsets[RRSETS_PER_PAGE - 1].pk if len(rrsets) > RRSETS_PER_PAGE else None,
    }
    return render(request, "fleet/_hold_zone.html" if request.htmx else "fleet/hold_zone.html", context)


@require_POST
def hold_again(request: PanelRequest) -> HttpResponse:
    """During a hold, query the nodes again for publications that the panel lacks, unless a decision is made."""
    access.require(request.user, Permission.NODES)
    report = unknown_history.newest_report()
    if current_hold() is None or (report is not None and report.choice):
        messages.error(request, gettext("Publishing isn’t on hold, or a decision is in progress. Nothing was changed."))
    else:
        unknown_history.ask_anew(now=timezone.now())
        say_done(request, gettext("Restarted the comparison with the nodes."))
    return redirect("node-hold")


@require_POST
def hold_decide(request: PanelRequest) -> HttpResponse:
    """Save the decision, unless one is saved. The user confirms by typing a phrase. A worker carries it out."""
    access.require(request.user, Permission.NODES)
    report = unknown_history.newest_report()
    form = DecisionForm(request.POST)
    if current_hold() is None or report is None:
        messages.error(request, gettext("Publishing is no longer on hold. Nothing was changed."))
        return redirect("node-hold")
    if report.choice:
        messages.error(request, gettext("Someone else has already decided. Nothing was changed."))
        return redirect("node-hold")
    if form.is_valid():
        with form.catching(WrongDecision):
            unknown_history.decide(report=report, by=request.user, now=timezone.now(), **form.cleaned_data)
            say_done(request, gettext("Decision saved. Publishing will resume once all changes have been written."))
            return redirect("node-hold")
    return _page(request, form, status=422)


def _page(request: PanelRequest, form: DecisionForm | None = None, status: int = 200) -> HttpResponse:
    report = unknown_history.newest_report()
    hold = current_hold()
    is_current = report is not None and hold is not None and report.asked_at >= hold.since
    context: dict[str, Any] = {
        "hold": hold,
        "report": report if is_current else None,
        "last": Epoch.objects.select_related("by").filter(began_after__gt=0).order_by("-pk").first(),
        "is_working": hold is not None and (not is_current or _is_working(report)),
    }
    if hold is not None and is_current and report is not None and report.ended_at is not None:
        numbers = unknown_history.numbers(report)
        context |= {"numbers": numbers, "days": TRASH_DAYS, "decisions": _decisions(report, form, numbers.broken)}
    context |= _zones_context(request, report if is_current else None)
    return render(request, "fleet/_hold.html" if request.htmx else "fleet/hold.html", context, status=status)


def _is_working(report: AheadReport | None) -> bool:
    return report is not None and (bool(report.choice) or report.ended_at is None)


def _decisions(report: AheadReport, sent: DecisionForm | None, broken: Mapping[str, int]) -> dict[str, dict[str, Any]]:
    """Return each choice with its form, the phrase to type, the number of broken zones, and any reason against it."""
    return {
        str(choice): {
            "form": sent if sent is not None and sent.data.get("choice") == choice else DecisionForm(choice=choice),
            "typed": unknown_history.TYPED[choice],
            "broken": broken[str(choice)],
            "closed": unknown_history.may_choose(report, choice),
        }
        for choice in Choice
    }


def _zones_context(request: PanelRequest, report: AheadReport | None) -> dict[str, Any]:
    """Return one page of zones that differ. It is empty until the report is ready, and for users who can't decide."""
    kind = request.GET.get("kind", "") if request.GET.get("kind", "") in _KINDS else ""
    if report is None or report.ended_at is None or not can(request.user, Permission.NODES):
        return {"zones": [], "kinds": _KINDS, "kind": kind, "next_after": None}
    found = unknown_history.zones_page(report, kind=kind, after=_number(request, "after"), limit=ZONES_PER_PAGE + 1)
    display = [_display(zone) for zone in found[:ZONES_PER_PAGE]]
    next_after = display[-1].pk if len(found) > ZONES_PER_PAGE else None
    return {"zones": display, "kinds": _KINDS, "kind": kind, "next_after": next_after}


def _display(zone: AheadZone) -> DisplayZone:
    kind = "nodes" if zone.id_here is None else "panel" if zone.id_there is None else "differs"
    size: int = zone.size  # type: ignore[attr-defined]
    serials = zone.serial_here, zone.serial_there
    signing = zone.signing is not None, zone.signing_error
    breaks = tuple((_AFTER[choice], reason) for choice, reason in sorted(zone.breaks.items()))
    return DisplayZone(zone.pk, zone.name, kind, *serials, size, zone.in_trash, zone.error, *signing, breaks)


def _display_rrset(zone: AheadZone, rrset: AheadRRset) -> DisplayDiff:
    """Return the diff from the panel's RRset to the node's: the change that an import of the node's data makes."""
    here = RRset.from_json(rrset.name, rrset.type, rrset.here) if rrset.here else None
    on_node = RRset.from_json(rrset.name, rrset.type, rrset.there) if rrset.there else None
    return DisplayDiff(zone.name, diff(Change(rrset.name, rrset.type, here, on_node)))


def _number(request: PanelRequest, name: str) -> int:
    text = request.GET.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 18 else 0
