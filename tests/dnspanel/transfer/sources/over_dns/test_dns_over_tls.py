"""TLS connections to a primary. Other certificates and protocols, old TLS versions and clear text are refused."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dnspanel.transfer.sources.over_dns import dns_over_tls
from dnspanel.transfer.sources.over_dns.dns_over_tls import TlsPeer, TlsRefused, over_tls
from tests.own_certificates import OwnCertificate, own_certificate

NAME = "ns.partner.test"


@contextmanager
def server(own: OwnCertificate | None, directory: Path, *, alpn: str = "dot", old: bool = False) -> Iterator[int]:
    """Run a server for one connection. It uses TLS with this certificate, or sends clear text if there is none."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        plain, _ = listener.accept()
        with plain:
            plain.settimeout(5)
            if own is None:
                plain.recv(4096)
                plain.sendall(b"\x00\x0cclear text, no more")
                return
            (directory / "pem").write_text(own.certificate + own.key)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(directory / "pem")
            if old:
                context.maximum_version = ssl.TLSVersion.TLSv1_2
            if alpn:
                context.set_alpn_protocols([alpn])
            try:
                with context.wrap_socket(plain, server_side=True) as secured:
                    secured.sendall(b"hello")
            except OSError:
                return  # the client gave up, as expected

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        thread.join(10)
        listener.close()


def connected(port: int, peer: TlsPeer) -> bytes:
    with over_tls(socket.create_connection(("127.0.0.1", port), 5), peer) as connection:
        return connection.recv(16)


def test_by_its_name_or_its_own_certificate_the_server_is_the_one(tmp_path: Path) -> None:
    own = own_certificate(NAME)
    for peer in (TlsPeer(NAME, own.certificate), TlsPeer("", own.certificate)):
        with server(own, tmp_path) as port:
            assert connected(port, peer) == b"hello"


def test_another_protocol_an_old_version_and_clear_text_are_refused_in_words(tmp_path: Path) -> None:
    own = own_certificate(NAME)
    peer = TlsPeer(NAME, own.certificate)
    with server(own, tmp_path, alpn="") as port, pytest.raises(TlsRefused, match="doesn’t select the protocol “dot”"):
        connected(port, peer)
    with server(own, tmp_path, alpn="h2") as port, pytest.raises(TlsRefused, match=r"protocol “dot”"):
        connected(port, peer)
    with (
        server(own, tmp_path, old=True) as port,
        pytest.raises(TlsRefused, match=r"the server doesn’t support TLS 1\.3"),
    ):
        connected(port, peer)
    with server(None, tmp_path) as port, pytest.raises(TlsRefused, match="the server doesn’t use TLS on this port"):
        connected(port, peer)


def test_what_a_pinned_authority_has_signed_is_not_the_certificate_itself(tmp_path: Path) -> None:
    own, other = own_certificate(NAME), own_certificate(NAME)
    with server(own, tmp_path) as port, pytest.raises(TlsRefused, match="the server’s certificate isn’t trusted"):
        connected(port, TlsPeer("", other.certificate))
    expired = own_certificate(NAME, days=0)
    with server(expired, tmp_path) as port, pytest.raises(TlsRefused, match="certificate has expired"):
        connected(port, TlsPeer("", expired.certificate))


def test_a_server_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dns_over_tls, "HANDSHAKE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(TimeoutError):
        connected(listener.getsockname()[1], TlsPeer(NAME))


def test_the_key_is_not_printed() -> None:
    assert "secret" not in repr(TlsPeer(NAME, own=b"secret"))
