"""Enrollment of a server, against an HTTP server that answers like a panel."""

import base64
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from replication.agent.agent_config import read_config
from replication.agent.joining.ask_to_enroll import (
    CODE_FILE,
    FINGERPRINT_DIGITS,
    NotEnrolled,
    PanelUnreachable,
    ask_panel,
    enroll,
    ensure_enrolled,
)
from replication.agent.joining.install_agent import CannotJoin
from replication.wire.enrolment import JoinSettings, Role, encode_answer, request_fingerprint
from replication.wire.protocol import PANEL_NAME
from tests.ports import free_port
from tests.replication.agent.servers import Authority
from tests.replication.agent.test_agent_config import write
from tests.replication.panel import CLUSTER, PUBLIC_KEYS

Answer = tuple[int, dict[str, Any]]
SETTINGS = JoinSettings(Role.CANARY, "192.0.2.53", 5399, 8533)


class Endpoint:
    """A panel's `POST /enroll/`, which first answers that an approval is needed."""

    def __init__(self, authority: Authority) -> None:
        self.authority = authority
        self.requests: list[dict[str, str]] = []
        self.approved_after = 2
        self.answer: Callable[[dict[str, str]], Answer] = self.usual
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append(body)
                status, message = endpoint.answer(body) if self.path == "/enroll/" else (404, {})
                encoded = json.dumps(message).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(encoded)))
                self.end_headers()
                self.wfile.write(encoded)

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    @property
    def code(self) -> str:
        der = self.authority.certificate.public_bytes(serialization.Encoding.DER)
        return "secret." + hashlib.sha256(der).hexdigest()[:FINGERPRINT_DIGITS]

    def usual(self, body: dict[str, str]) -> Answer:
        request = x509.load_pem_x509_csr(body["csr"].encode())
        if len(self.requests) <= self.approved_after:
            fingerprint = hashlib.sha256(request.public_bytes(serialization.Encoding.DER)).hexdigest()
            return 202, {"state": "waiting for approval", "fingerprint": fingerprint, "settings": SETTINGS.to_json()}
        return 200, self.granted(request)

    def granted(self, request: x509.CertificateSigningRequest, **other: Any) -> dict[str, Any]:
        """Return the panel's answer to this request. `other` replaces fields of the answer."""
        certificate, key_file = self.authority.issue(PANEL_NAME, "door", ExtendedKeyUsageOID.CLIENT_AUTH)
        key = serialization.load_pem_private_key(key_file.read_bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        fingerprint = request_fingerprint(request)
        return encode_answer(
            self.fields(request.public_key()) | other,
            request=fingerprint,
            panel=certificate.read_text(),
            key=key,
            settings=SETTINGS,
        )

    def fields(self, public_key: Any) -> dict[str, Any]:
        return {
            "certificate": self.authority.sign(public_key, "ns1").decode(),
            "ca": self.authority.pem.decode(),
            "signing_keys": [base64.b64encode(PUBLIC_KEYS[0]).decode()],
            "cluster": str(CLUSTER),
            "node": "ns1",
            "schema": 4,
            "keys_generation": 0,
        }


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    (tmp_path / "ca").mkdir()
    endpoint = Endpoint(Authority(tmp_path / "ca"))
    thread = threading.Thread(target=endpoint.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield endpoint
    endpoint.server.shutdown()
    endpoint.server.server_close()
    thread.join()


def csr_of(body: dict[str, str]) -> x509.CertificateSigningRequest:
    return x509.load_pem_x509_csr(body["csr"].encode())


def join(endpoint: Endpoint, directory: Path, code: str | None = None) -> list[str]:
    messages: list[str] = []
    enroll(endpoint.url, code or endpoint.code, directory, say=messages.append, wait=lambda _: None)
    return messages


def test_an_approved_server_has_everything_an_agent_needs(endpoint: Endpoint, tmp_path: Path) -> None:
    identity = tmp_path / "identity"
    messages = join(endpoint, identity)
    assert len(endpoint.requests) == 3
    assert len({request["csr"] for request in endpoint.requests}) == 1
    assert "fingerprint" in messages[0]
    assert messages[1:] == [f"This server is now node ns1; its identity is in {identity}."]
    config = read_config(write(tmp_path))
    assert config.identity.node == "ns1"
    assert config.identity.signing_keys == PUBLIC_KEYS
    assert config.identity.settings == SETTINGS
    assert {path.name for path in identity.iterdir()} == {"node.key", "node.pem", "ca.pem", "identity.json"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in identity.iterdir())


def test_an_interrupted_request_is_continued_with_the_same_key(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.approved_after = 1

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        enroll(endpoint.url, endpoint.code, tmp_path / "identity", say=lambda _: None, wait=interrupted)
    join(endpoint, tmp_path / "identity")
    assert endpoint.requests[0]["csr"] == endpoint.requests[1]["csr"]


def test_the_answer_of_another_panel_is_refused(endpoint: Endpoint, tmp_path: Path) -> None:
    with pytest.raises(NotEnrolled, match="another panel"):
        join(endpoint, tmp_path / "identity", "secret." + "ab" * 16)
    assert not (tmp_path / "identity" / "identity.json").exists()


def test_a_certificate_for_another_key_is_refused(endpoint: Endpoint, tmp_path: Path) -> None:
    stranger = ec.generate_private_key(ec.SECP256R1()).public_key()
    certificate = endpoint.authority.sign(stranger, "ns1").decode()
    endpoint.answer = lambda body: (200, endpoint.granted(csr_of(body), certificate=certificate))
    with pytest.raises(NotEnrolled, match="another key"):
        join(endpoint, tmp_path / "identity")


def test_a_certificate_of_another_authority_is_refused(endpoint: Endpoint, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other")

    def forged(body: dict[str, str]) -> Answer:
        certificate = other.sign(csr_of(body).public_key(), "ns1").decode()
        return 200, endpoint.granted(csr_of(body), certificate=certificate)

    endpoint.answer = forged
    with pytest.raises(NotEnrolled, match="cannot be used"):
        join(endpoint, tmp_path / "identity")


# Code, CA and certificate were right, but the node accepted segments signed with an attacker's keys.
@pytest.mark.parametrize(
    "changed",
    [
        {"signing_keys": [base64.b64encode(b"k" * 32).decode()]},
        {"cluster": "00000000-0000-4000-8000-000000000000"},
        {"schema": 5},
        {"keys_generation": 7},
        {"node": "ns2"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_an_answer_that_was_changed_on_its_way_is_refused(
    endpoint: Endpoint, tmp_path: Path, changed: dict[str, Any]
) -> None:
    endpoint.answer = lambda body: (200, endpoint.granted(csr_of(body)) | changed)
    with pytest.raises(NotEnrolled, match="changed on its way"):
        join(endpoint, tmp_path / "identity")
    assert not (tmp_path / "identity" / "identity.json").exists()


def test_an_answer_without_a_signature_is_refused(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.answer = lambda body: (200, endpoint.fields(csr_of(body).public_key()))
    with pytest.raises(NotEnrolled, match="older panel"):
        join(endpoint, tmp_path / "identity")


# The agent printed the fingerprint from the answer, so a person compared another server's request with itself.
def test_a_request_that_was_exchanged_on_its_way_is_noticed_before_it_is_approved(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.answer = lambda body: (202, {"state": "waiting for approval", "fingerprint": "ab" * 32})
    with pytest.raises(NotEnrolled, match="Do not approve the request"):
        join(endpoint, tmp_path / "identity")


def test_a_refusal_has_the_panels_message(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.answer = lambda body: (403, {"error": "code refused", "message": "This code was used before."})
    with pytest.raises(NotEnrolled, match="This code was used before"):
        join(endpoint, tmp_path / "identity")


def test_a_panel_that_is_down_gets_the_request_again(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.answer = lambda body: (503, {}) if len(endpoint.requests) == 1 else endpoint.usual(body)
    messages = join(endpoint, tmp_path / "identity")
    assert "does not answer" in messages[0]


def test_an_unreachable_panel_is_transient(tmp_path: Path) -> None:
    with pytest.raises(PanelUnreachable):
        ask_panel(f"http://127.0.0.1:{free_port()}", "code", "csr")


@pytest.mark.parametrize("code", ["", "secret", "secret.abc"])
def test_half_a_code_is_noticed_before_anything_is_sent(endpoint: Endpoint, tmp_path: Path, code: str) -> None:
    with pytest.raises(NotEnrolled, match="not complete"):
        enroll(endpoint.url, code, tmp_path / "identity", say=lambda _: None)
    assert endpoint.requests == []


def test_the_request_is_for_a_p256_key_that_only_this_user_reads(endpoint: Endpoint, tmp_path: Path) -> None:
    join(endpoint, tmp_path / "identity")
    request = x509.load_pem_x509_csr(endpoint.requests[0]["csr"].encode())
    key = request.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert key.curve.name == "secp256r1"
    assert isinstance(request.signature_hash_algorithm, hashes.SHA256)
    assert (tmp_path / "identity" / "node.key").stat().st_mode & 0o777 == 0o600


def refuse(settings: JoinSettings) -> None:
    raise CannotJoin(faults=[f"the panel has port {settings.dns_port}"])


def test_what_contradicts_the_panel_is_refused_before_a_person_has_approved(endpoint: Endpoint, tmp_path: Path) -> None:
    said: list[str] = []
    with pytest.raises(CannotJoin, match="the panel has port 5399"):
        enroll(endpoint.url, endpoint.code, tmp_path / "identity", say=said.append, check=refuse)
    assert (len(endpoint.requests), said) == (1, [])
    # After the correction, the same command continues with the same request.
    join(endpoint, tmp_path / "identity")
    assert len({request["csr"] for request in endpoint.requests}) == 1


def again(endpoint: Endpoint, directory: Path, code: str) -> list[str]:
    said: list[str] = []
    ensure_enrolled(endpoint.url, code, directory, say=said.append, check=lambda settings: None)
    return said


def test_a_server_enrolls_again_with_a_new_code_and_only_with_one(endpoint: Endpoint, tmp_path: Path) -> None:
    """Previously, the code was ignored once an identity existed, so an expired certificate was not replaced."""
    identity, endpoint.approved_after = tmp_path / "identity", 0
    again(endpoint, identity, endpoint.code)
    first = (identity / "node.pem").read_text()
    assert again(endpoint, identity, endpoint.code) == []
    assert (len(endpoint.requests), (identity / "node.pem").read_text()) == (1, first)
    said = again(endpoint, identity, f"other-{endpoint.code}")
    assert len(endpoint.requests) == 2
    assert "This server is now node ns1" in said[0]
    assert (identity / "node.pem").read_text() != first
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("identity")] == ["identity"]


def test_a_refused_code_leaves_the_identity_as_it_was(endpoint: Endpoint, tmp_path: Path) -> None:
    identity, endpoint.approved_after = tmp_path / "identity", 0
    again(endpoint, identity, endpoint.code)
    before = {path.name: path.read_bytes() for path in identity.iterdir()}
    endpoint.answer = lambda body: (403, {"error": "code refused", "message": "The code is invalid."})
    with pytest.raises(NotEnrolled, match="The code is invalid"):
        again(endpoint, identity, f"other-{endpoint.code}")
    assert {path.name: path.read_bytes() for path in identity.iterdir()} == before
    (identity / CODE_FILE).unlink()  # as an older agent left it: this code may have made the identity
    assert again(endpoint, identity, endpoint.code)[0].startswith("This server keeps the identity that it has:")
    del before[CODE_FILE]
    assert {path.name: path.read_bytes() for path in identity.iterdir()} == before


def test_an_identity_that_was_complete_when_the_power_went_takes_its_place(endpoint: Endpoint, tmp_path: Path) -> None:
    identity, endpoint.approved_after = tmp_path / "identity", 0
    again(endpoint, identity, endpoint.code)
    identity.rename(tmp_path / "identity.new")
    (tmp_path / "identity.old").mkdir()
    assert again(endpoint, identity, endpoint.code) == []
    assert (identity / CODE_FILE).exists()
    assert len(endpoint.requests) == 1
