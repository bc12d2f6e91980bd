"""nginx accepts all its configurations, including that of `demo.proxy`, and each shields the panel from slow clients.

Each also answers people and programs while the panel is down, and logs all requests without secrets.
"""

import contextlib
import http.client
import json
import re
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

import pytest
from django.urls import URLResolver, get_resolver

from dnspanel.api.scim.view import ERROR
from dnspanel.api.v2.http.problem_types import PROBLEM_TYPES
from dnspanel.api.v2.http.problems import ROOT_URL
from dnspanel.demo import proxy
from tests.docs.documents import ROOT
from tests.full_disk import fill, small_disk
from tests.ports import free_port

NGINX = ROOT / "deploy" / "nginx"
PLACES = {"/etc/nginx/dnspanel": str(NGINX), "/srv/dnspanel": str(ROOT)}


def stack_conf(directory: Path) -> str:
    proxy.write_configuration(directory / "proxy", port=8000, web_socket=directory / "web.sock")
    return (directory / "proxy" / "nginx.conf").read_text()


def container_conf(directory: Path) -> str:
    return (NGINX / "container.conf").read_text().replace("/run/dnspanel", str(directory))


def site_conf(directory: Path) -> str:
    key, certificate = directory / "privkey.pem", directory / "fullchain.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    names = ["-subj", "/CN=dns.example.net", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*make, *names], check=True, capture_output=True)
    site = (NGINX / "site.conf").read_text().replace("/etc/ssl/dnspanel", str(directory))
    paths = f"pid {directory}/nginx.pid; error_log stderr;"
    temporary = " ".join(
        f"{kind}_temp_path {directory}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "scgi", "uwsgi")
    )
    return f"{paths} events {{}} http {{ access_log off; {temporary} {site} }}"


