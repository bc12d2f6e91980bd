"""Tests of reading a server's certificate over TLS and STARTTLS, from allowed addresses, in limited time."""

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from dnspanel.fleet.lookups import tls_certificate
from dnspanel.fleet.lookups.tls_certificate import NoCertificate, certificate_of
from tests.dnspanel.webhooks.receiver import make_certificate, resolve_to

HOST = "server.test"
LOCAL = ("127.0.0.0/8",)


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("tls") / "server.pem", HOST)


def der(pem: Path) -> bytes:
    return x509.load_pem_x509_certificate(pem.read_bytes()).public_bytes(Encoding.DER)


@contextlib.contextmanager
def server(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """Run a server for one connection. Yield its port."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(20)

    def accept() -> None:
        with contextlib.suppress(OSError):
            connection, _ = listening.accept()
            with connection, contextlib.suppress(OSError):
                serve(connection)

    thread = threading.Thread(target=accept)
    thread.start()
    yield listening.getsockname()[1]
    listening.close()
    thread.join()


def by_tls(pem: Path) -> Callable[[socket.socket], None]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)

    def serve(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secure:
            secure.recv(1)

    return serve


def test_a_server_shows_its_certificate_whoever_issued_it(pem: Path) -> None:
    with server(by_tls(pem)) as port:
        assert certificate_of(HOST, port, networks=LOCAL, resolve=resolve_to("127.0.0.1")) == der(pem)


def test_a_mail_server_is_greeted_first(pem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        connection.sendall(b"220-a long\r\n220 greeting\r\n")
        received.append(connection.recv(100))
        connection.sendall(b"250-one\r\n250 STARTTLS\r\n")
        received.append(connection.recv(100))
        connection.sendall(b"220 go\r\n")
        by_tls(pem)(connection)

    with server(serve) as port:
        monkeypatch.setattr(tls_certificate, "SMTP_PORTS", (port,))
        assert certificate_of(HOST, port, networks=LOCAL, resolve=resolve_to("127.0.0.1")) == der(pem)
    assert received == [b"EHLO dnspanel.invalid\r\n", b"STARTTLS\r\n"]


def test_another_address_is_tried_when_one_does_not_answer(pem: Path) -> None:
    with server(by_tls(pem)) as port:
        addresses = resolve_to("127.0.0.2", "127.0.0.1")
        assert certificate_of(HOST, port, networks=LOCAL, resolve=addresses) == der(pem)


def test_an_address_that_is_not_public_is_not_connected_to() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        with pytest.raises(NoCertificate, match="a public address"):
            certificate_of(HOST, listening.getsockname()[1], networks=(), resolve=resolve_to("127.0.0.1"))
        with pytest.raises(BlockingIOError):
            listening.accept()


@pytest.mark.parametrize("port", [0, 22, 80, 6, 65536, -1])
def test_ports_of_other_services_are_refused(port: int) -> None:
    with pytest.raises(NoCertificate, match=f"Port {port} can’t be used for TLS"):
        certificate_of(HOST, port, networks=LOCAL, resolve=resolve_to("127.0.0.1"))


def test_what_is_no_host_is_refused() -> None:
    with pytest.raises(NoCertificate, match="isn’t a valid host name"):
        certificate_of("a b", 443, networks=())
    with pytest.raises(NoCertificate, match="a public address"):
        certificate_of(HOST, 443, networks=(), resolve=resolve_to())


@pytest.mark.parametrize("says", [b"", b"SSH-2.0-x\r\n", b"220-" * 2000])
def test_a_server_of_something_else_is_no_certificate(says: bytes) -> None:
    serving = server(lambda connection: connection.sendall(says))
    with serving as port, pytest.raises(NoCertificate, match="didn’t send a certificate"):
        certificate_of(HOST, port, networks=LOCAL, resolve=resolve_to("127.0.0.1"))


def test_a_server_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_certificate, "SECONDS", 0.3)
    done = threading.Event()
    with server(lambda connection: bool(done.wait(20)) or None) as port:
        began = time.monotonic()
        with pytest.raises(NoCertificate, match="didn’t send a certificate"):
            certificate_of(HOST, port, networks=LOCAL, resolve=resolve_to("127.0.0.1"))
        assert time.monotonic() - began < 10
        done.set()
