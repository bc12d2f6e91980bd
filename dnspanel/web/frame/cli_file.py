"""Serve the command-line client as a single file, configured for this panel.

The download needs no sign-in, because scripts fetch it before they have a token. The code and the panel's URL are
public.
"""

from hashlib import sha256

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import condition, require_safe

from dnspanel import cli_file


def _etag(request: HttpRequest) -> str:
    """Return the ETag, a hash of the content, because the content can change without a new version."""
    return f'"{sha256(cli_file.command_line(settings.PANEL_URL)).hexdigest()[:32]}"'


@require_safe
@condition(etag_func=_etag)
def download(request: HttpRequest) -> HttpResponse:
    """Return the file `dnspanel`, the command-line client."""
    response = HttpResponse(cli_file.command_line(settings.PANEL_URL), content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{cli_file.NAME}"'
    # Caches can store the file, but must revalidate it.
    response["Cache-Control"] = "no-cache"
    return response
