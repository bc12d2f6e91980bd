"""Return cursor pages `{"items": […], "next": URL or null, "next_cursor": text or null}` and a Link header (RFC 8288).

A cursor identifies the item before the next page, instead of a number of items. Pages therefore don't repeat or skip
items when other clients write.
"""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.db.models import Model, QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.api.v2.http.answers import answer
from dnspanel.api.v2.http.problems import Problem, bad_number

DEFAULT_LIMIT = 100
MOST = 1000

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The requested number of items, and the key of the item before them. An empty key starts at the beginning."""

    limit: int
    after: tuple[Any, ...]


def page_request(request: Request, *kinds: type, default: int = DEFAULT_LIMIT) -> PageRequest:
    """Parse `limit` and `cursor`. `kinds` are the types of the cursor's parts. Raise Problem if one is invalid."""
    typed = request.query_params.get("limit")
    if typed is not None and not (typed.isascii() and typed.isdecimal() and len(typed) < 6 and 1 <= int(typed) <= MOST):
        raise bad_number("limit", typed, f"`limit` must be a whole number from 1 to {MOST}.")
    cursor = request.query_params.get("cursor", "")
    return PageRequest(int(typed) if typed else default, _decode_cursor(cursor, kinds) if cursor else ())


def page_answer(
    request: Request, items: Sequence[Any], next_after: tuple[Any, ...] | None = None, **besides: Any
) -> HttpResponse:
    """Return a page with additional members. `next_after` is the last item's key if more items can follow."""
    if next_after is None:
        return answer({"items": items, "next": None, "next_cursor": None, **besides})
    cursor = _encode_cursor(next_after)
    query = {name: values for name, values in request.query_params.lists() if name != "cursor"}
    query["cursor"] = [cursor]
    url = f"{request.build_absolute_uri(request.path)}?{urlencode(query, doseq=True)}"
    page = {"items": items, "next": url, "next_cursor": cursor, **besides}
    return answer(page, headers={"Link": f'<{url}>; rel="next"'})


def cut(rows: Sequence[Any], limit: int) -> tuple[Sequence[Any], bool]:
    """Return the page's rows, and True if there are more rows. The caller must have selected `limit + 1` rows."""
    return rows[:limit], len(rows) > limit


def page_by_id(
    request: Request,
    rows: "QuerySet[Row]",
    items_of: Callable[[Sequence[Row]], Sequence[Any]],
    *,
    newest_first: bool = False,
) -> HttpResponse:
    """Return a response with the requested page of these rows, sorted by id (the cursor).

    `items_of` converts rows to items. Raise Problem if `limit` or `cursor` is invalid.
    """
    page = page_request(request, int)
    rows = rows.order_by("-pk" if newest_first else "pk")
    if page.after:
        rows = rows.filter(**{"pk__lt" if newest_first else "pk__gt": page.after[0]})
    found, more = cut(list(rows[: page.limit + 1]), page.limit)
    return page_answer(request, items_of(found), (found[-1].pk,) if more else None)


def each_as(to_json: Callable[[Row], Any]) -> Callable[[Sequence[Row]], list[Any]]:
    """Return a function that converts rows to items one by one."""
    return lambda rows: [to_json(row) for row in rows]


def _encode_cursor(key: tuple[Any, ...]) -> str:
    text = json.dumps(key, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode_cursor(cursor: str, kinds: tuple[type, ...]) -> tuple[Any, ...]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        key = json.loads(base64.b64decode(padded.encode(), altchars=b"-_", validate=True))
        fits = isinstance(key, list) and len(key) == len(kinds)
        if not fits or not all(_is_usable(part, kind) for part, kind in zip(key, kinds, strict=True)):
            raise ValueError
    except (ValueError, RecursionError, binascii.Error) as exc:
        raise Problem(
            "bad-cursor", "This cursor is not from this list. Send `next_cursor` unchanged, or leave `cursor` out."
        ) from exc
    return tuple(key)


def _is_usable(part: object, kind: type) -> bool:
    """Return True if a part of a key can be used in a query. Clients can send arbitrary cursors."""
    if type(part) is not kind:
        return False
    if isinstance(part, int):
        return abs(part) < 2**63
    return isinstance(part, str) and part.isprintable() and not any("\ud800" <= char <= "\udfff" for char in part)
