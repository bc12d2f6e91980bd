"""Manage PTRs for A and AAAA records with a checkbox in forms, an offer after a change, and a comparison page.

A PTR changes only if the user leaves a visible checkbox set or clicks a button.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.texts import gettext, ngettext
from dnspanel.web.editor.zone_head import render_zone, with_draft_state
from dnspanel.web.frame.layout import PanelRequest, is_fragment, say_done
from dnspanel.zones.errors import QuotaExceeded
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import pointers
from dnspanel.zones.publishing.pointers import ADDRESS_TYPES, Drafted, Pair, State, Step
from dnspanel.zones.rights import access
from dnspanel.zones.values.reverse_names import address_of
from replication.dns import names, rdtypes
from replication.dns.rrset import Key, RRset, make
from replication.errors import ReplicationError

RRSETS_PER_PAGE = 500
MOST_PAGES_AT_ONCE = 10
_MOST_LISTED = 5
_REVERSE_TREES = ("in-addr.arpa.", "ip6.arpa.")


@dataclass(frozen=True, slots=True)
class PtrTick:
    """A form's checkbox "PTR too": its state, a preview for the first addresses, and the number of `more` addresses."""

    ticked: bool
    steps: tuple[Step, ...] = ()
    more: int = 0
    is_final: bool = True  # False if other addresses can still be typed

    @property
    def can_do_something(self) -> bool:
        """True unless the preview is final and the person can't change a reverse zone of any of its addresses."""
        return not (self.is_final and self.steps) or any(
            step.state not in (State.NO_ZONE, State.NO_RIGHT) for step in self.steps
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """One page of a zone's addresses, or of a reverse zone's PTRs, with the state of each pair.

    `left_out` counts pairs beyond the limit, which are not compared.
    """

    open: tuple[Step, ...]
    closed: tuple[Step, ...]  # disagreeing pairs that can't be fixed here
    agreeing: int
    next_after: str
    left_out: int


def is_ticked(request: PanelRequest) -> bool:
    """Return True if the checkbox "PTR too" is set in the request."""
    parameters = request.POST if request.method == "POST" else request.GET
    return parameters.get("ptr") == "yes"


def tick_for(request: PanelRequest, rrset: RRset, addresses: Iterable[str] = ()) -> PtrTick | None:
    """Return the checkbox for a form that adds this RRset to the draft, or None if the RRset has no addresses.

    If `addresses` is not empty, only those addresses count.
    """
    only = set(addresses)
    return _tick(request, [rrset], [pair for pair in pointers.pairs_of(rrset) if not only or pair.address in only])


def tick_for_many(request: PanelRequest, rrsets: Iterable[RRset]) -> PtrTick | None:
    """Return the checkbox for a form that adds several RRsets, or None if they have no addresses."""
    found = list(rrsets)
    return _tick(request, found, pointers.pairs_of(*found))


def _tick(request: PanelRequest, rrsets: Iterable[RRset], pairs: Sequence[Pair]) -> PtrTick | None:
    if not pairs:
        return None
    afters: dict[Key, RRset | None] = {}
    for rrset in rrsets:
        before = afters.get((rrset.name, rrset.type))
        values = (*(before.rdata if before else ()), *rrset.rdata)
        afters[rrset.name, rrset.type] = make(rrset.name, rrset.type, rrset.ttl, values, rrset.disabled)
    steps = pointers.steps_of(author=request.user, pairs=pairs[:_MOST_LISTED], afters=afters)
    return PtrTick(is_ticked(request), tuple(steps), max(0, len(pairs) - _MOST_LISTED))


def tick_of_row(request: PanelRequest, type_text: str, current: RRset | None) -> PtrTick | None:
    """Return the checkbox for a row's form, or None if its type is set but is not A or AAAA.

    Unless the form was submitted, the checkbox is set if all addresses with a reverse zone here have PTRs to the name.
    """
    if type_text.strip().upper() not in ("", "A", "AAAA"):
        return None
    if request.method == "POST":
        return PtrTick(is_ticked(request), is_final=False)
    pairs = pointers.pairs_of(current)
    steps = pointers.steps_of(author=request.user, pairs=pairs)
    states = {step.state for step in steps}
    made_so = State.AGREES in states and states <= {State.AGREES, State.NO_ZONE}
    return PtrTick(made_so, tuple(steps[:_MOST_LISTED]), max(0, len(pairs) - _MOST_LISTED), is_final=False)


def follow(request: PanelRequest, rrsets: Iterable[RRset | None]) -> str:
    """Draft PTR changes for the old and new addresses of these RRsets. Return a sentence about the changes."""
    drafted = pointers.bring_in_step(
        author=request.user, pairs=pointers.pairs_of(*rrsets), now=timezone.now(), take_over=True
    )
    return summary_of(drafted)


def summary_of(drafted: Drafted) -> str:
    """Return a sentence about the changed and refused PTRs, or "" if there are no such PTRs."""
    parts = []
    if drafted.count:
        where = ", ".join(drafted.zones[:3]) + (", …" if len(drafted.zones) > 3 else "")
        parts.append(
            ngettext(
                "{count} PTR in {where} also added to draft",
                "{count} PTRs in {where} also added to draft",
                drafted.count,
            ).format(count=drafted.count, where=where)
        )
    if drafted.refused:
        parts.append(
            ngettext(
                "{refused} PTR not changed because you don’t have permission",
                "{refused} PTRs not changed because you don’t have permission",
                drafted.refused,
            ).format(refused=drafted.refused)
        )
    return "; ".join(parts)


def left_by(request: PanelRequest, rrsets: Iterable[RRset | None]) -> list[Step]:
    """Return PTRs that the person can change, to an RRset's owner from an address that the owner no longer has."""
    steps = pointers.steps_of(author=request.user, pairs=pointers.pairs_of(*rrsets))
    return [step for step in steps if step.state == State.LEFT]


def with_offer(request: PanelRequest, zone: Zone, response: HttpResponse, rrsets: Iterable[RRset | None]) -> None:
    """Append an offer to delete the RRsets' leftover PTRs to the response, or clear an earlier offer without any."""
    context = {"zone": zone, "steps": left_by(request, rrsets), "out_of_band": True}
    response.write(render_to_string("editor/_ptr_offer.html", context, request))


def tell_of_left(request: PanelRequest, zone: Zone, rrsets: Iterable[RRset | None]) -> None:
    """Add a message with the number of leftover PTRs and the tab that deletes them, for browsers without scripts."""
    if left := left_by(request, rrsets):
        count = ngettext("{left} PTR", "{left} PTRs", len(left)).format(left=len(left))
        messages.info(
            request,
            gettext("{count} outdated. Open the Reverse tab for {name} to remove outdated PTRs.").format(
                count=count, name=zone.name
            ),
        )


# The page


@require_http_methods(["GET", "HEAD", "POST"])
def zone_ptr(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show addresses and PTRs that don't match. A POST drafts fixes for the selected pairs or for all."""
    if request.method != "POST":
        zone = access.zone_for_reading(request.user, zone_name)
        comparison, _ = _compare(request, zone, request.GET.get("after", ""))
        return _show(request, zone, comparison)
    zone = access.zone_for_editing(request.user, zone_name)
    pairs, is_all = _all_pairs(request, zone) if request.POST.get("act") == "all" else (_sent_pairs(request), True)
    try:
        drafted = pointers.bring_in_step(author=request.user, pairs=pairs, now=timezone.now())
    except QuotaExceeded as exc:
        comparison, _ = _compare(request, zone, "")
        return _show(request, zone, comparison, error=str(exc), status=422)
    message = summary_of(drafted) or gettext("No changes needed")
    if not is_all:
        message = gettext("{message}. More PTRs remain, so repeat this after publishing").format(message=message)
    if is_fragment(request):
        response = HttpResponse('<div id="ptr-offer"></div>')
        return with_draft_state(request, zone, response, speak=message)
    say_done(request, f"{message}.")
    return redirect("zone-ptr", zone.name)


def _show(
    request: PanelRequest, zone: Zone, comparison: Comparison, *, error: str = "", status: int = 200
) -> HttpResponse:
    context: dict[str, object] = {
        "comparison": comparison,
        "is_reverse": is_reverse(zone),
        "in_draft": request.GET.get("in") == "draft",
        "error": error,
        "is_first": not request.GET.get("after"),
    }
    return render_zone(request, zone, "ptr", "editor/ptr.html", context, status)


def is_reverse(zone: Zone) -> bool:
    """Return True if the zone is a reverse zone."""
    return any(names.is_within(zone.name, tree) for tree in _REVERSE_TREES)


def _compare(request: PanelRequest, zone: Zone, after: str) -> tuple[Comparison, list[Pair]]:
    """Return one page of the comparison, and the page's pairs that can be fixed."""
    types = frozenset({rdtypes.PTR}) if is_reverse(zone) else ADDRESS_TYPES
    filters = rrset_pages.RRsetFilter(types=types, in_draft=request.GET.get("in") == "draft")
    page = rrset_pages.rrset_page(zone=zone, author=request.user, filters=filters, after=after, limit=RRSETS_PER_PAGE)
    pairs = _pairs_in([row.change.before for row in page.rows] + [row.change.after for row in page.rows])
    steps = pointers.steps_of(author=request.user, pairs=pairs)
    agreeing = (State.AGREES, State.SHARED)
    comparison = Comparison(
        open=tuple(step for step in steps if step.is_open),
        closed=tuple(step for step in steps if not step.is_open and step.state not in agreeing),
        agreeing=sum(step.state in agreeing for step in steps),
        next_after=page.next_after,
        left_out=len(pairs) - len(steps),
    )
    return comparison, [step.pair for step in comparison.open]


def _pairs_in(rrsets: Iterable[RRset | None]) -> list[Pair]:
    """Return the (name, address) pairs of address and PTR records."""
    found = []
    for rrset in rrsets:
        if rrset is None:
            continue
        if rrset.type != rdtypes.PTR:
            found += pointers.pairs_of(rrset)
        elif address := address_of(rrset.name):
            found += [Pair(target, address) for target in rrset.folded.served]
    return sorted(set(found))


def _all_pairs(request: PanelRequest, zone: Zone) -> tuple[list[Pair], bool]:
    """Return the zone's pairs that can be fixed, and False if the list is incomplete because there are too many."""
    found: list[Pair] = []
    after = ""
    for _ in range(MOST_PAGES_AT_ONCE):
        comparison, pairs = _compare(request, zone, after)
        found += pairs
        after = comparison.next_after
        if not after or len(found) >= pointers.MOST_PAIRS:
            break
    return found, not after and len(found) <= pointers.MOST_PAIRS


def _sent_pairs(request: PanelRequest) -> list[Pair]:
    """Return the selected pairs from the form, without invalid values."""
    found = []
    for text in request.POST.getlist("pair")[: pointers.MOST_PAIRS]:
        name, _, address = text.partition(" ")
        try:
            found.append(Pair(names.parse(name), str(ip_address(address))))
        except (ReplicationError, ValueError):
            continue
    return found
