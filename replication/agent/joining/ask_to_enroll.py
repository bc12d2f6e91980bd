"""Enroll a server with a one-time code. The server's key never leaves the server.

The code is `<secret>.<first 32 hex digits of the SHA-256 of the panel's CA certificate>`. The whole response is signed
with a certificate from that CA. The signature proves that the response is for this request, and from the panel that
created the code, even if the connection itself proves nothing.
"""

import hashlib
import json
import shutil
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from replication.agent import agent_config
from replication.agent.agent_identity import NEXT_FILE, NEXT_KEY_FILE, format_key, signing_request, write_atomically
from replication.errors import BadBytes, Permanent, ReplicationError, Transient, UnknownSchema
from replication.wire.enrolment import JoinSettings, decode_answer, request_fingerprint

REQUEST_FILE = "node.csr"
CODE_FILE = "code.sha256"  # of the code that created this identity
POLL_SECONDS = 2.0
FINGERPRINT_DIGITS = 32
_MAX_ANSWER = 1 << 20


class NotEnrolled(Permanent):
    """The panel rejected the enrollment, or its response is invalid or not from the panel that created the code."""


class PanelUnreachable(Transient):
    """The panel didn't respond to the enrollment, or failed to process it (status 5xx)."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The panel's response while approval is pending. A person compares `fingerprint` with the one on the panel's page.

    Nothing proves yet that `settings` come from the panel. They are used only to reject contradictions early.
    """

    fingerprint: str
    settings: JoinSettings | None = None


@dataclass(frozen=True, slots=True)
class Enrolled:
    """The panel's unchecked response to an enrollment. Only `_check_answer` proves that it is from the panel."""

    message: Mapping[str, Any]


def enroll(
    panel: str,
    code: str,
    directory: Path,
    *,
    say: Callable[[str], None],
    check: Callable[[JoinSettings], None] = lambda settings: None,
    wait: Callable[[float], None] = time.sleep,
) -> agent_config.Identity:
    """Enroll this server: write its key, certificate and identity to `directory`, and return the identity.

    1. Create a key and a certificate signing request, unless an earlier attempt left them. The request identifies this
       server.
    2. Send the request, and repeat it until a person has approved.
    3. Check the CA against the code, the response's signature against the CA, and the certificate against the key.
    4. Write the files, the identity last, because the agent treats the directory as complete once the identity exists.

    `check` is called with the panel's settings before the approval and again before step 4. It can raise an exception
    to cancel. Raise NotEnrolled if the code is incomplete or rejected, or the response isn't authentic. Calls can be
    repeated with the same code.
    """
    _, _, expected_ca = code.partition(".")
    if len(expected_ca) != FINGERPRINT_DIGITS:
        raise NotEnrolled("the code is not complete: it ends in a dot and 32 digits")
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    request = _signing_request(directory)
    fingerprint = request_fingerprint(x509.load_pem_x509_csr(request.encode()))
    last_message = ""
    while True:
        try:
            answer = ask_panel(panel, code, request)
        except PanelUnreachable as exc:
            message = f"The panel does not answer ({exc}); asking again."
        else:
            if isinstance(answer, Enrolled):
                break
            if answer.fingerprint != fingerprint:
                raise NotEnrolled(
                    f"the panel got another request ({answer.fingerprint}) than this server sent ({fingerprint}): "
                    "the connection is intercepted. Do not approve the request, and create a new code"
                )
            if answer.settings is not None:
                check(answer.settings)
            message = f"Waiting for approval. The panel has to show the fingerprint {fingerprint}"
        if message != last_message:
            say(message)
            last_message = message
        wait(POLL_SECONDS)
    fields = _check_answer(answer.message, expected_ca, fingerprint, directory)
    identity = _identity(fields)
    if identity.settings is not None:
        check(identity.settings)
    write_atomically(directory / agent_config.CA_FILE, fields["ca"])
    write_atomically(directory / agent_config.CERTIFICATE_FILE, fields["certificate"])
    write_atomically(directory / agent_config.IDENTITY_FILE, agent_config.format_identity(identity))
    (directory / REQUEST_FILE).unlink()
    say(f"This server is now node {identity.node}; its identity is in {directory}.")
    return identity


def ensure_enrolled(
    panel: str, code: str, directory: Path, *, say: Callable[[str], None], check: Callable[[JoinSettings], None]
) -> None:
    """Enroll with this code, unless the identity in `directory` was created with it.

    The new identity is created in a directory next to the old one, and replaces the old one after the approval. Raise
    NotEnrolled if enrolling fails. If no code is stored with the old identity, keep that identity instead of raising.
    """
    beside, used = directory.with_name(f"{directory.name}.new"), directory / CODE_FILE
    if (beside / agent_config.IDENTITY_FILE).exists():  # an earlier run was interrupted before this step
        _replace_directory(directory, beside)
    digest = hashlib.sha256(code.encode()).hexdigest()
    is_known = used.exists()
    if not (directory / agent_config.IDENTITY_FILE).exists():
        enroll(panel, code, directory, say=say, check=check)
    elif not is_known or used.read_text() != digest:
        try:
            enroll(panel, code, beside, say=say, check=check)
        except NotEnrolled as exc:
            if is_known:
                raise
            # A join by an older release didn't store the code, so this code may have made the identity.
            say(f"This server keeps the identity that it has: {exc}")
            return
        _replace_directory(directory, beside)
    write_atomically(used, digest)


