"""Error pages that are shown while PostgreSQL is unavailable. Rendering them doesn't need the database."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string

from dnspanel.database import database_away


def answer(request: HttpRequest, exc: BaseException) -> HttpResponse:
    """Log the exception and return a 503 response as a page, plain text for htmx, or JSON."""
    message = database_away.sentence(exc)
    if request.headers.get("HX-Request"):  # `panel.js` shows plain text unchanged
        response = HttpResponse(message, status=503, content_type="text/plain; charset=utf-8")
    elif request.get_preferred_type(["text/html", "application/json"]) == "application/json":
        response = JsonResponse({"error": message}, status=503)
    else:
        # Render without the request, because the frame's draft and fleet would need PostgreSQL.
        context = {"message": message, "in_doubt": database_away.is_in_doubt(exc)}
        response = HttpResponse(render_to_string("database_away.html", context), status=503)
    return database_away.finish(request, exc, response)
