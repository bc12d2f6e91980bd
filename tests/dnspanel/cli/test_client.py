"""Tests of the HTTP client against servers that disconnect, limit requests, or aren't a panel."""

import io
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from dnspanel import __version__
from dnspanel.cli.client import PAUSES, Client
from dnspanel.cli.config import Config
from dnspanel.cli.errors import Refused, Unreachable

Answer = tuple[int, dict[str, str], bytes] | None  # None: the connection breaks off


class Server:
    """A server that gives each request its next answer, and records the requests."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def say(self, status: int, value: Any, **headers: str) -> None:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        self.answers.append((status, named, value if isinstance(value, bytes) else json.dumps(value).encode()))

    def _handler(server: "Server") -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                server.requests.append((self.command, self.path, dict(self.headers.items()), body))
                told = server.answers.pop(0)
                if told is None:
                    self.close_connection = True
                    return
                status, headers, content = told
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    thread = Thread(target=running.http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield running
    running.http.shutdown()
    thread.join()
    running.http.server_close()


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def client(server: Server, pauses: list[float]) -> Iterator[Client]:
    made = Client(Config(server.url, "dnsp_secret"), pause=pauses.append)
    yield made
    made.close()


def keys(server: Server) -> set[str]:
    return {headers["Idempotency-Key"] for _, _, headers, _ in server.requests}


def test_a_request_carries_the_token_and_comes_back_as_json(server: Server, client: Client) -> None:
    server.say(200, {"name": "example.test."})
    assert client.get("/zones/example.test", q="has:1", limit=None) == {"name": "example.test."}
    [(method, path, headers, _)] = server.requests
    assert (method, path) == ("GET", "/api/v2/zones/example.test?q=has%3A1")
    assert headers["Authorization"] == "Bearer dnsp_secret"
    assert "Idempotency-Key" not in headers


def test_a_person_is_told_once_that_the_panel_has_another_version(
    server: Server, client: Client, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.say(200, {}, Panel_Version=__version__)
    for _ in range(2):
        server.say(200, {}, Panel_Version="9.9.9")
    client.get("/me")
    assert capsys.readouterr().err == ""
    for is_terminal, notes in ((False, 0), (True, 1)):
        other = Client(Config(server.url, "dnsp_secret"))
        monkeypatch.setattr("sys.stderr.isatty", lambda is_terminal=is_terminal: is_terminal)
        other.get("/me")
        other.close()
        assert (
            capsys.readouterr().err.count(f"the panel is version 9.9.9. Get the one that fits: curl -O {server.url}")
            == notes
        )


def test_a_write_whose_answer_was_lost_is_sent_again_under_the_same_key(
    server: Server, client: Client, pauses: list[float]
) -> None:
    server.answers += [None, None]
    server.say(202, {"done": True})
    assert client.send("POST", "/bulk", {"zones": []}) == {"done": True}
    assert len(server.requests) == 3
    assert len(keys(server)) == 1
    assert pauses == list(PAUSES[:2])
    server.say(202, {})
    client.send("POST", "/bulk", {"zones": []})
    assert len(keys(server)) == 2


def test_a_panel_that_asks_for_time_gets_it(server: Server, client: Client, pauses: list[float]) -> None:
    server.say(429, {"detail": "slowly"}, Retry_After="7")
    server.say(503, {"detail": "busy"})
    server.say(409, {"detail": "under way", "code": "under-way"}, Retry_After="1")
    server.say(200, {})
    client.send("PUT", "/x", {})
    assert pauses == [7.0, PAUSES[1], 1.0]


def test_patience_ends(server: Server, client: Client, pauses: list[float]) -> None:
    for _ in range(len(PAUSES) + 1):
        server.say(429, {"detail": "slowly"})
    with pytest.raises(Refused, match="slowly"):
        client.get("/zones")
    server.say(429, {"detail": "tomorrow"}, Retry_After="86400")
    with pytest.raises(Refused, match="tomorrow"):
        client.get("/zones")
    server.answers += [None] * (len(PAUSES) + 1)
    with pytest.raises(Unreachable, match="did not answer"):
        client.get("/zones")


def test_a_refusal_is_told_in_words_with_each_field(server: Server, client: Client) -> None:
    problem = {
        "title": "Some values are not usable",
        "status": 422,
        "code": "invalid",
        "detail": "Not an address. And 1 more.",
        "errors": [
            {"pointer": "/changes/0/rdata/1", "code": "invalid", "detail": "Not an address."},
            {"parameter": "limit", "code": "invalid", "detail": "Too many."},
        ],
    }
    server.say(422, problem)
    change = {"name": "www", "type": "A", "rdata": ["192.0.2.1", "192.0.2.300"]}
    with pytest.raises(Refused) as caught:
        client.send("POST", "/zones", {"changes": [change]})
    assert (caught.value.code, caught.value.exit_code) == ("invalid", 1)
    assert caught.value.format_message().splitlines() == [
        "2 values are wrong:",
        "  www A 192.0.2.300: Not an address.",
        "  limit: Too many.",
    ]


def test_a_single_fault_is_told_once(server: Server, client: Client) -> None:
    fault = {"pointer": "/changes/0/rdata/0", "code": "bad-rdata", "detail": "Not an address."}
    server.say(422, {"code": "invalid", "detail": "Not an address.", "errors": [fault]})
    with pytest.raises(Refused) as caught:
        client.get("/zones")
    assert caught.value.format_message() == "Not an address. (changes 0 rdata 0)"


@pytest.mark.parametrize(
    ("pointer", "body", "detail", "place"),
    [
        ("/zones/0", {"zones": ["a.test"]}, "Zone not found: a.test.", ""),
        ("/zones/1", {"zones": ["a.test", "b.test"]}, "You don’t have permission to delete it.", " (b.test)"),
        (
            "/zones/0/changes/0/ttl",
            {"zones": [{"zone": "a.test", "changes": [{"name": "www", "type": "A"}]}]},
            "No.",
            " (a.test www A ttl)",
        ),
        ("/rules/0/team", {"rules": [{"team": 9}]}, "No.", " (rules 1 team)"),
        ("/zones/5", {"zones": []}, "No.", " (zones 5)"),
        ("/value_comments/a~1b", {}, "No.", " (value_comments a/b)"),
        ("/name", {}, "This is a namesake.", " (name)"),
        ("", {}, "No.", ""),
    ],
)
def test_a_place_in_a_list_has_the_name_that_was_typed(pointer: str, body: Any, detail: str, place: str) -> None:
    problem = {"detail": detail, "errors": [{"pointer": pointer, "detail": detail}]}
    assert Refused(problem, body).format_message() == f"{detail}{place}"


@pytest.mark.parametrize(
    ("status", "content", "reason"),
    [
        (200, b"<html>Welcome to nginx</html>", "is not a dnspanel server: the answer is not JSON"),
        (404, b"<html>not found</html>", "is not a dnspanel server \\(HTTP 404\\)"),
        (502, b"", "is not a dnspanel server \\(HTTP 502\\)"),
        (500, b'["no problem"]', "is not a dnspanel server \\(HTTP 500\\)"),
    ],
)
def test_what_is_no_panel_is_said_to_be_none(
    server: Server, client: Client, status: int, content: bytes, reason: str
) -> None:
    server.say(status, content)
    with pytest.raises(Unreachable, match=reason):
        client.get("/zones")


def test_the_token_does_not_follow_a_redirect(server: Server, client: Client) -> None:
    server.say(301, b"", Location="https://elsewhere.test/")
    with pytest.raises(Unreachable, match=r"redirects to https://elsewhere\.test/"):
        client.get("/zones")
    assert len(server.requests) == 1


def test_pages_are_followed_at_the_panel_that_was_asked(server: Server, client: Client) -> None:
    elsewhere = "https://inside.test:9/api/v2/zones?limit=2&cursor=abc"
    server.say(200, {"items": [1, 2], "next": elsewhere, "next_cursor": "abc"})
    server.say(200, {"items": [3], "next": None, "next_cursor": None})
    assert list(client.items("/zones", limit=2)) == [1, 2, 3]
    assert [path for _, path, _, _ in server.requests] == ["/api/v2/zones?limit=2", "/api/v2/zones?limit=2&cursor=abc"]


def test_nobody_there_is_said_at_once(pauses: list[float]) -> None:
    for url in ("http://127.0.0.1:1", "http://nobody.invalid"):
        client = Client(Config(url, "dnsp_x"), pause=pauses.append)
        with pytest.raises(Unreachable, match=f"Cannot connect to {url}"):
            client.get("/zones")
        client.close()
    assert pauses == []


def test_a_download_goes_to_a_file_and_one_that_breaks_off_is_known(server: Server, client: Client) -> None:
    out = io.BytesIO()
    server.say(200, b"x" * 200_000, Content_Type="application/gzip")
    assert client.download("/exports/1/file", out) == 200_000
    server.answers.append((200, {"Content-Length": "500"}, b"short"))
    with pytest.raises(Unreachable, match="broke off"):
        client.download("/exports/1/file", out)


def test_an_upload_says_where_its_piece_begins(server: Server, client: Client) -> None:
    server.say(200, {"size": 7})
    assert client.upload("/imports/1/files/a.zone", b"abc", offset=4) == {"size": 7}
    [(method, path, headers, body)] = server.requests
    assert (method, path, body) == ("PUT", "/api/v2/imports/1/files/a.zone?offset=4", b"abc")
    assert headers["Content-Type"] == "application/octet-stream"
