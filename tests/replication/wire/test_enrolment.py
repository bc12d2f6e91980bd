"""The answer to an enrollment is accepted only if it is complete and from the panel."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from replication.errors import BadBytes, BadSignature
from replication.wire import enrolment
from replication.wire.protocol import PANEL_NAME
from tests.replication.agent.servers import Authority

NOW = datetime.now(UTC)
REQUEST = "ab" * 32
SETTINGS = enrolment.JoinSettings(enrolment.Role.CANARY, "192.0.2.53", 5399, 8533)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def signed(
    authority: Authority, name: str = PANEL_NAME, usage: Any = ExtendedKeyUsageOID.CLIENT_AUTH
) -> dict[str, Any]:
    """Return an answer that is signed with a certificate of this name and usage."""
    certificate, key_file = authority.issue(name, f"signer-{name}", usage)
    key = serialization.load_pem_private_key(key_file.read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    fields = {
        "node": "ns1",
        "schema": 4,
        "cluster": "c",
        "certificate": "pem",
        "ca": authority.pem.decode(),
        "signing_keys": ["a", "b"],
        "keys_generation": 3,
    }
    return enrolment.encode_answer(fields, request=REQUEST, panel=certificate.read_text(), key=key, settings=SETTINGS)


def test_what_was_signed_comes_back(authority: Authority) -> None:
    answer = signed(authority)
    fields = enrolment.decode_answer(answer, request=REQUEST, now=NOW)
    assert fields == {name: answer[name] for name in (*enrolment.FIELDS, "settings")}
    assert enrolment.JoinSettings.from_json(fields["settings"]) == SETTINGS


def test_an_older_panel_sends_no_settings(authority: Authority) -> None:
    answer = signed(authority)
    old = {name: value for name, value in answer.items() if not name.startswith("settings")}
    assert "settings" not in enrolment.decode_answer(old, request=REQUEST, now=NOW)


@pytest.mark.parametrize(
    "change", [{"dns_port": 53}, {"role": "node"}, {"dns_address": "192.0.2.1"}, {"agent_port": 1}, {"more": 1}]
)
def test_settings_are_bound_to_the_panel(authority: Authority, change: dict[str, Any]) -> None:
    answer = signed(authority)
    changed = answer | {"settings": answer["settings"] | change}
    with pytest.raises(BadSignature):
        enrolment.decode_answer(changed, request=REQUEST, now=NOW)


@pytest.mark.parametrize(
    "change",
    [
        {"dns_port": 0},
        {"dns_port": "53"},
        {"dns_port": True},
        {"role": "king"},
        {"dns_address": "ns1"},
        {"agent_port": None},
    ],
)
def test_settings_that_no_configuration_could_have_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(BadBytes):
        enrolment.JoinSettings.from_json(SETTINGS.to_json() | change)


def test_what_is_signed_over_settings_is_fixed() -> None:
    assert enrolment._content_of_settings(SETTINGS.to_json(), "00") == (
        b'dnspanel enrolment settings 1\x00{"request":"00","settings":'
        b'{"agent_port":8533,"dns_address":"192.0.2.53","dns_port":5399,"role":"canary"}}'
    )


def test_what_is_signed_over_is_fixed() -> None:
    fields = dict.fromkeys(enrolment.FIELDS, "ü") | {"schema": 4, "signing_keys": ["a"], "keys_generation": 0}
    assert enrolment._content(fields, "00") == (
        b'dnspanel enrolment 1\x00{"ca":"\\u00fc","certificate":"\\u00fc","cluster":"\\u00fc","keys_generation":0,'
        b'"node":"\\u00fc","request":"00","schema":4,"signing_keys":["a"]}'
    )


@pytest.mark.parametrize("name", enrolment.FIELDS)
def test_every_field_is_bound(authority: Authority, name: str, tmp_path: Path) -> None:
    other = Authority(tmp_path).pem.decode()
    with pytest.raises(BadSignature):
        enrolment.decode_answer(signed(authority) | {name: other}, request=REQUEST, now=NOW)


def test_an_answer_is_for_one_request(authority: Authority) -> None:
    with pytest.raises(BadSignature, match="another request"):
        enrolment.decode_answer(signed(authority), request="cd" * 32, now=NOW)


@pytest.mark.parametrize(
    ("name", "usage"), [("ns1", ExtendedKeyUsageOID.CLIENT_AUTH), (PANEL_NAME, ExtendedKeyUsageOID.SERVER_AUTH)]
)
def test_a_node_cannot_sign_as_the_panel(authority: Authority, name: str, usage: Any) -> None:
    with pytest.raises(BadSignature, match="not the panel's certificate"):
        enrolment.decode_answer(signed(authority, name, usage), request=REQUEST, now=NOW)


def test_another_authoritys_panel_cannot_sign(authority: Authority, tmp_path: Path) -> None:
    answer = signed(Authority(tmp_path)) | {"ca": authority.pem.decode()}
    with pytest.raises(BadSignature, match="no certificate of the panel's authority"):
        enrolment.decode_answer(answer, request=REQUEST, now=NOW)


def test_a_certificate_that_expired_cannot_sign(authority: Authority) -> None:
    with pytest.raises(BadSignature, match="clocks"):
        enrolment.decode_answer(signed(authority), request=REQUEST, now=NOW + timedelta(days=2))


@pytest.mark.parametrize("change", [{"signature": "?"}, {"panel": "pem"}, {"ca": "pem"}])
def test_what_is_no_answer_is_refused(authority: Authority, change: dict[str, Any]) -> None:
    with pytest.raises(BadBytes):
        enrolment.decode_answer(signed(authority) | change, request=REQUEST, now=NOW)
    with pytest.raises(BadBytes, match="older panel"):
        enrolment.decode_answer({}, request=REQUEST, now=NOW)


def test_a_fingerprint_is_that_of_the_requests_der() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    digest = hashes.Hash(hashes.SHA256())
    digest.update(request.public_bytes(serialization.Encoding.DER))
    assert enrolment.request_fingerprint(request) == digest.finalize().hex()
