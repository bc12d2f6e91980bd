"""Tests of single requests to untrusted receivers."""

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnspanel.webhooks import post as module
from dnspanel.webhooks.errors import AddressRefused, NoAnswer
from dnspanel.webhooks.post import post
from tests.dnspanel.webhooks.receiver import HOST, Receiver, make_certificate, resolve_to

HOME = resolve_to("127.0.0.1")


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a certificate for the receiver's name that this process trusts."""
    certificate = make_certificate(tmp_path / "receiver.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    module._tls.cache_clear()
    yield certificate
    module._tls.cache_clear()


def test_the_body_arrives_under_the_receivers_name(receiver: Receiver) -> None:
    answer = post(receiver.url, {"Content-Type": "application/json", "webhook-id": "evt_1"}, b'{"a":1}', resolve=HOME)
    assert (answer.status, answer.text) == (200, "ok")
    assert 0 < answer.ms < 5000
    [received] = receiver.received
    assert (received.path, received.body) == ("/hook?of=panel", b'{"a":1}')
    assert received.headers["host"] == f"{HOST}:{receiver.port}"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["user-agent"] == "dnspanel"


def test_tls_is_made_with_the_name_and_not_with_the_address(at_home: None, trusted: Path) -> None:
    with Receiver(trusted) as receiver:
        assert post(receiver.url, {}, b"{}", resolve=HOME).status == 200


def test_a_certificate_of_another_name_or_of_nobody_is_no_answer(at_home: None, trusted: Path, tmp_path: Path) -> None:
    other = make_certificate(tmp_path / "other.pem", "other.test")
    with Receiver(other) as receiver, pytest.raises(NoAnswer, match=r"(?i)certificate"):
        post(receiver.url, {}, b"{}", resolve=HOME)
    with Receiver(trusted) as receiver, pytest.raises(NoAnswer, match=r"(?i)certificate|mismatch|match"):
        post(receiver.url.replace(HOST, "wrong.test"), {}, b"{}", resolve=HOME)
    assert receiver.received == []


def test_a_name_that_leads_home_by_now_is_not_connected_to(receiver: Receiver, settings: object) -> None:
    """DNS rebinding: the name had a public address when the webhook was created, and now has this machine's."""
    settings.OUTBOUND_NETWORKS = []  # type: ignore[attr-defined]
    with pytest.raises(AddressRefused, match="a public address"):
        post(receiver.url, {}, b"{}", resolve=HOME)
    assert receiver.received == []


def test_the_name_is_resolved_once_for_check_and_connection(receiver: Receiver) -> None:
    queries = []

    def resolve(host: str, port: int) -> list[str]:
        queries.append((host, port))
        return ["127.0.0.1"] if len(queries) == 1 else ["169.254.169.254"]

    assert post(receiver.url, {}, b"{}", resolve=resolve).status == 200
    assert queries == [(HOST, receiver.port)]


def test_redirects_are_not_followed(receiver: Receiver) -> None:
    receiver.answer(302, Location="http://169.254.169.254/latest/meta-data/")
    assert post(receiver.url, {}, b"{}", resolve=HOME).status == 302
    assert len(receiver.received) == 1


def test_only_the_beginning_of_a_long_answer_is_read(receiver: Receiver) -> None:
    receiver.answer(500, body=b"x" * 10_000_000)
    assert len(post(receiver.url, {}, b"{}", resolve=HOME).text) == module.MOST_ANSWER_BYTES


def test_an_answer_of_any_bytes_becomes_text(receiver: Receiver) -> None:
    receiver.answer(200, body=b"a\x00\xff\xfe")
    assert post(receiver.url, {}, b"{}", resolve=HOME).text == "a\ufffd\ufffd"


def test_retry_after_is_heard_in_seconds(receiver: Receiver) -> None:
    receiver.answer(503, Retry_After="120")
    receiver.answer(503, Retry_After="Sat, 21 Nov 2026 12:00:00 GMT")
    assert post(receiver.url, {}, b"{}", resolve=HOME).retry_after == 120
    assert post(receiver.url, {}, b"{}", resolve=HOME).retry_after is None


def test_a_body_that_drips_is_cut_and_the_status_counts(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.5)
    receiver.answer(200, body=b"drip" * 50, seconds_a_byte=0.1)
    begun = time.monotonic()
    assert post(receiver.url, {}, b"{}", resolve=HOME).status == 200
    assert time.monotonic() - begun < 3


def test_headers_that_drip_are_no_answer_in_time(at_home: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.5)
    with _listening(b"HTTP/1.1 200 OK\r\n" + b"X-Long: " + b"y" * 100, drip=0.1) as port, pytest.raises(NoAnswer):
        post(f"http://{HOST}:{port}/", {}, b"{}", resolve=HOME)


def test_what_is_not_http_is_no_answer(at_home: None) -> None:
    with _listening(b"SSH-2.0-OpenSSH\r\n" * 3) as port, pytest.raises(NoAnswer):
        post(f"http://{HOST}:{port}/", {}, b"{}", resolve=HOME)


def test_nobody_there_is_no_answer_in_words(at_home: None) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with pytest.raises(NoAnswer, match=f"Couldn’t connect to {HOST}, port {port}: Connection refused"):
            post(f"http://{HOST}:{port}/", {}, b"{}", resolve=HOME)


def test_the_next_address_is_tried_when_the_first_takes_no_connection(receiver: Receiver) -> None:
    assert post(receiver.url, {}, b"{}", resolve=resolve_to("127.0.0.2", "127.0.0.1")).status == 200


def test_the_system_s_authorities_are_asked_by_default() -> None:
    module._tls.cache_clear()
    context = module._tls()
    assert context.verify_mode == ssl.CERT_REQUIRED
    module._tls.cache_clear()


class _listening:
    """A server for one connection that sends these bytes, all at once or one by one."""

    def __init__(self, reply: bytes, drip: float = 0) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._reply, self._drip = reply, drip
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> int:
        self._thread.start()
        return int(self._socket.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._thread.join(timeout=15)

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        with connection:
            connection.recv(65536)
            try:
                for piece in [self._reply] if not self._drip else [bytes([b]) for b in self._reply]:
                    connection.sendall(piece)
                    time.sleep(self._drip)
            except OSError:
                return
