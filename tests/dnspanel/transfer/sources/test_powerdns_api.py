import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from dnspanel.transfer.documents import Document, SourceFault
from dnspanel.transfer.errors import SourceAway, SourceRefused
from dnspanel.transfer.sources.powerdns_api import PowerdnsApiSource
from tests.dnspanel.transfer.databases import sqlite_estate as sqlite_estate
from tests.dnspanel.transfer.powerdns_estate import EXTRA_ZONE, KEPT, check_estate, fill, read
from tests.dnspanel.transfer.running import PowerDNS, lmdb_powerdns, run
from tests.ports import free_port

KEY = "the key of the tests"


@contextmanager
def api(powerdns: PowerDNS) -> Iterator[str]:
    port = free_port()
    settings = {"api": "yes", "api-key": KEY, "webserver-address": "127.0.0.1", "webserver-port": port}
    with powerdns.server(**settings):
        yield f"http://127.0.0.1:{port}"


def test_all_of_a_server_with_a_database_comes_as_powerdns_has_it(sqlite_estate: PowerDNS) -> None:
    with api(sqlite_estate) as url:
        source = PowerdnsApiSource(url, KEY)
        found = read(source.items())
    check_estate(found)
    assert source.done == source.total == len(found.documents)


def test_all_of_a_server_with_an_lmdb_comes_as_powerdns_has_it(tmp_path: Path) -> None:
    powerdns = lmdb_powerdns(tmp_path, 2)
    fill(powerdns)
    with api(powerdns) as url:
        check_estate(read(PowerdnsApiSource(url + "/api/v1/servers/localhost", KEY).items()), comments=False)


def test_a_list_of_zones_is_all_that_is_read(sqlite_estate: PowerDNS) -> None:
    with api(sqlite_estate) as url:
        source = PowerdnsApiSource(url, KEY, zones=["Extra.test", "missing.test."])
        items = list(source.items())
        assert [list(source.items(skip)) for skip in range(len(items) + 1)] == [
            items[skip:] for skip in range(len(items) + 1)
        ]
    found = read(items)
    assert list(found.documents) == [EXTRA_ZONE]
    assert [(fault.zone, fault.code) for fault in found.faults] == [("missing.test.", "unknown-zone")]
    assert {kept for kept in found.kept if kept[0] == EXTRA_ZONE} >= {kept for kept in KEPT if kept[0] == EXTRA_ZONE}


def test_a_wrong_key_or_server_id_is_explained(sqlite_estate: PowerDNS) -> None:
    with api(sqlite_estate) as url:
        with pytest.raises(SourceRefused, match="rejected the API key"):
            list(PowerdnsApiSource(url, "wrong").items())
        with pytest.raises(SourceRefused, match="the server ID doesn’t exist"):
            list(PowerdnsApiSource(url, KEY, "elsewhere").items())
        with pytest.raises(SourceRefused, match=r"TLS connection to .* failed"):
            list(PowerdnsApiSource(url.replace("http:", "https:"), KEY).items())


def test_a_server_that_does_not_answer_is_away() -> None:
    with pytest.raises(SourceAway, match="Connection refused"):
        list(PowerdnsApiSource(f"http://127.0.0.1:{free_port()}", KEY).items())


@pytest.mark.parametrize("url", ["127.0.0.1:8081", "ftp://127.0.0.1", "http://", "http://h:port", "file:///etc/passwd"])
def test_what_is_no_address_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(SourceRefused, match="the PowerDNS server’s address"):
        PowerdnsApiSource(url, KEY)


@pytest.mark.parametrize("key", ["", "two\nlines", "schlüssel"])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(SourceRefused, match="API key"):
        PowerdnsApiSource("http://127.0.0.1", key)


Answer = tuple[int, dict[str, str], bytes]


