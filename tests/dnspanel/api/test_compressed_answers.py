"""Tests of compressed JSON in both APIs, and of conditional requests by clients that accept compression."""

import gzip
import json
from collections.abc import Iterator

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.test import RequestFactory

from dnspanel.api.compressed_answers import LEAST_BYTES, CompressedAnswersMiddleware, accepts_gzip
from dnspanel.zones.models import Zone
from tests.dnspanel.api.v2.conftest import Caller
from tests.dnspanel.api.v2.conftest import alice as alice
from tests.dnspanel.api.v2.conftest import call as call
from tests.dnspanel.api.v2.conftest import make_caller as make_caller
from tests.dnspanel.api.v2.conftest import make_zone as make_zone
from tests.dnspanel.api.v2.conftest import zone as zone

GZIP = {"accept_encoding": "gzip, deflate, br"}
LARGE = {"ttl": 60, "rdata": [f"192.0.2.{number}" for number in range(120)]}
WWW = "/zones/example.test./rrsets/www/A"


@pytest.mark.parametrize(
    ("header", "accepts"),
    [
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("x-gzip", True),
        ("gzip;q=0, br", False),
        ("gzip; q=0.000", False),
        ("br, deflate", False),
        ("", False),
    ],
)
def test_what_the_client_accepts(header: str, accepts: bool) -> None:
    assert accepts_gzip(header) is accepts


def test_a_large_answer_of_either_api_is_compressed_for_who_accepts_it(call: Caller, zone: Zone) -> None:
    """Review A15: a client that sent `Accept-Encoding: gzip` got 706,420 uncompressed bytes of openapi.json."""
    call.good("PUT", WWW, LARGE)
    for path in ("/zones/example.test./rrsets", "/openapi.json", "/api/v1/servers/localhost/zones/example.test."):
        plain, packed = call("GET", path), call("GET", path, **GZIP)
        assert len(plain.content) >= LEAST_BYTES
        assert "Content-Encoding" not in plain
        assert (packed["Content-Encoding"], packed["Content-Type"]) == ("gzip", plain["Content-Type"])
        assert json.loads(gzip.decompress(packed.content)) == json.loads(plain.content)
        assert int(packed["Content-Length"]) == len(packed.content) < len(plain.content) / 2
        assert "Accept-Encoding" in packed["Vary"]
        assert "Accept-Encoding" in plain["Vary"], "a cache must not give one client the answer for the other"
    assert "Content-Encoding" not in call("GET", "/zones/example.test.", **GZIP), "a small one is left alone"


def test_conditions_hold_for_a_client_that_reads_compressed_answers(call: Caller, zone: Zone) -> None:
    for weak in ("", "W/"):  # a proxy that compresses makes a tag weak (RFC 9110)
        call.good("PUT", WWW, LARGE)
        read = call("GET", WWW, **GZIP)
        tag = weak + read["ETag"]
        assert read["Content-Encoding"] == "gzip"
        assert read["ETag"] == call("GET", WWW)["ETag"], "it names the RRset, however that travels"
        not_modified = call("GET", WWW, if_none_match=tag, **GZIP)
        assert (not_modified.status_code, not_modified.content) == (304, b"")
        assert call("PUT", WWW, LARGE | {"ttl": 61}, if_none_match=tag, **GZIP).status_code == 412
        assert call("PUT", WWW, LARGE | {"ttl": 61}, if_match=tag, **GZIP).status_code == 202
        stale = call("PUT", WWW, LARGE | {"ttl": 62}, if_match=tag, **GZIP)
        assert (stale.status_code, stale["Content-Encoding"]) == (412, "gzip")


def test_what_is_no_json_of_an_api_and_every_stream_pass_through() -> None:
    text = json.dumps(["x" * LEAST_BYTES]).encode()

    def answer_at(path: str, response: HttpResponse | StreamingHttpResponse) -> HttpResponse | StreamingHttpResponse:
        request = RequestFactory().get(path, headers={"Accept-Encoding": "gzip"})
        return CompressedAnswersMiddleware(lambda _: response)(request)  # type: ignore[return-value]

    assert answer_at("/api/x", HttpResponse(text, content_type="application/problem+json")).has_header(
        "Content-Encoding"
    )
    assert answer_at("/scim/v2/x", HttpResponse(text, content_type="application/scim+json")).has_header(
        "Content-Encoding"
    )
    pages = HttpResponse(text, content_type="application/json")
    assert not answer_at("/zones/", pages).has_header("Content-Encoding")
    assert not answer_at("/api/x", HttpResponse(text, content_type="application/gzip")).has_header("Content-Encoding")
    packed = HttpResponse(text, content_type="application/json", headers={"Content-Encoding": "br"})
    assert answer_at("/api/x", packed)["Content-Encoding"] == "br"

    def endless() -> Iterator[bytes]:
        while True:
            yield text

    stream = StreamingHttpResponse(endless(), content_type="application/json")
    answer = answer_at("/api/x", stream)
    assert not answer.has_header("Content-Encoding")
    assert next(iter(answer)) == text