@pytest.mark.parametrize("conf", [stack_conf, container_conf, site_conf])
def test_nginx_takes_the_configuration_and_waits_for_whole_requests(
    conf: Callable[[Path], str], tmp_path: Path
) -> None:
    # nginx's test listens for a moment, which only root may do on low ports.
    text = re.sub(r"(listen \S*)\b(80|443)\b", r"\g<1>28\2", conf(tmp_path))
    for place, here in PLACES.items():
        text = text.replace(place, here)
    text = text.replace("/var/log/nginx", str(tmp_path))
    file = tmp_path / "nginx.conf"
    file.write_text(text)
    command = ["/usr/sbin/nginx", "-T", "-q", "-e", "stderr", "-c", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    for line in ("proxy_request_buffering on;", "proxy_buffering on;", "client_header_timeout", "client_body_timeout"):
        assert line in done.stdout


@dataclass(frozen=True)
class Running:
    """A running nginx without a panel."""

    port: int
    log: Path
    output: Path
    tls: bool

    def connect(self) -> socket.socket:
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        if not self.tls:
            return plain
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context.wrap_socket(plain)

    def ask(self, method: str, path: str, accept: str = "*/*", **headers: str) -> tuple[int, Message, bytes]:
        lines = [f"{method} {path} HTTP/1.1", "Host: dns.example.net", f"Accept: {accept}", "Connection: close"]
        return self.send("\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers.items()), "", ""]))

    def send(self, text: str) -> tuple[int, Message, bytes]:
        return self.send_bytes(text.encode())

    def send_bytes(self, sent: bytes) -> tuple[int, Message, bytes]:
        with self.connect() as sock:
            with contextlib.suppress(OSError):  # nginx may answer and close before it has read everything
                sock.sendall(sent)
            answer = http.client.HTTPResponse(sock)
            answer.begin()
            return answer.status, answer.headers, answer.read()


@pytest.fixture(params=[stack_conf, container_conf, site_conf])
def nginx(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Running]:
    """Start nginx with each configuration, without the web processes' socket."""
    with running(request.param, tmp_path) as found:
        yield found


@contextlib.contextmanager
def running(conf: Callable[[Path], str], tmp_path: Path) -> Iterator[Running]:
    """Run nginx with this configuration inside the block."""
    tls = conf is site_conf
    ports = {"80": free_port(), "443": free_port(), "8000": free_port()}
    # Only loopback and separate ports, because several of these may run on one machine at once.
    text = re.sub(r"listen \[::\]:\d+[^;]*;", "", conf(tmp_path))
    text = re.sub(r"listen (?:[\d.]+:)?(\d+)", lambda match: f"listen 127.0.0.1:{ports[match[1]]}", text)
    for place, here in {**PLACES, "/var/log/nginx": str(tmp_path), "/run/dnspanel": str(tmp_path)}.items():
        text = text.replace(place, here)
    file, log, out = tmp_path / "nginx.conf", tmp_path / "dnspanel.log", tmp_path / "stdout"
    file.write_text(text)
    command = ["/usr/sbin/nginx", "-e", "stderr", "-c", str(file)]
    if "daemon off" not in text:
        command += ["-g", "daemon off; master_process off;"]
    with out.open("ab") as stdout, subprocess.Popen(command, stdout=stdout, stderr=stdout) as process:
        found = Running(ports["443" if tls else "8000"], log if tls else out, out, tls)
        try:
            _wait_until_it_listens(found, process)
            yield found
        finally:
            process.terminate()


def _wait_until_it_listens(running: Running, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 30
    while True:
        with contextlib.suppress(OSError), running.connect():
            return
        assert process.poll() is None, running.log.read_text()
        assert time.monotonic() < deadline
        time.sleep(0.05)


PERSON = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize(("path", "accept"), [("/", PERSON), ("/zones/example.com/", "*/*"), ("/docs/api/", PERSON)])
def test_a_person_reads_when_to_try_again_while_the_panel_does_not_answer(
    nginx: Running, path: str, accept: str
) -> None:
    status, headers, body = nginx.ask("GET", path, accept)
    assert status == 502
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert int(headers["Retry-After"]) > 0
    assert int(headers["Refresh"]) > 0
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Request-ID"]
    assert b"Try again" in body
    assert b"nginx</center>" not in body
    # The page contains nothing that its policy or the panel's forbids, and needs nothing from the panel.
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert not re.search(rb"<style|style=|<script|\bon\w+=|https?:", body)
    [sheet] = re.findall(rb'<link rel="stylesheet" href="([^"]+)">', body)
    status, headers, _ = nginx.ask("GET", sheet.decode())
    assert (status, headers["Content-Type"]) == (200, "text/css")


def test_a_form_is_not_sent_again_automatically(nginx: Running) -> None:
    status, headers, body = nginx.ask("POST", "/zones/new/", PERSON, **{"Content-Length": "0"})
    assert status == 502
    assert headers["Retry-After"]
    assert headers["Refresh"] is None
    assert b"check first whether your change is there" in body


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        ("/api/v2/zones", "*/*"),
        ("/api/v2/zones?limit=1", PERSON),
        ("/api/v1/servers/localhost/zones", "application/json"),
        ("/api", "text/html"),
        ("/readyz", "*/*"),
        ("/enroll/", "*/*"),
        ("/zones/", "application/problem+json"),
        ("/zones/", "application/json, */*"),
    ],
)
def test_a_program_reads_a_problem_while_the_panel_does_not_answer(nginx: Running, path: str, accept: str) -> None:
    status, headers, body = nginx.ask("GET", path, accept)
    problem = json.loads(body)
    assert status == problem["status"] == 502
    assert headers["Content-Type"] == "application/problem+json"
    assert int(headers["Retry-After"]) > 0
    kind = PROBLEM_TYPES["unavailable"]
    assert (problem["code"], problem["type"], problem["title"]) == (kind.code, f"{ROOT_URL}/{kind.code}", kind.title)
    assert problem["errors"] == []
    assert problem["error"] == problem["detail"]  # the field for clients of PowerDNS's API


def test_programs_of_other_protocols_read_their_own_errors(nginx: Running) -> None:
    status, headers, body = nginx.ask("GET", "/nic/update?hostname=a.test&myip=192.0.2.1")
    assert (status, body, headers["Content-Type"]) == (502, b"911\n", "text/plain; charset=utf-8")
    status, headers, body = nginx.ask("GET", "/scim/v2/Users")
    assert (status, headers["Content-Type"]) == (502, "application/scim+json")
    assert json.loads(body)["schemas"] == [ERROR]
    assert json.loads(body)["status"] == "502"


@pytest.mark.parametrize("accept", [PERSON, "application/json"])
def test_what_nginx_refuses_is_said_in_the_same_ways(nginx: Running, accept: str) -> None:
    long = "x" * 9000
    sent = {
        413: ("too-large", nginx.ask("POST", "/imports/", accept, **{"Content-Length": str(17 * 1024 * 1024)})),
        414: ("malformed", nginx.ask("GET", f"/zones/?q={long}", accept)),
        431: ("malformed", nginx.ask("GET", "/zones/", accept, Cookie=long)),
        400: ("malformed", nginx.ask("GET", "/zones/", accept, **{"Content-Length": "many"})),
    }
    for expected, (code, (status, headers, body)) in sent.items():
        assert status == expected
        assert headers["Retry-After"] is None
        assert headers["Refresh"] is None
        if headers["Content-Type"] == "application/problem+json":
            problem = json.loads(body)
            kind = PROBLEM_TYPES[code]
            assert (problem["code"], problem["title"], problem["status"]) == (code, kind.title, expected)
        else:
            assert b"Go back" in body
    # Before nginx has read the header Accept, it treats each client as a person.
    kinds = {status: headers["Content-Type"] for _, (status, headers, _) in sent.values()}
    assert ("json" in kinds[413]) == (accept != PERSON)
    limit = re.search(r"client_max_body_size (\d+)m;", (NGINX / "proxy.conf").read_text())
    assert limit
    assert f"{limit[1]} MiB".encode() in sent[413][1][2]


def test_a_body_that_is_too_large_is_a_problem_however_it_comes(nginx: Running) -> None:
    """Previously nginx answered 30 MB with HTML to a program that expects problem details (review A13)."""
    content = b"x" * (17 * 1024 * 1024)
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(content), content)
    for path in ("/api/v2/bulk", "/api/v1/servers/localhost/zones"):
        for header, body in ((f"Content-Length: {len(content)}", content), ("Transfer-Encoding: chunked", chunked)):
            head = f"POST {path} HTTP/1.1\r\nHost: dns.example.net\r\nConnection: close\r\n{header}\r\n\r\n"
            status, headers, answer = nginx.send_bytes(head.encode() + body)
            assert (status, headers["Content-Type"]) == (413, "application/problem+json"), header
            assert json.loads(answer)["code"] == "too-large"