@contextmanager
def web_server(answers: dict[str, Answer], tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Run a web server with these answers by path below the API's base path. Yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("/servers/localhost")[2]
            status, headers, body = answers.get(path, (404, {}, b""))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *reason: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


JSON = {"Content-Type": "application/json"}
SERVER: Answer = (200, JSON, b'{"daemon_type": "authoritative"}')


def zone_list(*names: str) -> Answer:
    return 200, JSON, json.dumps([{"id": name, "name": name, "kind": "Native"} for name in names]).encode()


def zone(*rrsets: dict[str, Any]) -> Answer:
    return 200, JSON, json.dumps({"name": "x", "rrsets": rrsets, "serial": 1}).encode()


A_RRSET = {"name": "a.test.", "type": "A", "ttl": 60, "records": [{"content": "192.0.2.1", "disabled": False}]}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((200, {"Content-Type": "text/html"}, b"<html>"), "doesn’t provide the HTTP API of a PowerDNS"),
        ((200, JSON, b'{"daemon_type": "recursor"}'), "doesn’t provide the HTTP API of a PowerDNS"),
        ((302, {"Location": "http://127.0.0.1:1/"}, b""), "redirects to another address"),
        ((401, {}, b""), "rejected the API key"),
    ],
)
def test_what_is_not_a_powerdns_is_refused_with_a_reason(answer: Answer, reason: str) -> None:
    with web_server({"": answer}) as url, pytest.raises(SourceRefused, match=reason):
        list(PowerdnsApiSource(url, KEY).items())


def test_a_certificate_that_nobody_trusts_is_refused(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    new = ("-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost")
    run("openssl", "req", *new, "-days", "1", "-keyout", key, "-out", cert)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    with web_server({"": SERVER}, context) as url, pytest.raises(SourceRefused, match="isn’t trusted: self-signed"):
        list(PowerdnsApiSource(url, KEY).items())


def test_a_zone_that_fails_stops_no_other_and_has_a_reason() -> None:
    names = ("a.test.", "b.test.", "broken.test.", "cut.test.", "gone.test.")
    empty: Answer = (200, JSON, b"[]")
    answers: dict[str, Answer] = {"": SERVER, "/zones?dnssec=false": zone_list(*names), "/tsigkeys": empty}
    for name in names:
        answers |= {f"/zones/{name}/metadata": empty, f"/zones/{name}/cryptokeys": empty}
    answers |= {
        "/zones/a.test.": zone(A_RRSET),
        "/zones/b.test.": (500, JSON, b'{"error": "the backend is down"}'),
        "/zones/broken.test.": (200, JSON, b'{"rrsets": [{"name": "a", "records": [}]}'),
        "/zones/cut.test.": (200, {**JSON, "Content-Length": "5000"}, zone(A_RRSET)[2][:-20]),
    }
    with web_server(answers) as url:
        items = list(PowerdnsApiSource(url, KEY).items())
    assert [(item.zone, item.code) for item in items if isinstance(item, SourceFault)] == [
        ("b.test.", "api-failed"),
        ("broken.test.", "api-failed"),
        ("cut.test.", "api-failed"),
        ("gone.test.", "unknown-zone"),
    ]
    assert [item.zone for item in items if isinstance(item, Document)] == ["a.test."]
    assert "the backend is down" in items[1].reason  # type: ignore[union-attr]


def test_metadata_that_a_backend_lacks_are_a_warning_and_variants_of_views_too() -> None:
    answers: dict[str, Answer] = {
        "": SERVER,
        "/zones?dnssec=false": zone_list("a.test.", "a.test..priv"),
        "/zones/a.test.": zone(A_RRSET),
        "/zones/a.test./metadata": (422, JSON, b'{"error": "no metadata here"}'),
        "/zones/a.test./cryptokeys": (200, JSON, b"[]"),
    }
    with web_server(answers) as url:
        found = read(PowerdnsApiSource(url, KEY).items())
    assert [(fault.code, fault.severity.value) for fault in found.faults] == [
        ("view-variant", "warning"),
        ("not-kept", "warning"),
    ]
    assert found.lines("a.test.") == ["a.test. 60 IN A 192.0.2.1"]


def test_no_error_and_no_picture_of_it_shows_the_key() -> None:
    source = PowerdnsApiSource(f"http://127.0.0.1:{free_port()}", KEY)
    with pytest.raises(SourceAway) as raised:
        list(source.items())
    assert KEY not in str(raised.value)
    assert KEY not in repr(vars(source))
