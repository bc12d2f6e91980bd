"""Tests of query parameters that an operation doesn't have."""

import pytest

from dnspanel.zones.models import Zone
from tests.dnspanel.api.v2.conftest import Caller, content

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_a_write_with_an_unknown_parameter_writes_nothing(call: Caller, zone: Zone, method: str) -> None:
    before = call.get("/zones/example.test.")
    body = content("192.0.2.7") if method != "DELETE" else None
    problem = call.problem(422, method, "/zones/example.test./rrsets/www/A?dry-run=true&wait=1", body)
    [fault] = problem["errors"]
    assert (fault["parameter"], fault["code"]) == ("dry-run", "unknown")
    assert "wait" in fault["detail"]
    assert call.get("/zones/example.test.") == before


def test_each_unknown_parameter_is_named(call: Caller, zone: Zone) -> None:
    problem = call.problem(422, "GET", "/zones?sort=name&fields=name")
    assert [fault["parameter"] for fault in problem["errors"]] == ["sort", "fields"]
    assert "cursor, limit, q" in problem["errors"][0]["detail"]


def test_an_operation_without_parameters_says_so(call: Caller, zone: Zone) -> None:
    [fault] = call.problem(422, "GET", "/me?verbose=1")["errors"]
    assert fault["detail"] == "This operation has no query parameters."


def test_format_is_a_parameter_like_others(call: Caller, zone: Zone) -> None:
    """Regression test: Django REST framework chose the media type by `format`, and answered 404 for unknown ones."""
    [fault] = call.problem(422, "GET", "/zones?format=xml")["errors"]
    assert (fault["parameter"], fault["code"]) == ("format", "unknown")


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "INITIAL"])
def test_what_is_no_method_of_the_api_is_refused_with_parameters_too(call: Caller, method: str) -> None:
    """The framework's views have methods of these names that no document describes."""
    assert call(method, "/me?verbose=1").status_code == 405
