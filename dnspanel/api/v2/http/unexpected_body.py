"""Reject a request body if the operation doesn't accept one, because the body would be ignored."""

from rest_framework.request import Request
from rest_framework.views import APIView

from dnspanel.api.v2.http.fault_texts import join_limited, quote_text
from dnspanel.api.v2.http.parameters import taken_by
from dnspanel.api.v2.http.problems import Problem, RequestFault

_MOST = 100


def refuse_unexpected_body(request: Request, view: APIView) -> None:
    """Raise Problem if a write has a body that its operation doesn't accept, such as a `reason` for a DELETE.

    An empty object is allowed, because some clients send one with every POST.
    """
    method = str(request.method)
    taken = taken_by(view, method)
    if taken is None or taken.body or not _has_body(request):
        return
    request._request.body  # noqa: B018  stores the body for the Idempotency-Key's digest
    if not (sent := request.data):
        return
    known = taken.parameters
    detail = f"{method} does not accept a body here."
    if known:
        detail += f" Send these parameters in the query: {join_limited(sorted(known))}."
    members = list(sent)[:_MOST] if isinstance(sent, dict) else []
    raise Problem(
        "invalid",
        detail,
        [_fault(str(name), known, detail) for name in members] or [RequestFault("unknown", detail, pointer="")],
    )


def _fault(name: str, known: frozenset[str], detail: str) -> RequestFault:
    text = f"`{name}` belongs in the query: `?{name}=…`." if name in known else f"{quote_text(name)}: {detail}"
    return RequestFault("unknown", text, pointer=f"/{name.replace('~', '~0').replace('/', '~1')}")


def _has_body(request: Request) -> bool:
    return bool(int(request.META.get("CONTENT_LENGTH") or 0)) or "HTTP_TRANSFER_ENCODING" in request.META
