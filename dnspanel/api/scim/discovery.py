"""The SCIM server's discovery endpoints (RFC 7644, section 4; RFC 7643, sections 5 to 7)."""

from collections.abc import Mapping, Sequence
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


class ServiceProviderConfig(ScimView):
    """The SCIM features that this server supports."""

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
    """The resource types of this server: users and groups."""

    def get(self, request: Request) -> HttpResponse:
        """List the resource types."""
        return _list(request, list(_resource_types().values()))


class OneResourceType(ScimView):
    """One resource type, `User` or `Group`."""

    def get(self, request: Request, name: str) -> HttpResponse:
        """Return one resource type."""
        return _one(_resource_types(), name)


class Schemas(ScimView):
    """The schemas of users and groups."""

    def get(self, request: Request) -> HttpResponse:
        """List the schemas."""
        return _list(request, list(_schemas().values()))


class OneSchema(ScimView):
    """One schema, identified by its URN."""

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


def _attribute(name: str, description: str, kind: str = "string", **other: Any) -> Mapping[str, Any]:
    """Return an attribute's definition. Clients can write the attribute unless `other` overrides `mutability`."""
    texts = {"caseExact": False, "uniqueness": "none"} if kind in ("string", "reference") else {}
    return {
        "name": name,
        "type": kind,
        "multiValued": False,
        "description": description,
        "required": False,
        "mutability": "readWrite",
        "returned": "default",
        **texts,
        **other,
    }


_READ: dict[str, Any] = {"mutability": "readOnly"}
_REFERENCE: dict[str, Any] = {"caseExact": True, "mutability": "readOnly"}
_USER_ATTRIBUTES = [
    _attribute("userName", "What the person signs in with.", required=True, uniqueness="server"),
    _attribute("displayName", "The person’s name as the directory shows it."),
    _attribute("active", "Whether the person may sign in.", "boolean"),
    _attribute(
        "name",
        "The person’s name.",
        "complex",
        subAttributes=[_attribute("givenName", "First name."), _attribute("familyName", "Last name.")],
    ),
    _attribute(
        "emails",
        "The one mail address of the person.",
        "complex",
        multiValued=True,
        required=True,
        subAttributes=[
            _attribute("value", "The address.", required=True, uniqueness="server"),
            _attribute("type", "Always work.", canonicalValues=["work"], **_READ),
            _attribute("primary", "Always true.", "boolean", **_READ),
        ],
    ),
    _attribute(
        "groups",
        "The groups that the person is in.",
        "complex",
        multiValued=True,
        mutability="readOnly",
        subAttributes=[
            _attribute("value", "Id of the group.", **_REFERENCE),
            _attribute("$ref", "Where it is read.", "reference", referenceTypes=["Group"], **_REFERENCE),
            _attribute("display", "Its name.", **_READ),
            _attribute("type", "Always direct.", canonicalValues=["direct"], **_READ),
        ],
    ),
]
_IMMUTABLE: dict[str, Any] = {"caseExact": True, "mutability": "immutable"}
_GROUP_ATTRIBUTES = [
    _attribute("displayName", "The group’s name; rules of the panel are about it.", required=True),
    _attribute(
        "members",
        "The people in the group.",
        "complex",
        multiValued=True,
        subAttributes=[
            _attribute("value", "Id of the person.", **_IMMUTABLE),
            _attribute("$ref", "Where they are read.", "reference", referenceTypes=["User"], **_IMMUTABLE),
            _attribute("type", "Always User.", canonicalValues=["User"], mutability="immutable"),
        ],
    ),
]


def _schemas() -> dict[str, Mapping[str, Any]]:
    return {
        urn: {
            "schemas": [f"{_CORE}Schema"],
            "id": urn,
            "name": name,
            "description": description,
            "attributes": attributes,
            "meta": _meta("Schema", f"Schemas/{urn}"),
        }
        for urn, name, description, attributes in (
            (USER, "User", "A person with an account.", _USER_ATTRIBUTES),
            (GROUP, "Group", "A group of people.", _GROUP_ATTRIBUTES),
        )
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
