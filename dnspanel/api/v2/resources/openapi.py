"""API resource for the OpenAPI document.

Everyone can read the document without a token, because it describes only the API and not the panel's data.
"""

import hashlib
import json
from functools import cache

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from dnspanel.api.v2.http.etag import fresh_enough
from dnspanel.api.v2.http.view import V2View, answer
from dnspanel.api.v2.schema.document import document
from dnspanel.api.v2.schema.query_parameters import IF_CHANGED


class OpenApi(V2View):
    permission_classes = ()
    authentication_classes = ()

    @extend_schema(operation_id="getOpenApi", auth=[], parameters=[IF_CHANGED], responses=OpenApiTypes.OBJECT)
    def get(self, request: Request) -> HttpResponse:
        """Read the OpenAPI document.

        Returns this document, in OpenAPI 3.1. No token is needed. The `ETag` changes when the API changes.
        """
        server = request.build_absolute_uri("/").rstrip("/")
        body = _document() | {"servers": [{"url": server}]}
        tag = f'"{hashlib.blake2s(json.dumps(body).encode(), digest_size=8).hexdigest()}"'
        return fresh_enough(request, tag) or answer(body, headers={"ETag": tag, "Cache-Control": "public, no-cache"})


@cache
def _document() -> dict[str, object]:
    """Return the OpenAPI document, built once in each process because it depends only on the code."""
    return document()
