"""Tests of sending a batch to a real rsyslog over TLS and to an HTTP server. Unconfirmed entries count as unsent."""

import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dnspanel.audit.forward import send as module
from dnspanel.audit.forward.errors import NotSent
from dnspanel.audit.forward.models import Kind
from dnspanel.audit.forward.send import Target, send
from dnspanel.fleet.nodes.authority import file_in_memory
from dnspanel.zones.audit.audit_trail import Act, document_of
from tests.dnspanel.audit.forward.rsyslog import running_rsyslog
from tests.dnspanel.audit.forward.test_act_records import ACT, AT, REQUEST, SENDER, attributes, hold_against
from tests.dnspanel.webhooks.receiver import HOST, Receiver, make_certificate
from tests.own_certificates import own_certificate

SERVER, CLIENT = own_certificate(HOST), own_certificate("panel.test")


def acts(count: int) -> list[Act]:
    return [
        Act("entry", n, AT, "älice", "", None, "team.change", "Ours", "", "", {"n": n}, n) for n in range(1, count + 1)
    ]


def syslog(port: int, **more: Any) -> Target:
    return Target(Kind.SYSLOG, f"{HOST}:{port}", **{"ca": SERVER.certificate, **more})


@contextmanager
def ending_so(end: Callable[[ssl.SSLSocket], object]) -> Iterator[int]:
    """Yield the port of a TLS server that calls `end` with the first connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.num_tickets = 0
    with file_in_memory((SERVER.certificate + SERVER.key).encode()) as path:
        context.load_cert_chain(path)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            plain, _ = listening.accept()
            with context.wrap_socket(plain, server_side=True) as stream:
                end(stream)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


def read_all(stream: ssl.SSLSocket) -> bytes:
    found = b""
    while piece := stream.recv(65_536):
        found += piece
    return found


@pytest.mark.usefixtures("at_home")
def test_rsyslog_reads_each_act_from_who_shows_the_right_certificate(tmp_path: Path) -> None:
    sent = acts(50)
    with running_rsyslog(tmp_path, server=SERVER.certificate + SERVER.key, ca=CLIENT.certificate) as rsyslog:
        target = syslog(rsyslog.port, certificate=CLIENT.certificate, key=CLIENT.key.encode())
        assert send(target, sent, sender=SENDER, now=AT).count == 50
        # rsyslog refuses clients without one, but ends TLS normally, often before it has read everything.
        for count in [1, 2, 50] * 5:
            with pytest.raises(NotSent):
                send(syslog(rsyslog.port), sent[:count], sender=SENDER, now=AT)
        found = rsyslog.messages()
    assert [json.loads(each["text"]) for each in found] == [document_of(act) for act in sent]
    structured = [each["rfc5424-sd"]["dnspanel@32473"] for each in found]
    assert [(each["number"], each["user"]) for each in structured] == [(str(act.number), "älice") for act in sent]
    header = {name: found[0][name] for name in ("pri", "version", "host", "app", "process", "id")}
    assert header == {
        "pri": "110", "version": "1", "host": "panel.test", "app": "dnspanel", "process": "-", "id": "team.change",
    }  # fmt: skip


@pytest.mark.usefixtures("at_home")
def test_a_receiver_may_end_tls_or_only_close_once_it_has_read_everything() -> None:
    found: list[bytes] = []
    ends: list[Callable[[ssl.SSLSocket], object]] = [
        lambda stream: (found.append(read_all(stream)), stream.unwrap()),
        lambda stream: found.append(read_all(stream)),
    ]
    for end in ends:
        with ending_so(end) as port:
            assert send(syslog(port), acts(2), sender=SENDER, now=AT).count == 2
    assert found[0] == found[1]
    length, _, rest = found[0].partition(b" ")
    assert rest[: int(length)].startswith(b"<110>1 ")
    assert rest[int(length) :].partition(b" ")[2].endswith(b"}")


def _reset(stream: ssl.SSLSocket) -> None:
    stream.recv(10)
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.usefixtures("at_home")
def test_a_receiver_that_dies_has_confirmed_nothing() -> None:
    with ending_so(_reset) as port, pytest.raises(NotSent, match="confirm the log entries"):
        send(syslog(port), acts(200), sender=SENDER, now=AT)


@pytest.mark.usefixtures("at_home")
def test_a_receiver_that_keeps_silent_has_confirmed_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.2)
    over = threading.Event()
    with ending_so(lambda _: over.wait(30)) as port:
        with pytest.raises(NotSent, match="in time"):
            send(syslog(port), acts(1), sender=SENDER, now=AT)
        over.set()


def test_where_nobody_listens_or_nobody_may_go_is_told(at_home: None, settings: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(NotSent, match="failed: Connection refused"):
        send(syslog(port), acts(1), sender=SENDER, now=AT)
    settings.EVIDENCE_NETWORKS = []
    with pytest.raises(NotSent, match="PANEL_EVIDENCE_NETWORKS"):
        send(syslog(port), acts(1), sender=SENDER, now=AT)


@pytest.mark.usefixtures("at_home")
def test_a_server_of_another_authority_gets_nothing(tmp_path: Path) -> None:
    with running_rsyslog(tmp_path, server=SERVER.certificate + SERVER.key) as rsyslog:
        for target in (syslog(rsyslog.port, ca=CLIENT.certificate), Target(Kind.SYSLOG, f"{HOST}:{rsyslog.port}")):
            with pytest.raises(NotSent, match="certificate"):
                send(target, acts(1), sender=SENDER, now=AT)
        assert rsyslog.messages() == []


@pytest.mark.usefixtures("at_home")
def test_only_what_fits_is_sent_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 2_000)
    with Receiver() as receiver:
        sent = send(Target(Kind.OTLP, receiver.url), acts(50), sender=SENDER, now=AT)
        request = json.loads(receiver.received[0].body)
    assert 1 <= sent.count < 50
    assert len(request["resourceLogs"][0]["scopeLogs"][0]["logRecords"]) == sent.count


@pytest.mark.usefixtures("at_home")
def test_a_collector_gets_what_otlp_says_over_tls_with_its_headers(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path / "server.pem")
    ca = certificate.read_text().partition("-----BEGIN PRIVATE")[0]
    with Receiver(certificate) as receiver:
        url = receiver.url.replace("/hook?of=panel", "/v1/logs")
        target = Target(Kind.OTLP, url, ca=ca, headers={"Authorization": "Bearer x"})
        assert send(target, [ACT], sender=SENDER, now=AT).count == 1
        with pytest.raises(NotSent, match=r"(?i)certificate"):
            send(Target(Kind.OTLP, url), [ACT], sender=SENDER, now=AT)
    [received] = receiver.received
    assert (received.path, received.headers["authorization"]) == ("/v1/logs", "Bearer x")
    assert received.headers["content-type"] == "application/json"
    request = json.loads(received.body)
    hold_against(REQUEST, request)
    record = request["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]
    assert attributes(record["attributes"])["dnspanel.audit.number"] == "412"


@pytest.mark.usefixtures("at_home")
def test_an_answer_says_what_was_kept() -> None:
    rejected = b'{"partialSuccess": {"rejectedLogRecords": "2", "errorMessage": "too old"}}'
    with Receiver() as receiver:
        target = Target(Kind.OTLP, receiver.url)
        receiver.answer(200, body=b'{"partialSuccess": {}}')
        assert send(target, [ACT], sender=SENDER, now=AT).rejected == ""
        receiver.answer(200, body=rejected)
        assert (
            send(target, [ACT], sender=SENDER, now=AT).rejected
            == "The receiver rejected log entries (2). Reason: too old"
        )
        receiver.answer(503, body=b"busy", Retry_After="40")
        with pytest.raises(NotSent, match="The receiver returned HTTP status 503: busy") as refused:
            send(target, [ACT], sender=SENDER, now=AT)
        assert refused.value.retry_after == 40
        receiver.answer(302, body=b"", Location="/")
        with pytest.raises(NotSent, match="redirects aren’t followed"):
            send(target, [ACT], sender=SENDER, now=AT)