def _replace_directory(directory: Path, by: Path) -> None:
    old = directory.with_name(f"{directory.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if directory.exists():
        directory.rename(old)
    by.rename(directory)
    shutil.rmtree(old, ignore_errors=True)


def ask_panel(panel: str, code: str, csr_pem: str) -> Waiting | Enrolled:
    """Return the response to an enrollment request. Raise NotEnrolled if it isn't usable, or PanelUnreachable."""
    url = urllib.parse.urljoin(panel if panel.endswith("/") else panel + "/", "enroll/")
    body = json.dumps({"code": code, "csr": csr_pem}).encode("ascii")
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method="POST")
    # The answer must show the CA that the code names, so TLS may be self-signed.
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with urllib.request.urlopen(request, timeout=15, context=context) as response:
            status, answer = response.status, response.read(_MAX_ANSWER)
    except urllib.error.HTTPError as exc:
        with exc:
            message = _message_in(exc.read(_MAX_ANSWER))
        if exc.code >= 500:
            raise PanelUnreachable(message or f"status {exc.code}") from exc
        raise NotEnrolled(f"the panel refused: {message or exc.code}") from exc
    except (OSError, ValueError) as exc:
        raise PanelUnreachable(str(exc)) from exc
    return _parse_answer(status, answer)


def _parse_answer(status: int, answer: bytes) -> Waiting | Enrolled:
    try:
        message: Mapping[str, Any] = json.loads(answer)
        if not isinstance(message, dict):
            raise TypeError("it is no JSON object")
        if status != 202:
            return Enrolled(message)
        settings = JoinSettings.from_json(message["settings"]) if "settings" in message else None
        return Waiting(str(message["fingerprint"]), settings)
    except (ValueError, KeyError, TypeError, RecursionError, BadBytes) as exc:
        raise NotEnrolled(f"the panel's answer cannot be used: {exc}") from exc


def _identity(fields: Mapping[str, Any]) -> agent_config.Identity:
    try:
        return agent_config.parse_identity(fields)
    except (ValueError, UnknownSchema) as exc:
        raise NotEnrolled(f"the panel's answer cannot be used: {exc}") from exc


def _message_in(answer: bytes) -> str:
    """Return the message in the panel's error response, or "" if it has no message."""
    try:
        return str(json.loads(answer)["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _signing_request(directory: Path) -> str:
    """Return the certificate signing request in the directory. If it doesn't exist, store a new key and a request."""
    kept = directory / REQUEST_FILE
    if kept.exists():
        return kept.read_text()
    for left in (NEXT_FILE, NEXT_KEY_FILE):  # left by a rotation of the former identity
        (directory / left).unlink(missing_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    write_atomically(directory / agent_config.KEY_FILE, format_key(key))
    text = signing_request(key)
    write_atomically(kept, text)
    return text


def _check_answer(message: Mapping[str, Any], expected_ca: str, fingerprint: str, directory: Path) -> Mapping[str, Any]:
    """Return the panel's message. Raise NotEnrolled if the response isn't authentic.

    The response is authentic if its CA is the one in the code and a panel of that CA signed the whole response to this
    request. The certificate must also be for this server's key.
    """
    try:
        ca = x509.load_pem_x509_certificate(str(message["ca"]).encode())
        found = hashlib.sha256(ca.public_bytes(serialization.Encoding.DER)).hexdigest()[:FINGERPRINT_DIGITS]
        if found != expected_ca.lower():
            raise NotEnrolled(f"the answer has the CA {found}, the code names {expected_ca}: this is another panel")
        fields = decode_answer(message, request=fingerprint, now=datetime.now(UTC))
        certificate = x509.load_pem_x509_certificate(str(fields["certificate"]).encode())
        certificate.verify_directly_issued_by(ca)
    except NotEnrolled:
        raise
    except ReplicationError as exc:
        raise NotEnrolled(f"the panel's answer cannot be believed: {exc}") from exc
    except Exception as exc:  # cryptography raises its own, ValueError and TypeError
        raise NotEnrolled(f"the certificate in the answer cannot be used: {exc}") from exc
    key = serialization.load_pem_private_key((directory / agent_config.KEY_FILE).read_bytes(), password=None)
    if certificate.public_key() != key.public_key():
        raise NotEnrolled("the certificate in the answer is for another key")
    return fields
