"""The command palette: pages and actions that a person can use, their own zones, and search results."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from dnspanel.accounts.actors.actors import actor_of, can
from dnspanel.accounts.actors.grants import Right
from dnspanel.accounts.actors.roles import Permission
from dnspanel.accounts.models import User
from dnspanel.database.statement_time import SearchTooGeneral, searching
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.frame.forms import LONGEST_SEARCH
from dnspanel.web.frame.layout import Frame, PanelRequest
from dnspanel.web.frame.rows import row_address
from dnspanel.web.frame.saved_views import address_of
from dnspanel.zones.lists import queries
from dnspanel.zones.lists.saved_views import MOST_VIEWS, visible_views
from dnspanel.zones.lists.zone_marks import marked_zones
from dnspanel.zones.search.everywhere import rrsets_found
from dnspanel.zones.search.terms import Search, parse
from dnspanel.zones.search.zone_conditions import refuse_too_general
from replication.dns import names, rdata

MOST_OF_ZONES, MOST_OF_RECORDS = 6, 6
FEWEST_LETTERS = 2  # with fewer letters, search only pages, actions and the person's own zones

# Text, icon, view, and the permission that it requires (None: no permission).
_PAGES: tuple[tuple[str, str, str, Permission | None], ...] = (
    (gettext_lazy("Trash"), "trash", "zone-trash", None),
    (gettext_lazy("DNSSEC policies"), "shield", "zone-policies", None),
    (gettext_lazy("DNSSEC key rollovers"), "key", "zone-rollovers", None),
    (gettext_lazy("Saved views"), "eye", "zone-views", None),
    (gettext_lazy("All publications"), "clock", "publication-list", Permission.READ),
    (gettext_lazy("Exports"), "download", "zone-exports", Permission.READ),
    (gettext_lazy("Alerts"), "alert", "alert-list", Permission.FLEET),
    (gettext_lazy("Settings"), "table", "settings", Permission.NODES),
    (gettext_lazy("Webhooks"), "sync", "webhook-list", None),
    (gettext_lazy("Secondaries"), "sync", "secondary-list", Permission.FLEET),
    (gettext_lazy("Audit log"), "clock", "audit-log", None),
    (gettext_lazy("Quotas"), "database", "account-quotas", None),
    (gettext_lazy("API documentation"), "table", "docs-api", None),
)
_ACTS: tuple[tuple[str, str, str, Permission | None], ...] = (
    (gettext_lazy("Review and publish"), "check", "changes", Permission.EDIT),
    (gettext_lazy("Import zones"), "import", "import-new", Permission.EDIT),
    (gettext_lazy("Add node"), "plus", "node-new", Permission.NODES),
    (gettext_lazy("Invite person"), "plus", "people-invite", Permission.PEOPLE),
    (gettext_lazy("Change password"), "key", "account_change_password", None),
    (gettext_lazy("Language and time zone"), "clock", "account-time-zone", None),
)


@dataclass(frozen=True, slots=True)
class Offer:
    """One line of the palette: its text, a smaller text, and its URL."""

    text: str
    icon: str
    url: str
    beside: str = ""


@require_safe
def palette(request: PanelRequest) -> HttpResponse:
    """Show matches for the typed text, in groups. Enter opens the first match."""
    text = request.GET.get("q", "").strip()[:LONGEST_SEARCH]
    searched = parse(text)
    words = text.lower().split()
    marks = marked_zones(request.user)
    zones = _fitting(words, (_zone(zone.name) for zone in (*marks.pinned, *marks.recent)))
    groups = [
        (gettext("Your zones"), zones),
        (gettext("Views"), _fitting(words, _views(request.user))),
        (gettext("Pages"), _fitting(words, _pages(request))),
        (gettext("Actions"), _fitting(words, _acts(request.user))),
    ]
    if len(text) >= FEWEST_LETTERS and not searched.faults:
        groups += _search_offers(request.user, text, searched, {offer.url for offer in zones})
    context = {
        "groups": [(title, offers) for title, offers in groups if offers],
        "search_text": text,
        "searched": searched,
    }
    return render(request, "zones/_palette.html", context)


def _fitting(words: list[str], offers: Iterable[Offer]) -> list[Offer]:
    return [offer for offer in offers if all(word in f"{offer.text} {offer.beside}".lower() for word in words)]


def _pages(request: PanelRequest) -> list[Offer]:
    main = [Offer(entry.text, entry.icon, entry.url, f"g {entry.key}") for entry in Frame(request).nav]
    return main + [_offer(*page) for page in _PAGES if page[3] is None or can(request.user, page[3])]


def _views(person: User) -> Iterator[Offer]:
    for view in visible_views(person)[:MOST_VIEWS]:
        if url := address_of(view):
            yield Offer(view.name, "eye", url, view.zone.name if view.zone else view.get_page_display())


def _acts(person: User) -> list[Offer]:
    actor = actor_of(person)
    offers = [_offer(*act) for act in _ACTS if act[3] is None or can(person, act[3])]
    if actor is not None and actor.may_somewhere(Right.CREATE_ZONE):
        offers.insert(0, _offer(gettext("New zone"), "plus", "zone-new", None))
    return offers


def _offer(text: str, icon: str, view: str, _: Permission | None) -> Offer:
    return Offer(text, icon, reverse(view))


def _zone(name: str) -> Offer:
    displayed = names.display(name)
    return Offer(name, "zones", reverse("zone-detail", args=[name]), displayed if displayed != name else "")


def _search_offers(person: User, text: str, searched: Search, known: set[str]) -> list[tuple[str, list[Offer]]]:
    """Return search results in groups. Return nothing if the search is too general. The search page explains why."""
    try:
        with searching():
            refuse_too_general(searched)
            zones = queries.zone_page(user=person, search=text, limit=MOST_OF_ZONES).rows if searched.words else ()
            found = rrsets_found(person=person, search=searched, now=timezone.now(), limit=MOST_OF_RECORDS).rows
    except SearchTooGeneral:
        return []
    offers = [offer for offer in (_zone(zone.name) for zone in zones) if offer.url not in known]
    records = [
        Offer(
            f"{names.owner_text(each.rrset.name, each.zone.name)} {rdata.type_to_text(each.rrset.type)}",
            "table",
            row_address(each.zone.name, each.rrset.name, each.rrset.type),
            f"{each.zone.name} · {each.rrset.rdata[0][:60]}",
        )
        for each in found
    ]
    return [(gettext("Zones"), offers), (gettext("Records"), records)]
