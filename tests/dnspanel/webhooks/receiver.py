"""A real HTTP or HTTPS server that records requests and gives scripted answers."""

import hmac
import ssl
import threading
import time
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

HOST = "receiver.test"


@dataclass(frozen=True, slots=True)
class Received:
    path: str
    headers: dict[str, str]  # names in lower case
    body: bytes


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Ignore an error: the panel may disconnect early or refuse the certificate."""


class Receiver:
    """A receiver that answers 200, or each request with the next entry of `answers`: status, headers, body, and seconds
    per byte.
    """

    def __init__(self, certificate: Path | None = None) -> None:
        self.received: list[Received] = []
        self.answers: deque[tuple[int, dict[str, str], bytes, float]] = deque()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self.port = self._server.server_address[1]
        self.scheme = "http"
        if certificate is not None:
            self.scheme = "https"
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> "Receiver":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"{self.scheme}://{HOST}:{self.port}/hook?of=panel"

    def answer(self, status: int, *, body: bytes = b"", seconds_a_byte: float = 0, **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers.append((status, named, body, seconds_a_byte))

    def _handler(receiver: "Receiver") -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.received.append(Received(self.path, headers, body))
                status, extra, answer, wait = receiver.answers.popleft() if receiver.answers else (200, {}, b"ok", 0)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(answer)), **extra}.items():
                    self.send_header(name, value)
                self.end_headers()
                for byte in [answer] if not wait else [bytes([b]) for b in answer]:
                    time.sleep(wait)
                    try:
                        self.wfile.write(byte)
                    except OSError:  # the panel has read enough
                        return

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


def resolve_to(*addresses: str) -> Any:
    """Return a resolver that always returns these addresses."""

    def resolve(host: str, port: int) -> Sequence[str]:
        return addresses

    return resolve


def is_signed(received: Received, secret: str, *, at: datetime) -> bool:
    """Return True if one of the signatures was made with the secret, by Standard Webhooks."""
    headers = received.headers
    signed = b".".join([headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), received.body])
    key = b64decode(secret.split("_", 1)[1])
    expected = b64encode(hmac.new(key, signed, sha256).digest()).decode()
    given = [one.split(",", 1) for one in headers["webhook-signature"].split(" ")]
    fresh = abs(int(headers["webhook-timestamp"]) - at.timestamp()) < 300
    return fresh and any(version == "v1" and hmac.compare_digest(value, expected) for version, value in given)


def make_certificate(path: Path, host: str = HOST) -> Path:
    """Write a self-signed certificate and its key to one file. Return the path."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(pem + private)
    return path
