"""`/search-data`: zones, records and comments by a pattern."""

from collections.abc import Iterable
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.accounts.actors import Actor
from dnspanel.api.v1.content import content_for_client
from dnspanel.api.v1.rrsets import mnemonic
from dnspanel.api.v1.search_query import Pattern, TooGeneral, find_comments, find_records, find_zones, pattern_of
from dnspanel.api.v1.view import PowerdnsView, Refusal, actor_in, answer, zone_id
from dnspanel.statement_time import searching

OBJECT_TYPES = ("all", "zone", "record", "comment")
USUAL_MAX = 100
MOST = 10_000
LONGEST = 1000


class SearchData(PowerdnsView):
    """What fits the pattern, `max` of each kind at most."""

    def get(self, request: Request, server_id: str) -> HttpResponse:
        pattern, limit, kind = _pattern_in(request), _max_in(request), request.GET.get("object_type", "") or "all"
        if kind not in OBJECT_TYPES:
            raise Refusal(422, f"object_type must be one of the following options: {', '.join(OBJECT_TYPES)}")
        actor = actor_in(request)
        with searching():
            return answer(_found(actor, pattern, limit, kind))


def _found(actor: Actor, pattern: Pattern, limit: int, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if kind in {"all", "zone"}:
        found += _zones(actor, pattern, limit)
    if kind in {"all", "record"}:
        found += _records(actor, pattern, limit)
    if kind in {"all", "comment"}:
        found += _comments(actor, pattern, limit, only=kind == "comment")
    return found


def _zones(actor: Actor, pattern: Pattern, limit: int) -> Iterable[dict[str, Any]]:
    return [
        {"name": name, "object_type": "zone", "zone_id": zone_id(name)} for name in find_zones(actor, pattern, limit)
    ]


def _records(actor: Actor, pattern: Pattern, limit: int) -> Iterable[dict[str, Any]]:
    return [
        {
            "content": found.spelling or content_for_client(found.type, found.rdata),
            "disabled": found.disabled,
            "name": found.name,
            "object_type": "record",
            "ttl": found.ttl,
            "type": mnemonic(found.type),
            "zone": found.zone_name,
            "zone_id": zone_id(found.zone_name),
        }
        for found in find_records(actor, pattern, limit)
    ]


def _comments(actor: Actor, pattern: Pattern, limit: int, *, only: bool) -> Iterable[dict[str, Any]]:
    try:
        comments = find_comments(actor, pattern, limit)
    except TooGeneral:
        if only:
            raise
        return []  # whoever asks for everything wants the records first, and these were looked up
    return [
        {
            "content": found.text,
            "name": found.name,
            "object_type": "comment",
            "type": mnemonic(found.type),
            "zone": found.zone_name,
            "zone_id": zone_id(found.zone_name),
        }
        for found in comments
    ]


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
