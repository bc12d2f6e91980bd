"""The SCIM server's discovery endpoints (RFC 7644, section 4; RFC 7643, sections 5 to 7)."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.api.scim.faults import ScimFault
from dnspanel.api.scim.groups import GROUP
from dnspanel.api.scim.lists import LIST, MOST_PER_PAGE
from dnspanel.api.scim.people import USER
from dnspanel.api.scim.view import ScimView, answer

ROOT = "/scim/v2"
_CORE = "urn:ietf:params:scim:schemas:core:2.0:"
# The attributes of users and groups, with the defaults of RFC 7643, section 7, written out.
_SCHEMAS: Sequence[Mapping[str, Any]] = json.loads(Path(__file__).with_name("schemas.json").read_text())


class ServiceProviderConfig(ScimView):
    def get(self, request: Request) -> HttpResponse:
        """Return the supported SCIM features."""
        config = {
            "schemas": [f"{_CORE}ServiceProviderConfig"],
            "patch": {"supported": True},
            "bulk": {"supported": False, "maxOperations": 0, "maxPayloadSize": 0},
            "filter": {"supported": True, "maxResults": MOST_PER_PAGE},
            "changePassword": {"supported": False},
            "sort": {"supported": False},
            "etag": {"supported": True},
            "authenticationSchemes": [
                {
                    "type": "oauthbearertoken",
                    "name": "Bearer token",
                    "description": "The secret of the directory, in the Authorization header.",
                    "primary": True,
                }
            ],
            "meta": _meta("ServiceProviderConfig", "ServiceProviderConfig"),
        }
        return answer(config)


class ResourceTypes(ScimView):
    def get(self, request: Request) -> HttpResponse:
        """List the resource types."""
        return _list(request, list(_resource_types().values()))


class OneResourceType(ScimView):
    def get(self, request: Request, name: str) -> HttpResponse:
        """Return one resource type."""
        return _one(_resource_types(), name)


class Schemas(ScimView):
    def get(self, request: Request) -> HttpResponse:
        """List the schemas."""
        return _list(request, list(_schemas().values()))


class OneSchema(ScimView):
    def get(self, request: Request, urn: str) -> HttpResponse:
        """Return one schema."""
        return _one(_schemas(), urn)


def _list(request: Request, found: Sequence[Mapping[str, Any]]) -> HttpResponse:
    if "filter" in request.query_params:  # RFC 7644, section 4
        raise ScimFault(403, "There is no filter here.")
    body = {
        "schemas": [LIST],
        "totalResults": len(found),
        "startIndex": 1,
        "itemsPerPage": len(found),
        "Resources": found,
    }
    return answer(body)


def _one(known: Mapping[str, Mapping[str, Any]], key: str) -> HttpResponse:
    if key not in known:
        raise ScimFault(404, "There is nothing here.")
    return answer(known[key])


def _meta(kind: str, path: str) -> Mapping[str, str]:
    return {"resourceType": kind, "location": f"{settings.PANEL_URL}{ROOT}/{path}"}


def _schemas() -> dict[str, Mapping[str, Any]]:
    return {
        each["id"]: {"schemas": [f"{_CORE}Schema"], **each, "meta": _meta("Schema", f"Schemas/{each['id']}")}
        for each in _SCHEMAS
    }


def _resource_types() -> dict[str, Mapping[str, Any]]:
    return {
        name: {
            "schemas": [f"{_CORE}ResourceType"],
            "id": name,
            "name": name,
            "endpoint": f"/{name}s",
            "description": description,
            "schema": urn,
            "meta": _meta("ResourceType", f"ResourceTypes/{name}"),
        }
        for name, urn, description in (("User", USER, "People with accounts."), ("Group", GROUP, "Groups of people."))
    }