@pytest.mark.parametrize("conf", [stack_conf, container_conf])
@pytest.mark.parametrize(("path", "accept"), [("/imports/new/files/", PERSON), ("/api/v2/bulk", "*/*")])
def test_a_request_that_nginx_cannot_store_gets_507(
    conf: Callable[[Path], str], path: str, accept: str, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "full", kib=64) as disk:
        fill(disk)
        (tmp_path / "bodies").symlink_to(disk)
        (tmp_path / "proxy").mkdir(exist_ok=True)
        (tmp_path / "proxy" / "bodies").symlink_to(disk)
        with running(conf, tmp_path) as nginx:
            head = (
                f"POST {path} HTTP/1.1\r\nHost: dns.example.net\r\nAccept: {accept}\r\nContent-Length: 400000\r\n\r\n"
            )
            status, headers, body = nginx.send_bytes(head.encode() + b"x" * 400_000)
    assert status == 507
    if accept == PERSON:
        assert b"The disk is full" in body
        return
    assert headers["Content-Type"] == "application/problem+json"
    kind = PROBLEM_TYPES["disk-full"]
    problem = json.loads(body)
    assert (problem["status"], problem["code"], problem["title"]) == (507, kind.code, kind.title)


def test_the_pages_of_nginx_are_not_pages_of_the_panel(nginx: Running) -> None:
    """A direct request for one of these pages gets 404 instead of a page that says the panel is unavailable."""
    for name in ("unavailable.html", "unavailable.json", "other"):
        assert nginx.ask("GET", f"/nginx-pages/{name}", PERSON)[0] == 404


def _paths_with_secrets(resolver: URLResolver, before: str = "") -> Iterator[str]:
    """Yield the web's paths that contain a secret, which gives access to their reader."""
    for pattern in resolver.url_patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _paths_with_secrets(pattern, route)
        elif re.search(r"<str:(secret|link|key|token|code)>", route) and not route.startswith("scim/"):
            yield re.sub(r"<str:\w+>", "s3cret", route)


def test_the_access_log_names_each_request_and_holds_no_secret(nginx: Running) -> None:
    secret = [f"/{path}" for path in _paths_with_secrets(get_resolver())]
    assert len(secret) >= 4
    for path in secret:
        nginx.ask("GET", path)
    assert "s3cret" not in nginx.output.read_text(), "nginx's complaint that the panel does not answer quotes a link"
    paths = [*secret, "/zones/?q=s3cret", "//welcome/s3cret/", "/w%65lcome/s3cret/", "/welcome//s3cret"]
    for path in paths:
        nginx.ask("GET", path, **{"Referer": "http://127.0.0.1/welcome/s3cret/", "User-Agent": 'a "client"\\'})
    status, headers, _ = nginx.ask("DELETE", "/api/v2/zones/example.com?x=s3cret")
    deadline, sent = time.monotonic() + 10, len(secret) + len(paths) + 1
    while len(lines := [line for line in nginx.log.read_text().splitlines() if line.startswith("{")]) < sent:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "s3cret" not in "".join(lines)
    assert json.loads(lines[-2])["agent"] == 'a "client"\\'
    last = json.loads(lines[-1])
    assert (last["method"], last["path"], last["status"]) == ("DELETE", "/api/v2/zones/example.com", status)
    assert last["request_id"] == headers["X-Request-ID"]
    assert last["address"] == "127.0.0.1"
