"""Tests of headers in the OpenAPI document. `described.check_answer` checks them in every answer of the API tests."""

import re

from dnspanel.api.v2.schema import headers
from tests.dnspanel.api.described import described


def operations() -> dict[str, dict[str, object]]:
    return {each["operationId"]: each for path in described()["paths"].values() for each in path.values()}


def test_every_operation_that_is_named_here_exists() -> None:
    named = headers._TAGGED_READS | headers._TAGGED_ACTS | headers._LOCATED_ACTS | headers._UNTAGGED_WRITES
    assert (named | headers._FILES | headers._RESUMED) - operations().keys() == set()


def test_every_header_that_is_declared_is_a_component_and_each_component_is_used() -> None:
    used = set(re.findall(r"'#/components/headers/([\w-]+)'", str(described())))
    assert used == described()["components"]["headers"].keys() == headers.HEADERS.keys()


def test_a_write_declares_all_that_its_answers_can_carry() -> None:
    answers = described()["paths"]["/api/v2/zones/{zone_name}/rrsets/{owner}/{type_name}"]["put"]["responses"]
    wanted = {"ETag", "Location", "Preference-Applied", "Retry-After", "Idempotency-Replayed", "RateLimit-Remaining"}
    assert wanted <= answers["202"]["headers"].keys()
    problems = described()["components"]["responses"]
    assert {"ETag", "Idempotency-Replayed"} <= problems["Problem412"]["headers"].keys()
    assert {"WWW-Authenticate"} == problems["Problem401"]["headers"].keys()
    assert all("Retry-After" in problems[f"Problem{status}"]["headers"] for status in (409, 429, 503))


def test_what_is_open_to_everybody_declares_no_limits() -> None:
    assert described()["paths"]["/api/v2/openapi.json"]["get"]["responses"]["200"]["headers"].keys() == {"ETag"}
