"""View that lists people and tokens with rights over a zone. It omits people that the user isn't allowed to see."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dnspanel.accounts.actors.actors import Actor, Permission, can
from dnspanel.accounts.models import Token, User
from dnspanel.web.access.describe_grant import limits_of, what_of
from dnspanel.web.access.rights_form import WhoMayForm
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.frame.forms import id_in
from dnspanel.web.frame.layout import PanelRequest, actor_for, is_fragment
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access
from dnspanel.zones.rights.rights_here import RightsHere, people_here, tokens_here

PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class DisplayReason:
    """Rights over the zone, their source, and the names and types that they are limited to (empty means any)."""

    what: str
    reason: str
    limits: str


@dataclass(frozen=True, slots=True)
class DisplayPerson:
    person: User
    reasons: tuple[DisplayReason, ...]


@dataclass(frozen=True, slots=True)
class DisplayToken:
    """A token with rights over the zone. These rights never exceed its owner's rights."""

    token: Token
    reasons: tuple[DisplayReason, ...]


@require_safe
def zone_access(request: PanelRequest, zone_name: str) -> HttpResponse:
    """List people and tokens with rights over the zone, and check one person's rights. htmx gets only list rows."""
    zone = access.zone_for_reading(request.user, zone_name)
    actor, now = actor_for(request), timezone.now()
    if is_fragment(request) and request.htmx.target == "more-people":
        return render(request, "zone_tabs/_access_people.html", {"zone": zone, **_people(request, actor, zone)})
    if is_fragment(request) and request.htmx.target == "more-tokens":
        return render(request, "zone_tabs/_access_tokens.html", {"zone": zone, **_tokens(request, actor, zone, now)})
    typed = request.GET if {"who", "name", "type", "at"} & set(request.GET) else None
    form = WhoMayForm(typed, zone=zone, reader=actor)
    verdicts = form.verdicts(now) if form.is_valid() else ()
    context: dict[str, object] = {
        "form": form,
        "verdicts": verdicts,
        "since": form.since() if verdicts else None,
        "tried_for": form.cleaned_data["who"] if verdicts else None,
        **_people(request, actor, zone),
        **_tokens(request, actor, zone, now),
    }
    return render_zone(request, zone, "access", "zone_tabs/access.html", context, status=422 if form.errors else 200)


def _people(request: PanelRequest, actor: Actor, zone: Zone) -> dict[str, object]:
    """Return the requested page of people with rights over the zone, in three queries."""
    found = people_here(actor, zone, after=request.GET.get("after", ""), limit=PER_PAGE + 1)
    listed = found[:PER_PAGE]
    return {
        "people": [DisplayPerson(each.person, _display_reasons(each.by)) for each in listed],
        "more_after": listed[-1].person.username if len(found) > PER_PAGE else "",
        "knows_everybody": can(actor, Permission.PEOPLE),
    }


def _tokens(request: PanelRequest, actor: Actor, zone: Zone, now: datetime) -> dict[str, object]:
    """Return the requested page of tokens, in four queries. Tokens without rights over the zone are omitted."""
    before = id_in(request.GET.get("before", ""))
    found = tokens_here(actor, zone, now=now, before=before, limit=PER_PAGE + 1)
    listed = found[:PER_PAGE]
    return {
        "tokens": [DisplayToken(each.token, _display_reasons(each.by)) for each in listed if each.by],
        "more_before": f"{listed[-1].token.pk}" if len(found) > PER_PAGE else "",
    }


def _display_reasons(by: Iterable[RightsHere]) -> tuple[DisplayReason, ...]:
    return tuple(
        DisplayReason(what_of(each.rights), each.reason.description, limits_of(each.reason.grant)) for each in by
    )
