"""Error pages for outages: PostgreSQL is unavailable, or a disk is full. Rendering them doesn't need the database."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string

from dnspanel.database import database_away


def answer(request: HttpRequest, exc: BaseException) -> HttpResponse:
    """Log the exception and return a 503 or 507 response as a page, plain text for htmx, or JSON."""
    message, status = database_away.sentence(exc), database_away.status_of(exc)
    if request.headers.get("HX-Request"):  # `panel.js` shows plain text unchanged
        response = HttpResponse(message, status=status, content_type="text/plain; charset=utf-8")
    elif request.get_preferred_type(["text/html", "application/json"]) == "application/json":
        response = JsonResponse({"error": message, "errors": [message]}, status=status)
    else:
        # Render without the request, because the frame's draft and fleet would need PostgreSQL.
        in_doubt, is_full = database_away.is_in_doubt(exc), database_away.is_full(exc)
        context = {"message": message, "in_doubt": in_doubt, "is_full": is_full}
        response = HttpResponse(render_to_string("database_away.html", context), status=status)
    return database_away.finish(request, exc, response)
