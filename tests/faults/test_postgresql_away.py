"""PostgreSQL hangs or restarts: all interfaces report it soon, and no refused edit appears later."""

import contextlib
import http.client
import json
import signal
import socket
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from typing import Any
from urllib.parse import urlsplit

import dns.query
import dns.rcode
import dns.tsigkeyring
import dns.update
import psutil
import pytest

from dnspanel.demo.stack import Stack
from tests.faults import acts
from tests.faults.panel import Panel
from tests.stack import until

pytestmark = pytest.mark.faults

ZONE = "away.test."
# A web process gives up PostgreSQL after 12 s; tripled for a busy machine. Health is answered within a second.
ANSWER_SECONDS, HEALTH_SECONDS = 12.0 * 3, 1.0 * 5
EDITS = 40
_numbers = count(time.time_ns())


@dataclass(frozen=True, slots=True)
class Answer:
    """An interface's response, and the seconds it took."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float


def ask(stack: Stack, path: str, *, method: str = "GET", body: str | None = None, **headers: str) -> Answer:
    """Send a request to the panel through its proxy."""
    began = time.monotonic()
    connection = http.client.HTTPConnection(urlsplit(stack.url).netloc, timeout=120)
    with contextlib.closing(connection):
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        reply = connection.getresponse()
        return Answer(reply.status, dict(reply.getheaders()), reply.read(), time.monotonic() - began)


def server_processes(stack: Stack) -> list[psutil.Process]:
    """Return all processes of the stack's PostgreSQL, the main process first."""
    pid = stack.supervisor.pid("postgres")
    assert pid is not None
    first = psutil.Process(pid)
    return [first, *first.children(recursive=True)]


@contextlib.contextmanager
def postgresql_stopped(stack: Stack) -> Iterator[None]:
    """Stop PostgreSQL inside the block: it still accepts connections and data, but never answers."""
    stopped = server_processes(stack)
    for process in stopped:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in reversed(stopped):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGCONT)


@pytest.fixture
def token(faulty: Stack, panel: Panel) -> Iterator[str]:
    panel.do(acts.create_zone, name=ZONE)
    yield panel.do(acts.make_token)
    panel.do(acts.delete_zone, name=ZONE)


def edit(stack: Stack, token: str, number: int) -> Answer:
    """Create a record at a new name."""
    body = json.dumps({"ttl": 300, "rdata": [f"192.0.2.{number % 250 + 1}"]})
    path = f"/api/v2/zones/{ZONE}/rrsets/e{number}/A"
    return ask(stack, path, method="PUT", body=body, Authorization=f"Bearer {token}", Content_Type="application/json")


def names_in_zone(stack: Stack, token: str) -> set[str]:
    """Return all names in the zone, through API v1."""
    answer = ask(stack, f"/api/v1/servers/localhost/zones/{ZONE}", X_API_Key=token)
    assert answer.status == 200, answer
    return {rrset["name"].removesuffix(f".{ZONE}") for rrset in json.loads(answer.body)["rrsets"]}


def judge(stack: Stack, token: str, edits: Mapping[int, Answer]) -> None:
    """Check that all acknowledged edits exist, and refused ones only if they were reported as in doubt."""
    present = names_in_zone(stack, token)
    for number, answer in edits.items():
        if answer.status < 300:
            assert f"e{number}" in present, answer
        elif not json.loads(answer.body).get("in_doubt"):
            assert f"e{number}" not in present, answer


def dns_update(stack: Stack) -> dns.rcode.Rcode:
    """Send an update with an unknown key, and return the rcode. The response is unsigned without PostgreSQL."""
    keyring = dns.tsigkeyring.from_text({"somebody.": "c2VjcmV0IG9mIHNvbWVib2R5IHRoYXQgaXMgbG9uZw=="})
    update = dns.update.UpdateMessage(ZONE, keyring=keyring)
    update.add("www", 300, "A", "192.0.2.1")
    with socket.create_connection(("127.0.0.1", stack.update_port), timeout=120) as connection:
        dns.query.send_tcp(connection, update.to_wire())
        return dns.rcode.Rcode(connection.makefile("rb").read(6)[5] & 0xF)


FACES: dict[str, tuple[str, dict[str, str]]] = {
    "page": ("/sign-in/", {"Accept": "text/html", "Cookie": "sessionid=somebodys"}),
    "fragment": ("/frame/fleet/", {"HX_Request": "true", "Cookie": "sessionid=somebodys"}),
    "script": ("/account/here/", {"Accept": "application/json", "Cookie": "sessionid=somebodys"}),
    "v1": ("/api/v1/servers/localhost/zones", {"X_API_Key": "dnsp_somebodys"}),
    "v2": ("/api/v2/zones", {"Authorization": "Bearer dnsp_somebodys"}),
    "scim": ("/scim/v2/Users", {"Authorization": "Bearer dnsp_somebodys"}),
    "dyndns": ("/nic/update?hostname=a.away.test", {"Authorization": "Basic eDpkbnNwX3NvbWVib2R5cw=="}),
    "metrics": ("/metrics", {"Authorization": "Bearer dnsp_somebodys"}),
}


