"""Serve the command line as one file that fits this panel.

No sign-in: a script downloads it before it has a token, and it holds nothing secret. The code is public, and so is
the address that was asked.
"""

from hashlib import sha256

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import condition, require_safe

from dnspanel import cli_file


def _etag(request: HttpRequest) -> str:
    """Return the ETag. It names the content, which a checkout changes without another version."""
    return f'"{sha256(cli_file.command_line(settings.PANEL_URL)).hexdigest()[:32]}"'


@require_safe
@condition(etag_func=_etag)
def download(request: HttpRequest) -> HttpResponse:
    """Return the file `dnspanel`."""
    response = HttpResponse(cli_file.command_line(settings.PANEL_URL), content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{cli_file.NAME}"'
    # A cache may keep it, and asks whether it still fits.
    response["Cache-Control"] = "no-cache"
    return response
