"""Return each API's error response if PostgreSQL is unavailable and the view didn't handle the exception."""

from django.http import HttpRequest, HttpResponse

from dnspanel.api.scim import view as scim
from dnspanel.api.scim.faults import ScimFault
from dnspanel.api.v1 import view as v1
from dnspanel.api.v2.http import problems
from dnspanel.database import database_away

TEXT = "text/plain; charset=utf-8"


def answer_v1(request: HttpRequest, exc: BaseException) -> HttpResponse:
    """Return status 503 as an error in PowerDNS's format."""
    return database_away.finish(request, exc, v1.answer({"error": database_away.sentence(exc)}, 503))


def answer_v2(request: HttpRequest, exc: BaseException) -> HttpResponse:
    """Return status 503 as problem details (RFC 9457)."""
    return database_away.finish(request, exc, problems.answer(problems.unavailable(exc)))


def answer_scim(request: HttpRequest, exc: BaseException) -> HttpResponse:
    """Return status 503 as a SCIM error."""
    fault = ScimFault(503, database_away.sentence(exc))
    return database_away.finish(request, exc, scim.answer_fault(fault, {}))


def answer_dyndns(request: HttpRequest, exc: BaseException) -> HttpResponse:
    """Return status 503 with `911`, the dyndns2 code for a server error."""
    return database_away.finish(request, exc, HttpResponse("911\n", status=503, content_type="text/plain"))


def answer_text(request: HttpRequest, exc: BaseException) -> HttpResponse:
    """Return status 503 with one sentence of plain text."""
    return database_away.finish(
        request, exc, HttpResponse(database_away.sentence(exc) + "\n", status=503, content_type=TEXT)
    )
