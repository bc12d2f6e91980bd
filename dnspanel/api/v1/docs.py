"""`/api/docs`: a machine-readable description of the API. Some clients generate their code from it."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.api.v1.view import JSON, PowerdnsView, accepts_json

DOCUMENT = Path(__file__).with_name("swagger.yaml")
YAML = "application/x-yaml"


class Docs(PowerdnsView):
    """The API description as YAML or JSON, depending on Accept. Other clients receive YAML as plain text."""

    def get(self, request: Request) -> HttpResponse:
        accepted = request.META.get("HTTP_ACCEPT", "")
        if YAML in accepted or "text/x-yaml" in accepted:
            return HttpResponse(document_text(), content_type=YAML)
        if accepts_json(request):
            return HttpResponse(document_json(), content_type=JSON)
        return HttpResponse(document_text(), content_type="text/plain; charset=utf-8")


@cache
def document_text() -> str:
    """Return the API description's YAML text."""
    return DOCUMENT.read_text(encoding="utf-8")


@cache
def document_json() -> str:
    """Return the API description as JSON."""
    return json.dumps(document())


def document() -> dict[str, Any]:
    """Return the parsed API description."""
    return dict(yaml.safe_load(document_text()))
