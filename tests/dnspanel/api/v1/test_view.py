"""Tests of the code that all views of API v1 share: keys, errors, Accept, JSON, names and ids."""

import json

import pytest
from django.test import RequestFactory
from rest_framework.request import Request

from dnspanel.api.v1 import view
from dnspanel.api.v1.view import Refusal
from dnspanel.zones.models import Zone
from tests.dnspanel.api.v1.conftest import Caller, MakeCaller, texts

ABSENT = "/zones/absent.test."


@pytest.mark.parametrize("key", ["", "nonsense", "dnsp_" + "x" * 43])
def test_without_a_good_key_nothing_answers(db: None, key: str) -> None:
    for method, path in [("GET", "/zones"), ("POST", "/zones"), ("PATCH", ABSENT), ("GET", "/nothing-here")]:
        refused = Caller(key)(method, path)
        assert (refused.status_code, texts(refused)) == (401, "Unauthorized")
        assert refused["WWW-Authenticate"] == 'X-API-Key realm="PowerDNS"'


def test_a_token_that_must_send_if_match_writes_nothing_where_nothing_compares_it(
    make_caller: MakeCaller, zone: Zone
) -> None:
    careful = make_caller(needs_if_match=True)
    assert careful("GET", "/zones").status_code == 200
    refused = careful("DELETE", "/zones/example.test.")
    assert (refused.status_code, "Use API v2" in texts(refused)) == (403, True)
    assert Zone.objects.filter(deleted_at=None).exists()


def test_the_key_may_also_be_a_bearer_token(call: Caller, client: object) -> None:
    from django.test import Client

    found = Client(headers={"Authorization": f"Bearer {call.key}"}).get("/api/v1/servers/localhost/zones")
    assert found.status_code == 200


@pytest.mark.parametrize(
    ("accept", "content_type", "body"),
    [
        ("application/json", "application/json", b'{"error": "Not Found"}'),
        ("text/html, application/json;q=0.9", "application/json", b'{"error": "Not Found"}'),
        ("*/*", "text/plain; charset=utf-8", b"Not Found"),
        ("text/plain", "text/plain; charset=utf-8", b"Not Found"),
        (None, "text/plain; charset=utf-8", b"Not Found"),
    ],
)
def test_errors_of_the_framework_are_json_for_who_accepts_it(
    call: Caller, accept: str | None, content_type: str, body: bytes
) -> None:
    refused = call("GET", ABSENT, accept=accept)
    assert (refused.status_code, refused["Content-Type"], refused.content) == (404, content_type, body)


def test_a_browser_sees_a_page(call: Caller) -> None:
    refused = call("GET", ABSENT, accept="text/html")
    assert refused["Content-Type"].startswith("text/html")
    assert b"<h1>Not Found</h1>" in refused.content


@pytest.mark.parametrize("accept", ["application/json", "text/plain", "image/png", None])
def test_422_is_json_for_everybody_and_nothing_answers_406(call: Caller, zone: Zone, accept: str | None) -> None:
    refused = call("PATCH", "/zones/example.test.", {}, accept=accept)
    assert (refused.status_code, refused["Content-Type"]) == (422, "application/json")
    assert call("GET", "/zones", accept=accept)["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{bad",
        '{"a": NaN}',
        '{"a": "\\ud800"}',
        '{"a\\u0000": 1}',
        '["\\u0000"]',
        b"\xff\xfe",
        "[" * 100_000,
        "1" * 10_000,
    ],
)
@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "multipart/form-data"])
def test_what_is_no_json_is_a_bad_request(call: Caller, zone: Zone, body: str | bytes, content_type: str) -> None:
    for method, path in [("POST", "/zones"), ("PATCH", "/zones/example.test."), ("PUT", "/zones/example.test.")]:
        refused = call(method, path, body, content_type=content_type)
        assert (refused.status_code, texts(refused)) == (400, "Bad Request")


def test_a_body_beyond_the_limit_is_refused(call: Caller, zone: Zone, settings: object) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000  # type: ignore[attr-defined]
    assert call("POST", "/zones", "x" * 1001).status_code == 413


def test_only_the_server_localhost_exists(call: Caller) -> None:
    assert call("GET", "/api/v1/servers/other/zones").status_code == 404
    assert call("GET", "/api/v1/nothing").status_code == 404
    assert call("GET", "/api/v1/servers/localhost/zones/").status_code == 404


