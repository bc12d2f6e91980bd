"""Suggestions below a search box: filters, zones, records, pages and actions that match the typed text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from dnspanel.accounts.actors.actors import Permission, Right, actor_of, can
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
from dnspanel.zones.search.suggestions import ExactMatch, exact_match, suggestions
from dnspanel.zones.search.terms import Search, parse
from dnspanel.zones.search.zone_conditions import refuse_too_general
from dnspanel.zones.values.readable_texts import readable_text
from replication.dns import names, rdata
from replication.dns.rrset import RRset

MOST_OF_ZONES, MOST_OF_RECORDS = 6, 6
FEWEST_LETTERS = 2  # with fewer letters, search only pages, actions and the person's own zones

# Text, icon, view, and the permission that it requires (None: no permission).
_PAGES: tuple[tuple[str, str, str, Permission | None], ...] = (
    (gettext_lazy("Trash"), "trash", "zone-trash", None),
    (gettext_lazy("DNSSEC policies"), "shield", "zone-policies", None),
    (gettext_lazy("DNSSEC key rollovers"), "key", "zone-rollovers", None),
    (gettext_lazy("Saved views"), "eye", "zone-views", None),
    (gettext_lazy("All publications"), "clock", "publication-list", Permission.READ),
    (gettext_lazy("Calendar"), "clock", "changes-calendar", None),
    (gettext_lazy("Exports"), "download", "zone-exports", Permission.READ),
    (gettext_lazy("Alerts"), "alert", "alert-list", Permission.FLEET),
    (gettext_lazy("Settings"), "table", "settings", Permission.NODES),
    (gettext_lazy("Webhooks"), "sync", "webhook-list", None),
    (gettext_lazy("Secondaries"), "sync", "secondary-list", Permission.FLEET),
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
    """A suggestion: its text, icon, URL and note. If the URL is empty, the suggestion completes the typed text."""

    text: str
    icon: str
    url: str = ""
    note: str = ""


Group = tuple[str, Sequence[Offer]]


@dataclass(frozen=True, slots=True)
class _Found:
    """Zones and records in groups, and the exact match's URL. `is_complete` is False if the search was rejected."""

    groups: Sequence[Group]
    exact: str = ""
    is_complete: bool = True


@require_safe
def search_offers(request: PanelRequest) -> HttpResponse:
    """Show suggestions that match the typed text. If `only` is "filters", show only filters."""
    typed = request.GET.get("q", "")[:LONGEST_SEARCH]
    text = typed.strip()
    searched = parse(text)
    groups: list[Group] = [
        (gettext("Filters"), [Offer(each, "filter") for each in suggestions(person=request.user, text=typed)])
    ]
    context: dict[str, object] = {"needles": [*searched.needles, *text.lower().split()]}
    if request.GET.get("only") != "filters":
        found = _search_groups(request.user, text, searched)
        panel = _panel_groups(request, text.lower().split())
        is_alone = (
            len(text) >= FEWEST_LETTERS and found.is_complete and not any(each for _, each in (*groups, *found.groups))
        )
        context |= {
            "search_text": text,
            "faults": searched.faults,
            "chosen": found.exact or _url_to_open(panel, text, is_alone=is_alone),
        }
        groups += [*found.groups, *panel]
    context["groups"] = [group for group in groups if group[1]]
    return render(request, "zones/_search_offers.html", context)


def _url_to_open(panel: Sequence[Group], text: str, *, is_alone: bool) -> str:
    """Return the URL of the page or action that Enter opens, or "" if Enter starts a search.

    Enter opens the one with exactly this name, or the first if only pages and actions match (`is_alone`).
    """
    offers = [offer for _, group in panel for offer in group]
    named = [offer for offer in offers if offer.text.lower() == text.lower()]
    return next((offer.url for offer in (*named, *(offers if is_alone else ()))), "")


def _panel_groups(request: PanelRequest, words: Sequence[str]) -> list[Group]:
    groups = (
        (gettext("Views"), _views(request.user)),
        (gettext("Pages"), _pages(request)),
        (gettext("Actions"), _acts(request.user)),
    )
    return [
        (title, [offer for offer in offers if _has_all(f"{offer.text} {offer.note}", words)])
        for title, offers in groups
    ]


def _has_all(text: str, words: Sequence[str]) -> bool:
    return all(word in text.lower() for word in words)


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


def _search_groups(person: User, text: str, searched: Search) -> _Found:
    """Return matching zones and records. The exact match comes first, then pinned and recent zones, then others.

    A short or invalid text finds only pinned and recent zones, and a too general search only the exact match.
    """
    marks = marked_zones(person)
    own = [zone.name for zone in (*marks.pinned, *marks.recent) if _has_all(zone.name, text.lower().split())]
    if len(text) < FEWEST_LETTERS or searched.faults:
        return _Found([(gettext("Your zones"), list(map(_zone, own)))])
    exact = exact_match(person=person, text=text)
    try:
        with searching():
            refuse_too_general(searched)
            zones = queries.zone_page(user=person, search=text, limit=MOST_OF_ZONES).rows if searched.words else ()
            rows = rrsets_found(person=person, search=searched, now=timezone.now(), limit=MOST_OF_RECORDS).rows
    except SearchTooGeneral:
        groups, url = _groups([], [], exact)
        return _Found(groups, url, is_complete=False)
    return _Found(*_groups([*own, *(zone.name for zone in zones)], [(row.zone.name, row.rrset) for row in rows], exact))


def _groups(
    zones: Sequence[str], records: Sequence[tuple[str, RRset]], exact: ExactMatch | None
) -> tuple[list[Group], str]:
    """Return a group of zones, a group of records for each zone, and the URL of the exact match."""
    if exact is not None and exact.rrsets:
        records = [*((exact.zone.name, rrset) for rrset in exact.rrsets), *records]
    elif exact is not None:
        zones = [exact.zone.name, *zones]
    by_zone: dict[str, dict[str, Offer]] = {}
    for zone_name, rrset in records:
        offer = _record(zone_name, rrset)
        by_zone.setdefault(zone_name, {})[offer.url] = offer
    of_zones = (gettext("Zones"), list(map(_zone, dict.fromkeys(zones))))
    of_records = [(zone_name, list(offers.values())) for zone_name, offers in by_zone.items()]
    groups: list[Group] = [*of_records, of_zones] if exact is not None and exact.rrsets else [of_zones, *of_records]
    return groups, groups[0][1][0].url if exact is not None else ""


def exact_url(person: User, text: str) -> str:
    """Return the URL of the zone, or of the first record, with exactly this name. Return "" if none exists."""
    return _groups([], [], exact_match(person=person, text=text))[1] if text else ""


def _zone(name: str) -> Offer:
    displayed = names.display(name)
    return Offer(name, "zones", reverse("zone-detail", args=[name]), displayed if displayed != name else "")


def _record(zone_name: str, rrset: RRset) -> Offer:
    text = f"{names.owner_text(rrset.name, zone_name)} {rdata.type_to_text(rrset.type)}"
    return Offer(text, "table", row_address(zone_name, rrset.name, rrset.type), readable_text(rrset.rdata[0])[:60])
