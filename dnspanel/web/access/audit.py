"""The view of the audit log: all acts, including publications, newest first."""

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dnspanel.accounts.actors import actor_of, can
from dnspanel.accounts.roles import Permission
from dnspanel.web.forms import LONGEST_SEARCH
from dnspanel.web.layout import PanelRequest, say
from dnspanel.zones.audit_trail import Act, Filters, Place, acts_page
from dnspanel.zones.queries import split_search

MOST_ENTRIES = 100
LONGEST_ID = 18  # digits
# What people look for most, as searches.
CHIPS = (
    ("Failed sign-ins", "action:sign-in.failed"),
    ("Sign-ins", "sign-in"),
    ("Publications", "action:publish"),
    ("Tokens", "action:token."),
    ("People", "action:person."),
    ("Teams", "action:team."),
    ("Grants", "action:grant."),
    ("Nodes", "action:node."),
    ("Webhooks", "action:webhook."),
)


@dataclass(frozen=True, slots=True)
class DisplayAct:
    """An act, with its details as (name, text) pairs."""

    act: Act
    details: tuple[tuple[str, str], ...]


@require_safe
def audit_log(request: PanelRequest) -> HttpResponse:
    """List the acts of the log, or those a search finds; people who may not read the whole log see their own acts."""
    actor = actor_of(request.user)
    assert actor is not None  # the session gate let this person in
    search = request.GET.get("q", "").strip()[:LONGEST_SEARCH]
    acts, next_place = acts_page(actor, filters=filters_of(search), after=_place(request), limit=MOST_ENTRIES)
    context = {
        "acts": [DisplayAct(act, _details(act)) for act in acts],
        "next_after": _cursor(next_place) if next_place else "",
        "search": search,
        "chips": CHIPS,
        "sees_all": can(actor, Permission.AUDIT),
    }
    target = request.htmx.target if request.htmx else None
    if target == "audit-more":
        return render(request, "access/_audit_rows.html", context)
    if target == "audit-list":
        found = f"{len(acts)} entries{' and more' if next_place else ''} found"
        return say(render(request, "access/_audit_list.html", context), speak=found)
    return render(request, "access/audit.html", context)


def filters_of(search: str) -> Filters:
    """Return the filters of a search: `who:`, `action:`, `from:`; other words match action, target and reason."""
    named: dict[str, str] = {}
    texts = []
    for word in split_search(search.replace("\0", " ")):
        key, colon, value = word.partition(":")
        if colon and key.lower() in {"who", "action", "from"}:
            named[key.lower()] = value.strip('"')
        else:
            texts.append(word.strip('"'))
    action = named.get("action", "").lower()
    return Filters(action=action, user=named.get("who", ""), texts=tuple(texts), address=named.get("from", ""))


def _place(request: PanelRequest) -> Place:
    """Return the cursor of the request; an invalid one means the first page."""
    entry, _, publication = request.GET.get("after", "").partition("-")
    return Place(_number(entry), _number(publication))


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= LONGEST_ID else None


def _cursor(place: Place) -> str:
    return f"{'' if place.entry is None else place.entry}-{'' if place.publication is None else place.publication}"


def _details(act: Act) -> tuple[tuple[str, str], ...]:
    """Return the details of an act as (name, text) pairs, without empty ones."""
    pairs = ((name.replace("_", " "), _text(value)) for name, value in act.details.items())
    return tuple((name, text) for name, text in pairs if text)


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None or value is False else "yes" if value is True else str(value)
