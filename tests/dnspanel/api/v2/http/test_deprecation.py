"""Tests of deprecation: exactly the operations and parameters marked in the document send both headers."""

from datetime import date, timedelta
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import URLPattern, get_resolver, path, reverse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from dnspanel.api.v2.http.answers import answer
from dnspanel.api.v2.http.deprecation import LEAST_NOTICE, PAGE, deprecation_of, mark_deprecated
from dnspanel.api.v2.http.view import V2View
from tests.dnspanel.api.described import described
from tests.dnspanel.api.v2.schema.test_document import v2_urls
from tests.docs.documents import ROOT

SINCE, SUNSET = date(2027, 3, 1), date(2028, 3, 1)
SORT = OpenApiParameter("sort", str)


class Old(V2View):
    """A view with deprecated operations."""

    permission_classes = ()
    authentication_classes = ()

    @mark_deprecated(since=SINCE, sunset=SUNSET)
    @extend_schema(operation_id="getOld", responses={200: None})
    def get(self, request: Request) -> HttpResponse:
        """Read the old object."""
        return answer({}, headers={"Link": '</api/v2/old?cursor=x>; rel="next"'})

    @mark_deprecated(since=SINCE, sunset=SUNSET, parameters=("sort",))
    @extend_schema(operation_id="setOld", parameters=[SORT, OpenApiParameter("q", str)], responses={200: None})
    def put(self, request: Request) -> HttpResponse:
        """Set the old object."""
        return answer({})

    @extend_schema(operation_id="deleteOld", responses={200: None})
    def delete(self, request: Request) -> HttpResponse:
        """Delete the old object."""
        return answer({})


def ask(method: str, query: str = "") -> Any:
    return Old.as_view()(RequestFactory().generic(method, f"/api/v2/old{query}"))


def test_a_deprecated_operation_says_since_when_until_when_and_where_that_is_explained() -> None:
    response = ask("GET")
    assert response["Deprecation"] == "@1803859200"  # RFC 9745: a date of structured fields
    assert response["Sunset"] == "Wed, 01 Mar 2028 00:00:00 GMT"
    assert response["Link"] == f'</api/v2/old?cursor=x>; rel="next", <{PAGE}>; rel="deprecation"; type="text/html"'
    assert reverse("docs-api-page", args=["compatibility"]) == PAGE
    refused = ask("GET", "?no=such")
    assert (refused.status_code, refused["Deprecation"]) == (422, response["Deprecation"])


def test_a_deprecated_parameter_says_so_where_it_is_sent() -> None:
    assert ask("PUT", "?sort=name")["Sunset"] == ask("GET")["Sunset"]
    for response in (ask("PUT", "?q=x"), ask("PUT"), ask("DELETE")):
        assert (response.has_header("Deprecation"), response.has_header("Sunset")) == (False, False)


def test_a_year_is_promised_between_the_two() -> None:
    with pytest.raises(ValueError, match="less than 365 days"):
        mark_deprecated(since=SINCE, sunset=SINCE + LEAST_NOTICE - timedelta(days=1))


def test_the_document_is_marked_by_what_sends_the_headers() -> None:
    pattern = path("api/v2/old", Old.as_view())
    generator = SchemaGenerator(patterns=[pattern])  # type: ignore[no-untyped-call]
    generator._initialise_endpoints()  # type: ignore[no-untyped-call]
    operations = generator.parse(None, public=True)["/api/v2/old"]  # type: ignore[no-untyped-call]
    assert operations["get"]["deprecated"] is True
    assert "deprecated" not in operations["put"]
    assert "deprecated" not in operations["delete"]
    assert [each["name"] for each in operations["put"]["parameters"] if each.get("deprecated")] == ["sort"]


def deprecated_in(pattern: URLPattern) -> set[tuple[str, str]]:
    """Return the view's deprecated operations as (method, ""), and its deprecated parameters as (method, name)."""
    found = {
        method: deprecation_of(pattern.callback.cls, method) for method in ("get", "post", "put", "patch", "delete")
    }
    return {(method, name) for method, one in found.items() if one for name in one.parameters or ("",)}


def test_everything_that_is_deprecated_in_the_document_sends_both_headers() -> None:
    """Nothing is deprecated now. A mark that doesn't come from `mark_deprecated` would send no header."""
    sending = sorted(each for pattern in v2_urls(get_resolver()) for each in deprecated_in(pattern))
    marked = []
    for operations in described()["paths"].values():
        for method, operation in operations.items():
            marked += [(method, "")] if operation.get("deprecated") else []
            marked += [(method, each["name"]) for each in operation.get("parameters", []) if each.get("deprecated")]
    assert sorted(marked) == sending
    promise = (ROOT / "docs" / "use" / "compatibility.md").read_text()
    assert (marked == []) == ("No operation or parameter is deprecated now." in promise)