def refused_by(face: str, answer: Answer) -> None:
    """Check for status 503 with Retry-After, in the interface's own format."""
    assert (answer.status, int(answer.headers["Retry-After"]) > 0) == (503, True), (face, answer)
    assert answer.seconds < ANSWER_SECONDS, (face, answer)
    kind, text = answer.headers["Content-Type"].partition(";")[0], answer.body.decode()
    if face in ("page", "fragment", "metrics"):
        assert kind == ("text/html" if face == "page" else "text/plain"), (face, answer)
        assert "The database isn’t responding" in text, (face, answer)
    elif face == "dyndns":
        assert text == "911\n", answer
    else:
        told: dict[str, Any] = json.loads(text)
        kinds = {"v2": "application/problem+json", "scim": "application/scim+json"}
        assert kind == kinds.get(face, "application/json"), (face, answer)
        member = "error" if face in ("v1", "script") else "detail"
        assert told[member].startswith("The database isn’t responding"), (face, answer)


def test_while_postgresql_hangs_everybody_gets_an_answer(faulty: Stack, panel: Panel, token: str) -> None:
    before = next(_numbers)
    assert edit(faulty, token, before).status < 300
    edits: dict[int, Answer] = {}
    with ThreadPoolExecutor(EDITS + len(FACES) + 2) as threads:
        with postgresql_stopped(faulty):
            # More edits than a web process has threads, because health requests must not wait for a thread.
            changing = {
                number: threads.submit(edit, faulty, token, number) for number in (next(_numbers) for _ in range(EDITS))
            }
            reading = {face: threads.submit(ask, faulty, path, **headers) for face, (path, headers) in FACES.items()}
            updating = threads.submit(dns_update, faulty)
            for path, status in (("/livez", 200), ("/readyz", 503), ("/healthz", 503), ("/readyz", 503)):
                answer = ask(faulty, path)
                assert (answer.status, answer.seconds < HEALTH_SECONDS) == (status, True), (path, answer)
            for face, future in reading.items():
                refused_by(face, future.result())
            assert updating.result() == dns.rcode.SERVFAIL
            edits = {number: future.result() for number, future in changing.items()}
            assert {answer.status for answer in edits.values()} == {503}
            later = edit(faulty, token, next(_numbers))
            assert (later.status, later.seconds < HEALTH_SECONDS) == (503, True), "what comes later is refused at once"
        until(lambda: ask(faulty, "/readyz").status == 200, seconds=60, what="the panel to be ready")
        until(lambda: edit(faulty, token, next(_numbers)).status < 300, seconds=60, what="an edit to be taken")
    assert f"e{before}" in names_in_zone(faulty, token)
    judge(faulty, token, edits)


@pytest.mark.full(reason="the same faces and the same judgement, for a restart")
def test_while_postgresql_restarts_nobody_gets_a_traceback(faulty: Stack, panel: Panel, token: str) -> None:
    log = faulty.supervisor.logs / "web.log"
    size = log.stat().st_size
    edits: dict[int, Answer] = {}
    faulty.supervisor.stop(["postgres"])
    try:
        for face, (path, headers) in FACES.items():
            refused_by(face, ask(faulty, path, **headers))
        assert dns_update(faulty) == dns.rcode.SERVFAIL
        for number in (next(_numbers) for _ in range(EDITS)):
            edits[number] = edit(faulty, token, number)
    finally:
        faulty.supervisor.start(["postgres"])
    assert {answer.status for answer in edits.values()} == {503}
    until(lambda: ask(faulty, "/readyz").status == 200, seconds=60, what="the panel to be ready")
    until(lambda: edit(faulty, token, next(_numbers)).status < 300, seconds=60, what="an edit to be taken")
    panel.close()  # its connection ended with the server
    judge(faulty, token, edits)
    said = log.read_text()[size:]  # at most one line in ten seconds, which may precede this
    assert "Traceback" not in said, said


@pytest.mark.full(reason="the same judgement, for edits that come all the time while PostgreSQL comes and goes")
def test_no_edit_is_lost_and_no_refused_one_appears(faulty: Stack, panel: Panel, token: str) -> None:
    edits: dict[int, Answer] = {}

    def edit_on(until_at: float) -> None:
        while time.monotonic() < until_at:
            number = next(_numbers)
            with contextlib.suppress(OSError, http.client.HTTPException):  # a missing answer proves nothing
                edits[number] = edit(faulty, token, number)

    with ThreadPoolExecutor(8) as threads:
        ends_at = time.monotonic() + 60
        editing = [threads.submit(edit_on, ends_at) for _ in range(8)]
        time.sleep(2)  # wait until edits are in progress
        with postgresql_stopped(faulty):
            time.sleep(16)  # longer than a web process takes to give up
        time.sleep(5)
        faulty.supervisor.stop(["postgres"])
        faulty.supervisor.start(["postgres"])
        for each in editing:
            each.result()
    until(lambda: ask(faulty, "/readyz").status == 200, seconds=60, what="the panel to be ready")
    panel.close()
    assert any(answer.status < 300 for answer in edits.values())
    assert any(answer.status == 503 for answer in edits.values())
    judge(faulty, token, edits)
