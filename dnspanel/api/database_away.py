"""Return each API's error response if the view didn't handle the exception of an outage.

The status is 503 if PostgreSQL is unavailable, and 507 if a disk is full.
"""

from django.http import HttpRequest, HttpResponse

from dnspanel.api.scim import view as scim
from dnspanel.api.scim.faults import ScimFault
from dnspanel.api.v1 import view as v1
from dnspanel.api.v2.http import problems
from dnspanel.database import database_away

TEXT = "text/plain; charset=utf-8"


def answer_v1(request: HttpRequest, exc: BaseException) -> HttpResponse:
    """Return an error in PowerDNS's format."""
    response = v1.answer({"error": database_away.sentence(exc)}, database_away.status_of(exc))
    return database_away.finish(request, exc, response)


def answer_v2(request: HttpRequest, exc: BaseException) -> HttpResponse:
    """Return problem details (RFC 9457)."""
    return database_away.finish(request, exc, problems.answer(problems.unavailable(exc)))


def answer_scim(request: HttpRequest, exc: BaseException) -> HttpResponse:
    """Return a SCIM error."""
    fault = ScimFault(database_away.status_of(exc), database_away.sentence(exc))
    return database_away.finish(request, exc, scim.answer_fault(fault, {}))


def answer_dyndns(request: HttpRequest, exc: BaseException) -> HttpResponse:
    """Return `911`, the dyndns2 code for a server error."""
    response = HttpResponse("911\n", status=database_away.status_of(exc), content_type="text/plain")
    return database_away.finish(request, exc, response)


def answer_text(request: HttpRequest, exc: BaseException) -> HttpResponse:
    """Return one sentence of plain text."""
    text, status = database_away.sentence(exc) + "\n", database_away.status_of(exc)
    return database_away.finish(request, exc, HttpResponse(text, status=status, content_type=TEXT))
