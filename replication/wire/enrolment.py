"""Encode and verify the panel's signed answer to a server that becomes a node. Pure.

    node, schema, cluster, certificate, ca, signing_keys, keys_generation
                the server's new identity
    settings    what a person entered for the server: `JoinSettings`. Older panels send none, and older agents do not
                read it, so it has a separate signature, `settings_signature`, over `dnspanel enrolment settings 1` 00
                and the JSON object of `settings` and `request`
    panel       the panel's own certificate, PEM: issued by the authority `ca`, named `panel`, for clients
    signature   Base64 of an ECDSA signature (P-256, SHA-256, DER; FIPS 186-5) of that certificate's key
                over `dnspanel enrolment 1` 00 and the JSON object of the fields before `panel` and of `request`,
                the SHA-256 of the signing request in hex; keys sorted, no spaces, ASCII

The enrollment code identifies the authority, and the authority issued the panel's certificate. An attacker between
server and panel, where TLS proves nothing yet, therefore cannot add keys to the list of accepted signing keys.
"""

import base64
import hashlib
import ipaddress
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from replication.errors import BadBytes, BadSignature
from replication.wire.protocol import PANEL_NAME

FIELDS = ("node", "schema", "cluster", "certificate", "ca", "signing_keys", "keys_generation")
_SIGNED = b"dnspanel enrolment 1\0"
_SIGNED_SETTINGS = b"dnspanel enrolment settings 1\0"


class Role(StrEnum):
    """A server's role in the fleet."""

    NODE = "node"
    CANARY = "canary"  # ring 0
    FRONT = "front"


@dataclass(frozen=True, slots=True)
class JoinSettings:
    """Settings that the panel sends to a joining server, so that operators don't enter them again there."""

    role: Role
    dns_address: str
    dns_port: int
    agent_port: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, message: Any) -> Self:
        """Read settings. Raise BadBytes if a value is missing or can't be written into a configuration."""
        try:
            ports = message["dns_port"], message["agent_port"]
            if any(type(port) is not int or not 0 < port < 65536 for port in ports):
                raise ValueError(ports)
            return cls(Role(message["role"]), str(ipaddress.ip_address(message["dns_address"])), *ports)
        except (KeyError, TypeError, ValueError) as exc:
            raise BadBytes(what="settings", reason=f"{message!r:.200} are not those of a node") from exc


def request_fingerprint(request: x509.CertificateSigningRequest) -> str:
    """Return the SHA-256 of the request's DER form in hex. Operators compare both sides' values before approving."""
    return hashlib.sha256(request.public_bytes(serialization.Encoding.DER)).hexdigest()


def encode_answer(
    fields: Mapping[str, Any],
    *,
    request: str,
    panel: str,
    key: ec.EllipticCurvePrivateKey,
    settings: JoinSettings | None = None,
) -> dict[str, Any]:
    """Return the answer to the request with this fingerprint, signed with the private key of certificate `panel`."""
    answer = {
        **{name: fields[name] for name in FIELDS},
        "panel": panel,
        "signature": _sign(key, _content(fields, request)),
    }
    if settings is None:
        return answer
    encoded = settings.to_json()
    return answer | {"settings": encoded, "settings_signature": _sign(key, _content_of_settings(encoded, request))}


def decode_answer(message: Mapping[str, Any], *, request: str, now: datetime) -> dict[str, Any]:
    """Verify the signatures for this request and return the fields, plus `settings` if the panel sent any.

    The panel's certificate must be issued by the authority in the answer and be valid at `now`. The caller compares the
    authority with the code. Raise BadBytes if a field is missing or invalid, or BadSignature if the certificate or a
    signature is wrong.
    """
    try:
        fields = {name: message[name] for name in FIELDS}
        authority = x509.load_pem_x509_certificate(str(fields["ca"]).encode())
        panel = x509.load_pem_x509_certificate(str(message["panel"]).encode())
        signed = [(_content(fields, request), base64.b64decode(str(message["signature"]), validate=True))]
        if "settings" in message:
            fields["settings"] = JoinSettings.from_json(message["settings"]).to_json()
            of_settings = base64.b64decode(str(message["settings_signature"]), validate=True)
            signed.append((_content_of_settings(message["settings"], request), of_settings))
    except (KeyError, ValueError) as exc:
        raise BadBytes(what="answer", reason=f"it has no usable {exc}; is it of an older panel?") from exc
    key = _key_of_panel(panel, authority, now)
    try:
        for content, signature in signed:
            key.verify(signature, content, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature as exc:
        raise BadSignature(reason="the answer was changed on its way, or is for another request") from exc
    return fields


def _content(fields: Mapping[str, Any], request: str) -> bytes:
    return _SIGNED + _canonical({**{name: fields[name] for name in FIELDS}, "request": request})


def _content_of_settings(settings: Mapping[str, Any], request: str) -> bytes:
    return _SIGNED_SETTINGS + _canonical({"settings": settings, "request": request})


def _canonical(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, sort_keys=True, separators=(",", ":")).encode("ascii")


def _sign(key: ec.EllipticCurvePrivateKey, content: bytes) -> str:
    return base64.b64encode(key.sign(content, ec.ECDSA(hashes.SHA256()))).decode("ascii")


def _key_of_panel(panel: x509.Certificate, authority: x509.Certificate, now: datetime) -> ec.EllipticCurvePublicKey:
    """Return the key of the panel's certificate.

    Raise BadSignature unless the authority issued the certificate for the panel, and it is valid at `now`. The
    certificate's name alone proves nothing, because a node can have the same name. However, a node's certificate is
    only valid for servers.
    """
    try:
        panel.verify_directly_issued_by(authority)
        usage = panel.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound) as exc:
        raise BadSignature(reason="what signed the answer is no certificate of the panel's authority") from exc
    names = [name.value for name in panel.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    key = panel.public_key()
    is_panel = names == [PANEL_NAME] and ExtendedKeyUsageOID.CLIENT_AUTH in usage
    if not is_panel or not isinstance(key, ec.EllipticCurvePublicKey):
        raise BadSignature(reason="what signed the answer is not the panel's certificate")
    if not panel.not_valid_before_utc <= now <= panel.not_valid_after_utc:
        raise BadSignature(reason="the panel's certificate is not valid now; one of the two clocks may be wrong")
    return key
