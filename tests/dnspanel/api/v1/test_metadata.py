"""Tests of zone metadata over HTTP."""

import pytest

from dnspanel.accounts.actors.actors import RECORD_RIGHTS, Grant, Right
from dnspanel.accounts.models import User
from tests.dnspanel.api.v1.calls import Caller, caller, make_zone

LIST = "/zones/a.test./metadata"
pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(bob: User) -> Caller:
    make_zone("a.test.")
    return caller(bob)


def test_what_is_added_replaced_and_deleted_is_read_back(ask: Caller) -> None:
    assert [item["kind"] for item in ask.value("GET", LIST)] == ["SOA-EDIT-API"]
    added = ask.value("POST", LIST, {"kind": "X-A", "metadata": ["a", "a"], "type": "ignored"}, status=201)
    assert added == {"kind": "X-A", "metadata": ["a"], "type": "Metadata"}
    assert ask.value("PUT", f"{LIST}/X-A", {"metadata": ["b"]}) == {**added, "metadata": ["b"]}
    ask.value("POST", LIST, {"kind": "AXFR-SOURCE", "metadata": ["192.0.2.1"]}, status=201)
    assert [item["kind"] for item in ask.value("GET", LIST)] == ["AXFR-SOURCE", "SOA-EDIT-API", "X-A"]
    assert ask.value("GET", "/zones/a.test/metadata/X-A")["metadata"] == ["b"]
    assert ask("DELETE", f"{LIST}/X-A").status_code == 204
    assert ask.value("GET", f"{LIST}/X-A") == {**added, "metadata": []}


def test_kinds_that_are_not_for_clients_are_refused(ask: Caller) -> None:
    refused = "Unsupported metadata kind 'PRESIGNED'"
    assert ask.error("POST", LIST, {"kind": "PRESIGNED", "metadata": ["1"]}) == refused
    assert ask.error("PUT", f"{LIST}/PRESIGNED", {"metadata": ["1"]}) == refused
    assert ask.error("DELETE", f"{LIST}/PRESIGNED") == refused
    assert ask.value("GET", f"{LIST}/PRESIGNED")["metadata"] == []
    assert ask.error("GET", f"{LIST}/SOA-EDIT-API") == "Unsupported metadata kind 'SOA-EDIT-API'"
    assert ask("GET", f"{LIST}/X-%00").status_code == 422


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([], "kind is not specified or not a string"),
        ({"kind": 1, "metadata": []}, "kind is not specified or not a string"),
        ({"kind": "X-A"}, "metadata is not specified or not an array"),
        ({"kind": "X-A", "metadata": "a"}, "metadata is not specified or not an array"),
        ({"kind": "X-A", "metadata": [1]}, "metadata must be strings"),
        ({"kind": "X-A", "metadata": ["x" * 100_000]}, "The metadata of a.test. would be larger than 64 kB."),
    ],
)
def test_bad_bodies_are_refused_as_the_real_server_does(body: object, message: str, ask: Caller) -> None:
    assert ask.error("POST", LIST, body) == message


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"kind": "X-A", "metadata": ["\\u0000"]}', b"[" * 100_000])
def test_what_is_no_json_is_a_bad_request(body: bytes, ask: Caller) -> None:
    assert ask("POST", LIST, body).status_code == 400
    assert ask("PUT", f"{LIST}/X-A", body).status_code == 400


def test_only_who_may_change_settings_writes_and_who_sees_nothing_finds_nothing(bob: User) -> None:
    zone = make_zone("a.test.")
    editor = caller(bob, Grant(RECORD_RIGHTS | {Right.READ}, zones=frozenset({zone.pk})))
    assert editor.value("GET", LIST) != []
    assert editor("POST", LIST, {"kind": "X-A", "metadata": []}).status_code == 403
    assert editor("PUT", f"{LIST}/X-A", {"metadata": []}).status_code == 403
    assert editor("DELETE", f"{LIST}/X-A").status_code == 403
    stranger = caller(bob, Grant(frozenset({Right.READ}), zones=frozenset({2**30})))
    for method in ("GET", "POST"):
        assert stranger(method, LIST, {}).status_code == 404
    for method in ("GET", "PUT", "DELETE"):
        assert stranger(method, f"{LIST}/X-A", {}).status_code == 404


def test_a_write_that_has_no_effect_says_so(ask: Caller) -> None:
    """Regression test: kinds that only PowerDNS acts on were stored with 200 or 201, without a warning."""
    added = ask.value("POST", LIST, {"kind": "AXFR-SOURCE", "metadata": ["192.0.2.1"]}, status=201)
    assert added["warning"].startswith("AXFR-SOURCE is kept, but has no effect: primaries are asked from the address")
    assert "warning" in ask.value("PUT", f"{LIST}/PUBLISH-CDS", {"metadata": ["2"]})
    assert "warning" not in ask.value("PUT", f"{LIST}/PUBLISH-CDS", {"metadata": []})
    assert "warning" not in ask.value("POST", LIST, {"kind": "X-A", "metadata": ["a"]}, status=201)


def test_a_limit_that_nothing_keeps_is_refused_and_can_be_taken_away(ask: Caller) -> None:
    message = "ALLOW-DNSUPDATE-FROM would have no effect here: updates are allowed by TSIG key, from whatever address"
    body = {"kind": "ALLOW-DNSUPDATE-FROM", "metadata": ["192.0.2.0/24"]}
    assert ask.error("POST", LIST, body).startswith(message)
    assert ask.error("PUT", f"{LIST}/ALLOW-DNSUPDATE-FROM", body).startswith(message)
    assert ask("PUT", f"{LIST}/ALLOW-DNSUPDATE-FROM", {"metadata": []}).status_code == 200
    assert ask("DELETE", f"{LIST}/ALLOW-DNSUPDATE-FROM").status_code == 204
