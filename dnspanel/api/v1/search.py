"""`/search-data`: search zones, records and comments with a pattern."""

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor
from dnspanel.api.v1.content import content_for_client
from dnspanel.api.v1.rrsets import mnemonic
from dnspanel.api.v1.search_query import (
    FoundComment,
    FoundRecord,
    Matches,
    Pattern,
    TooGeneral,
    find_comments,
    find_records,
    find_zones,
    pattern_of,
)
from dnspanel.api.v1.view import PowerdnsView, Refusal, actor_in, answer, zone_id
from dnspanel.database.statement_time import searching

OBJECT_TYPES = ("all", "zone", "record", "comment")
USUAL_MAX = 100
MOST = 10_000
LONGEST = 1000
# The header of a response that can lack matches, because not everything was compared.
INCOMPLETE = "X-Search-Incomplete"


class SearchData(PowerdnsView):
    """The matches for a pattern, at most `max` of each kind.

    If a search may have missed matches, the header INCOMPLETE is set. If nothing was found then, the status is 422.
    """

    def get(self, request: Request, server_id: str) -> HttpResponse:
        pattern, limit, kind = _pattern_in(request), _max_in(request), request.GET.get("object_type", "") or "all"
        if kind not in OBJECT_TYPES:
            raise Refusal(422, f"object_type must be one of the following options: {', '.join(OBJECT_TYPES)}")
        actor = actor_in(request)
        with searching():
            found, is_complete = _search_kinds(actor, pattern, limit, kind)
        if not found and not is_complete:
            raise TooGeneral(pattern.text)
        response = answer(found)
        if not is_complete:
            response[INCOMPLETE] = "1"
        return response


def _search_kinds(actor: Actor, pattern: Pattern, limit: int, kind: str) -> tuple[list[dict[str, Any]], bool]:
    """Return the matches of all requested kinds, and a flag that is False if a search may have missed matches."""
    found: list[dict[str, Any]] = []
    is_complete = True
    for own, find, form in _KINDS:
        if kind in {"all", own}:
            matches = find(actor, pattern, limit)
            found += map(form, matches)
            is_complete = is_complete and matches.is_complete
    return found, is_complete


def _zone_form(name: str) -> dict[str, Any]:
    return {"name": name, "object_type": "zone", "zone_id": zone_id(name)}


def _record_form(found: FoundRecord) -> dict[str, Any]:
    return {
        "content": found.spelling or content_for_client(found.type, found.rdata),
        "disabled": found.disabled,
        "name": found.name,
        "object_type": "record",
        "ttl": found.ttl,
        "type": mnemonic(found.type),
        "zone": found.zone_name,
        "zone_id": zone_id(found.zone_name),
    }


def _comment_form(found: FoundComment) -> dict[str, Any]:
    return {
        "content": found.text,
        "name": found.name,
        "object_type": "comment",
        "type": mnemonic(found.type),
        "zone": found.zone_name,
        "zone_id": zone_id(found.zone_name),
    }


_KINDS: tuple[tuple[str, Callable[[Actor, Pattern, int], Matches[Any]], Callable[[Any], dict[str, Any]]], ...] = (
    ("zone", find_zones, _zone_form),
    ("record", find_records, _record_form),
    ("comment", find_comments, _comment_form),
)


def _pattern_in(request: Request) -> Pattern:
    text = request.GET.get("q", "")
    if not text:
        raise Refusal(422, "Query q can't be blank")
    if "\0" in text or len(text) > LONGEST:
        raise Refusal(422, f"Query q must have at most {LONGEST} characters, and no zero byte")
    return pattern_of(text)


def _max_in(request: Request) -> int:
    text = request.GET.get("max", "") or str(USUAL_MAX)
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 20):
        raise Refusal(422, "Maximum entries must be a number")
    if (limit := int(text)) < 1:
        raise Refusal(422, "Maximum entries must be larger than 0")
    return min(limit, MOST)
