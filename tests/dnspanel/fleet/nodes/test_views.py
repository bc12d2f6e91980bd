"""Tests of the endpoint for agents."""

import json
from typing import Any

import pytest
from cryptography import x509
from django.test import Client

from dnspanel.fleet.nodes import node_lifecycle
from dnspanel.fleet.nodes.views import MAX_BODY
from replication.wire.enrolment import decode_answer, request_fingerprint
from tests.dnspanel.fleet.conftest import NOW, MakeNode, signing_request

pytestmark = pytest.mark.django_db


def ask(client: Client, **body: str) -> Any:
    return client.post("/enroll/", json.dumps(body), content_type="application/json")


def test_an_agent_needs_no_session_and_no_csrf_token(waiting_node: MakeNode) -> None:
    from django.utils import timezone

    node = waiting_node()
    code, csr = node_lifecycle.make_code(node=node, now=timezone.now(), by=None), signing_request()
    strict = Client(enforce_csrf_checks=True)
    waiting = ask(strict, code=code, csr=csr)
    assert (waiting.status_code, set(waiting.json())) == (202, {"state", "fingerprint", "settings"})
    node_lifecycle.approve(node=node, now=NOW, by=None)
    enrolled = ask(strict, code=code, csr=csr)
    assert enrolled.status_code == 200
    assert set(enrolled.json()) == {
        "node",
        "schema",
        "cluster",
        "certificate",
        "ca",
        "signing_keys",
        "keys_generation",
        "panel",
        "signature",
        "settings",
        "settings_signature",
    }
    # The agent computes it too, so that nothing on the way can change the answer.
    fingerprint = request_fingerprint(x509.load_pem_x509_csr(csr.encode()))
    message = enrolled.json()
    fields = decode_answer(message, request=fingerprint, now=timezone.now())
    assert fields["node"] == node.name
    expected = {"role": "node", "dns_address": "192.0.2.53", "dns_port": 53, "agent_port": 8533}
    assert fields["settings"] == waiting.json()["settings"] == expected


def test_refusals_are_json_with_words(client: Client, waiting_node: MakeNode) -> None:
    node_lifecycle.make_code(node=waiting_node(), now=NOW, by=None)
    unknown = ask(client, code="guess." + "0" * 32, csr=signing_request())
    assert (unknown.status_code, unknown.json()["error"]) == (403, "code refused")
    unsigned = ask(client, code="guess", csr="nonsense")
    assert (unsigned.status_code, unsigned.json()["error"]) == (400, "bad request")
    assert ask(client, code="guess").status_code == 400
    assert client.post("/enroll/", b"\xff", content_type="application/json").status_code == 400
    assert client.post("/enroll/", b"[]", content_type="application/json").status_code == 400
    # Regression test: the parser raised an uncaught error, so brackets from any client caused status 500.
    assert client.post("/enroll/", b"[" * MAX_BODY, content_type="application/json").status_code == 400
    half = json.dumps({"code": "\ud800", "csr": signing_request()}).encode()
    assert client.post("/enroll/", half, content_type="application/json").status_code == 403


def test_it_takes_only_small_posts(client: Client) -> None:
    assert client.get("/enroll/", headers={"Accept": "application/json"}).status_code == 405
    assert ask(client, code="x" * MAX_BODY, csr="").status_code == 413
