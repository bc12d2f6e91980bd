"""API v1 with a complete panel: with `wait=all`, a write returns when all three name servers answer with it."""

import http.client
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from dnspanel.demo.stack import Stack
from tests.dnspanel.api.v1.conftest import SERVER, replace
from tests.stack import ask_all, make_person, run_inside

pytestmark = pytest.mark.flow

ZONE = "v1-flow.test."
NAME = f"_acme-challenge.{ZONE}"

Call = Callable[..., tuple[int, Any]]


@pytest.fixture(scope="module")
def call(stack: Stack) -> Call:
    """Return a function that calls the API as a person with all rights."""
    make_person(stack, "vera")
    key = run_inside(stack, "tokens.make_token", "vera")

    def call(method: str, path: str, body: object = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(urlsplit(stack.url).netloc, timeout=60)
        text = None if body is None else json.dumps(body)
        connection.request(method, SERVER + path, text, {"X-API-Key": key, "Accept": "application/json"})
        answer = connection.getresponse()
        reply = answer.read()
        connection.close()
        return answer.status, json.loads(reply) if reply else None

    return call


def served(stack: Stack, name: str, rdtype: str) -> list[set[str]]:
    """Return each name server's answer."""
    return [set(answer.rdata) for answer in ask_all(stack, name, rdtype)]


def test_an_answer_means_that_every_name_server_has_it(stack: Stack, call: Call) -> None:
    made = {"name": ZONE, "kind": "Native", "nameservers": ["ns1.example.net.", "ns2.example.net."]}
    assert call("POST", "/zones?wait=all", made)[0] == 201
    assert served(stack, ZONE, "NS") == [{"ns1.example.net.", "ns2.example.net."}] * 3
    for count, text in enumerate(('"one"', '"two"'), 1):
        extend = {**replace(NAME, "TXT", text, ttl=60), "changetype": "EXTEND"}
        assert call("PATCH", f"/zones/{ZONE}?wait=all", {"rrsets": [extend]}) == (204, None)
        assert served(stack, NAME, "TXT") == [{'"one"', '"two"'} if count == 2 else {'"one"'}] * 3
    prune = {**replace(NAME, "TXT", '"one"', ttl=60), "changetype": "PRUNE"}
    assert call("PATCH", f"/zones/{ZONE}?wait=all", {"rrsets": [prune]}) == (204, None)
    assert served(stack, NAME, "TXT") == [{'"two"'}] * 3
    assert call("DELETE", f"/zones/{ZONE}?wait=all") == (204, None)
    assert {answer.rcode for answer in ask_all(stack, ZONE, "NS")} == {"REFUSED"}