def test_a_method_that_a_url_does_not_have_is_405(call: Caller, zone: Zone) -> None:
    refused = call("DELETE", "/zones")
    assert (refused.status_code, texts(refused)) == (405, "Method Not Allowed")
    assert refused["Allow"] == "GET, POST, OPTIONS"
    for method in ("HEAD", "TRACE"):
        assert call(method, "/zones").status_code == 405


@pytest.mark.parametrize("key", ["", "nonsense"])
def test_a_browser_may_ask_without_a_key_whether_a_page_may_call_with_one(db: None, key: str) -> None:
    for path in ("/api", "/api/v1/servers/localhost", "/zones", ABSENT):
        response = Caller(key)("OPTIONS", path)
        assert (response.status_code, response["Content-Type"], response.content) == (200, "text/plain", b"")
        assert response["Access-Control-Allow-Origin"] == "*"
        assert response["Access-Control-Allow-Headers"] == "Content-Type, X-API-Key"
        assert response["Access-Control-Allow-Methods"] == "GET, POST, PUT, PATCH, DELETE, OPTIONS"
        assert response["Access-Control-Max-Age"] == "3600"
    for path in ("/nothing-here", "/api/v1/servers/other/zones"):
        assert Caller(key)("OPTIONS", path).status_code == 404


def test_a_page_of_any_origin_may_read_answers_but_no_cookie_calls_for_it(call: Caller, zone: Zone) -> None:
    answers = [call("GET", "/zones"), call("PATCH", "/zones/example.test.", {}), call("GET", ABSENT)]
    for response in (*answers, Caller("")("GET", "/zones")):
        assert response["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in response


@pytest.mark.parametrize(
    ("id", "status"),
    [
        ("example.test", 200),
        ("example.test.", 200),
        ("EXAMPLE.test", 200),
        ("=65xample.test.", 200),
        ("=6.test.", 400),
        ("=zz.test.", 400),
        ("=6a=.test.", 400),
        ("a..test.", 422),
        ("=00.test.", 422),
        ("=FF.test.", 404),
        ("x" * 64 + ".test.", 422),
        ("other.test.", 404),
        ("%00", 422),
        ("=5C.test.", 404),
    ],
)
def test_zone_ids_with_and_without_dot_and_with_escapes(call: Caller, zone: Zone, id: str, status: int) -> None:
    assert call("GET", f"/zones/{id}").status_code == status


def test_ids_of_names(db: None) -> None:
    assert view.zone_id("0/25.2_x.test.") == "0=2F25.2=5Fx.test."
    assert view.name_of_id("0=2F25.2=5Fx.test") == "0/25.2_x.test."
    assert view.zone_id(".") == "=2E"
    assert view.name_of_id("=2E") == "."
    assert view.zone_url("example.test.") == "/api/v1/servers/localhost/zones/example.test."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("example.test", "DNS Name 'example.test' is not canonical"),
        ("", "DNS Name '' is not canonical"),
        ("a\\.", "is not canonical"),
        ("a..", "Unable to parse DNS Name 'a..'"),
        ("x" * 64 + ".", "Unable to parse DNS Name"),
    ],
)
def test_names_must_end_in_a_dot_and_be_names(text: str, words: str) -> None:
    with pytest.raises(Refusal) as caught:
        view.canonical(text)
    assert caught.value.status == 422
    assert words in str(caught.value)
    assert view.canonical("WWW.Example.TEST.") == "www.example.test."


def test_members_of_other_types_are_named() -> None:
    assert view.list_in({"a": None}, "a") == []
    for read, value in [(view.text_in, 5), (view.list_in, {})]:
        with pytest.raises(Refusal, match="Key 'a'"):
            read({"a": value}, "a")


def test_nulls_are_as_if_they_were_not_there() -> None:
    body = json.dumps({"a": None, "b": 1, "c": {"d": None}})
    request = Request(RequestFactory().generic("POST", "/", body))
    assert view.json_object(request) == {"b": 1, "c": {"d": None}}
    assert view.json_object(Request(RequestFactory().generic("POST", "/", "[1]"))) == {}


def test_a_fault_of_ours_is_logged_and_says_nothing(
    make_caller: MakeCaller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from django.test import Client

    from dnspanel.api.v1 import zones

    def broken(*args: object, **kwargs: object) -> str:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(zones, "zone_list", broken)
    client = Client(raise_request_exception=False)
    headers = {"X-API-Key": make_caller().key, "Accept": "application/json"}
    refused = client.get("/api/v1/servers/localhost/zones", headers=headers)
    assert (refused.status_code, json.loads(refused.content)) == (500, {"error": "Internal Server Error"})
    assert "secret detail" in caplog.text
